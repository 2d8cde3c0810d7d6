//! Points that no peak gave.

use super::assemble::TaggedPose;
use super::frame::Frame;
use super::params::TagParams;
use crate::geometry::Affine;
use crate::group::Keypoint;
use crate::peaks::{MapShape, PeakFinder, PeakParams, activate};

/// The averaged maps, and how peaks are placed in them.
pub(super) struct Averaged<'a> {
    pub values: &'a [f32],
    pub shape: MapShape,
    pub finder: &'a PeakFinder,
    pub peaks: &'a PeakParams,
}

impl Averaged<'_> {
    /// Gives `poses` the points that they lack, where any cell has a score above 0.
    pub fn fill(&self, frame: &Frame<'_>, params: &TagParams, to_frame: &Affine, poses: &mut [TaggedPose]) {
        let interpolated = frame.tags();
        let mut tags = Vec::new();
        for (point, scores) in self.values.chunks_exact(self.shape.width * self.shape.height).enumerate() {
            let mut without = poses.iter_mut().filter(|each| each.pose.points[point].is_none()).peekable();
            if without.peek().is_none() {
                continue;
            }
            tags.clear();
            interpolated.each(point, |tag| tags.push(tag));
            for each in without {
                let Some((score, cell)) = self.best(scores, &tags, each.tag() as f32) else { continue };
                if score > 0.0 && score >= params.min_point_score {
                    let (x, y) = self.finder.place(self.values, &self.shape, point, cell);
                    let (x, y) = to_frame.point(x as f32, y as f32);
                    each.pose.points[point] = Some(Keypoint { x, y, z: None, score });
                }
            }
        }
    }

    /// The score of the cell that is the best after the distance of its tag, in whole numbers, has been taken off, the first of equals.
    fn best(&self, scores: &[f32], tags: &[f32], tag: f32) -> Option<(f32, usize)> {
        let (mut highest, mut best) = (f32::NEG_INFINITY, None);
        for (cell, (value, of_cell)) in scores.iter().zip(tags).enumerate() {
            let score = activate(self.peaks.activation, *value);
            // A score alone that is no higher saves the rest of the work. NaN is never higher.
            if score > highest && score < f32::INFINITY {
                let rest = score - (of_cell - tag).abs().round_ties_even();
                if rest > highest {
                    (highest, best) = (rest, Some((score, cell)));
                }
            }
        }
        best
    }
}
