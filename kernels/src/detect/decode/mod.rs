//! One file a family of detectors: what it wants (`wanted`), whether an offer is that (`fits`), how to read it
//! (`Plan::decode`).

mod boxes;
mod boxes_scores;
mod by_level;
mod centers;
mod db;
mod detections;
mod detectnet;
mod end_to_end;
mod finals;
mod head;
mod matrix;
mod nanodet;
mod objectness;
mod priors;
mod queries;
pub(super) mod scan;
mod scores;
mod scrfd;
mod yolo_anchors;
mod yolo_obb;
mod yolo_pose;
mod yolo_seg;
mod yolov5;
mod yolov8;
mod yolox;
mod yunet;

use crate::tensor::TensorView;

use super::attached::{Extra, Masks, Spot};
use super::candidates::Collector;
use super::cuda::{Layout, Output};
use super::offer::{Fit, Offer};
use super::rotated::Rotated;
use super::{Activation, DecoderKind, DetectError};

pub(super) use end_to_end::needs_format;
pub(super) use matrix::Shaped;
pub(super) use queries::needs_activation;
pub(super) use scores::Scores;
pub(super) use yolo_anchors::needs_anchors;

/// How to read the outputs that were offered.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    Yolov5(yolov5::Plan),
    Yolov8(yolov8::Plan),
    Yolox(yolox::Plan),
    EndToEnd(end_to_end::Plan),
    Detections(detections::Plan),
    Nanodet(nanodet::Plan),
    BoxesScores(boxes_scores::Plan),
    Queries(queries::Plan),
    YoloPose(yolo_pose::Plan),
    YoloSeg(yolo_seg::Plan),
    YoloObb(yolo_obb::Plan),
    Centers(centers::Plan),
    Db(db::Plan),
    Scrfd(scrfd::Plan),
    Yunet(yunet::Plan),
    Priors(priors::Plan),
    YoloAnchors(yolo_anchors::Plan),
    DetectnetV2(detectnet::Plan),
}

