//! Thresholds and limits, and the check of their ranges.

use super::DetectError;

/// What suppresses overlapping boxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nms {
    /// Greedy, within a class.
    ClassWise,
    /// Greedy, across classes.
    Agnostic,
    /// Soft-NMS, linear decay, within a class: overlaps above [`DetectParams::iou`] lower a confidence by `1 - IoU`
    /// (Bodla et al., "Soft-NMS", ICCV 2017, section 3).
    SoftLinear,
    /// Soft-NMS, gaussian decay, within a class: every overlap lowers a confidence by `exp(-IoU^2 / sigma)`
    /// (same paper). What falls below the confidence threshold is dropped; so with linear decay.
    SoftGaussian {
        /// Width of the decay, above 0; the paper uses 0.5.
        sigma: f32,
    },
    /// Nothing.
    None,
}

/// Thresholds and limits. The defaults are those of YOLOv5's and Ultralytics' own prediction tools where they agree
/// (`max_nms=30000`, `max_det=300`), and YOLOv5's and YOLOX's IoU of 0.45. For measuring mAP lower `confidence` (0.001).
#[derive(Clone, Debug, PartialEq)]
pub struct DetectParams {
    /// Boxes below this confidence are dropped (0..=1; equal passes).
    pub confidence: f32,
    /// Confidence thresholds of single classes, instead of `confidence` (0..=1).
    pub class_confidence: Vec<(u32, f32)>,
    /// Overlap above which the weaker box is suppressed (0..=1).
    pub iou: f32,
    /// IoU thresholds of single classes, instead of `iou` (class-wise NMS only, ignored otherwise).
    pub class_iou: Vec<(u32, f32)>,
    /// What suppresses.
    pub nms: Nms,
    /// Strongest candidates kept before NMS, at least 1.
    pub top_k_before: usize,
    /// Strongest boxes kept after NMS, at least 1.
    pub top_k_after: usize,
    /// Classes to keep; empty keeps all.
    pub classes: Vec<u32>,
    /// Whether every class of an anchor that passes is a candidate, and not the best one only, as the YOLO family's tools
    /// do for measuring mAP.
    pub multi_label: bool,
    /// Whether boxes are clamped to the frame before the suppression compares them, as libreyolo does, and not after it.
    pub clip_before_nms: bool,
    /// Boxes narrower or lower than this (frame pixels, after clamping) are dropped; they suppress nothing.
    pub min_size: [f32; 2],
}

impl Default for DetectParams {
    fn default() -> Self {
        Self {
            confidence: 0.25,
            class_confidence: Vec::new(),
            iou: 0.45,
            class_iou: Vec::new(),
            nms: Nms::ClassWise,
            top_k_before: 30_000,
            top_k_after: 300,
            classes: Vec::new(),
            multi_label: false,
            clip_before_nms: false,
            min_size: [0.0; 2],
        }
    }
}

impl DetectParams {
    /// Checks every range.
    pub(super) fn validate(&self) -> Result<(), DetectError> {
        fraction("confidence", self.confidence)?;
        fraction("iou", self.iou)?;
        by_class("class_confidence", &self.class_confidence)?;
        by_class("class_iou", &self.class_iou)?;
        if let Nms::SoftGaussian { sigma } = self.nms
            && !(sigma > 0.0 && sigma.is_finite())
        {
            return Err(out_of_range("sigma", sigma, "a number above 0"));
        }
        for (name, k) in [("top_k_before", self.top_k_before), ("top_k_after", self.top_k_after)] {
            if k == 0 {
                return Err(out_of_range(name, k, "at least 1"));
            }
        }
        for side in self.min_size {
            if !(side >= 0.0 && side.is_finite()) {
                return Err(out_of_range("min_size", side, "a number of pixels, 0 or more"));
            }
        }
        Ok(())
    }

    /// The IoU threshold of class-wise NMS in `class`.
    pub(super) fn iou_of(&self, class: u32) -> f32 {
        self.class_iou.iter().find(|(c, _)| *c == class).map_or(self.iou, |(_, iou)| *iou)
    }
}

fn fraction(name: &str, value: f32) -> Result<(), DetectError> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(out_of_range(name, value, "between 0 and 1")) }
}

fn by_class(name: &str, values: &[(u32, f32)]) -> Result<(), DetectError> {
    for (i, (class, value)) in values.iter().enumerate() {
        fraction(&format!("{name} of class {class}"), *value)?;
        if values[..i].iter().any(|(earlier, _)| earlier == class) {
            return Err(out_of_range(name, format!("two values for class {class}"), "one value a class"));
        }
    }
    Ok(())
}

pub(super) fn out_of_range(name: &str, value: impl ToString, wanted: &'static str) -> DetectError {
    DetectError::Param { name: name.into(), value: value.to_string(), wanted }
}
