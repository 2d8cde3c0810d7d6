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
    pub(super) x: bool,
    pub(super) low_at: f32,
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
            x: false,
            low_at: 0.0,
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
        let cosine = seen.similarity(one.embedding).filter(counts);
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
        let (lb, lm) = (crate::track::x("lostbuf", 0.0) as f32, crate::track::x("lostmax", 0.3) as f32);
        if rule.x && lb > 0.0 {
            self.pairs.clear();
            for (row, t) in candidates.iter().enumerate() {
                let b = (lb * (t.misses as f32 - 1.0)).min(lm);
                let g = |r: &Rect| Rect {
                    x: r.x - b * r.w,
                    y: r.y - b * r.h,
                    w: r.w * (1.0 + 2.0 * b),
                    h: r.h * (1.0 + 2.0 * b),
                };
                let e = g(&self.expected[row]);
                for (col, d) in self.seen.iter().enumerate() {
                    let s = e.iou(&g(d));
                    if s > 0.0 && may_match(row, col) {
                        self.pairs.push(Pair { row, col, score: s });
                    }
                }
            }
        }
        if !seen.sigmas().is_empty() {
            self.compare_poses(seen.sigmas(), &offered, similarity, may_match);
        }
        let gate = self.weigh(&candidates, &offered, rule);
        if rule.x && crate::track::x("greedy", 0.0) > 0.0 {
            let mut order: Vec<Pair> = self.pairs.iter().copied().filter(|p| p.score > 0.0).collect();
            order.sort_by(|a, b| b.score.total_cmp(&a.score).then((a.row, a.col).cmp(&(b.row, b.col))));
            let (mut r, mut c) = (vec![false; candidates.len()], vec![false; offered.len()]);
            let mut m = Vec::new();
            for p in order {
                if !r[p.row] && !c[p.col] {
                    r[p.row] = true;
                    c[p.col] = true;
                    m.push((p.row, p.col));
                }
            }
            m.sort();
            self.assignment.matches = m;
            self.assignment.unmatched_cols = (0..offered.len()).filter(|i| !c[*i]).collect();
            self.assignment.unmatched_rows = (0..candidates.len()).filter(|i| !r[*i]).collect();
        } else {
            assign(&self.pairs, candidates.len(), offered.len(), gate, &mut self.assignment);
        }
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
            let mut plus = 0.0f32;
            if rule.x {
                let e = self.expected[pair.row];
                let d = self.seen[pair.col];
                let hm = crate::track::x("hm", 0.0) as f32;
                let hi = (e.bottom().min(d.bottom()) - e.y.max(d.y)).max(0.0)
                    / (e.bottom().max(d.bottom()) - e.y.min(d.y)).max(1e-6);
                if hm > 0.0 {
                    pair.score *= hi.powf(hm);
                }
                plus += crate::track::x("hp", 0.0) as f32 * hi;
                let tcm = crate::track::x("tcm", 0.0) as f32;
                if tcm > 0.0 {
                    let c = target.conf;
                    let expect = (c[0]
                        + if target.misses <= 1 {
                            crate::track::x("tcmv", 1.0) as f32 * (c[0] - c[1])
                        } else {
                            0.0
                        })
                    .clamp(0.1, 1.0);
                    plus -= tcm * (one.detection.confidence - expect).abs();
                }
                let sh = crate::track::x("sh", 0.0) as f32;
                if sh > 0.0 {
                    let r = |a: f32, b: f32| (a - b).abs() / a.max(b).max(1e-6);
                    plus += sh * (-(r(e.w, d.w) + r(e.h, d.h))).exp();
                }
                let md = crate::track::x("lostpen", 0.0) as f32;
                plus -= md * (target.misses as f32 - 1.0).min(30.0) / 30.0;
                if one.detection.confidence < rule.low_at {
                    plus -= crate::track::x("lowpen", 0.0) as f32;
                }
            }
            if rule.weigh_confidence {
                pair.score *= one.detection.confidence;
            }
            if let Some(appearance) = rule.appearance {
                pair.score = appearance.weigh(pair.score, similarity, target.appearance(), one);
            }
            if rule.x && target.misses > 1 && pair.score < crate::track::x("gatelost", 0.0) as f32 {
                return false;
            }
            if pair.score < least {
                return false;
            }
            if let Some(momentum) =
                rule.momentum.filter(|_| target.misses <= crate::track::x("mommiss", 10000.0) as u32)
            {
                if row_heading.0 != pair.row {
                    row_heading = (pair.row, target.heading(momentum.frames));
                }
                pair.score = momentum.weigh(pair.score, row_heading.1, one);
            }
            if rule.x {
                pair.score = (pair.score + plus).max(if crate::track::x("plusgate", 0.0) > 0.0 {
                    0.0
                } else {
                    f32::MIN_POSITIVE
                });
                if pair.score < crate::track::x("plusgate", 0.0) as f32 {
                    return false;
                }
            }
            true
        });
        match rule.gate {
            Gate::Before(_) => Gate::Before(0.0),
            after => after,
        }
    }
}
