//! SECTION:element-tracker
//!
//! Gives detected objects identities that last from frame to frame: a `tracking` parameter on each
//! object's `GstVideoRegionOfInterestMeta` (see [`crate::meta::region`]). The algorithms are SORT, ByteTrack, OC-SORT,
//! BoT-SORT, C-BIoU, and `auto`, which combines what measured best.
//!
//! ```text
//! gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms classes=person ! tracker ! inferpublish ! fakesink
//! ```
//!
//! `similarity` selects what is compared: boxes, or keypoints, which distinguish objects that share a box. With keypoints,
//! objects without a detection are tracked too.
//!
//! Appearance is compared where it tells objects apart: `appearance=histogram` compares the boxes' colours and gradients, `auto` only while
//! neighbours differ by them, and a second model between gpunms and this element makes embeddings, which this element removes from the frame:
//!
//! ```text
//! … ! gpunms ! fusedpreproc roi=objects ! trtinfer model=reid.onnx ! tracker ! …
//! ```
//!
//! `max-tracks` is the number of individuals, where it is known: then there are never more identities than that, and one that is
//! lost is kept until its individual comes back.
//!
//! Identities count up from 1 in each stream and are never given twice, without that limit. A flush, or a new start of the stream, forgets the
//! objects. Streams that share the element downstream of a funnel are tracked separately, by their `stream-id`. Results depend on
//! the frames and their timestamps alone, never on threads.

use gst::prelude::*;

use crate::property::Words;

mod appearance;
mod carried;
mod confirmation;
mod follow;
mod imp;
mod motion;
mod pace;
mod properties;
mod scene;
mod seen_times;
mod settings;
mod sigmas;
mod stream_tracker;
mod usual_size;

glib::wrapper! {
    /// The element.
    pub struct Tracker(ObjectSubclass<imp::Tracker>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// What is compared of two objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferTrackSimilarity")]
#[allow(missing_docs)]
pub enum Similarity {
    #[default]
    #[enum_value(name = "Overlap of the detections' boxes", nick = "iou")]
    Iou,
    #[enum_value(name = "Object keypoint similarity (COCO)", nick = "oks")]
    Oks,
    #[enum_value(name = "Overlap of the boxes around the keypoints", nick = "keypoint-boxes")]
    KeypointBoxes,
}

impl Words for Similarity {}

/// How the appearance of objects is described, where no model does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferTrackAppearance")]
#[allow(missing_docs)]
pub enum Appearance {
    #[enum_value(name = "No appearance, unless a second model makes embeddings", nick = "none")]
    None,
    #[enum_value(name = "Histogram of each box's colours and gradients", nick = "histogram")]
    Histogram,
    #[default]
    #[enum_value(
        name = "Embeddings or histograms, while neighbours differ by them more than an object does over time",
        nick = "auto"
    )]
    Auto,
}

impl Words for Appearance {}

/// What becomes of objects on frames that no model sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferTrackBetween")]
#[allow(missing_docs)]
pub enum Between {
    #[enum_value(name = "They are where the filter expects them", nick = "motion")]
    Motion,
    #[default]
    #[enum_value(name = "They are where the pixels in their boxes have moved", nick = "flow")]
    Flow,
    #[enum_value(name = "They are left out", nick = "none")]
    None,
}

impl Words for Between {}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "tracker", gst::Rank::NONE, Tracker::static_type())
}
