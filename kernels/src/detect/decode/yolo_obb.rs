//! Rotated boxes: `[1, 4 + C + 1, N]` (YOLOv8-obb, v11-obb), whose last number is the angle, or `[1, M, 7]`, already suppressed
//! (v26-obb, and exports with `nms=True`): centre and size, confidence, class, angle.
//!
//! The angle is in radians and turns the box clockwise on the screen. Ultralytics' heads write -pi/4 to 3 pi/4; any angle will
//! do here.

use super::super::DecoderKind;
use super::super::offer::{Fit, Offer};
use super::head::{Head, Reading};
use super::matrix::single;
use super::yolov8::{Anchors, surest};

const KIND: DecoderKind = DecoderKind::YoloObb;

#[derive(Clone, Debug)]
pub struct Plan {
    pub head: Head,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, 4 + {} + 1, N] of decoded boxes, class scores and an angle, or [1, M, 7] of boxes, confidence, \
         class and angle, already suppressed",
        offer.class_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    // Labels that lack one class would look the same, and [M, 7] is also what YOLOv7 writes, with the frame's number first: the
    // decoder must be named, as Ultralytics' metadata does.
    let [columns, rows] =
        Anchors::ALL.map(|anchors| single(offer, |plane| Head::raw(KIND, offer, plane, anchors, 1).map(fit)));
    surest([columns, single(offer, |plane| Head::suppressed(KIND, offer, plane, 1).map(fit)), rows])
}

fn fit((head, evidence, classes): Reading) -> Fit<Plan> {
    Fit { evidence, plan: Plan { head: head.rotated() }, classes, reads: 1, far_fetched: true }
}
