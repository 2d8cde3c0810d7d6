//! From a detector's output tensors to boxes in the frame: decode, threshold, top-k, NMS.

use crate::geometry::{Affine, Rect};
use crate::tensor::{TensorDesc, TensorView};

/// One detected object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Its box, in frame pixels, clamped to the frame.
    pub rect: Rect,
    /// 0..1.
    pub confidence: f32,
    /// Index of its class.
    pub class: u32,
}

/// How a family of detectors writes its boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecoderKind {
    /// `[1, N, 5 + C]`: centre x, y, width, height in tensor pixels, objectness, class scores.
    Yolov5,
    /// `[1, 4 + C, N]`: centre x, y, width, height in tensor pixels, class scores (v8, v9, v11).
    Yolov8,
    /// `[1, N, 5 + C]` as yolov5, but in grid cells: needs strides and exp.
    Yolox,
    /// `[1, M, 6]`: x1, y1, x2, y2 in tensor pixels, confidence, class; already suppressed (v10, v26).
    EndToEnd,
    /// Class scores `[1, Ns, C]` and DFL logits `[1, Ns, 4 * (bins)]` for three strides.
    Nanodet,
    /// `[1, N, 4]` boxes and `[1, N, C]` scores (SSD, DETR).
    BoxesScores,
}

/// What suppresses overlapping boxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nms {
    /// Within a class.
    ClassWise,
    /// Across classes.
    Agnostic,
    /// Soft-NMS, linear decay, within a class.
    SoftLinear,
    /// Soft-NMS, gaussian decay with this sigma, within a class.
    SoftGaussian {
        /// Width of the decay.
        sigma: f32,
    },
    /// Nothing.
    None,
}

/// Thresholds and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Boxes below this confidence are dropped.
    pub confidence: f32,
    /// Confidence thresholds of single classes.
    pub class_confidence: Vec<(u32, f32)>,
    /// Overlap above which the weaker box is suppressed.
    pub iou: f32,
    /// IoU thresholds of single classes (class-wise NMS only).
    pub class_iou: Vec<(u32, f32)>,
    /// What suppresses.
    pub nms: Nms,
    /// Strongest candidates kept before NMS.
    pub top_k_before: usize,
    /// Strongest boxes kept after NMS.
    pub top_k_after: usize,
    /// Classes to keep; empty keeps all.
    pub classes: Vec<u32>,
    /// Boxes narrower or lower than this (frame pixels) are dropped.
    pub min_size: [f32; 2],
}
