//! The observations of a frame: boxes, and the keypoints of those that have some.

use super::{Poses, TrackerInput};
use crate::detect::Detection;
use crate::geometry::{Affine, Rect};

/// A frame's detections and everything that is known about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameView<'a> {
    frame: &'a TrackerInput<'a>,
    compares_appearance: bool,
}

/// One of its detections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation<'a> {
    pub(super) detection: &'a Detection,
    /// The keypoints; empty where there are none.
    pub(super) pose: &'a [(f32, f32)],
    /// Whether the box is one around the points.
    pub(super) around_points: bool,
    pub(super) angle: f32,
    /// The embedding; empty where there is none.
    pub(super) embedding: &'a [f32],
    /// Whether that is compared with objects' appearance.
    pub(super) compares_appearance: bool,
}

impl<'a> Observation<'a> {
    /// The embedding that objects' appearance is compared with; empty where there is none.
    pub(super) fn compared(&self) -> &'a [f32] {
        if self.compares_appearance { self.embedding } else { &[] }
    }
}

impl<'a> FrameView<'a> {
    pub(super) fn new(frame: &'a TrackerInput<'a>, compares_appearance: bool) -> Self {
        Self { frame, compares_appearance }
    }

    pub(super) fn get(&self, index: usize) -> Option<Observation<'a>> {
        let Poses { points, sigmas, around_points } = self.frame.poses;
        let pose = points.get(index * sigmas.len()..(index + 1) * sigmas.len()).unwrap_or_default();
        Some(Observation {
            detection: self.frame.detections.get(index)?,
            pose: if pose.iter().any(is_there) { pose } else { &[] },
            around_points: around_points.get(index) == Some(&true),
            angle: self.frame.angles.get(index).copied().unwrap_or_default(),
            embedding: self.frame.embeddings.of(index),
            compares_appearance: self.compares_appearance,
        })
    }

    /// Whether any box is rotated.
    pub(super) fn is_rotated(&self) -> bool {
        !self.frame.angles.is_empty()
    }

    /// The time since the previous frame, in frames.
    pub(super) fn elapsed(&self) -> f64 {
        let elapsed = self.frame.elapsed;
        if elapsed.is_finite() && elapsed > 0.0 { elapsed } else { 1.0 }
    }

    /// How the camera has moved since then.
    pub(super) fn camera(&self) -> Option<&'a Affine> {
        let finite = |camera: &&Affine| {
            [camera.scale, camera.skew, camera.offset].as_flattened().iter().all(|v| v.is_finite())
        };
        self.frame.camera.as_ref().filter(finite)
    }

    /// Where the object of the last update's detection `index` is now by the flow of pixels, if that is known.
    pub(super) fn flow(&self, index: usize) -> Option<&'a Rect> {
        self.frame.flow.get(index)?.as_ref().filter(|rect| rect.is_usable())
    }

    pub(super) fn confidence(&self, index: usize) -> f32 {
        self.frame.detections.get(index).map_or(0.0, |detection| detection.confidence)
    }

    /// Splits the listed detections into those with at least this confidence, and the others.
    pub(super) fn split(&self, listed: Vec<usize>, confidence: f32) -> (Vec<usize>, Vec<usize>) {
        listed.into_iter().partition(|index| self.confidence(*index) >= confidence)
    }

    /// A sigma for each keypoint; empty where boxes are compared.
    pub(super) fn sigmas(&self) -> &'a [f32] {
        self.frame.poses.sigmas
    }
}

fn is_there((x, y): &(f32, f32)) -> bool {
    x.is_finite() && y.is_finite()
}

/// The points, followed by endless missing ones.
fn padded(points: &[(f32, f32)]) -> impl Iterator<Item = &(f32, f32)> {
    points.iter().chain(std::iter::repeat(&(f32::NAN, f32::NAN)))
}

fn centre(rect: &Rect) -> (f32, f32) {
    (rect.x + rect.w / 2.0, rect.y + rect.h / 2.0)
}

/// The keypoints of a tracked object.
#[derive(Clone, Debug, Default)]
pub(super) struct Posture {
    /// The points of the last frame that had any, relative to the centre that the filter's box had then.
    last: Vec<(f32, f32)>,
    /// Each point where it was itself last seen, likewise.
    known: Vec<(f32, f32)>,
}

impl Posture {
    /// Takes in points, if there are any; `rect` is the filter's box.
    pub(super) fn take(&mut self, pose: &[(f32, f32)], rect: &Rect) {
        if pose.is_empty() {
            return;
        }
        let (cx, cy) = centre(rect);
        self.last.clear();
        self.last.extend(pose.iter().map(|(x, y)| (x - cx, y - cy)));
        self.known.resize(self.known.len().max(pose.len()), (f32::NAN, f32::NAN));
        for (known, point) in self.known.iter_mut().zip(&self.last).filter(|(_, point)| is_there(point)) {
            *known = *point;
        }
    }

    /// Appends to `out` the points where they are expected if the filter's box is `rect`; nothing if none were ever seen.
    pub(super) fn expect(&self, rect: &Rect, out: &mut Vec<(f32, f32)>) {
        let (cx, cy) = centre(rect);
        out.extend(self.last.iter().map(|(x, y)| (x + cx, y + cy)));
    }

    /// Whether points that were never seen before give another box than `expected`.
    pub(super) fn is_outgrown(&self, one: &Observation<'_>, expected: &Rect) -> bool {
        let mut pairs = one.pose.iter().zip(padded(&self.known));
        one.around_points
            && pairs.any(|(point, known)| is_there(point) && !is_there(known))
            && one.detection.rect.iou(expected) < 0.5
    }

    /// The box to measure for an object of which `one` was seen and `expected` was expected.
    pub(super) fn measure(&self, one: &Observation<'_>, expected: &Rect) -> Rect {
        let pairs = || padded(one.pose).zip(&self.known);
        let lacks = pairs().any(|(point, known)| is_there(known) && !is_there(point));
        if !one.around_points || !lacks {
            return one.detection.rect;
        }
        let (mut sum, mut count) = ((0.0, 0.0), 0.0);
        for (point, known) in pairs().filter(|(point, known)| is_there(point) && is_there(known)) {
            sum = (sum.0 + point.0 - known.0, sum.1 + point.1 - known.1);
            count += 1.0;
        }
        if count == 0.0 {
            return one.detection.rect;
        }
        Rect { x: sum.0 / count - expected.w / 2.0, y: sum.1 / count - expected.h / 2.0, ..*expected }
    }
}
