//! One file a family of detectors: what it wants (`wanted`), whether an offer is that (`fits`), how to read it
//! (`Plan::decode`).

mod boxes;
mod boxes_scores;
mod end_to_end;
mod nanodet;
mod objectness;
mod scan;
mod yolov5;
mod yolov8;
mod yolox;

use std::borrow::Cow;

use crate::tensor::TensorView;

use super::candidates::Collector;
use super::offer::{Fit, Offer, Plane, matrix};
use super::{DecoderKind, DetectError};

/// How to read the outputs that were offered.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    Yolov5(yolov5::Plan),
    Yolov8(yolov8::Plan),
    Yolox(yolox::Plan),
    EndToEnd(end_to_end::Plan),
    Nanodet(nanodet::Plan),
    BoxesScores(boxes_scores::Plan),
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
    }
}

/// An actual tensor, read as a matrix.
struct Matrix<'a> {
    rows: usize,
    columns: usize,
    data: Cow<'a, [f32]>,
}

/// Rows and columns of a tensor whose batch dimension, if it has one, is 1.
fn shape_of(view: &TensorView<'_>) -> Option<[usize; 2]> {
    matrix(view.dims, 1, |batch| batch == 1)
}

/// Reads `view` as a matrix if its rows and columns are `right`.
fn read<'a>(
    kind: DecoderKind,
    view: &TensorView<'a>,
    wanted: impl FnOnce() -> String,
    right: impl FnOnce(usize, usize) -> bool,
) -> Result<Matrix<'a>, DetectError> {
    match shape_of(view) {
        Some([rows, columns]) if right(rows, columns) => Ok(Matrix { rows, columns, data: view.to_f32() }),
        _ => {
            let (name, dims) = (view.name.into(), view.dims.into());
            Err(DetectError::Shape { kind, name, dims, wanted: wanted() })
        }
    }
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
