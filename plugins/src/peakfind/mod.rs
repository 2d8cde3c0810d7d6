//! SECTION:element-peakfind
//!
//! Turns confidence maps (heat maps) into keypoints on the frame, with sub-cell accuracy. `mode=global` takes the highest
//! peak of each channel (one person or animal in view), `mode=local` every local maximum above the threshold.
//!
//! `grouping` decides which points belong together. With `frame`, all of them: they become one
//! `GstVideoRegionOfInterestMeta` with a `keypoints` parameter (see [`crate::meta::object`]). With `each`, every point is an
//! object, whose `detection` is a box of no size, for `fusedpreproc roi=objects` with centroids. With `paf` and
//! `displacements`, further outputs of the model decide which points belong to the same person or animal, and each of these
//! is an object. The names of the points and the edges between them come from the skeleton in the model's sidecar.
//!
//! Behind `fusedpreproc roi=objects`, points are attached to the object in whose region they were found.
//!
//! ```text
//! gst-launch-1.0 filesrc location=dancer.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=posenet.onnx ! peakfind mode=global ! inferoverlay ! videoconvert ! autovideosink
//! ```
//!
//! Coordinates are continuous: a pixel's centre is at its index plus one half.

use gst::prelude::*;

mod grouping;
mod imp;
mod objects;
mod search;
mod settings;

glib::wrapper! {
    /// The element.
    pub struct PeakFind(ObjectSubclass<imp::PeakFind>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "peakfind", gst::Rank::NONE, PeakFind::static_type())
}
