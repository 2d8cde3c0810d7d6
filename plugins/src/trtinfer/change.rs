//! Another model while frames flow: it is loaded beside the one in use, and takes over between two frames. The switch decides, this
//! loads, negotiates and posts.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::flow::Negotiated;
use super::given::Given;
use super::imp::TrtInfer;
use super::instance::Instance;
use super::setup::{ModelSelection, Setup};
use super::shape;
use super::slot::Replaceable;
use super::switch::{Load, Patience};
use crate::caps;
use crate::log::TRTINFER as CAT;
use crate::model::{self, ModelInfo, accepts};
use crate::sync::lock;

/// Why an instance cannot take over.
pub(super) enum Refusal {
    /// The frames carry other tensors than it needs.
    Input(String),
    /// Anything else.
    Final(String),
}

impl Refusal {
    pub(super) fn why(self) -> String {
        let (Self::Input(why) | Self::Final(why)) = self;
        why
    }
}

/// How an instance works with frames of some caps and with some constants.
pub(super) struct Suited {
    pub negotiated: Negotiated,
    /// Of what it makes.
    pub caps: gst::Caps,
    pub info: ModelInfo,
}

/// Caps with the tensors that the instance needs, as far as it does not leave them open.
fn expected(incoming: &gst::Caps, instance: &Instance) -> gst::Caps {
    // It takes what another model makes of a frame, whatever size that has seen.
    if instance.engine.prompted.is_some() {
        return incoming.clone();
    }
    let mut wanted = model::required(&instance.engine.input);
    wanted.filter_map_in_place(|_, value| (!value.is::<gst::IntRange<i32>>()).then_some(value));
    caps::with_fields(incoming, &wanted)
}

impl TrtInfer {
    /// Has the model loaded that the properties now name, in a thread of its own, where [`TrtInfer::follow`] finds it.
    pub(super) fn change_model(&self) {
        let element = self.obj().downgrade();
        let load = move || {
            while let Some(element) = element.upgrade()
                && let Some(load) = element.imp().switch.take_request()
            {
                element.imp().load_requested(load);
            }
        };
        let spawn = || std::thread::Builder::new().name("trtinfer:model".into()).spawn(load);
        let requested = self.switch.request(spawn, |ended| drop(ended.join()));
        if let Err(e) = requested {
            let named = lock(&self.settings).selection();
            self.keep_model(&named, &format!("the system gives no thread to load it in ({e})"));
        }
    }

    /// Waits until nothing loads any more. No lock may be held that a load takes.
    pub(super) fn wait_for_loader(&self) {
        let thread = self.switch.take_thread();
        // A handler of a message that the loader's thread posts may have come here: it cannot wait for its own thread.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }

    /// Loads the model that the properties name, in the loader's thread.
    fn load_requested(&self, load: Load) {
        let (named, setup) = {
            let settings = lock(&self.settings);
            (settings.selection(), settings.setup())
        };
        let loaded = match &setup {
            Ok(setup) => panic::catch_unwind(AssertUnwindSafe(|| self.load_next(setup, load)))
                .unwrap_or_else(|_| Err("loading it panicked; this is a bug of cudainfer".into())),
            Err(wrong) => Err(wrong.why.clone()),
        };
        match loaded {
            Err(why) if self.switch.is_current(load) => self.keep_model(&named, &why),
            Err(why) => gst::info!(CAT, imp = self, "a model that nobody waits for any more: {why}"),
            Ok(()) => (),
        }
    }

    fn load_next(&self, setup: &Setup, load: Load) -> Result<(), String> {
        let Some(in_use) = self.switch.in_use() else { return Ok(()) };
        if *setup == in_use.setup {
            drop(self.switch.keep(&in_use));
            return Ok(());
        }
        let instance = Instance::open(setup.clone(), in_use.gpu(), &|progress| self.post_progress(progress))
            .map_err(|e| e.to_string())?;
        if !self.switch.is_wanted(load) {
            return Ok(());
        }
        // Warmed up before its first frame comes, and refused before the elements upstream are asked for other tensors.
        let suited =
            self.sink.current_caps().map(|caps| self.suits_as_given(&instance, &expected(&caps, &instance)));
        let shape = suited.transpose().map_err(Refusal::why)?.map(|suited| suited.negotiated.shape);
        drop(self.switch.offer(load, &instance, shape.map(|shape| shape as Arc<_>)));
        Ok(())
    }

    /// Between two frames: takes over the instance that replaces the one in use, if there is one.
    pub(super) fn follow(&self) {
        let Some(next) = self.switch.next() else { return };
        let Some(incoming) = self.sink.current_caps() else { return };
        match self.take_over(&next, &incoming) {
            Ok(()) => (),
            Err(Refusal::Final(why)) => self.refuse_next(&next, &why),
            Err(Refusal::Input(why)) => match self.switch.wait_for_tensors() {
                Patience::Ask => match self.suits_as_given(&next, &expected(&incoming, &next)) {
                    Ok(_) => {
                        drop(self.switch.ask(&next));
                        self.sink.push_event(gst::event::Reconfigure::new());
                    }
                    Err(refusal) => self.refuse_next(&next, &refusal.why()),
                },
                Patience::Wait => (),
                Patience::Over => self.refuse_next(&next, &why),
            },
        }
    }

    /// As [`TrtInfer::follow`], with caps that have just come; false if they are for the instance in use.
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
        taken(self.switch.next()) || taken(self.belated(incoming))
    }

