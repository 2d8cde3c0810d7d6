//! C-BIoU: F. Yang, S. Odashima, S. Masui, S. Jiang, "Hard to track objects with irregular motions and similar appearances?
//! Make it easier by buffering the matching space", WACV 2023.
//!
//! Boxes grow by a fraction of their size on each side before they are compared (section 3.2), so that objects match that
//! have moved by more than their width: by a little in a first association, by more in a second one of the remaining tracks
//! (3.3). Written from the paper, with three things of ByteTrack's in place of its own: the filter instead of the mean of
//! the last movements (HOTA on MOT15's detections 40.4 instead of 39.2), scores that are weighted by the detections'
//! confidences, and weak detections that keep objects alive.

use super::TrackParams;
use super::bytetrack::cascade;
use super::lifecycle::Targets;
use super::matching::Rule;
use super::motion::RatioHeight;
use super::observation::FrameView;
use crate::associate::{Gate, Similarity};

/// One frame; `usable` lists the detections to work with.
pub(super) fn step(
    targets: &mut Targets<RatioHeight>,
    params: &TrackParams,
    seen: FrameView<'_>,
    usable: Vec<usize>,
    similarity: &mut Similarity,
) {
    let first = Rule::new(Gate::Before(params.iou), params);
    let rules = [params.buffer, params.buffer_wide].map(|buffer| Rule { buffer, ..first });
    cascade(targets, params, seen, usable, similarity, rules);
}
