//! Frames whose caps announce no tensors of this plugin: their decoder is made for the tensors that they carry.

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::DecodingElement;
use crate::ignored;
use crate::meta::tensor::TensorSet;
use crate::notice;
use crate::sync::lock;

impl DecodingElement {
    /// Before a frame is decoded: makes a decoder for the tensors that it carries, if the current one does not fit them.
    pub(super) fn follow_frame(&self, frame: &gst::BufferRef) -> Result<(), gst::FlowError> {
        let mut plain = lock(&self.plain);
        if !plain.come() {
            return Ok(());
        }
        let found = plain.tensors(frame);
        let (incoming, outgoing, info) = plain.negotiated();
        let changed = match &found {
            Some((sets, _)) => sets.first().is_some_and(|set| plain.follow(set)),
            None => lock(&self.decoder).is_none(),
        };
        let described = plain.described();
        drop(plain);
        let Some(caps) = found.as_ref().and(described).or(incoming).filter(|_| changed) else {
            return Ok(());
        };
        // For a frame without tensors, the decoder reports what is missing.
        match self.prepare(&caps, &info, outgoing.as_ref()) {
            Ok(decoder) => {
                *lock(&self.decoder) = Some(decoder);
                if let Some(outgoing) = &outgoing {
                    self.tell_reading(&caps, &info, outgoing);
                }
                Ok(())
            }
            Err(why) => {
                notice::refused_caps(&*self.obj(), &why);
                Err(gst::FlowError::NotNegotiated)
            }
        }
    }

    /// The tensors of a frame whose caps do not announce this plugin's; none where none can be read, which is reported once and
    /// counted.
    pub(super) fn tensors_of_plain(&self, frame: &gst::BufferRef) -> Vec<TensorSet> {
        let mut plain = lock(&self.plain);
        let (sets, wrong) = plain.tensors(frame).unwrap_or_else(|| (vec![], vec!["it carries none".into()]));
        ignored::note(wrong.len());
        let first = wrong.first().filter(|_| plain.warns()).cloned();
        drop(plain);
        if let Some(why) = first {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Decode,
                (
                    "{}: a tensor of a frame is not read: {why}. Further ones are counted as ignored-metadata in stats; the log category \
                     cudainfer-tensors has all of them",
                    self.obj().name()
                )
            );
        }
        sets
    }
}
