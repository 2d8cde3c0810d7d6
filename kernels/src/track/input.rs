//! The input of a tracker for one frame.

use super::Embeddings;
use crate::detect::Detection;
use crate::geometry::{Affine, Rect};

/// An object's area as a part of its box's, for OKS: the ratio that COCO's evaluation takes where it knows the box only
/// (xtcocotools, `cocoeval.py`).
pub const AREA_OF_BOX: f32 = 0.53;

/// The keypoints of a frame's detections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Poses<'a> {
    /// Row-major `[detections, keypoints]`, in the boxes' coordinates; a point with a coordinate that is not finite is missing,
    /// and so is a row that is cut off.
    pub points: &'a [(f32, f32)],
    /// A sigma for each keypoint, see [`COCO_SIGMAS`](crate::associate::COCO_SIGMAS); without any, boxes are compared. Later
    /// frames may have more keypoints, at the end.
    pub sigmas: &'a [f32],
    /// For each detection whether its box is drawn around its points, and not by a detector. Where points are missing, the
    /// filter then does not get the smaller box of the others, but the expected box, moved as the others have moved. False for
    /// detections beyond the end of the slice.
    pub around_points: &'a [bool],
}

/// The input of a tracker for a frame.
#[derive(Clone, Copy, Debug)]
pub struct TrackerInput<'a> {
    /// The frame's detections.
    pub detections: &'a [Detection],
    /// Their keypoints, where these are compared.
    pub poses: Poses<'a>,
    /// By how much each box is rotated about its centre, in radians, clockwise on the screen; then rotated boxes are
    /// compared. 0 for detections beyond the end of the slice.
    pub angles: &'a [f32],
    /// Their appearance, for algorithms that use it.
    pub embeddings: Embeddings<'a>,
    /// The time since the previous frame, in frames at the video's usual rate: 1 but for gaps and variable frame rates. A
    /// value that is not finite or not above 0 counts as 1.
    pub elapsed: f64,
    /// How the camera has moved since then: where in this frame a point of the previous frame lies.
    pub camera: Option<Affine>,
    /// For each detection of the last update the box of its object in this frame, by the flow of pixels, where that is known. It counts
    /// as a measurement of the object's place, and not as a detection.
    pub flow: &'a [Option<Rect>],
}

impl<'a> TrackerInput<'a> {
    /// Detections alone, of the frame that follows the previous one.
    pub fn of(detections: &'a [Detection]) -> Self {
        Self {
            detections,
            poses: Poses::default(),
            angles: &[],
            embeddings: Embeddings::default(),
            elapsed: 1.0,
            camera: None,
            flow: &[],
        }
    }
}
