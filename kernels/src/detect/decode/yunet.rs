//! YuNet (Wu et al., "YuNet: A Tiny Millisecond-level Face Detector", 2023), as OpenCV's model zoo has it: for each stride a class
//! score, an objectness, a box and landmarks of each cell.
//!
//! The confidence is the root of both scores' product, each in 0..1; boxes are those of YOLOX, and landmarks are counted in cells
//! from the corner of their cell (OpenCV's `FaceDetectorYN`, modules/objdetect/src/face_detect.cpp).

use crate::tensor::TensorView;

use super::super::attached::{Extra, Spot};
use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::grid::Grid;
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, DecoderKind, DetectError};
use super::boxes::centered;
use super::by_level::{ByLevel, landmarks, of_columns};
use super::matrix::{Shaped, read};
use super::scan::{is_bad, probability, take_scored};
use super::scrfd;

const KIND: DecoderKind = DecoderKind::Yunet;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Two of each level; which is the objectness does not matter.
    scores: ByLevel,
    boxes: ByLevel,
    landmarks: Option<ByLevel>,
    grid: Grid,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let cells: Vec<_> = offer.grid.levels.iter().map(|level| level.cells.to_string()).collect();
    let keypoints = offer.hints.keypoints.map_or_else(|| "2 * K".into(), |k| (2 * k).to_string());
    let optional = if offer.hints.keypoints.is_none() { " and, if there are landmarks," } else { " and" };
    format!(
        "for each stride two float outputs [1, Ns, 1] of class scores and objectness, one [1, Ns, 4] of boxes{optional} one \
         [1, Ns, {keypoints}] of landmarks, Ns = {} with {} (name the model's strides in its sidecar)",
        cells.join(", "),
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    fit(offer).into_iter().collect()
}

fn fit(offer: &Offer<'_>) -> Option<Fit<Plan>> {
    if offer.hints.classes.is_some_and(|classes| classes != 1) {
        return None;
    }
    let grid = offer.grid.clone();
    let (scores, first) = ByLevel::new(KIND, &of_columns(offer, 1), 1, &grid, 2)?;
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
    let plan = Plan { scores, boxes, landmarks: points, grid, activation };
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
            let matrix = |of: &ByLevel, number| {
                of.find(outputs, level, number).map(|i| read(&outputs[i], [level.cells, of.columns()]))
            };
            let [ones, others] = [matrix(&self.scores, 0)?, matrix(&self.scores, 1)?];
            let boxes = matrix(&self.boxes, 0)?;
            let stride = level.stride as f32;
            let scores = ones.data.iter().zip(others.data.iter());
            for (cell, ((one, other), values)) in scores.zip(boxes.data.chunks_exact(4)).enumerate() {
                let &[x, y, w, h] = values else { continue };
                if is_bad(*other) {
                    into.drop_non_finite();
                    continue;
                }
                let share = |score: f32| probability(self.activation, score).clamp(0.0, 1.0);
                let confidence = |score: f32| (share(score) * share(*other)).sqrt();
                take_scored(&[*one], into, confidence, |into, class, confidence| {
                    let (column, row) = level.position(cell);
                    let (x, y) = ((x + column) * stride, (y + row) * stride);
                    let corners = centered(x, y, w.exp() * stride, h.exp() * stride);
                    into.take(level.first + cell, class, confidence, corners);
                });
            }
        }
        Ok(())
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let layout = Layout::new(Scoring::Root, self.activation, 1)?.rows(1, 4).in_cells();
        let at = |of: &ByLevel, level, number| {
            of.find(outputs, level, number).map(|i| At { tensor: &outputs[i], element: 0 })
        };
        self.grid.levels.iter().try_fold(layout, |layout, level| {
            let [one, other] = [at(&self.scores, level, 0)?, at(&self.scores, level, 1)?];
            let landmarks = self.landmarks.as_ref().map(|of| at(of, level, 0)).transpose()?;
            layout.with(one, at(&self.boxes, level, 0)?, Span::of(level))?.beside_them(Some(other), landmarks)
        })
    }

    /// Where the landmarks are.
    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Option<Extra>, DetectError> {
        scrfd::extra(self.landmarks.as_ref(), &self.grid, outputs)
    }

    /// Where those of one anchor are.
    pub fn spot(&self, outputs: &[TensorView<'_>], anchor: usize) -> Option<Spot> {
        scrfd::spot(self.landmarks.as_ref(), &self.grid, outputs, anchor)
    }
}
