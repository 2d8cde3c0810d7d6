//! SECTION:element-embed
//!
//! Gives objects the embeddings that a model makes of them: vectors of which those of similar objects are similar, as
//! re-identification models and the image towers of CLIP and DINO make them. Downstream of `fusedpreproc roi=objects`, where the
//! model runs on the region of each object, they are the parameter `embedding` of that object (see [`crate::meta::region`]). If
//! the model runs on the whole frame, they are put on a region of interest as large as the frame. tracker compares objects by
//! them.
//!
//! ```text
//! gst-launch-1.0 uridecodebin uri=file:///street.avi ! videoconvert ! fusedpreproc ! trtinfer model=nanodet.onnx ! gpunms \
//!   ! fusedpreproc roi=objects ! trtinfer model=reid.onnx batch-size=8 ! embed ! tracker ! inferpublish embeddings=true ! fakesink
//! ```

use gst::prelude::*;

pub(crate) mod asked;
mod imp;
mod objects;
mod settings;

glib::wrapper! {
    /// The element.
    pub struct Embed(ObjectSubclass<imp::Embed>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "embed", gst::Rank::NONE, Embed::static_type())
}
