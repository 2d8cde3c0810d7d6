//! SECTION:element-classify
//!
//! Turns a classifier's scores into the best classes. Behind `fusedpreproc roi=objects`, where the model saw a region of the
//! frame for each object, they become the parameter `classification` of that object (see [`crate::meta::object`]). If the
//! model saw the whole frame, they become that of a region of interest as large as the frame. The names of the classes are
//! the labels of the model's sidecar.
//!
//! ```text
//! gst-launch-1.0 uridecodebin uri=file:///street.avi ! videoconvert ! fusedpreproc ! trtinfer model=nanodet.onnx ! gpunms \
//!   ! fusedpreproc roi=objects ! trtinfer model=resnet50.onnx ! classify top-k=5 ! inferpublish location=classes.jsonl ! fakesink
//! ```

use gst::prelude::*;

mod imp;
mod objects;
mod settings;

glib::wrapper! {
    /// The element.
    pub struct Classify(ObjectSubclass<imp::Classify>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "classify", gst::Rank::NONE, Classify::static_type())
}
