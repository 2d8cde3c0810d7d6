//! SCRFD (Guo et al., "Sample and Computation Redistribution for Efficient Face Detection", 2021), as InsightFace exports it:
//! for each stride scores, distances and, in most models, landmarks.
//!
//! An anchor's sides lie that many strides from the corner `cell * stride`, left, top, right and bottom, and its landmarks too.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::grid::Grid;
use crate::detect::layout::{Coding, Scoring};
use crate::detect::offer::{Fit, Offer};

use super::levels::{faces, landmark_terms};

pub const FAMILY: Family = Family {
    kind: DecoderKind::Scrfd,
    wanted,
    fits,
    takes: &[Hint::Activation, Hint::Keypoints],
    usual: Usual::FACES,
};

/// Anchors of a cell, where the shapes do not say it: models of five strides have one, those of three or four have two.
const PER_CELL: [usize; 2] = [2, 1];
const FEW_STRIDES: usize = 4;

fn wanted(offer: &Offer<'_>) -> String {
    let cells: Vec<_> = offer.grid.levels.iter().map(|level| (level.cells * 2).to_string()).collect();
    let [must, columns] = landmark_terms(offer);
    format!(
        "for each stride float outputs [1, Ns, 1] of scores, [1, Ns, 4] of distances{must} [1, Ns, {columns}] of landmarks, \
         Ns = {} with {} and two anchors a cell, or half of that with one (name the model's strides in its sidecar)",
        cells.join(", "),
        offer.grid_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let open = offer.planes.iter().any(|plane| plane.rows.is_none());
    let usual = if offer.hints.strides.len() > FEW_STRIDES { 1 } else { 2 };
    let per_cell = PER_CELL.into_iter().filter(|n| !open || *n == usual);
    let fit = |per_cell| {
        let grid = Grid::of_anchors(offer.input, &offer.hints.strides, |_| per_cell);
        faces(FAMILY.kind, offer, grid, Coding::Sides, Scoring::Classes)
    };
    per_cell.filter_map(fit).collect()
}
