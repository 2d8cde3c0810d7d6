//! YuNet (Wu et al., "YuNet: A Tiny Millisecond-level Face Detector", 2023), as OpenCV's model zoo has it: for each stride a class
//! score, an objectness, a box and landmarks of each cell.
//!
//! The confidence is the root of both scores' product, each in 0..1; boxes are those of YOLOX, and landmarks are counted in cells
//! from the corner of their cell (OpenCV's `FaceDetectorYN`, modules/objdetect/src/face_detect.cpp).

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{Layout, Output, Scoring, Span};
use super::super::offer::{Fit, Offer};
use super::super::{DecoderKind, DetectError};
use super::boxes::centered;
use super::by_level::{Faces, landmark_terms};
use super::scan::{is_bad, probability, take_scored};

const KIND: DecoderKind = DecoderKind::Yunet;

#[derive(Clone, Debug)]
pub struct Plan {
    /// With two scores of each level; which is the objectness does not matter.
    pub faces: Faces,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let cells: Vec<_> = offer.grid.levels.iter().map(|level| level.cells.to_string()).collect();
    let [must, columns] = landmark_terms(offer);
    format!(
        "for each stride two float outputs [1, Ns, 1] of class scores and objectness, one [1, Ns, 4] of boxes{must} one \
         [1, Ns, {columns}] of landmarks, Ns = {} with {} (name the model's strides in its sidecar)",
        cells.join(", "),
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let fit = Faces::fit(KIND, offer, offer.grid.clone(), 2);
    fit.into_iter().map(|fit| fit.of(|faces| Plan { faces })).collect()
}

impl Plan {
    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let Faces { scores, boxes, grid, activation, .. } = &self.faces;
        for level in &grid.levels {
            let [ones, others] = [scores.matrix(outputs, level, 0)?, scores.matrix(outputs, level, 1)?];
            let boxes = boxes.matrix(outputs, level, 0)?;
            let stride = level.stride as f32;
            let scores = ones.data.iter().zip(others.data.iter());
            for (cell, ((one, other), values)) in scores.zip(boxes.data.chunks_exact(4)).enumerate() {
                let &[x, y, w, h] = values else { continue };
                if is_bad(*other) {
                    into.drop_non_finite();
                    continue;
                }
                let share = |score: f32| probability(*activation, score).clamp(0.0, 1.0);
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
        let Faces { scores, boxes, landmarks, grid, activation } = &self.faces;
        let layout = Layout::new(Scoring::Root, *activation, 1)?.rows(1, 4).in_cells();
        grid.levels.iter().try_fold(layout, |layout, level| {
            let [one, other] = [scores.at(outputs, level, 0)?, scores.at(outputs, level, 1)?];
            let landmarks = landmarks.as_ref().map(|of| of.at(outputs, level, 0)).transpose()?;
            layout
                .with(one, boxes.at(outputs, level, 0)?, Span::of(level))?
                .beside_them(Some(other), landmarks)
        })
    }
}
