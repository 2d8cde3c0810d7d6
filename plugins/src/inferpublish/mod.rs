//! SECTION:element-inferpublish
//!
//! Passes frames through and writes what is known of each as one line of JSON, to a file or to the standard output.
//! docs/schema.md describes the lines, docs/schema.json is their JSON Schema.
//!
//! ```text
//! gst-launch-1.0 -q filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms ! tracker ! inferpublish ! fakesink | head
//! ```

use gst::prelude::*;

mod imp;
mod record;
mod zones;

glib::wrapper! {
    /// The element.
    pub struct InferPublish(ObjectSubclass<imp::InferPublish>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "inferpublish", gst::Rank::NONE, InferPublish::static_type())
}
