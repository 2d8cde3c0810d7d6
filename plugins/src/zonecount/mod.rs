//! SECTION:element-zonecount
//!
//! Counts tracked objects in polygons and across lines, by class: which enter and leave, how long they stay, how many are in a
//! polygon, and how many cross a line in which direction. The results are metadata (see [`crate::meta::zone`]), which
//! inferoverlay draws and inferpublish writes, and element messages called `zonecount-event`.
//!
//! ```text
//! gst-launch-1.0 -m filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms classes=person ! tracker \
//!   ! zonecount zones="door=line:100,400,500,400;yard=polygon:0,300,600,300,600,570,0,570" \
//!   ! inferoverlay ! videoconvert ! autovideosink
//! ```
//!
//! The rules (edges, jitter, lost objects, places in the world) are those of [`cudainfer_kernels::zones`].

use gst::prelude::*;

mod file;
mod imp;
mod messages;
mod notices;
mod properties;
mod results;
mod settings;
mod sight;
mod stream_counter;
mod syntax;

glib::wrapper! {
    /// The element.
    pub struct ZoneCount(ObjectSubclass<imp::ZoneCount>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "zonecount", gst::Rank::NONE, ZoneCount::static_type())
}
