//! Instance masks: `[1, 4 + C + M, N]` (YOLOv8-seg, v11-seg) or that transposed, `[1, N, 5 + C + M]` with objectness before the
//! class scores (YOLOv5-seg, v7-seg), or `[1, D, 6 + M]`, already suppressed (v26-seg), whose last M numbers are the coefficients
//! of the prototypes `[1, M, h, w]` (Bolya et al., "YOLACT", 2019).

use crate::detect::DecoderKind;
use crate::detect::attached::{Masks, Meaning};
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Anchors, Layout, Shape, Table};
use crate::detect::offer::{Fit, Offer, Plane};

use super::heads::{Reading, read_plain, read_suppressed, read_with_objectness, surest};

pub const FAMILY: Family = Family {
    kind: DecoderKind::YoloSeg,
    wanted,
    fits,
    takes: &[Hint::BoxFormat, Hint::Normalized, Hint::Activation],
    usual: Usual::SUPPRESSED,
};

fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "a float output [1, 4 + {0} + M, N], or that transposed, of decoded boxes, class scores and coefficients, or [1, N, 5 + {0} + M] \
         with objectness before the class scores, or [1, D, 6 + M], already suppressed, and the prototypes [1, M, h, w]",
        offer.class_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let kind = FAMILY.kind;
    let [columns, rows] =
        Anchors::ALL.map(|anchors| each(offer, |plane, more| read_plain(kind, offer, plane, anchors, more)));
    let suppressed = each(offer, |plane, more| read_suppressed(kind, offer, plane, more));
    let objectness = each(offer, |plane, more| read_with_objectness(kind, offer, plane, more));
    surest([columns, suppressed, rows, objectness])
}

/// The fits of each plane beside prototypes, where `read` can read it with that many coefficients.
fn each(offer: &Offer<'_>, read: impl Fn(&Plane, usize) -> Option<Reading>) -> Vec<Fit> {
    let pairs = offer.maps.iter().flat_map(|maps| offer.planes.iter().map(move |plane| (maps, plane)));
    let fits = pairs.filter(|(maps, plane)| maps.output != plane.output).filter_map(|(maps, plane)| {
        let coefficients = maps.dims[0];
        let reading = read(plane, coefficients)?;
        let Reading { mut layout, evidence, classes } =
            reading.with_extra(coefficients, Meaning::Coefficients(coefficients));
        layout.tables.push(Table::new(maps.output, Shape::Prototypes(coefficients)));
        let masks = Some(Masks::Prototypes { output: maps.output, coefficients });
        Some(Fit::new(evidence, Layout { masks, ..layout }, classes).reading(2))
    });
    fits.collect()
}
