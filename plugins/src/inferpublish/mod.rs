//! SECTION:element-inferpublish
//!
//! Passes frames through and writes what is known of each as one line of JSON, to a file, a FIFO or the standard output.
//! docs/schema.md describes the lines, docs/schema.json is their JSON Schema.
//!
//! A thread of its own writes the lines, so frames do not wait for the destination unless `queue-size` of them are waiting to
//! be written. Then frames wait, or with `leaky` a line is dropped and counted. At the end of the stream everything has been
//! written before EOS is passed on.
//!
//! ```text
//! gst-launch-1.0 -q filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms ! tracker ! inferpublish ! fakesink | head
//! ```

use gst::prelude::*;

mod imp;
mod settings;

pub use crate::publish::Leaky;

glib::wrapper! {
    /// The element.
    pub struct InferPublish(ObjectSubclass<imp::InferPublish>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "inferpublish", gst::Rank::NONE, InferPublish::static_type())
}
