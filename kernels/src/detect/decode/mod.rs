//! One file a family of detectors: what it wants (`wanted`), whether an offer is that (`fits`), how to read it
//! (`Plan::decode`).

mod boxes;
mod boxes_scores;
mod centers;
mod end_to_end;
mod head;
mod nanodet;
mod objectness;
mod scan;
mod yolo_pose;
mod yolo_seg;
mod yolov5;
mod yolov8;
mod yolox;

use std::borrow::Cow;

use crate::tensor::TensorView;

use super::attached::Extra;
use super::candidates::Collector;
use super::cuda::{Layout, Output};
use super::offer::{Fit, Offer, Plane, matrix};
use super::{DecoderKind, DetectError, Masks};

pub(super) use scan::probability;

/// How to read the outputs that were offered.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    Yolov5(yolov5::Plan),
    Yolov8(yolov8::Plan),
    Yolox(yolox::Plan),
    EndToEnd(end_to_end::Plan),
    Nanodet(nanodet::Plan),
    BoxesScores(boxes_scores::Plan),
    YoloPose(yolo_pose::Plan),
    YoloSeg(yolo_seg::Plan),
    Centers(centers::Plan),
}

impl Plan {
    /// Collects the candidates of one frame; `outputs` are as many as were offered.
    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        match self {
            Self::Yolov5(plan) => plan.decode(outputs, into),
            Self::Yolov8(plan) => plan.decode(outputs, into),
            Self::Yolox(plan) => plan.decode(outputs, into),
            Self::EndToEnd(plan) => plan.decode(outputs, into),
            Self::Nanodet(plan) => plan.decode(outputs, into),
            Self::BoxesScores(plan) => plan.decode(outputs, into),
            Self::YoloPose(plan) => plan.head.decode(outputs, into),
            Self::YoloSeg(plan) => plan.head.decode(outputs, into),
            Self::Centers(plan) => plan.decode(outputs, into),
        }
    }

    /// How the GPU reads a batch's outputs, as many as were offered; refuses what [`Plan::decode`] refuses of a row.
    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        match self {
            Self::Yolov5(plan) => plan.layout(outputs),
            Self::Yolov8(plan) => plan.layout(outputs),
            Self::Yolox(plan) => plan.layout(outputs),
            Self::EndToEnd(plan) => plan.layout(outputs),
            Self::Nanodet(plan) => plan.layout(outputs),
            Self::BoxesScores(plan) => plan.layout(outputs),
            Self::YoloPose(plan) => plan.head.layout(outputs),
            Self::YoloSeg(plan) => plan.head.layout(outputs),
            Self::Centers(plan) => plan.layout(outputs),
        }
    }

    /// What there is of an object besides its box, and where; refuses what [`Plan::decode`] refuses, too.
    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Option<Extra>, DetectError> {
        match self {
            Self::YoloPose(plan) => plan.extra(outputs).map(Some),
            Self::YoloSeg(plan) => plan.extra(outputs).map(Some),
            Self::Centers(plan) => plan.extra(outputs),
            _ => Ok(None),
        }
    }

    /// The corners of one detection's box in tensor pixels, where its extra is written relative to it.
    pub fn corners(&self, outputs: &[TensorView<'_>], anchor: usize) -> [f32; 4] {
        match self {
            Self::Centers(plan) => plan.corners_of(outputs, anchor),
            _ => [0.0; 4],
        }
    }

    /// Keypoints of each object.
    pub fn keypoints(&self) -> usize {
        match self {
            Self::YoloPose(plan) => plan.points(),
            Self::Centers(plan) => plan.points(),
            _ => 0,
        }
    }

    /// How masks are written.
    pub fn masks(&self) -> Option<Masks> {
        match self {
            Self::YoloSeg(plan) => {
                Some(Masks { prototypes: plan.prototypes(), coefficients: plan.coefficients() })
            }
            _ => None,
        }
    }

    /// Whether the model has suppressed overlaps itself.
    pub fn is_suppressed(&self) -> bool {
        match self {
            Self::EndToEnd(_) => true,
            Self::YoloPose(plan) => plan.head.is_suppressed(),
            Self::YoloSeg(plan) => plan.head.is_suppressed(),
            _ => false,
        }
    }

    /// Whether neighbouring scores are those of neighbouring anchors, not classes.
    pub fn by_columns(&self) -> bool {
        match self {
            Self::Yolov8(_) => true,
            Self::YoloPose(plan) => !plan.head.is_suppressed(),
            Self::YoloSeg(plan) => !plan.head.is_suppressed(),
            Self::Centers(plan) => plan.by_columns(),
            _ => false,
        }
    }
}

