//! SECTION:element-inferpublish
//!
//! Writes records of frames, events and tracks, a line of JSON each, to a file, a FIFO or the standard output, and passes the
//! frames on. docs/schema.md describes the lines, docs/schema.json is their JSON Schema.
//!
//! A thread of the element writes the lines. Frames wait for the destination only while `queue-size` lines are queued; with
//! `leaky`, a line is dropped and counted instead. EOS is passed on when all lines are written.
//!
//! ```text
//! gst-launch-1.0 -q filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms ! tracker ! inferpublish ! fakesink | head
//! ```

use gst::prelude::*;

mod destination;
mod imp;
mod settings;
mod table;
mod warnings;

pub use crate::publish::{DiskFull, Flush, Format, Leaky, RecordKinds, SecondPass};

glib::wrapper! {
    /// The element.
    pub struct InferPublish(ObjectSubclass<imp::InferPublish>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "inferpublish", gst::Rank::NONE, InferPublish::static_type())
}
