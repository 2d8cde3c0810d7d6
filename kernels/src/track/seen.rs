//! What a frame shows: boxes, and the keypoints of those that have some.

use crate::detect::Detection;

/// The detections of one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    detections: &'a [Detection],
    /// Row-major `[detections, sigmas]`.
    points: &'a [(f32, f32)],
    /// One a keypoint; none where boxes are compared.
    pub(super) sigmas: &'a [f32],
}

impl<'a> Seen<'a> {
    pub(super) fn new(detections: &'a [Detection], points: &'a [(f32, f32)], sigmas: &'a [f32]) -> Self {
        Self { detections, points, sigmas }
    }

    pub(super) fn get(&self, index: usize) -> Option<&'a Detection> {
        self.detections.get(index)
    }

    /// The keypoints of detection `index`; empty where there are none.
    pub(super) fn pose(&self, index: usize) -> &'a [(f32, f32)] {
        let count = self.sigmas.len();
        let row = self.points.get(index * count..(index + 1) * count).unwrap_or_default();
        if has_points(row) { row } else { &[] }
    }
}

/// Whether a pose has a keypoint at all.
pub(super) fn has_points(pose: &[(f32, f32)]) -> bool {
    pose.iter().any(|(x, y)| x.is_finite() && y.is_finite())
}
