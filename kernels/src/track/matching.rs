//! One round of association: some of the followed objects against some of the detections.

use std::ops::Range;

use super::lifecycle::Target;
use super::motion::{Heading, Motion};
use super::seen::{One, Seen};
use super::{AREA_OF_BOX, Params};
use crate::associate::{Assignment, Costs, Gate, Pose, assign, iou_matrix, oks_matrix};
use crate::device::DeviceError;
use crate::geometry::Rect;

/// What decides whether an object and a detection may match, and how well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Lowest score of a match.
    pub(super) gate: Gate,
    /// The score is similarity x confidence instead of similarity.
    pub(super) weigh_confidence: bool,
    /// Other classes never match.
    pub(super) class_aware: bool,
    /// Where the objects are looked for.
    pub(super) place: Place,
    /// By how much of its width and height each box grows on each side before it is compared.
    pub(super) buffer: f32,
    /// Whether the direction counts.
    pub(super) momentum: Option<Momentum>,
}

/// Where an object is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where the filter expects it.
    Expected,
    /// Where it was last seen.
    LastSeen,
}

/// What a match gains where the object goes on in its direction; OC-SORT's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Momentum {
    /// The gain is half of this, times the detection's confidence, straight on, and a loss backwards.
    pub(super) weight: f32,
    /// From where to where the direction is taken, see [`Motion::heading`].
    pub(super) frames: u32,
}

impl Rule {
    /// Similarity alone, of boxes as they are, where objects are expected.
    pub(super) fn new(gate: Gate, params: &Params) -> Self {
        Self {
            gate,
            weigh_confidence: false,
            class_aware: params.class_aware,
            place: Place::Expected,
            buffer: 0.0,
            momentum: None,
        }
    }
}

impl Momentum {
    fn weigh(&self, score: f32, heading: Option<Heading>, one: &One<'_>) -> f32 {
        let gain = heading.map_or(0.0, |heading| heading.agreement(&one.detection.rect)) as f32;
        // Whoever may match at all still may.
        (score + self.weight * one.detection.confidence * gain).max(f32::MIN_POSITIVE)
    }
}

/// Buffers of a round, reused from frame to frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Matcher {
    expected: Vec<Rect>,
    seen: Vec<Rect>,
    /// The expected boxes' keypoints, one pose after the other, and where each begins and ends.
    points: Vec<(f32, f32)>,
    poses: Vec<Range<usize>>,
    scores: Vec<f32>,
    assignment: Assignment,
}

