//! Poses: `[1, 4 + C + 3 * K, N]` (YOLOv8-pose, v11-pose) or that transposed, or `[1, M, 6 + 3 * K]`, already suppressed
//! (v26-pose), also in rows of another order (YOLO-NAS-Pose). K keypoints, each x and y in tensor pixels and its visibility; or without visibility, `2 * K`.

use crate::detect::DecoderKind;
use crate::detect::attached::{Meaning, Points};
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::Anchors;
use crate::detect::offer::{Fit, Offer, Plane};

use super::heads::{BOX, Reading, read_plain, read_suppressed, row_format, surest};

pub const FAMILY: Family = Family {
    kind: DecoderKind::YoloPose,
    wanted,
    fits,
    takes: &[Hint::BoxFormat, Hint::Normalized, Hint::Activation, Hint::Keypoints, Hint::RowFormat],
    usual: Usual::SUPPRESSED,
};

/// Of the models that are published: COCO's.
const USUAL_KEYPOINTS: usize = 17;

fn wanted(offer: &Offer<'_>) -> String {
    let classes = offer.hints.classes.unwrap_or(1);
    let points = offer.hints.keypoints.map_or_else(|| "K".into(), |k| k.to_string());
    format!(
        "one float output [1, 4 + {classes} + 3 * {points}, N], or that transposed, of decoded boxes, class scores and \
         {points} keypoints, each x, y and visibility, or [1, M, 6 + 3 * {points}], already suppressed; 2 instead of 3 without visibility (where \
         both could be meant, name the number of keypoints, keypoints=, in the model's sidecar)"
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    if offer.hints.row_format.is_some() {
        return offer.of_each_plane(|plane| suppressed(offer, plane));
    }
    let [columns, rows] = Anchors::ALL.map(|anchors| offer.of_each_plane(|plane| raw(offer, plane, anchors)));
    surest([columns, offer.of_each_plane(|plane| suppressed(offer, plane)), rows])
}

fn raw(offer: &Offer<'_>, plane: &Plane, anchors: Anchors) -> Option<Fit> {
    let others = BOX + offer.hints.classes.unwrap_or(1);
    let [_, channels] = anchors.of(plane.rows, plane.columns);
    let (points, numbers) = points_in(channels?.checked_sub(others)?, offer)?;
    // Without a hint a detector of many classes looks the same, and much else looks like its transpose.
    let stated = match anchors {
        Anchors::Columns => offer.hints.keypoints.or(offer.hints.classes).is_some(),
        Anchors::Rows => offer.hints.keypoints.is_some(),
    };
    let reading = read_plain(FAMILY.kind, offer, plane, anchors, points * numbers)?;
    Some(fit(reading, points, numbers, !stated && points != USUAL_KEYPOINTS))
}

fn suppressed(offer: &Offer<'_>, plane: &Plane) -> Option<Fit> {
    let (points, numbers) = points_in(plane.columns?.checked_sub(row_format(offer).columns())?, offer)?;
    let stated = offer.hints.keypoints.is_some();
    let usual = points == USUAL_KEYPOINTS && offer.hints.classes.is_none_or(|c| c == 1);
    let reading = read_suppressed(FAMILY.kind, offer, plane, points * numbers)?;
    Some(fit(reading, points, numbers, !stated && !usual))
}

fn fit(reading: Reading, points: usize, numbers: usize, far_fetched: bool) -> Fit {
    let meaning = Points {
        count: points,
        numbers,
        y_first: false,
        activation: reading.layout.activation,
        unit: Some(reading.layout.unit()),
        with_row: false,
    };
    reading.with_extra(points * numbers, Meaning::Points(meaning)).fit().far_fetched(far_fetched)
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
