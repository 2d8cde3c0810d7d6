//! Another model while frames flow: it is loaded beside the one in use, and takes over between two frames.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::JoinHandle;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::forms::OutputForms;
use super::imp::TrtInfer;
use super::instance::Instance;
use super::log::CAT;
use super::model_selection::ModelSelection;
use super::running::{Negotiated, Running};
use super::setup::Setup;
use super::shape;
use crate::caps;
use crate::inference::RunShape;
use crate::model::accepts;
use crate::sync::lock;

/// Frames that may still come with the old model's tensors after what is before was asked for others: more than a queue holds.
const PATIENCE: usize = 256;

/// An instance that is to replace the one in use.
#[derive(Default)]
pub(super) struct Next {
    instance: Option<Arc<Instance>>,
    /// Keeps what the instance was warmed up for.
    _shape: Option<Arc<RunShape>>,
    /// Frames since what is before was asked for other tensors.
    waited: Option<usize>,
    /// Whose tensors those are: they may still come when something else is to replace the one in use by then.
    asked: Option<Arc<Instance>>,
    /// It was another element that changed the model.
    foreign: bool,
    /// It is not tried again.
    refused: bool,
}

/// The thread that loads other models, one after the other, and what it is to do.
#[derive(Debug, Default)]
pub(super) struct Loader {
    /// Whether there is a model in use, beside which another is loaded.
    open: bool,
    /// Whether a model was set since the thread began to load one.
    wanted: bool,
    /// Whether the thread takes up what is wanted.
    busy: bool,
    /// Counts how often the element was stopped: what was begun before a stop is not for after it.
    stops: u64,
    /// It is waited for before the element is in NULL.
    thread: Option<JoinHandle<()>>,
}

/// Why an instance is not taken over.
enum Refusal {
    /// The tensors that come are not the ones it wants.
    Input(String),
    /// Anything else.
    Final(String),
}

impl Refusal {
    fn why(self) -> String {
        let (Self::Input(why) | Self::Final(why)) = self;
        why
    }
}

/// Caps with the tensors that the instance wants, as far as it does not leave them open.
fn expected(incoming: &gst::Caps, instance: &Instance) -> gst::Caps {
    let mut wanted = instance.engine.input.required();
    wanted.filter_map_in_place(|_, value| (!value.is::<gst::IntRange<i32>>()).then_some(value));
    caps::with_fields(incoming, &wanted)
}

impl TrtInfer {
    /// Has the model loaded that the properties now name, in a thread of its own, and left where [`TrtInfer::follow`] finds it.
    /// While one loads, it is the next one's turn only when that is done, and only the last one's that was set.
    pub(super) fn change_model(&self) {
        let mut loader = lock(&self.loader);
        if !loader.open {
            return;
        }
        loader.wanted = true;
        if loader.busy {
            return;
        }
        if let Some(ended) = loader.thread.take() {
            let _ = ended.join();
        }
        let element = self.obj().downgrade();
        let load = move || {
            while let Some(element) = element.upgrade()
                && element.imp().load_wanted()
            {}
        };
        match std::thread::Builder::new().name("trtinfer:model".into()).spawn(load) {
            Ok(thread) => {
                loader.busy = true;
                loader.thread = Some(thread);
            }
            Err(e) => {
                loader.wanted = false;
                drop(loader);
                let named = ModelSelection::by_settings(&lock(&self.settings));
                self.keep_model(&named, &format!("the system gives no thread to load it in ({e})"));
            }
        }
    }

    /// Models that are set from now on are loaded beside the one in use.
    pub(super) fn accept_changes(&self) {
        lock(&self.loader).open = true;
    }

    /// From now on it is left to the next start which model is in use: what loads now will not be.
    pub(super) fn refuse_changes(&self) {
        let mut loader = lock(&self.loader);
        loader.open = false;
        loader.wanted = false;
        loader.stops += 1;
    }

