//! Another model while frames flow: it is loaded beside the one in use, and taken over between two frames.

use std::sync::Arc;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::{CAT, TrtInfer};
use super::instance::Instance;
use super::running::{Negotiated, Running};
use super::shape;
use crate::caps;
use crate::inference::Shape;
use crate::model::accepts;
use crate::sync::lock;

/// Frames that may still come with the old model's tensors after what is before was asked for others: more than a queue holds.
const PATIENCE: usize = 256;

/// An instance that is to replace the one in use.
#[derive(Default)]
pub(super) struct Next {
    instance: Option<Arc<Instance>>,
    /// Keeps what the instance was warmed up for.
    _shape: Option<Arc<Shape>>,
    /// Frames since what is before was asked for other tensors.
    waited: Option<usize>,
    /// Whose tensors those are: they may still come when something else is to replace the one in use by then.
    asked: Option<Arc<Instance>>,
    /// It was another element that changed the model.
    foreign: bool,
    /// It is not tried again.
    refused: bool,
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
    /// Loads the model that the properties now name, in a thread of its own, and leaves it where [`TrtInfer::follow`] finds
    /// it.
    pub(super) fn change_model(&self) {
        let element = self.obj().downgrade();
        let load = move || {
            let Some(element) = element.upgrade() else { return };
            let this = element.imp();
            // One after the other: what was set last is loaded last.
            let _turn = lock(&this.changing);
            if let Err(why) = this.load_next() {
                this.keep_model(&why);
            }
        };
        if let Err(e) = std::thread::Builder::new().name("trtinfer:model".into()).spawn(load) {
            self.keep_model(&format!("there is no thread to load it in: {e}"));
        }
    }

    fn load_next(&self) -> Result<(), String> {
        let Some(in_use) = lock(&self.instance).clone() else { return Ok(()) };
        let setup = lock(&self.settings).setup().map_err(|wrong| wrong.why)?;
        if setup == in_use.setup {
            self.forget_next(&in_use);
            return Ok(());
        }
        let instance =
            Instance::open(setup, &|progress| self.post_progress(progress)).map_err(|e| e.to_string())?;
        // Warmed up before its first frame comes, and refused before anybody is asked for other tensors.
        let suited = self.sink.current_caps().map(|caps| self.suits(&instance, &expected(&caps, &instance)));
        let shape = suited.transpose().map_err(Refusal::why)?.map(|(shape, _)| shape);
        let in_use = lock(&self.instance);
        // The element has been stopped meanwhile; if it has been started again, then with this model.
        if in_use.as_ref().is_none_or(|in_use| in_use.setup == instance.setup) {
            return Ok(());
        }
        let next = Next { instance: Some(Arc::clone(&instance)), _shape: shape, ..Next::default() };
        let before = self.replace_next(next, &instance);
        drop(in_use);
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
        if let Some(place) = lock(&self.place).as_ref() {
            place.replace(wanted);
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
            Err(Refusal::Final(why)) => self.keep_model(&why),
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
                        Err(refusal) => self.keep_model(&refusal.why()),
                    },
                    Some(PATIENCE) => self.keep_model(&why),
                    Some(_) => (),
                }
            }
        }
    }

    /// The instance that is to replace the one in use.
    pub(super) fn next(&self) -> Option<Arc<Instance>> {
        let place = lock(&self.place).clone()?;
        let current = place.current()?;
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
        let taken = |next: Option<Arc<Instance>>| match next.map(|next| self.take_over(&next, incoming)) {
            Some(Ok(())) => true,
            None | Some(Err(Refusal::Input(_))) => false,
            Some(Err(Refusal::Final(why))) => {
                self.keep_model(&why);
                false
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
    fn suits(&self, next: &Instance, incoming: &gst::CapsRef) -> Result<(Arc<Shape>, gst::Caps), Refusal> {
        let wanted = shape::shape(incoming, &next.engine).map_err(Refusal::Input)?;
        let shape = next
            .shape(wanted, &|progress| self.post_progress(progress))
            .map_err(|e| Refusal::Final(e.to_string()))?;
        let caps = self.outgoing(next, &shape, incoming);
        accepts::ask(&self.src, &caps, &next.engine.info).map_err(Refusal::Final)?;
        Ok((shape, caps))
    }

    fn take_over(&self, next: &Arc<Instance>, incoming: &gst::CapsRef) -> Result<(), Refusal> {
        let (shape, caps) = self.suits(next, incoming)?;
        {
            let mut running = lock(&self.running);
            let Some(Running { owner, instance, client }) = running.as_ref() else { return Ok(()) };
            // What waits there goes at once.
            instance.batcher.leave(*client);
            let owner = Arc::clone(owner);
            let client = next.batcher.join(self.in_flight());
            self.announce(&owner.lane, next, &caps);
            *running = Some(Running { owner, instance: Arc::clone(next), client });
        }
        *lock(&self.negotiated) = Some(Negotiated { shape, frame: caps::frame_size(incoming) });
        let before = lock(&self.instance).replace(Arc::clone(next));
        let done = self.taken_over(next, before);
        drop(done);
        gst::info!(CAT, imp = self, "{} from now on", next.setup.config.model.display());
        self.update_latency(incoming);
        self.obj().notify("model");
        self.obj().notify("active-provider");
        Ok(())
    }

    /// After `taken` has replaced the one `before`. Returns what is not needed any more.
    fn taken_over(
        &self,
        taken: &Arc<Instance>,
        before: Option<Arc<Instance>>,
    ) -> (Next, Option<Arc<Instance>>) {
        let wanted = lock(&self.place).as_ref().and_then(|place| place.current());
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
            let (old, new) = (&before.setup.config, &taken.setup.config);
            let mut settings = lock(&self.settings);
            // Unless this element has been told to change as well.
            if settings.model.as_ref() == Some(&old.model) && settings.labels == old.labels {
                settings.model = Some(new.model.clone());
                settings.labels.clone_from(&new.labels);
            }
        }
        (next, before)
    }

    /// Says that the model in use stays, and why.
    fn keep_model(&self, why: &str) {
        let in_use = lock(&self.instance).clone();
        lock(&self.next).refused = true;
        let Some(in_use) = in_use else { return };
        let model = in_use.setup.config.model.clone();
        let wanted = {
            let mut settings = lock(&self.settings);
            settings.labels.clone_from(&in_use.setup.config.labels);
            settings.model.replace(model.clone())
        };
        let wanted = wanted.map_or_else(String::new, |wanted| format!(" '{}'", wanted.display()));
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Settings,
            (
                "{}: the model{wanted} is not taken over, '{}' goes on: {why}",
                self.obj().name(),
                model.display()
            )
        );
        self.obj().notify("model");
    }
}
