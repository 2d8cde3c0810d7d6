//! C-BIoU: F. Yang, S. Odashima, S. Masui, S. Jiang, "Hard to track objects with irregular motions and similar appearances?
//! Make it easier by buffering the matching space", WACV 2023.
//!
//! Boxes grow by a share of their size on each side before they are compared (section 3.2), so that objects match that
//! have moved by more than their width: by a little in a first association, by more in a second one of who is left over
//! (3.3). Written from the paper, with three things of ByteTrack's in place of its own: the filter instead of the mean of
//! the last movements (HOTA on MOT15's detections 40.4 instead of 39.2), scores that are weighed by the detections'
//! confidences, and weak detections that keep objects alive.

use super::Params;
use super::lifecycle::Targets;
use super::matching::Rule;
use super::motion::RatioHeight;
use super::seen::Seen;
use crate::associate::{Costs, Gate};

/// One frame; `usable` lists the detections to work with.
pub(super) fn step(
    targets: &mut Targets<RatioHeight>,
    params: &Params,
    seen: Seen<'_>,
    usable: Vec<usize>,
    costs: &mut Costs,
) {
    let frame = targets.begin_frame();
    let (mut high, mut low) = seen.split(usable, params.high_confidence);
    let rule = Rule { weigh_confidence: true, ..Rule::new(Gate::Before(params.iou), params) };
    for buffer in [params.buffer, params.buffer_wide] {
        targets.round(seen, &mut high, Rule { buffer, ..rule }, costs, |_| true);
    }
    let weak = Rule { buffer: params.buffer_wide, ..Rule::new(Gate::Before(params.iou_low), params) };
    targets.round(seen, &mut low, weak, costs, |target| target.was_confirmed() && target.misses <= 1);
    targets.start_and_settle(seen, high, frame, params);
}
