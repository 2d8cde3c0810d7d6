//! What a detector's outputs are, and the boxes that its boxes are counted from.

use std::path::PathBuf;

use cudainfer_kernels::detect::{
    self, Activation, AnchorFormula, AxisOrder, Background, BoxFormat, DecoderKind, RowFormat, SizeUnit,
};
use serde::{Deserialize, Serialize};

use crate::{NmsMode, word};

/// `[output]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Output {
    /// Format of the detector's outputs.
    #[serde(with = "word")]
    pub decoder: Option<DecoderKind>,
    /// Names of the classes or of the keypoints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// File beside the sidecar with the same names, one per line.
    pub labels_file: Option<PathBuf>,
    /// Confidence threshold.
    pub confidence: Option<f32>,
    /// IoU threshold.
    pub iou: Option<f32>,
    /// How overlapping boxes are suppressed.
    #[serde(with = "word")]
    pub nms: Option<NmsMode>,
    /// Whether every class of an anchor that passes becomes a box, not only the best.
    pub multi_label: Option<bool>,
    /// Whether boxes are clamped to the frame before overlapping ones are suppressed.
    pub clip_before_nms: Option<bool>,
    /// Strides of the grids, in the order in which the model writes them.
    pub strides: Option<Vec<usize>>,
    /// Format of the boxes, instead of the decoder's own.
    #[serde(with = "word")]
    pub box_format: Option<BoxFormat>,
    /// Whether these boxes are fractions of the input, 0 to 1.
    pub normalized: Option<bool>,
    /// What turns the scores into probabilities.
    #[serde(with = "word")]
    pub activation: Option<Activation>,
    /// Which class is the background.
    #[serde(with = "word")]
    pub background: Option<Background>,
    /// Order of the columns of final boxes, for the end-to-end decoder.
    #[serde(with = "word")]
    pub row_format: Option<RowFormat>,
    /// Number of keypoints of an object, if boxes have keypoints.
    pub keypoints: Option<usize>,
    /// Unit of a heat map's sizes.
    #[serde(with = "word")]
    pub size_unit: Option<SizeUnit>,
    /// First axis of a heat map's sizes, offsets and landmarks.
    #[serde(with = "word")]
    pub axis_order: Option<AxisOrder>,
    /// Cells of a map of text above it are text.
    pub map_threshold: Option<f32>,
    /// How much a line of text is widened, by its area and perimeter.
    pub unclip_ratio: Option<f32>,
}

/// `[priors]`: lists of one for each stride.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Priors {
    /// Sides of squares in tensor pixels.
    pub min_sizes: Vec<Vec<f32>>,
    /// One for each minimum size: a square of the root of both follows that of the minimum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub max_sizes: Vec<Vec<f32>>,
    /// Aspect ratios other than 1, of which each gives a wide and a high box.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aspect_ratios: Vec<Vec<f32>>,
    /// Factors on the offsets of the centre, and on the logarithms of the size.
    pub variances: Option<[f32; 2]>,
    /// Whether centre and size are clamped to the tensor.
    pub clip: Option<bool>,
}

impl Priors {
    /// For the decoder.
    pub fn kernel(&self) -> detect::Priors {
        detect::Priors {
            min_sizes: self.min_sizes.clone(),
            max_sizes: self.max_sizes.clone(),
            aspect_ratios: self.aspect_ratios.clone(),
            variances: self.variances.unwrap_or(detect::VARIANCES),
            clip: self.clip.unwrap_or(false),
        }
    }
}

/// `[anchors]`: lists of one for each stride.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Anchors {
    /// Width and height of one anchor after the other, in tensor pixels.
    pub sizes: Vec<Vec<f32>>,
    /// `yolov3`, `yolov5` or `new-coords`.
    #[serde(with = "word")]
    pub formula: Option<AnchorFormula>,
    /// How far centres reach beyond their cell, for each stride, with the formulas `yolov3` and `new-coords`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scale_xy: Vec<f32>,
}

impl Anchors {
    /// For the decoder; none without a formula, which a sidecar must have.
    pub fn kernel(&self) -> Option<detect::AnchorSizes> {
        let (sizes, scale_xy) = (self.sizes.clone(), self.scale_xy.clone());
        Some(detect::AnchorSizes { sizes, formula: self.formula?, scale_xy })
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.sizes.is_empty() {
            return Err("anchors.sizes is missing: write a list for each stride with width and height of one anchor after the \
                        other in pixels, as in [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]]"
                .into());
        }
        if self.formula.is_none() {
            return Err("anchors.formula is missing: write \"yolov3\" for YOLOv3 and v4, \"yolov5\" for YOLOv5 and v7, \"new-coords\" for \
                        Scaled-YOLOv4 of Darknet".into());
        }
        Ok(())
    }
}
