//! The input of a tracker for one frame.

use super::Embeddings;
use crate::detect::Detection;
use crate::geometry::Affine;

/// An object's area as a part of its box's, for OKS: the ratio that COCO's evaluation takes where it knows the box only
/// (xtcocotools, `cocoeval.py`).
pub const AREA_OF_BOX: f32 = 0.53;

/// The keypoints of a frame's detections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Poses<'a> {
    /// Row-major `[detections, keypoints]`, in the boxes' coordinates; a point with a coordinate that is not finite is not
    /// there, and neither is a row that is cut off.
    pub points: &'a [(f32, f32)],
    /// One a keypoint, see [`COCO_SIGMAS`](crate::associate::COCO_SIGMAS); without any, boxes are compared. Later frames may
    /// have more keypoints, at the end.
    pub sigmas: &'a [f32],
    /// One a detection: whether its box is no detector's, but was drawn around its points. Then the filter is told of missing
    /// points not the smaller box that they leave, but the expected one, moved as the others have moved. False where it is
    /// cut off.
    pub around_points: &'a [bool],
}

/// What a tracker is told of a frame.
#[derive(Clone, Copy, Debug)]
pub struct TrackerInput<'a> {
    /// What was detected.
    pub detections: &'a [Detection],
    /// Their keypoints, where these are compared.
    pub poses: Poses<'a>,
    /// By how much each box is rotated about its centre, in radians, clockwise on the screen; then rotated boxes are
    /// compared. Where it is cut off, 0.
    pub angles: &'a [f32],
    /// Their appearance, for algorithms that ask.
    pub embeddings: Embeddings<'a>,
    /// The time since the frame before in frames, at the rate at which the video usually has them: 1 but for gaps and
    /// variable frame rates. What is not finite or not above 0 counts as 1.
    pub elapsed: f64,
    /// How the camera has moved since then: where in this frame a point of the frame before lies.
    pub camera: Option<Affine>,
}

impl<'a> TrackerInput<'a> {
    /// Detections alone, one frame after the one before.
    pub fn of(detections: &'a [Detection]) -> Self {
        Self {
            detections,
            poses: Poses::default(),
            angles: &[],
            embeddings: Embeddings::default(),
            elapsed: 1.0,
            camera: None,
        }
    }
}
