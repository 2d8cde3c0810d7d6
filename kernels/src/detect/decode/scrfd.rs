//! SCRFD (Guo et al., "Sample and Computation Redistribution for Efficient Face Detection", 2021), as InsightFace exports it:
//! for each stride scores, distances and, in most models, landmarks.
//!
//! An anchor's sides lie that many strides from the corner `cell * stride`, left, top, right and bottom, and its landmarks too.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{Layout, Output, Scoring, Span};
use super::super::grid::Grid;
use super::super::offer::{Fit, Offer};
use super::super::{DecoderKind, DetectError};
use super::by_level::{Faces, corner, landmark_terms};
use super::scan::take_wanted;

const KIND: DecoderKind = DecoderKind::Scrfd;
/// Anchors of a cell, where the shapes do not say it: models of five strides have one, those of three or four have two.
const PER_CELL: [usize; 2] = [2, 1];
const FEW_STRIDES: usize = 4;

#[derive(Clone, Debug)]
pub struct Plan {
    pub faces: Faces,
    per_cell: usize,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let cells: Vec<_> = offer.grid.levels.iter().map(|level| (level.cells * 2).to_string()).collect();
    let [must, columns] = landmark_terms(offer);
    format!(
        "for each stride float outputs [1, Ns, 1] of scores, [1, Ns, 4] of distances{must} [1, Ns, {columns}] of landmarks, \
         Ns = {} with {} and two anchors a cell, or half of that with one (name the model's strides in its sidecar)",
        cells.join(", "),
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let open = offer.planes.iter().any(|plane| plane.rows.is_none());
    let usual = if offer.hints.strides.len() > FEW_STRIDES { 1 } else { 2 };
    let per_cell = PER_CELL.into_iter().filter(|n| !open || *n == usual);
    let fit = |per_cell| {
        let grid = Grid::of_anchors(offer.input, &offer.hints.strides, |_| per_cell);
        Some(Faces::fit(KIND, offer, grid, 1)?.of(|faces| Plan { faces, per_cell }))
    };
    per_cell.filter_map(fit).collect()
}

impl Plan {
    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let Faces { scores, boxes, grid, activation, .. } = &self.faces;
        for level in &grid.levels {
            let (scores, boxes) = (scores.matrix(outputs, level, 0)?, boxes.matrix(outputs, level, 0)?);
            let stride = level.stride as f32;
            for (anchor, (score, sides)) in scores.data.iter().zip(boxes.data.chunks_exact(4)).enumerate() {
                let &[left, top, right, bottom] = sides else { continue };
                take_wanted(&[*score], *activation, into, |into, class, confidence| {
                    let [x, y] = corner(level, anchor);
                    let corners =
                        [x - left * stride, y - top * stride, x + right * stride, y + bottom * stride];
                    into.take(level.first + anchor, class, confidence, corners);
                });
            }
        }
        Ok(())
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let Faces { scores, boxes, landmarks, grid, activation } = &self.faces;
        let layout = Layout::new(Scoring::Classes, *activation, 1)?.rows(1, 4).sides(self.per_cell)?;
        grid.levels.iter().try_fold(layout, |layout, level| {
            let landmarks = landmarks.as_ref().map(|of| of.at(outputs, level, 0)).transpose()?;
            layout
                .with(scores.at(outputs, level, 0)?, boxes.at(outputs, level, 0)?, Span::of(level))?
                .beside_them(None, landmarks)
        })
    }
}