impl Matcher {
    /// Gives each target its best among the detections listed in `open`, and takes these off that list. Targets that
    /// already have a detection in this frame, or that `takes_part` excludes, stay out.
    pub(super) fn round<M: Motion>(
        &mut self,
        targets: &mut [Target<M>],
        seen: Seen<'_>,
        open: &mut Vec<usize>,
        rule: Rule,
        costs: &mut Costs,
        takes_part: impl Fn(&Target<M>) -> bool,
    ) {
        let mut candidates: Vec<&mut Target<M>> =
            targets.iter_mut().filter(|t| t.detection.is_none() && takes_part(t)).collect();
        let offered: Vec<(usize, One<'_>)> =
            open.iter().filter_map(|&index| Some((index, seen.get(index)?))).collect();
        self.expected.clear();
        self.expected.extend(candidates.iter().map(|target| match rule.place {
            Place::Expected => target.rect(),
            Place::LastSeen => target.last_seen(),
        }));
        self.seen.clear();
        self.seen.extend(offered.iter().map(|(_, one)| one.detection.rect));
        self.points.clear();
        self.poses.clear();
        if !seen.sigmas().is_empty() {
            for (target, rect) in candidates.iter().zip(&self.expected) {
                let start = self.points.len();
                target.expect_pose(rect, &mut self.points);
                self.poses.push(start..self.points.len());
            }
        }
        for rect in self.expected.iter_mut().chain(&mut self.seen).filter(|_| rule.buffer > 0.0) {
            let (x, y) = (rule.buffer * rect.w, rule.buffer * rect.h);
            *rect = Rect { x: rect.x - x, y: rect.y - y, w: rect.w + 2.0 * x, h: rect.h + 2.0 * y };
        }
        self.compare(seen.sigmas(), &offered, costs);
        for (row, target) in self.scores.chunks_mut(offered.len().max(1)).zip(&candidates) {
            for (score, (_, one)) in row.iter_mut().zip(&offered) {
                if rule.class_aware && target.class != one.detection.class {
                    *score = 0.0;
                } else if rule.weigh_confidence {
                    *score *= one.detection.confidence;
                }
            }
        }
        let mut gate = rule.gate;
        if let (Some(momentum), Gate::Before(least)) = (rule.momentum, rule.gate) {
            for (row, target) in self.scores.chunks_mut(offered.len().max(1)).zip(&candidates) {
                let heading = target.heading(momentum.frames);
                for (score, (_, one)) in row.iter_mut().zip(&offered) {
                    *score = if *score >= least { momentum.weigh(*score, heading, one) } else { 0.0 };
                }
            }
            gate = Gate::Before(0.0);
        }
        assign(&self.scores, candidates.len(), offered.len(), gate, &mut self.assignment);
        for &(row, col) in &self.assignment.matches {
            if let (Some(target), Some((index, one))) = (candidates.get_mut(row), offered.get(col)) {
                target.update(*index, one);
            }
        }
        let left = self.assignment.unmatched_cols.iter();
        *open = left.filter_map(|&col| Some(offered.get(col)?.0)).collect();
    }

    /// Fills in the scores: OKS where both have keypoints, else IoU.
    fn compare(&mut self, sigmas: &[f32], offered: &[(usize, One<'_>)], costs: &mut Costs) {
        let Self { expected, seen, points, poses, scores, .. } = self;
        let overlaps = |out: &mut Vec<f32>, costs: &mut Costs| {
            take(out, costs, |costs| costs.iou(expected, seen), |out| iou_matrix(expected, seen, out));
        };
        if sigmas.is_empty() {
            return overlaps(scores, costs);
        }
        let expected_poses = poses.iter().zip(&*expected).map(|(pose, rect)| Pose {
            points: points.get(pose.clone()).unwrap_or_default(),
            area: AREA_OF_BOX * rect.w * rect.h,
        });
        let rows: Vec<Pose<'_>> = expected_poses.collect();
        // Their areas are not used.
        let cols: Vec<Pose<'_>> =
            offered.iter().map(|(_, one)| Pose { points: one.pose, area: 1.0 }).collect();
        let by_cpu = |out: &mut Vec<f32>| oks_matrix(&rows, &cols, sigmas, out);
        take(scores, costs, |costs| costs.oks(&rows, &cols, sigmas), by_cpu);
        let lacks = |pose: &Pose<'_>| pose.points.is_empty();
        if rows.iter().chain(&cols).any(lacks) {
            let mut boxed = Vec::new();
            overlaps(&mut boxed, costs);
            let pairs = rows.iter().flat_map(|row| cols.iter().map(move |col| lacks(row) || lacks(col)));
            for ((score, overlap), _) in scores.iter_mut().zip(boxed).zip(pairs).filter(|(_, lacks)| *lacks) {
                *score = overlap;
            }
        }
    }
}

/// Copies a matrix to `out`; one that the GPU fails to make is made on the CPU, from now on: the frame must not suffer.
fn take(
    out: &mut Vec<f32>,
    costs: &mut Costs,
    make: impl FnOnce(&mut Costs) -> Result<&[f32], DeviceError>,
    by_cpu: impl FnOnce(&mut Vec<f32>),
) {
    match make(costs) {
        Ok(made) => {
            out.clear();
            out.extend_from_slice(made);
        }
        Err(failure) => {
            costs.give_up(failure);
            by_cpu(out);
        }
    }
}
