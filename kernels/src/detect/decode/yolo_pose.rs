//! Poses: `[1, 4 + C + 3 * K, N]` (YOLOv8-pose, v11-pose) or that transposed, or `[1, M, 6 + 3 * K]`, already suppressed
//! (v26-pose). K keypoints, each x and y in tensor pixels and its visibility; or without visibility, `2 * K`.

use super::super::attached::{Extra, Meaning, Points};
use super::super::offer::{Fit, Offer, Plane};
use super::super::{DecoderKind, DetectError};
use super::head::{Head, Reading};
use super::matrix::{Shaped, single};
use super::yolov8::{Anchors, surest};
use super::{end_to_end, yolov8};

const KIND: DecoderKind = DecoderKind::YoloPose;
/// Of the models that are published: COCO's.
const USUAL_KEYPOINTS: usize = 17;

#[derive(Clone, Debug)]
pub struct Plan {
    pub head: Head,
    points: usize,
    /// Two coordinates, and visibility if it is three.
    numbers: usize,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let classes = offer.hints.classes.unwrap_or(1);
    let points = offer.hints.keypoints.map_or_else(|| "K".into(), |k| k.to_string());
    format!(
        "one float output [1, 4 + {classes} + 3 * {points}, N], or that transposed, of decoded boxes, class scores and \
         {points} keypoints, each x, y and visibility, or [1, M, 6 + 3 * {points}], already suppressed; 2 instead of 3 without visibility (where \
         both could be meant, name the number of keypoints, keypoints=, in the model's sidecar)"
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let [columns, rows] = Anchors::ALL.map(|anchors| single(offer, |plane| raw(offer, plane, anchors)));
    surest([columns, single(offer, |plane| suppressed(offer, plane)), rows])
}

fn raw(offer: &Offer<'_>, plane: &Plane, anchors: Anchors) -> Option<Fit<Plan>> {
    let others = yolov8::BEFORE_CLASSES + offer.hints.classes.unwrap_or(1);
    let [_, channels] = anchors.of(plane.rows, plane.columns);
    let (points, numbers) = points_in(channels?.checked_sub(others)?, offer)?;
    // Without a hint a detector of many classes looks the same, and much else looks like its transpose.
    let stated = match anchors {
        Anchors::Columns => offer.hints.keypoints.or(offer.hints.classes).is_some(),
        Anchors::Rows => offer.hints.keypoints.is_some(),
    };
    let reading = Head::raw(KIND, offer, plane, anchors, points * numbers)?;
    Some(fit(reading, points, numbers, !stated && points != USUAL_KEYPOINTS))
}

fn suppressed(offer: &Offer<'_>, plane: &Plane) -> Option<Fit<Plan>> {
    let (points, numbers) = points_in(plane.columns?.checked_sub(end_to_end::COLUMNS)?, offer)?;
    let stated = offer.hints.keypoints.is_some();
    let usual = points == USUAL_KEYPOINTS && offer.hints.classes.is_none_or(|c| c == 1);
    let reading = Head::suppressed(KIND, offer, plane, points * numbers)?;
    Some(fit(reading, points, numbers, !stated && !usual))
}

fn fit((head, evidence, classes): Reading, points: usize, numbers: usize, far_fetched: bool) -> Fit<Plan> {
    let plan = Plan { head, points, numbers };
    Fit { evidence, plan, classes, reads: 1, far_fetched }
}

/// How many keypoints of how many numbers each make `all`; none where that is in doubt.
fn points_in(all: usize, offer: &Offer<'_>) -> Option<(usize, usize)> {
    let mut readings = [3, 2]
        .into_iter()
        .filter(|numbers| all > 0 && all.is_multiple_of(*numbers))
        .map(|numbers| (all / numbers, numbers))
        .filter(|(points, _)| offer.hints.keypoints.is_none_or(|k| k == *points));
    readings.next().filter(|_| readings.next().is_none())
}

impl Plan {
    /// Keypoints of each object.
    pub fn points(&self) -> usize {
        self.points
    }

    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Extra, DetectError> {
        let points = Points {
            count: self.points,
            numbers: self.numbers,
            y_first: false,
            activation: self.head.activation(),
            unit: Some(self.head.unit()),
            with_row: false,
        };
        self.head.extra(outputs, Meaning::Points(points))
    }
}
