//! From peaks with tags to instances, point after point.

use super::params::TagParams;
use crate::associate::assign_full;
use crate::group::{Keypoint, Pose};

/// A peak of one of the maps.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaggedPeak {
    pub at: Keypoint,
    pub tag: f32,
}

/// The points that belong together so far.
#[derive(Clone, Debug, Default)]
pub(super) struct TaggedPose {
    pub pose: Pose,
    tags: f64,
    count: usize,
}

impl AsRef<Pose> for TaggedPose {
    fn as_ref(&self) -> &Pose {
        &self.pose
    }
}

impl TaggedPose {
    /// The mean tag of its peaks.
    pub fn tag(&self) -> f64 {
        self.tags / self.count as f64
    }

    fn add(&mut self, point: usize, peak: &TaggedPeak) {
        self.pose.points[point] = Some(peak.at);
        self.tags += f64::from(peak.tag);
        self.count += 1;
    }
}

/// The instances of the peaks that `peaks` has for each point, in the order in which they began, and whether there were more than
/// may be.
pub(super) fn assemble(
    peaks: &[Vec<TaggedPeak>],
    order: &[usize],
    params: &TagParams,
) -> (Vec<TaggedPose>, bool) {
    let mut poses: Vec<TaggedPose> = Vec::new();
    let mut limited = false;
    for point in order.iter().copied() {
        let partners = partners(&peaks[point], &poses, params.tag_distance);
        for (peak, partner) in peaks[point].iter().zip(partners) {
            match partner {
                Some(pose) => poses[pose].add(point, peak),
                None if poses.len() < params.max_poses => {
                    let mut new = TaggedPose::default();
                    new.pose.points.resize(peaks.len(), None);
                    new.add(point, peak);
                    poses.push(new);
                }
                None => limited = true,
            }
        }
    }
    for TaggedPose { pose, .. } in &mut poses {
        let scores: f32 = pose.points.iter().flatten().map(|point| point.score).sum();
        pose.score = scores / pose.points.len() as f32;
        for point in &mut pose.points {
            *point = point.filter(|point| point.score >= params.min_point_score);
        }
    }
    (poses, limited)
}

/// What the square of a distance of tags costs beside the distance in whole numbers, so that of pairings that are equals in
/// HigherHRNet the nearest one is found; there it is the one that the solver meets first. On a line, pairs that cross are no further
/// apart together than others, but their squares are.
pub(super) const NEARER: f64 = 1e-6;

/// The instance that each peak belongs to: of all pairings, the one with the least distances of tags in whole numbers, times 100, less
/// the scores of the peaks.
fn partners(peaks: &[TaggedPeak], poses: &[TaggedPose], most: f32) -> Vec<Option<usize>> {
    let distance = |peak: &TaggedPeak, pose: &TaggedPose| (f64::from(peak.tag) - pose.tag()).abs();
    let mut fits = Vec::with_capacity(peaks.len() * poses.len());
    for peak in peaks {
        fits.extend(poses.iter().map(|pose| {
            let far = distance(peak, pose);
            f64::from(peak.at.score) - 100.0 * far.round_ties_even() - NEARER * far * far
        }));
    }
    let mut partners = vec![None; peaks.len()];
    for (row, column) in assign_full(&fits, peaks.len(), poses.len()) {
        partners[row] = (distance(&peaks[row], &poses[column]) < f64::from(most)).then_some(column);
    }
    partners
}
