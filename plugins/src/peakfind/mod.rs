//! SECTION:element-peakfind
//!
//! Turns confidence maps (heat-maps) into points on the frame, to a fraction of a cell. `mode=global` takes the one
//! highest peak of each channel (one person or animal in view), `mode=local` every local maximum above the threshold.
//!
//! `grouping` says which points belong together. With `frame`, all of them: they become one
//! `GstVideoRegionOfInterestMeta` with a `keypoints` parameter (see [`crate::meta::object`]). With `each`, every point is an
//! object, whose `detection` is a box of no size: so go centroids to `fusedpreproc roi=objects`. With `paf` and
//! `displacements`, further outputs of the model say which points are the same person's or animal's, and each of these is
//! an object. The points' names and the edges between them are the skeleton's of the model's sidecar.
//!
//! Behind `fusedpreproc roi=objects` the points go to the object whose region they were found in.
//!
//! ```text
//! gst-launch-1.0 filesrc location=dancer.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=posenet.onnx ! peakfind mode=global ! inferoverlay ! autovideosink
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