    /// The instance that the elements upstream were asked to make these tensors for, where they do not suit the one in use.
    fn belated(&self, incoming: &gst::CapsRef) -> Option<Arc<Instance>> {
        let in_use = self.switch.in_use()?;
        let unsuited =
            shape::shape(incoming, &in_use.engine, self.given.of(&in_use.engine).as_deref()).is_err();
        self.switch.asked().filter(|_| unsuited)
    }

    /// As [`TrtInfer::suits`], with what is given now, if that is for this model.
    fn suits_as_given(&self, next: &Instance, incoming: &gst::CapsRef) -> Result<Suited, Refusal> {
        self.suits(next, incoming, self.given.of(&next.engine).as_ref())
    }

    /// Whether the instance could work with frames of these caps and these constants, and so could the elements downstream.
    pub(super) fn suits(
        &self,
        next: &Instance,
        incoming: &gst::CapsRef,
        given: Option<&Arc<Given>>,
    ) -> Result<Suited, Refusal> {
        let given = given.map(|given| &**given);
        let wanted = shape::shape(incoming, &next.engine, given).map_err(Refusal::Input)?;
        let shape = self.warm(next, wanted).map_err(|e| Refusal::Final(e.to_string()))?;
        let (caps, forms) = self.outgoing(next, &shape, incoming, given).map_err(Refusal::Final)?;
        let info = Given::info_with(given, &next.engine.info);
        accepts::ask(&self.src, &caps, &info).map_err(Refusal::Final)?;
        let negotiated = Negotiated { shape, forms, frame: caps::frame_size(incoming) };
        Ok(Suited { negotiated, caps, info })
    }

    fn take_over(&self, next: &Arc<Instance>, incoming: &gst::CapsRef) -> Result<(), Refusal> {
        let Suited { negotiated, caps, info } = self.suits_as_given(next, incoming)?;
        if !self.flow.switch(next, self.in_flight(next), negotiated, (&caps, info)) {
            return Ok(());
        }
        self.memories.forget();
        self.drop_constants_of_others(next);
        let taken = self.switch.take(next);
        if let Some(followed) = taken.followed {
            self.adopt_model(&followed, next);
        }
        drop(taken.released);
        gst::info!(CAT, imp = self, "{} from now on", next.setup.config.model.display());
        self.update_latency(incoming);
        self.obj().notify("model");
        self.obj().notify("active-provider");
        self.report_reading(next);
        Ok(())
    }

    /// Has the properties name the model that another element has put in the place of `before`.
    fn adopt_model(&self, before: &ModelSelection, taken: &Instance) {
        let mut settings = lock(&self.settings);
        // Unless the user has set another model of this element as well.
        if settings.selection() == *before {
            let ModelSelection { model, labels } = taken.selection();
            (settings.model, settings.labels) = (model, labels);
        }
    }

    /// As [`TrtInfer::adopt_model`], for an element that starts: the instance may have got another model meanwhile than the
    /// properties name.
    pub(super) fn adopt_on_start(&self, wanted: &Setup, opened: &Instance) {
        let wanted = wanted.selection();
        if wanted != opened.selection() {
            self.adopt_model(&wanted, opened);
            let model = opened.setup.config.model.display();
            gst::info!(CAT, imp = self, "the instance has another model by now: {model}");
            self.obj().notify("model");
        }
    }

    /// Whether only the model differs between a setup and that of the instance in use, which other elements share: the model is
    /// changed as while frames flow then, as soon as the element has started.
    pub(super) fn only_model_differs(&self, setup: &Setup, in_use: &Instance) -> bool {
        let is_shared = self.switch.slot().is_some_and(|slot| slot.name().is_some());
        is_shared && in_use.selection().put_into(setup) == in_use.setup
    }

    /// Has the model loaded that was set while the element started.
    pub(super) fn change_model_set_meanwhile(&self, in_use: &Instance) {
        let named = lock(&self.settings).selection();
        if named != in_use.selection() {
            self.change_model();
        }
    }

    /// Warns that the model in use stays instead of the one `refused`, and why.
    fn keep_model(&self, refused: &ModelSelection, why: &str) {
        self.switch.refuse(None);
        self.post_refusal(refused, why);
    }

    /// As [`TrtInfer::keep_model`], for the instance that should have replaced the one in use.
    fn refuse_next(&self, next: &Arc<Instance>, why: &str) {
        self.switch.refuse(Some(next));
        self.post_refusal(&next.selection(), why);
    }

    fn post_refusal(&self, refused: &ModelSelection, why: &str) {
        let Some(in_use) = self.switch.in_use() else { return };
        let kept = in_use.selection();
        {
            let mut settings = lock(&self.settings);
            // Unless another model has been set meanwhile.
            if settings.selection() == *refused {
                settings.labels = kept.labels;
                settings.model = kept.model;
            }
        }
        let model = in_use.setup.config.model.display();
        let refused =
            refused.model.as_ref().map_or_else(String::new, |model| format!(" '{}'", model.display()));
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Settings,
            ("{}: the model{refused} is not taken over, '{model}' goes on: {why}", self.obj().name())
        );
        self.obj().notify("model");
    }
}
