//! Detections, and the counts of what was dropped.

use crate::geometry::Rect;

/// One detected object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Its box, in frame pixels, clamped to the frame.
    pub rect: Rect,
    /// 0..1; after soft NMS the decayed one.
    pub confidence: f32,
    /// Index of its class, 0 for the first class that is not background.
    pub class: u32,
}

/// What became of a frame's anchors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Anchors with finite values that passed the threshold and the class filter.
    pub candidates: usize,
    /// Anchors dropped because a value that was needed is NaN or infinite.
    pub non_finite: usize,
    /// Candidates cut by [`super::Params::top_k_before`].
    pub truncated: usize,
    /// Whether there are as many detections as [`super::Params::top_k_after`] allows, and more may have been left out.
    pub limited: bool,
}