/// Every way in which decoder `kind` can read the offer.
pub(super) fn fits(kind: DecoderKind, offer: &Offer<'_>) -> Vec<Fit> {
    match kind {
        DecoderKind::Yolov5 => yolov5::fits(offer),
        DecoderKind::Yolov8 => yolov8::fits(offer),
        DecoderKind::Yolox => yolox::fits(offer),
        DecoderKind::EndToEnd => end_to_end::fits(offer),
        DecoderKind::Nanodet => nanodet::fits(offer),
        DecoderKind::BoxesScores => boxes_scores::fits(offer),
        DecoderKind::YoloPose => yolo_pose::fits(offer),
        DecoderKind::YoloSeg => yolo_seg::fits(offer),
        DecoderKind::Centernet | DecoderKind::Centerface => centers::fits(kind, offer),
    }
}

/// What decoder `kind` reads, with the numbers of this offer, to end a sentence with.
pub(super) fn wanted(kind: DecoderKind, offer: &Offer<'_>) -> String {
    match kind {
        DecoderKind::Yolov5 => yolov5::wanted(offer),
        DecoderKind::Yolov8 => yolov8::wanted(offer),
        DecoderKind::Yolox => yolox::wanted(offer),
        DecoderKind::EndToEnd => end_to_end::wanted(offer),
        DecoderKind::Nanodet => nanodet::wanted(offer),
        DecoderKind::BoxesScores => boxes_scores::wanted(offer),
        DecoderKind::YoloPose => yolo_pose::wanted(offer),
        DecoderKind::YoloSeg => yolo_seg::wanted(offer),
        DecoderKind::Centernet | DecoderKind::Centerface => centers::wanted(kind, offer),
    }
}

/// An actual tensor, read as a matrix.
struct Matrix<'a> {
    columns: usize,
    data: Cow<'a, [f32]>,
}

/// What a tensor says of itself, wherever its elements lie.
pub(super) trait Shaped {
    fn name(&self) -> &str;
    fn dims(&self) -> &[usize];

    /// Frames that are read of it.
    fn rows(&self) -> usize {
        1
    }

    /// Whether a first dimension of `batch` holds the frames that are read, and no more than may be there.
    fn holds(&self, batch: usize) -> bool {
        batch == 1
    }

    /// Rows and columns of one frame's matrix; none where the tensor holds none, or those of too few or too many frames.
    fn shape(&self) -> Option<[usize; 2]> {
        // A matrix without a dimension for the batch is one frame's.
        let one_frame = self.dims().len() > 2 || self.rows() <= 1;
        one_frame.then(|| matrix(self.dims(), 1, |batch| self.holds(batch)))?
    }

    /// The dimensions of one frame's maps; none as for [`Shaped::shape`].
    fn maps(&self) -> Option<[usize; 3]> {
        match *self.dims() {
            [batch, a, b, c] if self.holds(batch) => Some([a, b, c]),
            _ => None,
        }
    }
}

impl Shaped for TensorView<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn dims(&self) -> &[usize] {
        &self.dims
    }
}

/// Rows and columns of `tensor`, if they are `right`.
fn check(
    kind: DecoderKind,
    tensor: &impl Shaped,
    wanted: impl FnOnce() -> String,
    right: impl FnOnce(usize, usize) -> bool,
) -> Result<[usize; 2], DetectError> {
    match tensor.shape() {
        Some([rows, columns]) if right(rows, columns) => Ok([rows, columns]),
        _ => Err(misshapen(kind, tensor, wanted())),
    }
}

/// That `tensor` is not as `wanted`.
fn misshapen(kind: DecoderKind, tensor: &impl Shaped, wanted: String) -> DetectError {
    let (name, dims) = (tensor.name().into(), tensor.dims().into());
    let wanted = match tensor.rows() {
        0 | 1 => wanted,
        rows => format!("{wanted} for each of {rows} frames, along the first dimension"),
    };
    DetectError::Shape { kind, name, dims, wanted }
}

/// Reads `view` as a matrix of this shape, which [`check`] has found it to have.
fn read<'a>(view: &TensorView<'a>, [_, columns]: [usize; 2]) -> Matrix<'a> {
    Matrix { columns, data: view.to_f32() }
}

/// Whether a transposed reading is believable: more anchors than channels, as far as both are known.
fn is_tall(anchors: Option<usize>, channels: Option<usize>) -> bool {
    !matches!((anchors, channels), (Some(anchors), Some(channels)) if anchors <= channels)
}

/// The planes that one-output decoders look at.
fn single(offer: &Offer<'_>, fit: impl Fn(&Plane) -> Option<Fit>) -> Vec<Fit> {
    offer.planes.iter().filter_map(fit).collect()
}

/// A column's index as a class.
fn class_index(column: usize) -> u32 {
    u32::try_from(column).unwrap_or(u32::MAX)
}