impl Plan {
    /// Collects the candidates of one frame; `outputs` are as many as were offered.
    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        match self {
            Self::Yolov5(plan) => plan.decode(outputs, into),
            Self::Yolov8(plan) => plan.decode(outputs, into),
            Self::Yolox(plan) => plan.decode(outputs, into),
            Self::EndToEnd(plan) => plan.decode(outputs, into),
            Self::Detections(plan) => plan.decode(outputs, into),
            Self::Nanodet(plan) => plan.decode(outputs, into),
            Self::BoxesScores(plan) => plan.decode(outputs, into),
            Self::Queries(plan) => plan.decode(outputs, into),
            Self::YoloPose(plan) => plan.head.decode(outputs, into),
            Self::YoloSeg(plan) => plan.head.decode(outputs, into),
            Self::YoloObb(plan) => plan.head.decode(outputs, into),
            Self::Centers(plan) => plan.decode(outputs, into),
            Self::Db(plan) => plan.decode(outputs, into).map(drop),
            Self::Scrfd(plan) => plan.decode(outputs, into),
            Self::Yunet(plan) => plan.decode(outputs, into),
            Self::Priors(plan) => plan.decode(outputs, into),
            Self::YoloAnchors(plan) => plan.decode(outputs, into),
            Self::DetectnetV2(plan) => plan.decode(outputs, into),
        }
    }

    /// Collects the candidates of a map of text; their boxes in tensor pixels, by the candidates' anchors. None of other outputs.
    pub fn lines(
        &self,
        outputs: &[TensorView<'_>],
        into: &mut Collector<'_>,
    ) -> Result<Option<Vec<Rotated>>, DetectError> {
        match self {
            Self::Db(plan) => plan.decode(outputs, into).map(Some),
            _ => Ok(None),
        }
    }

    /// How the GPU reads a batch's outputs, as many as were offered; refuses what [`Plan::decode`] refuses of a row.
    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        match self {
            Self::Yolov5(plan) => plan.layout(outputs),
            Self::Yolov8(plan) => plan.layout(outputs),
            Self::Yolox(plan) => plan.layout(outputs),
            Self::EndToEnd(plan) => plan.layout(outputs),
            Self::Detections(plan) => plan.layout(outputs),
            Self::Nanodet(plan) => plan.layout(outputs),
            Self::BoxesScores(plan) => plan.layout(outputs),
            Self::Queries(plan) => plan.layout(outputs),
            Self::YoloPose(plan) => plan.head.layout(outputs),
            Self::YoloSeg(plan) => plan.head.layout(outputs),
            Self::YoloObb(plan) => plan.head.layout(outputs),
            Self::Centers(plan) => plan.layout(outputs),
            Self::Db(plan) => plan.layout(outputs),
            Self::Scrfd(plan) => plan.layout(outputs),
            Self::Yunet(plan) => plan.layout(outputs),
            Self::Priors(plan) => plan.layout(outputs),
            Self::YoloAnchors(plan) => plan.layout(outputs),
            Self::DetectnetV2(plan) => plan.layout(outputs),
        }
    }

    /// What there is of an object besides its box, and where; refuses what [`Plan::decode`] refuses, too.
    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Option<Extra>, DetectError> {
        match self {
            Self::Detections(plan) => plan.extra(outputs),
            Self::YoloPose(plan) => plan.extra(outputs).map(Some),
            Self::YoloSeg(plan) => plan.extra(outputs).map(Some),
            Self::YoloObb(plan) => plan.head.rotated_box(outputs).map(Some),
            Self::Queries(plan) => Ok(plan.extra()),
            Self::Centers(plan) => plan.extra(outputs),
            Self::Scrfd(plan) => plan.faces.extra(outputs),
            Self::Yunet(plan) => plan.faces.extra(outputs),
            Self::Priors(plan) => plan.extra(outputs),
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

    /// Where one detection's keypoints are, where they are counted from its anchor.
    pub fn spot(&self, outputs: &[TensorView<'_>], anchor: usize) -> Option<Spot> {
        match self {
            Self::Scrfd(plan) => plan.faces.spot(outputs, anchor),
            Self::Yunet(plan) => plan.faces.spot(outputs, anchor),
            Self::Priors(plan) => plan.spot(anchor),
            _ => None,
        }
    }

    /// Keypoints of each object.
    pub fn keypoints(&self) -> usize {
        match self {
            Self::Detections(plan) => plan.points(),
            Self::YoloPose(plan) => plan.points(),
            Self::Centers(plan) => plan.points(),
            Self::Scrfd(plan) => plan.faces.points(),
            Self::Yunet(plan) => plan.faces.points(),
            Self::Priors(plan) => plan.points(),
            _ => 0,
        }
    }

    /// Centre and size of each anchor's prior box in tensor pixels, if it has one.
    pub fn priors(&self) -> Option<&[[f32; 4]]> {
        match self {
            Self::Priors(plan) => Some(plan.priors()),
            _ => None,
        }
    }

    /// Width, height and scale of the centre of each anchor of a cell, level by level, where boxes are multiples of them.
    pub fn anchor_sizes(&self) -> Option<&[[f32; 4]]> {
        match self {
            Self::YoloAnchors(plan) => Some(plan.sizes()),
            _ => None,
        }
    }

    /// How masks are written.
    pub fn masks(&self) -> Option<Masks> {
        match self {
            Self::YoloSeg(plan) => {
                Some(Masks::Prototypes { output: plan.prototypes(), coefficients: plan.coefficients() })
            }
            Self::Detections(plan) => plan.masks(),
            Self::Queries(plan) => plan.masks(),
            _ => None,
        }
    }

    /// Whether boxes are rotated.
    pub fn is_rotated(&self) -> bool {
        matches!(self, Self::YoloObb(_) | Self::Db(_))
    }

    /// Whether the model has suppressed overlaps itself.
    pub fn is_suppressed(&self) -> bool {
        match self {
            Self::EndToEnd(_) | Self::Db(_) => true,
            Self::YoloPose(plan) => plan.head.is_suppressed(),
            Self::YoloSeg(plan) => plan.head.is_suppressed(),
            Self::YoloObb(plan) => plan.head.is_suppressed(),
            _ => false,
        }
    }

    /// The output with the boxes that the model has chosen itself, upright or not, if it has.
    pub fn final_boxes(&self) -> Option<usize> {
        match self {
            Self::EndToEnd(plan) => Some(plan.output()),
            Self::Detections(plan) => Some(plan.boxes()),
            Self::YoloPose(plan) => plan.head.final_boxes(),
            Self::YoloSeg(plan) => plan.head.final_boxes(),
            Self::YoloObb(plan) => plan.head.final_boxes(),
            _ => None,
        }
    }

    /// Whether each box has one label, and not a score for each class.
    pub fn has_labels(&self) -> bool {
        matches!(self, Self::Detections(_)) || self.is_suppressed()
    }

    /// How confidences come about.
    pub fn scores(&self) -> Scores {
        match self {
            Self::Yolov5(plan) => Scores::with_objectness(plan.activation()),
            Self::Yolov8(plan) => Scores::of(plan.activation()),
            Self::Yolox(plan) => Scores::with_objectness(plan.activation()),
            Self::EndToEnd(_) | Self::Detections(_) | Self::Db(_) => Scores::of(Activation::None),
            Self::Nanodet(plan) => Scores::of(plan.activation()),
            Self::BoxesScores(plan) => plan.scores(),
            Self::Queries(plan) => plan.scores(),
            Self::YoloPose(plan) => plan.head.scores(),
            Self::YoloSeg(plan) => plan.head.scores(),
            Self::YoloObb(plan) => plan.head.scores(),
            Self::Centers(plan) => Scores::of(plan.activation()),
            Self::Scrfd(plan) => Scores::of(plan.faces.activation),
            // The root of a product of two is between them.
            Self::Yunet(plan) => Scores::of(plan.faces.activation),
            Self::Priors(plan) => plan.scores(),
            Self::YoloAnchors(plan) => Scores::with_objectness(plan.activation()),
            Self::DetectnetV2(plan) => Scores::of(plan.activation()),
        }
    }

    /// Whether boxes are in 0..1 of the tensor, not in its pixels; `None` where they are in neither.
    pub fn is_normalized(&self) -> Option<bool> {
        let coding = match self {
            Self::Yolov5(plan) => plan.coding(),
            Self::Yolov8(plan) => plan.coding(),
            Self::EndToEnd(plan) => plan.coding(),
            Self::Detections(plan) => plan.coding(),
            Self::BoxesScores(plan) => plan.coding(),
            Self::Queries(plan) => plan.coding(),
            Self::YoloPose(plan) => plan.head.coding(),
            Self::YoloSeg(plan) => plan.head.coding(),
            Self::YoloObb(plan) => plan.head.coding(),
            Self::Yolox(_) | Self::Nanodet(_) | Self::Centers(_) | Self::DetectnetV2(_) => return None,
            Self::Db(_) | Self::Scrfd(_) | Self::Yunet(_) | Self::Priors(_) | Self::YoloAnchors(_) => {
                return None;
            }
        };
        Some(coding.is_normalized())
    }

    /// How many query and class pairs are kept, if every class of a query may be an object: as many as there are queries, where
    /// the shapes say how many.
    pub fn pairs_kept(&self) -> Option<Option<usize>> {
        match self {
            Self::Queries(plan) => plan.pairs_kept(),
            _ => None,
        }
    }

    /// Whether neighbouring scores are those of neighbouring anchors, not classes.
    pub fn by_columns(&self) -> bool {
        match self {
            Self::Yolov8(plan) => plan.by_columns(),
            Self::YoloPose(plan) => plan.head.by_columns(),
            Self::YoloSeg(plan) => plan.head.by_columns(),
            Self::YoloObb(plan) => plan.head.by_columns(),
            Self::Centers(plan) => plan.by_columns(),
            Self::DetectnetV2(_) => true,
            _ => false,
        }
    }
}

/// Every way in which decoder `kind` can read the offer.
pub(super) fn fits(kind: DecoderKind, offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    match kind {
        DecoderKind::Yolov5 => each(yolov5::fits(offer), Plan::Yolov5),
        DecoderKind::Yolov8 => each(yolov8::fits(offer), Plan::Yolov8),
        DecoderKind::Yolox => each(yolox::fits(offer), Plan::Yolox),
        DecoderKind::EndToEnd => each(end_to_end::fits(offer), Plan::EndToEnd),
        DecoderKind::Detections => each(detections::fits(offer), Plan::Detections),
        DecoderKind::Nanodet => each(nanodet::fits(offer), Plan::Nanodet),
        DecoderKind::BoxesScores => each(boxes_scores::fits(offer), Plan::BoxesScores),
        DecoderKind::Queries => each(queries::fits(offer), Plan::Queries),
        DecoderKind::YoloPose => each(yolo_pose::fits(offer), Plan::YoloPose),
        DecoderKind::YoloSeg => each(yolo_seg::fits(offer), Plan::YoloSeg),
        DecoderKind::YoloObb => each(yolo_obb::fits(offer), Plan::YoloObb),
        DecoderKind::Db => each(db::fits(offer), Plan::Db),
        DecoderKind::Centernet | DecoderKind::Centerface => each(centers::fits(kind, offer), Plan::Centers),
        DecoderKind::Scrfd => each(scrfd::fits(offer), Plan::Scrfd),
        DecoderKind::Yunet => each(yunet::fits(offer), Plan::Yunet),
        DecoderKind::Ssd | DecoderKind::Retinaface => each(priors::fits(kind, offer), Plan::Priors),
        DecoderKind::YoloAnchors => each(yolo_anchors::fits(offer), Plan::YoloAnchors),
        DecoderKind::DetectnetV2 => each(detectnet::fits(offer), Plan::DetectnetV2),
    }
}

/// The fits of one decoder's plans as those of any's.
fn each<P>(fits: Vec<Fit<P>>, plan: fn(P) -> Plan) -> Vec<Fit<Plan>> {
    fits.into_iter().map(|fit| fit.of(plan)).collect()
}

/// What decoder `kind` reads, with the numbers of this offer, to end a sentence with.
pub(super) fn wanted(kind: DecoderKind, offer: &Offer<'_>) -> String {
    match kind {
        DecoderKind::Yolov5 => yolov5::wanted(offer),
        DecoderKind::Yolov8 => yolov8::wanted(offer),
        DecoderKind::Yolox => yolox::wanted(offer),
        DecoderKind::EndToEnd => end_to_end::wanted(offer),
        DecoderKind::Detections => detections::wanted(offer),
        DecoderKind::Nanodet => nanodet::wanted(offer),
        DecoderKind::BoxesScores => boxes_scores::wanted(offer),
        DecoderKind::Queries => queries::wanted(offer),
        DecoderKind::YoloPose => yolo_pose::wanted(offer),
        DecoderKind::YoloSeg => yolo_seg::wanted(offer),
        DecoderKind::YoloObb => yolo_obb::wanted(offer),
        DecoderKind::Db => db::wanted(offer),
        DecoderKind::Centernet | DecoderKind::Centerface => centers::wanted(kind, offer),
        DecoderKind::Scrfd => scrfd::wanted(offer),
        DecoderKind::Yunet => yunet::wanted(offer),
        DecoderKind::Ssd | DecoderKind::Retinaface => priors::wanted(kind, offer),
        DecoderKind::YoloAnchors => yolo_anchors::wanted(offer),
        DecoderKind::DetectnetV2 => detectnet::wanted(offer),
    }
}
