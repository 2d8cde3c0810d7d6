//! One round of association: some of the tracked objects against some of the detections.

use std::ops::Range;

use super::appearance::Appearance;
use super::motion::{Heading, Motion};
use super::observation::{FrameView, Observation};
use super::target::Target;
use super::{AREA_OF_BOX, TrackParams};
use crate::associate::{
    Assignment, Gate, Oriented, Pair, Pose, Similarity, assign, iou_pairs, rotated_iou_pairs,
};
use crate::geometry::Rect;

/// What decides whether an object and a detection may match, and how well. What counts for the score is a field of it, which
/// [`Matcher::weigh`] applies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Lowest score of a match.
    pub(super) gate: Gate,
    /// The score is similarity x confidence instead of similarity.
    pub(super) weigh_confidence: bool,
    /// Other classes never match.
    pub(super) class_aware: bool,
    /// Which box of an object detections are compared with.
    pub(super) search_box: SearchBox,
    /// By how much of its width and height each box grows on each side before it is compared.
    pub(super) buffer: f32,
    /// Whether the direction counts.
    pub(super) momentum: Option<Momentum>,
    /// Whether appearance counts, where both have one.
    pub(super) appearance: Option<AppearanceRule>,
}

/// The rule by which similar appearances raise a match's score; BoT-SORT's (section 3.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct AppearanceRule {
    /// Lowest similarity of boxes or poses at which appearance counts.
    pub(super) proximity: f32,
    /// Highest cosine distance, halved, at which appearance counts.
    pub(super) distance: f32,
}

/// Which box of an object detections are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchBox {
    /// The box that the filter expects.
    Expected,
    /// The box where it was last seen.
    LastSeen,
}

/// The rule by which a match scores higher where the object goes on in its direction; OC-SORT's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Momentum {
    /// Straight on, the score rises by half of this times the detection's confidence; backwards, it falls by as much.
    pub(super) weight: f32,
    /// The frames over which the direction is taken, see [`Motion::heading`].
    pub(super) frames: u32,
}

impl Rule {
    /// A rule that compares boxes as they are, where objects are expected, and appearance.
    pub(super) fn new(gate: Gate, params: &TrackParams) -> Self {
        Self {
            gate,
            weigh_confidence: false,
            class_aware: params.class_aware,
            search_box: SearchBox::Expected,
            buffer: 0.0,
            momentum: None,
            appearance: Some(AppearanceRule { proximity: params.proximity, distance: params.appearance }),
        }
    }
}

impl Momentum {
    pub(super) fn of(params: &TrackParams) -> Self {
        Self { weight: params.momentum, frames: params.momentum_frames }
    }

    fn weigh(&self, score: f32, heading: Option<Heading>, one: &Observation<'_>) -> f32 {
        let gain = heading.map_or(0.0, |heading| heading.agreement(&one.detection.rect)) as f32;
        // A pair that may match at all still may.
        (score + self.weight * one.detection.confidence * gain).max(f32::MIN_POSITIVE)
    }
}

