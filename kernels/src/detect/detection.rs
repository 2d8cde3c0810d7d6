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

/// The strongest detections that are compared with each other.
const COMPARED: usize = 64;
/// Two objects of a class that overlap more are hardly two.
const SAME: f32 = 0.7;

/// How many of the strongest detections are compared, and how many of these lie on a stronger one of their class. They are in the
/// order of their confidence.
pub fn repeated(found: &[Detection]) -> (usize, usize) {
    let strongest = &found[..found.len().min(COMPARED)];
    let lies_on =
        |one: &Detection, other: &Detection| other.class == one.class && other.rect.iou(&one.rect) > SAME;
    let repeated = strongest
        .iter()
        .enumerate()
        .filter(|(i, one)| strongest[..*i].iter().any(|stronger| lies_on(one, stronger)))
        .count();
    (strongest.len(), repeated)
}

/// What became of a frame's anchors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Anchors with finite values that passed the threshold and the class filter.
    pub candidates: usize,
    /// Anchors dropped because a value that was needed is NaN or infinite.
    pub non_finite: usize,
    /// Candidates cut by [`super::DetectParams::top_k_before`].
    pub truncated: usize,
    /// Whether there are as many detections as [`super::DetectParams::top_k_after`] allows, and more may have been left out.
    pub limited: bool,
}
