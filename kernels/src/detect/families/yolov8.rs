//! YOLOv8, v9, v11: `[1, 4 + C, N]`, boxes as centre and size in tensor pixels, one row a channel; or transposed,
//! `[1, N, 4 + C]`, as some exporters write them. Their relatives for poses and masks have more channels after the classes.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::Anchors;
use crate::detect::offer::{Fit, Offer};

use super::heads::{BOX, evidence, plain, surest};

pub const FAMILY: Family = Family {
    kind: DecoderKind::Yolov8,
    wanted,
    fits,
    takes: &[Hint::BoxFormat, Hint::Normalized, Hint::Activation],
    usual: Usual::SUPPRESSED,
};

fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, 4 + {0}, N] or [1, N, 4 + {0}] of decoded boxes and class scores, N = {1} with {2}",
        offer.class_term(),
        offer.grid.cells,
        offer.grid_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    surest(Anchors::ALL.map(|anchors| {
        offer.of_each_plane(|plane| {
            let [_, channels] = anchors.of(plane.rows, plane.columns);
            let classes = offer.classes_in(channels, BOX)?;
            let evidence = evidence(offer, plane, anchors)?;
            let layout = plain(DecoderKind::Yolov8, offer, plane, anchors, classes, 0);
            Some(Fit::new(evidence, layout, classes))
        })
    }))
}
