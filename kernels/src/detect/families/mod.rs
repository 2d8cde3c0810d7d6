//! One file a family of detectors: what it reads (`wanted`), and whether an offer is that and how it is read then (`fits`).
//!
//! `heads.rs`, `levels.rs` and `centers.rs` have what several of them share; `super::offer` has what is offered and what fits.

mod boxes_scores;
mod centerface;
mod centernet;
mod centers;
mod db;
mod detections;
mod detectnet;
mod end_to_end;
mod heads;
mod levels;
mod mediapipe;
mod nanodet;
mod points_beside;
mod priors;
mod queries;
mod retinaface;
mod scrfd;
mod ssd;
mod yolo_anchors;
mod yolo_obb;
mod yolo_pose;
mod yolo_seg;
mod yolov5;
mod yolov8;
mod yolox;
mod yunet;

use super::DecoderKind;
use super::family::Family;
use crate::words::Words as _;

pub(super) use end_to_end::needs_format;
pub(super) use queries::needs_activation;
pub(super) use yolo_anchors::needs_anchors;

/// Every family, in the order of [`DecoderKind::ALL`].
static FAMILIES: [Family; DecoderKind::ALL.len()] = [
    yolov5::FAMILY,
    yolov8::FAMILY,
    yolox::FAMILY,
    end_to_end::FAMILY,
    detections::FAMILY,
    nanodet::FAMILY,
    boxes_scores::FAMILY,
    queries::FAMILY,
    yolo_pose::FAMILY,
    yolo_seg::FAMILY,
    yolo_obb::FAMILY,
    centernet::FAMILY,
    centerface::FAMILY,
    db::FAMILY,
    scrfd::FAMILY,
    yunet::FAMILY,
    ssd::FAMILY,
    retinaface::FAMILY,
    yolo_anchors::FAMILY,
    detectnet::FAMILY,
    mediapipe::FAMILY,
];

/// The family of a decoder.
pub(super) fn family(kind: DecoderKind) -> &'static Family {
    &FAMILIES[kind as usize]
}

impl DecoderKind {
    /// The confidence threshold if it is not set, where it is not the default: PaddleOCR's for maps of text.
    pub fn usual_confidence(self) -> Option<f32> {
        family(self).usual.confidence
    }

    /// What the only class is called where nobody names it, if its objects have that many keypoints.
    pub(super) fn usual_label(self, keypoints: usize) -> Option<&'static str> {
        match self {
            Self::Mediapipe => mediapipe::label(keypoints),
            _ => family(self).usual.label,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_are_in_the_order_of_their_decoders() {
        for kind in DecoderKind::ALL {
            assert_eq!(family(*kind).kind, *kind);
        }
    }
}
