//! One round of association: some of the followed objects against some of the detections.

use super::lifecycle::Target;
use super::motion::Motion;
use crate::associate::{Assignment, Costs, Gate, assign, iou_matrix};
use crate::detect::Detection;
use crate::geometry::Rect;

/// What decides whether an object and a detection may match, and how well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Lowest score of a match.
    pub(super) gate: Gate,
    /// The score is IoU x confidence instead of IoU.
    pub(super) weigh_confidence: bool,
    /// Other classes never match.
    pub(super) class_aware: bool,
}

/// Buffers of a round, reused from frame to frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Matcher {
    expected: Vec<Rect>,
    seen: Vec<Rect>,
    scores: Vec<f32>,
    assignment: Assignment,
}

impl Matcher {
    /// Gives each target its best among the detections listed in `open`, and takes these off that list. Targets that
    /// already have a detection in this frame, or that `takes_part` excludes, stay out.
    pub(super) fn round<M: Motion>(
        &mut self,
        targets: &mut [Target<M>],
        detections: &[Detection],
        open: &mut Vec<usize>,
        rule: Rule,
        costs: &mut Costs,
        takes_part: impl Fn(&Target<M>) -> bool,
    ) {
        let mut candidates: Vec<&mut Target<M>> =
            targets.iter_mut().filter(|t| t.detection.is_none() && takes_part(t)).collect();
        let offered: Vec<(usize, &Detection)> =
            open.iter().filter_map(|&index| Some((index, detections.get(index)?))).collect();
        self.expected.clear();
        self.expected.extend(candidates.iter().map(|target| target.rect()));
        self.seen.clear();
        self.seen.extend(offered.iter().map(|(_, detection)| detection.rect));
        match costs.iou(&self.expected, &self.seen) {
            Ok(scores) => {
                self.scores.clear();
                self.scores.extend_from_slice(scores);
            }
            // The frame must not suffer for it.
            Err(failure) => {
                costs.give_up(failure);
                iou_matrix(&self.expected, &self.seen, &mut self.scores);
            }
        }
        for (row, target) in self.scores.chunks_mut(offered.len().max(1)).zip(&candidates) {
            for (score, (_, detection)) in row.iter_mut().zip(&offered) {
                if rule.class_aware && target.class != detection.class {
                    *score = 0.0;
                } else if rule.weigh_confidence {
                    *score *= detection.confidence;
                }
            }
        }
        assign(&self.scores, candidates.len(), offered.len(), rule.gate, &mut self.assignment);
        for &(row, col) in &self.assignment.matches {
            if let (Some(target), Some(&(index, detection))) = (candidates.get_mut(row), offered.get(col)) {
                target.update(index, detection);
            }
        }
        let left = self.assignment.unmatched_cols.iter();
        *open = left.filter_map(|&col| Some(offered.get(col)?.0)).collect();
    }
}