impl AppearanceRule {
    /// The greater of the score and half of 1 + the appearances' cosine, where appearance counts.
    fn weigh(&self, score: f32, similarity: f32, seen: &Appearance, one: &Observation<'_>) -> f32 {
        if similarity < self.proximity {
            return score;
        }
        let counts = |cosine: &f32| 0.5 - 0.5 * cosine <= self.distance;
        let cosine = seen.similarity(one.compared()).filter(counts);
        cosine.map_or(score, |cosine| score.max(0.5 + 0.5 * cosine))
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
    pairs: Vec<Pair>,
    /// Pairs by their poses.
    pose_pairs: Vec<Pair>,
    assignment: Assignment,
}

impl Matcher {
    /// Gives each target its best among the detections listed in `open`, and takes these off that list. Targets that
    /// already have a detection in this frame, or that `takes_part` excludes, stay out.
    pub(super) fn round<M: Motion>(
        &mut self,
        targets: &mut [Target<M>],
        seen: FrameView<'_>,
        open: &mut Vec<usize>,
        rule: Rule,
        similarity: &mut Similarity,
        takes_part: impl Fn(&Target<M>) -> bool,
    ) {
        let mut candidates: Vec<&mut Target<M>> =
            targets.iter_mut().filter(|t| t.detection.is_none() && takes_part(t)).collect();
        let offered: Vec<(usize, Observation<'_>)> =
            open.iter().filter_map(|&index| Some((index, seen.get(index)?))).collect();
        self.expected.clear();
        self.expected.extend(candidates.iter().map(|target| match rule.search_box {
            SearchBox::Expected => target.rect(),
            SearchBox::LastSeen => target.last_seen(),
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
        let ours: Vec<u32> = candidates.iter().map(|target| target.class).collect();
        let theirs: Vec<u32> = offered.iter().map(|(_, one)| one.detection.class).collect();
        let may_match = |row: usize, col: usize| !rule.class_aware || ours.get(row) == theirs.get(col);
        self.overlap(&candidates, &offered, seen.is_rotated(), may_match);
        if !seen.sigmas().is_empty() {
            self.compare_poses(seen.sigmas(), &offered, similarity, may_match);
        }
        let gate = self.weigh(&candidates, &offered, rule);
        assign(&self.pairs, candidates.len(), offered.len(), gate, &mut self.assignment);
        for &(row, col) in &self.assignment.matches {
            if let (Some(target), Some((index, one))) = (candidates.get_mut(row), offered.get(col)) {
                target.update(*index, one);
            }
        }
        let left = self.assignment.unmatched_cols.iter();
        *open = left.filter_map(|&col| Some(offered.get(col)?.0)).collect();
    }

    /// Pairs up boxes that overlap, of those that may match.
    fn overlap<M: Motion>(
        &mut self,
        candidates: &[&mut Target<M>],
        offered: &[(usize, Observation<'_>)],
        rotated: bool,
        may_match: impl Fn(usize, usize) -> bool,
    ) {
        if !rotated {
            return iou_pairs(&self.expected, &self.seen, may_match, &mut self.pairs);
        }
        let expected: Vec<Oriented> =
            candidates.iter().zip(&self.expected).map(|(target, rect)| target.oriented(*rect)).collect();
        let seen: Vec<Oriented> = offered
            .iter()
            .zip(&self.seen)
            .map(|((_, one), rect)| Oriented { rect: *rect, angle: one.angle })
            .collect();
        rotated_iou_pairs(&expected, &seen, may_match, &mut self.pairs);
    }

    /// Replaces these pairs by those of poses that are near each other; where one of two has no points, the boxes' overlap stays.
    fn compare_poses(
        &mut self,
        sigmas: &[f32],
        offered: &[(usize, Observation<'_>)],
        similarity: &mut Similarity,
        may_match: impl Fn(usize, usize) -> bool,
    ) {
        let Self { expected, points, poses, pairs, pose_pairs, .. } = self;
        let expected_poses = poses.iter().zip(&*expected).map(|(pose, rect)| Pose {
            points: points.get(pose.clone()).unwrap_or_default(),
            area: AREA_OF_BOX * rect.w * rect.h,
        });
        let rows: Vec<Pose<'_>> = expected_poses.collect();
        // The areas of detections are not used.
        let cols: Vec<Pose<'_>> =
            offered.iter().map(|(_, one)| Pose { points: one.pose, area: 1.0 }).collect();
        let lacks = |pose: Option<&Pose<'_>>| pose.is_none_or(|pose| pose.points.is_empty());
        pairs.retain(|pair| lacks(rows.get(pair.row)) || lacks(cols.get(pair.col)));
        // A pose without points is similar to none.
        similarity.oks(&rows, &cols, sigmas, may_match, pose_pairs);
        pairs.append(pose_pairs);
        pairs.sort_by_key(|pair| (pair.row, pair.col));
    }

    /// Makes scores of the pairs' similarities, and removes pairs that may not match. Returns the gate that is left to apply.
    fn weigh<M: Motion>(
        &mut self,
        candidates: &[&mut Target<M>],
        offered: &[(usize, Observation<'_>)],
        rule: Rule,
    ) -> Gate {
        let least = match rule.gate {
            Gate::Before(least) => least,
            Gate::After(_) => 0.0,
        };
        let mut row_heading = (usize::MAX, None);
        self.pairs.retain_mut(|pair| {
            let (Some(target), Some((_, one))) = (candidates.get(pair.row), offered.get(pair.col)) else {
                return false;
            };
            let similarity = pair.score;
            if rule.weigh_confidence {
                pair.score *= one.detection.confidence;
            }
            if let Some(appearance) = rule.appearance {
                pair.score = appearance.weigh(pair.score, similarity, target.appearance(), one);
            }
            if pair.score < least {
                return false;
            }
            if let Some(momentum) = rule.momentum {
                if row_heading.0 != pair.row {
                    row_heading = (pair.row, target.heading(momentum.frames));
                }
                pair.score = momentum.weigh(pair.score, row_heading.1, one);
            }
            true
        });
        match rule.gate {
            Gate::Before(_) => Gate::Before(0.0),
            after => after,
        }
    }
}
