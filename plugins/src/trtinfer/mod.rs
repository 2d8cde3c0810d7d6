//! SECTION:element-trtinfer
//!
//! Runs an ONNX model with ONNX Runtime on the tensor that fusedpreproc attached, and replaces the tensor by the model's
//! outputs. The frame is not changed.
//!
//! A sidecar, a small TOML file beside the model with the same name, describes what the ONNX file does not: normalisation,
//! channel order, decoder, labels. With it, a pipeline needs only `model=`.
//!
//! ```text
//! gst-launch-1.0 videotestsrc num-buffers=100 ! fusedpreproc ! trtinfer model=yolo11n.onnx ! gpunms ! fakesink
//! ```
//!
//! Frames are inferred in batches, and a thread of the element pushes them on in order, so that decoding, inference and the
//! elements downstream run in parallel. Elements that name the same `instance` share the model, and their frames fill
//! batches together:
//!
//! ```text
//! frames -> lane (order, max-in-flight) -> the instance's queue -> batch -> worker -> lane -> next element
//! ```

use gst::prelude::*;

mod answers;
mod batcher;
mod change;
mod change_constants;
mod constants;
mod cores;
mod flow;
mod forms;
mod frames;
mod given;
mod given_slot;
mod history;
mod imp;
mod instance;
mod instance_slot;
mod lane;
mod latency;
mod leaky;
mod load;
mod look;
mod memories;
mod negotiate;
mod owner;
mod pending;
mod profile;
mod prompts;
mod pusher;
mod request;
mod settings;
mod setup;
mod shape;
mod slot;
mod switch;
mod worker;

glib::wrapper! {
    /// The element.
    pub struct TrtInfer(ObjectSubclass<imp::TrtInfer>) @extends gst::Element, gst::Object, @implements gst::Preset;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "trtinfer", gst::Rank::NONE, TrtInfer::static_type())
}
