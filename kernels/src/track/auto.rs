//! The combination of the other algorithms that was the best on detectors' output (`scripts/evaluate mot`).
//!
//! ByteTrack's associations ([`super::bytetrack`]); BoT-SORT's filter, which relies a little more on its own prediction
//! (process noise of 0.7 times the paper's deviation); OC-SORT's momentum, with the direction of the filter's velocity;
//! and thresholds from the detector's own confidences ([`super::confidence`]). Chosen on three of MOT15's sequences
//! (ADL-Rundle-6, KITTI-13, TUD-Campus); the others are reported separately.

use super::TrackParams;
use super::bytetrack::cascade;
use super::lifecycle::Targets;
use super::matching::{Momentum, Rule};
use super::motion::WidthHeight;
use super::observation::FrameView;
use crate::associate::{Gate, Similarity};

/// One frame; `usable` lists the detections to work with.
pub(super) fn step(
    targets: &mut Targets<WidthHeight<70>>,
    params: &TrackParams,
    seen: FrameView<'_>,
    usable: Vec<usize>,
    similarity: &mut Similarity,
) {
    let first = Rule { momentum: Some(Momentum::of(params)), ..Rule::new(Gate::Before(params.iou), params) };
    cascade(targets, params, seen, usable, similarity, [first]);
}
