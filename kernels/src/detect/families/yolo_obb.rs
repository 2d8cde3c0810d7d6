//! Rotated boxes: `[1, 4 + C + 1, N]` (YOLOv8-obb, v11-obb), whose last number is the angle, or `[1, M, 7]`, already suppressed
//! (v26-obb, and exports with `nms=True`): centre and size, confidence, class, angle.
//!
//! The angle is in radians and turns the box clockwise on the screen. Ultralytics' heads write -pi/4 to 3 pi/4; any angle will
//! do here.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Anchors, Coding, Field, Layout};
use crate::detect::offer::{Fit, Offer};

use super::heads::{Reading, read_plain, read_suppressed, surest};

pub const FAMILY: Family = Family {
    kind: DecoderKind::YoloObb,
    wanted,
    fits,
    takes: &[Hint::Normalized, Hint::Activation],
    usual: Usual::SUPPRESSED,
};

fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, 4 + {} + 1, N] of decoded boxes, class scores and an angle, or [1, M, 7] of boxes, confidence, \
         class and angle, already suppressed",
        offer.class_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    // Labels that lack one class would look the same, and [M, 7] is also what YOLOv7 writes, with the frame's number first: the
    // decoder must be named, as Ultralytics' metadata does.
    let kind = FAMILY.kind;
    let [columns, rows] = Anchors::ALL
        .map(|anchors| offer.of_each_plane(|plane| read_plain(kind, offer, plane, anchors, 1).map(rotated)));
    let suppressed = offer.of_each_plane(|plane| read_suppressed(kind, offer, plane, 1).map(rotated));
    surest([columns, suppressed, rows])
}

/// The fit of boxes of centre and size that are rotated by the last number.
fn rotated(reading: Reading) -> Fit {
    let mut layout = Layout { angle: Some(Field::last(0, 1)), ..reading.layout };
    if let Coding::Plain(coding) = layout.coding {
        layout.coding = Coding::Plain(coding.centered());
    }
    Reading { layout, ..reading }.fit().far_fetched(true)
}
