//! YOLOv5, v6, v7, and YOLOX with the decoding in it: `[1, N, 5 + C]`, boxes as centre and size in tensor pixels. Their relatives
//! for masks have more columns after the classes.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::offer::{Evidence, Fit, Offer, Plane, is_tall};

use super::heads::{self, BEFORE_SCORES};

pub const FAMILY: Family = Family {
    kind: DecoderKind::Yolov5,
    wanted,
    fits,
    takes: &[Hint::BoxFormat, Hint::Normalized, Hint::Activation],
    usual: Usual::SUPPRESSED,
};

/// Anchors in each cell: of v5 and v7; of v6 and YOLOX.
const PER_CELL: [usize; 2] = [3, 1];

fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, N, 5 + {}] of decoded boxes, objectness and class scores, N = {} (or a third of it: v6, \
         YOLOX) with {}",
        offer.class_term(),
        PER_CELL[0] * offer.grid.cells,
        offer.grid_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    offer.of_each_plane(|plane| fit(offer, plane))
}

fn fit(offer: &Offer<'_>, plane: &Plane) -> Option<Fit> {
    let classes = offer.classes_in(plane.columns, BEFORE_SCORES)?;
    let [three, one] = PER_CELL.map(|per_cell| offer.evidence(plane.rows, per_cell, false));
    // With one a cell, a number of rows that happens to be some pyramid's is not enough.
    let tall = is_tall(plane.rows, plane.columns);
    let evidence = if tall { three.max(one) } else { three };
    let layout = || heads::with_objectness(DecoderKind::Yolov5, offer, plane, classes, 0);
    (evidence == Evidence::Exact || tall).then(|| Fit::new(evidence, layout(), classes))
}
