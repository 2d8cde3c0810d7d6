//! How masks are made, and maps of numbers and pictures are read.

use cudainfer_kernels::preproc::{ChannelOrder, Layout};
use cudainfer_kernels::segment;
use serde::{Deserialize, Serialize};

use crate::word;
use crate::{MapRange, MaskMode};

/// `[segment]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Segment {
    /// Name of the output with the logits, or with the prototypes or maps for masks of objects.
    pub output: Option<String>,
    /// Name of the output with the classes of queries, whose masks the other one holds.
    pub classes: Option<String>,
    /// `argmax`, `threshold`, `soft` or `instances`.
    #[serde(with = "word")]
    pub mode: Option<MaskMode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(with = "word")]
    pub activation: Option<segment::Activation>,
    /// `nchw` or `nhwc`.
    #[serde(with = "word")]
    pub layout: Option<Layout>,
    /// Minimum value inside the mask.
    pub threshold: Option<f32>,
    /// Whether the masks of objects are interpolated to the frame's pixels before they are compared.
    pub upsample: Option<bool>,
    /// The channel of `threshold` and `soft`.
    pub channel: Option<u32>,
    /// Background class of `argmax`, -1 for none.
    pub background: Option<i32>,
    /// Weight of the previous frames in temporal smoothing.
    pub smoothing: Option<f32>,
    /// Radius of the opening, in cells.
    pub opening: Option<u32>,
    /// Radius of the closing, in cells.
    pub closing: Option<u32>,
    /// Minimum size of a connected area in cells.
    pub min_area: Option<u32>,
}

/// `[map]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Map {
    /// The output that holds the map or picture.
    pub output: Option<String>,
    /// The output with one number for the frame.
    pub score: Option<String>,
    /// What the map's sum is a number of.
    pub counts: Option<String>,
    /// `nchw` or `nhwc`.
    #[serde(with = "word")]
    pub layout: Option<Layout>,
    /// `fixed` or `frame`.
    #[serde(with = "word")]
    pub range: Option<MapRange>,
    /// The value that becomes 0.
    pub range_min: Option<f32>,
    /// The value that becomes the greatest sample.
    pub range_max: Option<f32>,
    /// Of a picture, added after `std`: one value, or one per channel in the tensor's channel order.
    pub mean: Option<Vec<f32>>,
    /// Of a picture, factor on the values: one value, or one per channel.
    pub std: Option<Vec<f32>>,
    /// Of a picture: `rgb` or `bgr`.
    #[serde(with = "word")]
    pub channels: Option<ChannelOrder>,
}
