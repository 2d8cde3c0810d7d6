//! Has the element make its decoder, for caps or for properties that have changed, and reports how it reads the outputs.

use std::sync::atomic::Ordering;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::DecodingElement;
use super::{Decode, Incoming, Reading, reading};
use crate::caps::{self, ModelOutputs};
use crate::model::{self, ModelInfo};
use crate::sync::lock;

/// The error if the element `taker` upstream has removed the tensors.
fn taken(taker: &str) -> String {
    format!(
        "frames arrive without tensors: '{taker}' has taken them, because no element directly after it asks for them. Put this \
         element next to '{taker}', or put fusedpreproc and a trtinfer with a model for this one between the two"
    )
}

impl DecodingElement {
    /// A decoder for frames of these caps; `outgoing` are the source caps.
    pub(super) fn prepare(
        &self,
        caps: &gst::Caps,
        info: &ModelInfo,
        outgoing: Option<&gst::Caps>,
    ) -> Result<Box<dyn Decode>, String> {
        let methods = self.methods()?;
        let model = ModelOutputs::of(caps).map_err(|why| {
            let taker = self.sink().filter(|_| !caps::has_tensors(caps));
            let taker = taker.and_then(|sink| model::ask_taker(&sink));
            taker.map_or_else(|| why.to_owned(), |taker| taken(&taker))
        })?;
        (methods.prepare)(&self.obj(), &Incoming { caps, model: &model, info, outgoing })
    }

    /// Takes over properties that have been set since the last frame; frames are decoded as before, if that is not possible.
    pub(super) fn apply_changes(&self) {
        if !self.changed.swap(false, Ordering::AcqRel) {
            return;
        }
        let caps = |pad: &str| self.obj().static_pad(pad).and_then(|pad| pad.current_caps());
        let (Some(sink), Some(incaps), Some(outcaps)) = (self.sink(), caps("sink"), caps("src")) else {
            return;
        };
        let incaps = lock(&self.plain).described().unwrap_or(incaps);
        let info = model::ask(&sink, &incaps);
        match self.prepare(&incaps, &info, Some(&outcaps)) {
            Ok(decoder) => {
                *lock(&self.decoder) = Some(decoder);
                self.tell_reading(&incaps, &info, &outcaps);
            }
            Err(why) => {
                let name = self.obj().name();
                gst::element_imp_warning!(
                    self,
                    gst::LibraryError::Settings,
                    ("{name}: {why}. Frames are decoded as before")
                );
            }
        }
    }

    /// Reports how the outputs of these caps are read, once for each model.
    pub(super) fn tell_reading(&self, caps: &gst::Caps, info: &ModelInfo, outgoing: &gst::Caps) {
        let (Ok(methods), Ok(model)) = (self.methods(), ModelOutputs::of(caps)) else { return };
        let incoming = Incoming { caps, model: &model, info, outgoing: Some(outgoing) };
        let now = (caps::loaded_model(caps), (methods.reading)(&self.obj(), &incoming));
        if *lock(&self.reading) == now {
            return;
        }
        lock(&self.reading).clone_from(&now);
        self.obj().notify(reading::PROPERTY);
        let (_, Reading { text, sidecar, warnings }) = now;
        reading::post(&*self.obj(), &text, &sidecar);
        for warning in warnings {
            let name = self.obj().name();
            gst::element_imp_warning!(self, gst::StreamError::Decode, ("{name}: {warning}"));
        }
    }
}