    /// Waits until nothing loads any more. No lock may be held that a load takes.
    pub(super) fn wait_for_loader(&self) {
        let thread = lock(&self.loader).thread.take();
        // A listener to what the thread itself says may have come here.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }

    /// Loads the model that was set last, in the loader's thread; false if none was set since the one before.
    fn load_wanted(&self) -> bool {
        let stops = {
            let mut loader = lock(&self.loader);
            loader.busy = std::mem::take(&mut loader.wanted);
            if !loader.busy {
                return false;
            }
            loader.stops
        };
        let (named, setup) = {
            let settings = lock(&self.settings);
            (ModelSelection::by_settings(&settings), settings.setup())
        };
        let loaded = match &setup {
            Ok(setup) => panic::catch_unwind(AssertUnwindSafe(|| self.load_next(setup, stops)))
                .unwrap_or_else(|_| Err("loading it panicked; this is a bug of cudainfer".into())),
            Err(wrong) => Err(wrong.why.clone()),
        };
        match loaded {
            Err(why) if lock(&self.loader).stops == stops => self.keep_model(&named, &why),
            Err(why) => gst::info!(CAT, imp = self, "a model that nobody waits for any more: {why}"),
            Ok(()) => (),
        }
        true
    }

    fn load_next(&self, setup: &Setup, stops: u64) -> Result<(), String> {
        let Some(in_use) = lock(&self.instance).clone() else { return Ok(()) };
        if *setup == in_use.setup {
            self.forget_next(&in_use);
            return Ok(());
        }
        let instance = Instance::open(setup.clone(), in_use.gpu(), &|progress| self.post_progress(progress))
            .map_err(|e| e.to_string())?;
        let unwanted = |loader: &Loader| loader.wanted || loader.stops != stops;
        if unwanted(&lock(&self.loader)) {
            return Ok(());
        }
        // Warmed up before its first frame comes, and refused before anybody is asked for other tensors.
        let suited = self.sink.current_caps().map(|caps| self.suits(&instance, &expected(&caps, &instance)));
        let shape = suited.transpose().map_err(Refusal::why)?.map(|(shape, ..)| shape);
        // Held, so that the element is not stopped before the model is where a stop looks for it.
        let loader = lock(&self.loader);
        if unwanted(&loader) {
            return Ok(());
        }
        let next = Next { instance: Some(Arc::clone(&instance)), _shape: shape, ..Next::default() };
        let before = self.replace_next(next, &instance);
        drop(loader);
        drop(before);
        Ok(())
    }

    /// What is in use stays.
    fn forget_next(&self, in_use: &Arc<Instance>) {
        drop(self.replace_next(Next::default(), in_use));
    }

    /// Something else is to be in use, `wanted`. Returns what was to be before, to be dropped outside of all locks: its workers are
    /// waited for.
    fn replace_next(&self, next: Next, wanted: &Arc<Instance>) -> Next {
        if let Some(slot) = lock(&self.slot).as_ref() {
            slot.replace(wanted);
        }
        let mut current = lock(&self.next);
        let asked = current.asked.take();
        std::mem::replace(&mut *current, Next { asked, ..next })
    }

    /// Between two frames: takes over the instance that is to replace the one in use, if there is one.
    pub(super) fn follow(&self) {
        let Some(next) = self.next() else { return };
        let Some(incoming) = self.sink.current_caps() else { return };
        match self.take_over(&next, &incoming) {
            Ok(()) => (),
            Err(Refusal::Final(why)) => self.refuse_next(&next, &why),
            Err(Refusal::Input(why)) => {
                let waited = {
                    let mut next = lock(&self.next);
                    let waited = next.waited;
                    next.waited = Some(waited.map_or(0, |frames| frames + 1));
                    waited
                };
                match waited {
                    None => match self.suits(&next, &expected(&incoming, &next)) {
                        Ok(_) => {
                            lock(&self.next).asked = Some(next);
                            self.sink.push_event(gst::event::Reconfigure::new());
                        }
                        Err(refusal) => self.refuse_next(&next, &refusal.why()),
                    },
                    Some(PATIENCE) => self.refuse_next(&next, &why),
                    Some(_) => (),
                }
            }
        }
    }

    /// The instance that is to replace the one in use.
    pub(super) fn next(&self) -> Option<Arc<Instance>> {
        let slot = lock(&self.slot).clone()?;
        let current = slot.current()?;
        if lock(&self.instance).as_ref().is_some_and(|in_use| Arc::ptr_eq(in_use, &current)) {
            return None;
        }
        let mut next = lock(&self.next);
        if next.instance.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &current)) {
            // Another element of the same instance has changed the model.
            let asked = next.asked.take();
            *next = Next { instance: Some(Arc::clone(&current)), asked, foreign: true, ..Next::default() };
        }
        (!next.refused).then_some(current)
    }

    /// As [`TrtInfer::follow`], with caps that have just come; false if the instance in use is to look at them.
    pub(super) fn follow_with(&self, incoming: &gst::CapsRef) -> bool {
        let taken = |next: Option<Arc<Instance>>| {
            let Some(next) = next else { return false };
            match self.take_over(&next, incoming) {
                Ok(()) => true,
                Err(Refusal::Input(_)) => false,
                Err(Refusal::Final(why)) => {
                    self.refuse_next(&next, &why);
                    false
                }
            }
        };
        taken(self.next()) || taken(self.belated(incoming))
    }

    /// The instance that what is before was asked to make these tensors for, where they are not for the one in use.
    fn belated(&self, incoming: &gst::CapsRef) -> Option<Arc<Instance>> {
        let in_use = lock(&self.instance).clone()?;
        let strange = shape::shape(incoming, &in_use.engine).is_err();
        lock(&self.next).asked.clone().filter(|_| strange)
    }

    /// Whether the instance could work with frames of these caps, and so could what is behind: the shape, and the caps of what
    /// it makes.
    fn suits(
        &self,
        next: &Instance,
        incoming: &gst::CapsRef,
    ) -> Result<(Arc<RunShape>, OutputForms, gst::Caps), Refusal> {
        let wanted = shape::shape(incoming, &next.engine).map_err(Refusal::Input)?;
        let shape = self.warm(next, wanted).map_err(|e| Refusal::Final(e.to_string()))?;
        let (caps, forms) = self.outgoing(next, &shape, incoming).map_err(Refusal::Final)?;
        accepts::ask(&self.src, &caps, &next.engine.info).map_err(Refusal::Final)?;
        Ok((shape, forms, caps))
    }

    fn take_over(&self, next: &Arc<Instance>, incoming: &gst::CapsRef) -> Result<(), Refusal> {
        let (shape, forms, caps) = self.suits(next, incoming)?;
        {
            let mut running = lock(&self.running);
            let Some(Running { owner, instance, client }) = running.as_ref() else { return Ok(()) };
            // What waits there goes at once.
            instance.batcher.leave(*client);
            let owner = Arc::clone(owner);
            let client = next.batcher.join(self.in_flight(next));
            self.announce(&owner.lane, next, &caps);
            *running = Some(Running { owner, instance: Arc::clone(next), client });
        }
        *lock(&self.negotiated) = Some(Negotiated { shape, forms, frame: caps::frame_size(incoming) });
        let before = lock(&self.instance).replace(Arc::clone(next));
        let done = self.taken_over(next, before);
        drop(done);
        gst::info!(CAT, imp = self, "{} from now on", next.setup.config.model.display());
        self.update_latency(incoming);
        self.obj().notify("model");
        self.obj().notify("active-provider");
        self.tell_reading(next);
        Ok(())
    }

    /// After `taken` has replaced the one `before`. Returns what is not needed any more.
    fn taken_over(
        &self,
        taken: &Arc<Instance>,
        before: Option<Arc<Instance>>,
    ) -> (Next, Option<Arc<Instance>>) {
        let wanted = lock(&self.slot).as_ref().and_then(|slot| slot.current());
        let mut next = lock(&self.next);
        next.asked = None;
        if wanted.is_some_and(|wanted| !Arc::ptr_eq(&wanted, taken)) {
            // It was in use only for the tensors that came: something else is to follow, or the one before again.
            next.waited = None;
            next.instance = next.instance.take().or(before);
            return Default::default();
        }
        let next = std::mem::take(&mut *next);
        if let Some(before) = before.as_ref().filter(|_| next.foreign) {
            self.adopt_model(&ModelSelection::by_setup(&before.setup), taken);
        }
        (next, before)
    }

    /// Has the properties name the model that another element has put in the place of `before`.
    fn adopt_model(&self, before: &ModelSelection, taken: &Instance) {
        let mut settings = lock(&self.settings);
        // Unless this element has been told to change as well.
        if ModelSelection::by_settings(&settings) == *before {
            let ModelSelection { model, labels } = ModelSelection::by_setup(&taken.setup);
            (settings.model, settings.labels) = (model, labels);
        }
    }

    /// As [`TrtInfer::adopt_model`], for an element that starts: the instance may have got another model meanwhile than it wanted.
    pub(super) fn adopt_on_start(&self, wanted: &Setup, opened: &Instance) {
        let wanted = ModelSelection::by_setup(wanted);
        let opened_with = ModelSelection::by_setup(&opened.setup);
        if wanted != opened_with {
            self.adopt_model(&wanted, opened);
            gst::info!(
                CAT,
                imp = self,
                "the instance has another model by now: {}",
                opened.setup.config.model.display()
            );
            self.obj().notify("model");
        }
    }

    /// Whether only the model differs between a setup and that of the instance this element has, which others share: the model is
    /// changed as while frames flow then, as soon as the element has started.
    pub(super) fn only_model_differs(&self, setup: &Setup, in_use: &Instance) -> bool {
        let shared = lock(&self.slot).as_ref().is_some_and(|slot| slot.is_shared());
        shared && ModelSelection::by_setup(&in_use.setup).put_into(setup) == in_use.setup
    }

    /// Has the model loaded that was set while the element started.
    pub(super) fn change_model_set_meanwhile(&self, in_use: &Instance) {
        let named = ModelSelection::by_settings(&lock(&self.settings));
        if named != ModelSelection::by_setup(&in_use.setup) {
            self.change_model();
        }
    }

    /// Says that the model in use stays instead of the one `refused`, and why.
    fn keep_model(&self, refused: &ModelSelection, why: &str) {
        lock(&self.next).refused = true;
        let Some(in_use) = lock(&self.instance).clone() else { return };
        let kept = ModelSelection::by_setup(&in_use.setup);
        {
            let mut settings = lock(&self.settings);
            // Unless another one has been set meanwhile.
            if ModelSelection::by_settings(&settings) == *refused {
                settings.labels = kept.labels;
                settings.model = kept.model;
            }
        }
        let model = &in_use.setup.config.model;
        let refused =
            refused.model.as_ref().map_or_else(String::new, |model| format!(" '{}'", model.display()));
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Settings,
            (
                "{}: the model{refused} is not taken over, '{}' goes on: {why}",
                self.obj().name(),
                model.display()
            )
        );
        self.obj().notify("model");
    }

    /// As [`TrtInfer::keep_model`], for the instance that was to replace the one in use.
    fn refuse_next(&self, next: &Arc<Instance>, why: &str) {
        self.keep_model(&ModelSelection::by_setup(&next.setup), why);
        let own = !lock(&self.next).foreign;
        let (slot, in_use) = (lock(&self.slot).clone(), lock(&self.instance).clone());
        if let (Some(slot), Some(in_use), true) = (slot, in_use, own) {
            slot.take_back(next, &in_use);
        }
    }
}
