//! SECTION:element-tracker
//!
//! Gives the objects that gpunms found identities that last from frame to frame: a `tracking` parameter on each
//! object's `GstVideoRegionOfInterestMeta` (see [`crate::meta::object`]). SORT is simple and quick; ByteTrack also
//! follows weak detections and comes through occlusions.
//!
//! ```text
//! gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms classes=person ! tracker algorithm=sort ! inferpublish ! fakesink
//! ```
//!
//! Identities count up from 1 and start anew with each stream and after a flush. Results depend on the frames alone,
//! never on threads or time.

use gst::prelude::*;

mod imp;

glib::wrapper! {
    /// The element.
    pub struct Tracker(ObjectSubclass<imp::Tracker>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// How detections become tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferTrackAlgorithm")]
#[allow(missing_docs)]
pub enum Algorithm {
    #[enum_value(name = "SORT (Bewley et al., 2016): one association by IoU", nick = "sort")]
    Sort,
    #[default]
    #[enum_value(
        name = "ByteTrack (Zhang et al., 2022): a second association for weak detections",
        nick = "bytetrack"
    )]
    ByteTrack,
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "tracker", gst::Rank::NONE, Tracker::static_type())
}
