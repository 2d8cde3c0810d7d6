//! SCRFD (Guo et al., "Sample and Computation Redistribution for Efficient Face Detection", 2021), as InsightFace exports it:
//! for each stride scores, distances and, in most models, landmarks.
//!
//! An anchor's sides lie so many strides from the corner `cell * stride`, left, top, right and bottom, and its landmarks too.

use crate::tensor::TensorView;

use super::super::attached::{Extra, Meaning, Spot};
use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::grid::{Grid, Level};
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, DecoderKind, DetectError};
use super::by_level::{ByLevel, landmarks, of_columns};
use super::matrix::{Shaped, read};
use super::scan::take_wanted;

const KIND: DecoderKind = DecoderKind::Scrfd;
/// Anchors of a cell, where the shapes do not say it: models of five strides have one, those of three or four have two.
const PER_CELL: [usize; 2] = [2, 1];
const FEW_STRIDES: usize = 4;

#[derive(Clone, Debug)]
pub struct Plan {
    scores: ByLevel,
    boxes: ByLevel,
    landmarks: Option<ByLevel>,
    grid: Grid,
    per_cell: usize,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let cells: Vec<_> = offer.grid.levels.iter().map(|level| (level.cells * 2).to_string()).collect();
    let keypoints = offer.hints.keypoints.map_or_else(|| "2 * K".into(), |k| (2 * k).to_string());
    let optional = if offer.hints.keypoints.is_none() { " and, if there are landmarks," } else { " and" };
    format!(
        "for each stride float outputs [1, Ns, 1] of scores, [1, Ns, 4] of distances{optional} [1, Ns, {keypoints}] of landmarks, \
         Ns = {} with {} and two anchors a cell, or half of that with one (name the model's strides in its sidecar)",
        cells.join(", "),
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let open = offer.planes.iter().any(|plane| plane.rows.is_none());
    let usual = if offer.hints.strides.len() > FEW_STRIDES { 1 } else { 2 };
    let per_cell = PER_CELL.into_iter().filter(|n| !open || *n == usual);
    per_cell.filter_map(|per_cell| fit(offer, per_cell)).collect()
}

fn fit(offer: &Offer<'_>, per_cell: usize) -> Option<Fit<Plan>> {
    if offer.hints.classes.is_some_and(|classes| classes != 1) {
        return None;
    }
    let grid = Grid::of_anchors(offer.input, &offer.hints.strides, |_| per_cell);
    let (scores, first) = ByLevel::new(KIND, &of_columns(offer, 1), 1, &grid, 1)?;
    let (boxes, second) = ByLevel::new(KIND, &of_columns(offer, 4), 4, &grid, 1)?;
    let (points, third) = match &landmarks(offer)?[..] {
        [] => (None, Evidence::Exact),
        planes @ [first, ..] => {
            let (points, evidence) = ByLevel::new(KIND, planes, first.columns?, &grid, 1)?;
            (Some(points), evidence)
        }
    };
    let reads = scores.count() + boxes.count() + points.as_ref().map_or(0, ByLevel::count);
    let activation = offer.hints.activation.unwrap_or(Activation::None);
    let plan = Plan { scores, boxes, landmarks: points, grid, per_cell, activation };
    let evidence = first.min(second).min(third);
    Some(Fit { evidence, plan, classes: Some(1), reads, far_fetched: false })
}

impl Plan {
    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Keypoints of each object.
    pub fn points(&self) -> usize {
        self.landmarks.as_ref().map_or(0, |landmarks| landmarks.columns() / 2)
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        for level in &self.grid.levels {
            let matrix = |of: &ByLevel| {
                of.find(outputs, level, 0).map(|i| read(&outputs[i], [level.cells, of.columns()]))
            };
            let (scores, boxes) = (matrix(&self.scores)?, matrix(&self.boxes)?);
            let stride = level.stride as f32;
            for (anchor, (score, sides)) in scores.data.iter().zip(boxes.data.chunks_exact(4)).enumerate() {
                let &[left, top, right, bottom] = sides else { continue };
                take_wanted(&[*score], self.activation, into, |into, class, confidence| {
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
        let layout = Layout::new(Scoring::Classes, self.activation, 1)?.rows(1, 4).sides(self.per_cell)?;
        let at =
            |of: &ByLevel, level| of.find(outputs, level, 0).map(|i| At { tensor: &outputs[i], element: 0 });
        self.grid.levels.iter().try_fold(layout, |layout, level| {
            let landmarks = self.landmarks.as_ref().map(|of| at(of, level)).transpose()?;
            layout
                .with(at(&self.scores, level)?, at(&self.boxes, level)?, Span::of(level))?
                .beside_them(None, landmarks)
        })
    }

    /// Where the landmarks are.
    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Option<Extra>, DetectError> {
        extra(self.landmarks.as_ref(), &self.grid, outputs)
    }

    /// Where those of one anchor are.
    pub fn spot(&self, outputs: &[TensorView<'_>], anchor: usize) -> Option<Spot> {
        spot(self.landmarks.as_ref(), &self.grid, outputs, anchor)
    }
}

/// Where a cell has its corner, in tensor pixels, which is what its anchors are counted from.
fn corner(level: &Level, anchor: usize) -> [f32; 2] {
    let (column, row) = level.position(anchor);
    [column * level.stride as f32, row * level.stride as f32]
}

/// Where landmarks are that are counted in cells from the corner of their anchor's.
pub fn extra<T: Shaped>(
    landmarks: Option<&ByLevel>,
    grid: &Grid,
    outputs: &[T],
) -> Result<Option<Extra>, DetectError> {
    let Some(landmarks) = landmarks else { return Ok(None) };
    for level in &grid.levels {
        landmarks.find(outputs, level, 0)?;
    }
    let (columns, meaning) = (landmarks.columns(), Meaning::Around(landmarks.columns() / 2));
    Ok(Some(Extra { output: landmarks.first(), element: 0, step: columns, value_step: 1, meaning }))
}

/// Where those of one anchor are.
pub fn spot(
    landmarks: Option<&ByLevel>,
    grid: &Grid,
    outputs: &[TensorView<'_>],
    anchor: usize,
) -> Option<Spot> {
    let (landmarks, level) = (landmarks?, grid.level_of(anchor)?);
    let output = landmarks.find(outputs, level, 0).ok()?;
    let cell = anchor - level.first;
    let unit = [level.stride as f32; 2];
    Some(Spot { output, element: cell * landmarks.columns(), center: corner(level, cell), unit })
}
