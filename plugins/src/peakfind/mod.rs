//! SECTION:element-peakfind
//!
//! Finds keypoints in the outputs of a pose model, in confidence maps (heat maps) with sub-cell accuracy, and groups them into objects. With `mode=global`,
//! each channel gives its highest peak (if one person or animal is in view); with `mode=local`, every local maximum above
//! the threshold.
//!
//! Models without confidence maps are read as well: SimCC (RTMPose, DWPose) and coordinates (MoveNet, regression heads, what
//! sleap-nn exports), and lanes of roads as polylines (Ultra-Fast-Lane-Detection, CLRNet). The kind
//! of outputs is decided by their names and shapes, unless `encoding` sets it.
//!
//! `grouping` is how keypoints become objects:
//!
//! - `frame`: all are one `GstVideoRegionOfInterestMeta` with a `keypoints` parameter (see [`crate::meta::region`]).
//! - `each`: every point is an object, whose `detection` is a box of size 0; `fusedpreproc roi=objects` takes centroids so.
//! - `paf` and `displacements`: further outputs of the model tell which points belong to the same person or animal, and
//!   each of these is an object.
//!
//! Points have the names and edges of the skeleton in the model's sidecar. Downstream of `fusedpreproc roi=objects`, the points
//! of a region belong to the object that the region was made for.
//!
//! ```text
//! gst-launch-1.0 filesrc location=dancer.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=posenet.onnx ! peakfind mode=global ! inferoverlay ! videoconvert ! autovideosink
//! ```
//!
//! Coordinates are continuous: the centre of a pixel is at its index plus one half.

use gst::prelude::*;

mod coordinates;
mod encoding;
mod found;
mod grouping;
mod identity;
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
