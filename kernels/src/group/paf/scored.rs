//! Peaks whose lines a network has scored itself: only the assignment is left.

use super::lines::LimbLine;
use super::plan::PafPlan;
use super::{PafParams, Parts, assemble};
use crate::group::{GroupError, Keypoint, Pose};
use crate::peaks::{Peak, TensorPeak};

/// The peaks of a frame, each with its place among those of its point.
#[derive(Debug)]
pub(crate) struct ScoredPeaks {
    plan: PafPlan,
    parts: Parts,
    places: Vec<usize>,
}

impl ScoredPeaks {
    /// Of `params`, what says how fields are sampled is not used.
    ///
    /// # Errors
    /// Every [`GroupError`] about the skeleton, and [`GroupError::NoSamples`].
    pub fn new(params: &PafParams) -> Result<Self, GroupError> {
        Ok(Self { plan: PafPlan::of_lines(params)?, parts: Parts::default(), places: Vec::new() })
    }

    pub fn clear(&mut self) {
        self.parts.found.clear();
        self.places.clear();
    }

    /// Adds a peak; those of a point follow one another, in the order of the points.
    pub fn push(&mut self, point: usize, place: usize, at: Keypoint) {
        let Keypoint { x, y, score, .. } = at;
        let channel = u32::try_from(point).unwrap_or(u32::MAX);
        // The place of equals decides their order, as the cell does elsewhere.
        let peak = TensorPeak { cell: place, x: x.into(), y: y.into(), value: score };
        self.parts.found.push((Peak { channel, x, y, score }, peak));
        self.places.push(place);
    }

    /// The instances, the best first. `line` is the score of an edge's line from the peak at a place of its first point to the
    /// one at a place of its second. Also returns how many of these are not finite.
    pub fn group(&mut self, line: impl Fn(usize, usize, usize) -> f32) -> (Vec<Pose>, usize) {
        let Self { plan, parts, places } = self;
        parts.index(plan.params.points);
        let mut poses = Vec::new();
        let non_finite = assemble::assemble(plan, parts, &mut poses, |edge, matrix| {
            let [from, to] =
                plan.params.edges[edge].map(|point| &places[parts.starts[point]..parts.starts[point + 1]]);
            for row in from {
                matrix.extend(to.iter().map(|column| LimbLine::scored(line(edge, *row, *column))));
            }
        });
        (poses, non_finite)
    }
}
