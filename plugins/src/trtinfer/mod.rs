//! SECTION:element-trtinfer
//!
//! Runs an ONNX model with ONNX Runtime on the tensor that fusedpreproc attached, and replaces it by the model's
//! outputs. The frame goes through untouched.
//!
//! A sidecar, a small TOML file of the model's name beside it, says what the ONNX file does not: normalisation,
//! channel order, decoder, labels. With it a line needs only `model=`.
//!
//! ```text
//! gst-launch-1.0 videotestsrc num-buffers=100 ! fusedpreproc ! trtinfer model=yolo11n.onnx ! gpunms ! fakesink
//! ```
//!
//! The element takes frames in, has them inferred in batches and pushes them on in order from a thread of its own, so that
//! decoding, inference and what is behind run at the same time. Elements that name the same `instance` share the model, and
//! their frames fill batches together:
//!
//! ```text
//! frames -> lane (order, max-in-flight) -> the instance's queue -> batch -> worker -> lane -> next element
//! ```

use gst::prelude::*;

mod batcher;
mod change;
mod cores;
mod imp;
mod instance;
mod lane;
mod latency;
mod leaky;
mod negotiate;
mod owner;
mod pusher;
mod running;
mod settings;
mod shape;
mod worker;

glib::wrapper! {
    /// The element.
    pub struct TrtInfer(ObjectSubclass<imp::TrtInfer>) @extends gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "trtinfer", gst::Rank::NONE, TrtInfer::static_type())
}
