//! How boxes of several regions are merged, as the properties name it.

use crate::property::Words;

/// How boxes that match are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMerge")]
#[allow(missing_docs)]
pub enum MergeChoice {
    #[default]
    #[enum_value(name = "union, or suppress for rotated boxes", nick = "auto")]
    Auto,
    #[enum_value(
        name = "The most confident box becomes the box around all (SAHI's GREEDYNMM)",
        nick = "union"
    )]
    Union,
    #[enum_value(name = "The most confident box stays as it is (SAHI's NMS)", nick = "suppress")]
    Suppress,
    #[enum_value(name = "Nothing is merged", nick = "none")]
    None,
}

impl Words for MergeChoice {}

/// Which overlap of two boxes is compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMergeOverlap")]
#[allow(missing_docs)]
pub enum MergeOverlap {
    #[default]
    #[enum_value(name = "Intersection over the smaller box", nick = "ios")]
    Ios,
    #[enum_value(name = "Intersection over union", nick = "iou")]
    Iou,
}

impl Words for MergeOverlap {}
