//! SECTION:element-peakfind
//!
//! Turns confidence maps (heat-maps) into points on the frame, to a fraction of a cell. `mode=global` takes the one
//! highest peak of each channel (one person or animal in view), `mode=local` every local maximum above the threshold.
//! The points become one `GstVideoRegionOfInterestMeta` a frame with a `keypoints` parameter (see
//! [`crate::meta::object`]); their names are the labels of the model's sidecar.
//!
//! ```text
//! gst-launch-1.0 filesrc location=dancer.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=posenet.onnx ! peakfind mode=global ! inferoverlay ! autovideosink
//! ```
//!
//! Coordinates are continuous: a pixel's centre is at its index plus one half.

use gst::prelude::*;

mod enums;
mod imp;
mod settings;

pub use enums::{Activation, Grid, Mode, Refinement};

glib::wrapper! {
    /// The element.
    pub struct PeakFind(ObjectSubclass<imp::PeakFind>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "peakfind", gst::Rank::NONE, PeakFind::static_type())
}
