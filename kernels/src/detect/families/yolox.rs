//! YOLOX: `[1, N, 5 + C]`, boxes relative to the grid's cells (Ge et al., "YOLOX", 2021, section 2.1).

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Channels, Coding, Count, Field, Layout, Scoring, Table};
use crate::detect::offer::{Evidence, Fit, Offer, Plane, is_tall};

use super::heads::BEFORE_SCORES;

pub const FAMILY: Family =
    Family { kind: DecoderKind::Yolox, wanted, fits, takes: &[Hint::Activation], usual: Usual::SUPPRESSED };

fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, {}, 5 + {}] of boxes in grid cells, objectness and class scores, for {} (name \
         the model's strides in its sidecar)",
        offer.grid.cells,
        offer.class_term(),
        offer.grid_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    offer.of_each_plane(|plane| {
        let classes = offer.classes_in(plane.columns, BEFORE_SCORES)?;
        // The grid is needed to decode: with another number of cells the shape fits, but only for an error's sake.
        let evidence = match plane.rows {
            None => Evidence::Open,
            Some(rows) if rows == offer.grid.cells => Evidence::Exact,
            Some(_) => Evidence::Weak,
        };
        (evidence == Evidence::Exact || is_tall(plane.rows, plane.columns))
            .then(|| Fit::new(evidence, layout(offer, plane, classes), classes))
    })
}

fn layout(offer: &Offer<'_>, plane: &Plane, classes: Option<usize>) -> Layout {
    let channels = Channels::of(BEFORE_SCORES, classes);
    let tables = vec![Table::rows(plane.output, Count::Exactly(offer.grid.cells), channels)];
    Layout {
        grid: Some(offer.grid.clone()),
        scores: Field::new(0, BEFORE_SCORES),
        scoring: Scoring::Objectness,
        ..Layout::new(FAMILY.kind, tables, Coding::Grid, offer.activation())
    }
}
