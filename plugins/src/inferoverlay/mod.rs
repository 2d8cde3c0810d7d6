//! SECTION:element-inferoverlay
//!
//! Draws the results on the frame, in place: masks, zones, boxes with labels, confidences and track identities, the trails
//! of tracks, and keypoints. Each track keeps its colour. Frames in CUDA memory are drawn on there, with the same pixels.
//!
//! ```text
//! gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms ! tracker ! inferoverlay ! videoconvert ! autovideosink
//! ```

use gst::prelude::*;

mod arrows;
mod captions;
mod choice;
mod colors;
mod counts;
mod gpu;
mod heat;
mod imp;
mod lettering;
mod picture;
mod placement;
mod privacy;
mod properties;
mod settings;
mod shown;
mod stream_state;
mod trails;
mod widths;
mod zones;

pub(crate) use gpu::Artist;

glib::wrapper! {
    /// The element.
    pub struct InferOverlay(ObjectSubclass<imp::InferOverlay>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "inferoverlay", gst::Rank::NONE, InferOverlay::static_type())
}
