//! SECTION:element-classify
//!
//! Finds the best classes in a classifier's scores. Downstream of `fusedpreproc roi=objects`, where the model runs on the region
//! of each object, they are the parameter `classification` of that object (see [`crate::meta::region`]). If the model runs on the
//! whole frame, they are put on a region of interest as large as the frame. The names of the classes are the labels in the
//! model's sidecar.
//!
//! With `mode=values` the numbers are those that the sidecar names, such as an age: values, and classes of parts of them.
//!
//! With `mode=text` the scores are those of a line's characters, and what is read becomes the `classification`.
//!
//! The tensors go on to an element downstream that asks for them, so that each output of a model with several has a classify:
//! `trtinfer ! classify output=colour ! classify output=type`. Each gives the object a classification of its own.
//!
//! ```text
//! gst-launch-1.0 uridecodebin uri=file:///street.avi ! videoconvert ! fusedpreproc ! trtinfer model=nanodet.onnx ! gpunms \
//!   ! fusedpreproc roi=objects ! trtinfer model=resnet50.onnx ! classify top-k=5 ! inferpublish location=classes.jsonl ! fakesink
//! ```

use gst::prelude::*;

mod activation;
mod held;
mod imp;
mod objects;
mod settings;
mod text;
mod unstated;
mod values;

glib::wrapper! {
    /// The element.
    pub struct Classify(ObjectSubclass<imp::Classify>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "classify", gst::Rank::NONE, Classify::static_type())
}
