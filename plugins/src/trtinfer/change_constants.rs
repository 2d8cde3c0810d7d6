//! Other constants while frames flow: they are read, checked and warmed up while the property is set, and the next frame has them.

use std::sync::Arc;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::change::{Refusal, Suited};
use super::constants::check;
use super::flow::Running;
use super::given::Given;
use super::imp::TrtInfer;
use super::instance::Instance;
use crate::log::TRTINFER as CAT;
use crate::model::ModelInfo;
use crate::sync::lock;

impl TrtInfer {
    /// Takes what the property `constants` names, or says why not, and keeps what was given before. When it returns, the next
    /// frame that comes has the new values.
    pub(super) fn change_constants(&self) {
        let structure = lock(&self.settings).constants.clone();
        if let Err(why) = self.take_constants(&structure) {
            self.refuse_constants(&structure, &why);
        }
    }

    fn take_constants(&self, structure: &Option<gst::Structure>) -> Result<(), String> {
        let given = structure.as_ref().map(|structure| Given::read(structure)).transpose()?.map(Arc::new);
        let mut warm = None;
        if let Some(instance) = self.switch.in_use() {
            if let Some(given) = &given {
                check(given, &instance.engine)?;
            }
            // The values may be there before the caps.
            if let Some(incoming) = self.flow.running().and_then(|_| self.sink.current_caps()) {
                let suited = self.suits(&instance, &incoming, given.as_ref()).map_err(Refusal::why)?;
                warm = Some(suited.negotiated.shape);
            }
        }
        // Where another thread has set the property meanwhile, that counts.
        if lock(&self.settings).constants == *structure {
            self.given.set(given, structure.clone(), warm);
        }
        Ok(())
    }

    fn refuse_constants(&self, refused: &Option<gst::Structure>, why: &str) {
        {
            let kept = self.given.structure();
            let mut settings = lock(&self.settings);
            if settings.constants == *refused {
                settings.constants = kept;
            }
        }
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Settings,
            ("{}: the constants are not taken, those before stay: {why}", self.obj().name())
        );
    }

    /// Between two frames: the frames from now on have the constants that were set.
    pub(super) fn follow_constants(&self) {
        if !self.given.take_new() {
            return;
        }
        let Some(Running { instance, client, .. }) = self.flow.running() else { return };
        let Some(incoming) = self.sink.current_caps() else { return };
        let given = self.given.of(&instance.engine);
        match self.suits(&instance, &incoming, given.as_ref()) {
            Ok(Suited { negotiated, caps, info }) => {
                // Frames with other constants do not fill the batch that waits.
                instance.batcher.hurry(client);
                self.flow.negotiate(Some(negotiated));
                self.flow.announce(&caps, info);
                gst::info!(CAT, imp = self, "frames have other constants from now on: {caps}");
                self.update_latency(&incoming);
            }
            // What was negotiated for the frames before goes on.
            Err(refusal) => {
                let refused = self.given.structure();
                self.given.revert();
                self.refuse_constants(&refused, &refusal.why());
            }
        }
    }

    /// What is known of the instance's model, with the names of the classes that the property `constants` gives.
    pub(super) fn info_of(&self, instance: &Instance) -> ModelInfo {
        Given::info_with(self.given.of(&instance.engine).as_deref(), &instance.engine.info)
    }

    /// Warns where what is given is for another model than the one that has taken over, and forgets it.
    pub(super) fn drop_constants_of_others(&self, taken: &Instance) {
        let Some(given) = self.given.any() else { return };
        if let Err(why) = check(&given, &taken.engine) {
            let refused = self.given.structure();
            self.given.forget();
            self.refuse_constants(&refused, &format!("{why}. This model has the sidecar's"));
        }
    }
}
