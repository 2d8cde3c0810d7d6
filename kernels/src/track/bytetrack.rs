//! ByteTrack: Y. Zhang, P. Sun, Y. Jiang, D. Yu, F. Weng, Z. Yuan, P. Luo, W. Liu, X. Wang, "ByteTrack: multi-object
//! tracking by associating every detection box", ECCV 2022.
//!
//! Algorithm 1 of the paper: confident detections choose first, among all objects; objects that were still in sight in
//! the last frame and found nothing may then take a weak detection (a person half hidden), which never starts an object
//! itself. Two things of the authors' program that the paper does not have are left out: the removal of a lost object that
//! overlaps a living one (no measurable effect), and a last round of its own for unconfirmed objects. Measured on
//! MOT15, that round makes fewer switches and fewer false boxes and finds fewer people; HOTA and IDF1 are the same.

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
    cascade(targets, params, seen, usable, costs, [0.0]);
}

/// The same with a first association for each of these buffers ([`Rule::buffer`]), of who the one before has left over. The
/// last buffer is also the weak detections'.
pub(super) fn cascade<const N: usize>(
    targets: &mut Targets<RatioHeight>,
    params: &Params,
    seen: Seen<'_>,
    usable: Vec<usize>,
    costs: &mut Costs,
    buffers: [f32; N],
) {
    let frame = targets.begin_frame();
    let (mut high, mut low) = seen.split(usable, params.high_confidence);
    let first = Rule { weigh_confidence: true, ..Rule::new(Gate::Before(params.iou), params) };
    for buffer in buffers {
        targets.round(seen, &mut high, Rule { buffer, ..first }, costs, |_| true);
    }
    // Longer lost objects have no say here: their prediction is vague, and weak detections are often background.
    let buffer = buffers.last().copied().unwrap_or_default();
    let second = Rule { buffer, ..Rule::new(Gate::Before(params.iou_low), params) };
    targets.round(seen, &mut low, second, costs, |target| target.was_confirmed() && target.misses <= 1);

    targets.start(seen, &seen.split(high, params.new_confidence).0);
    targets.settle(|target| target.was_confirmed() || target.streak >= params.min_hits || frame == 1);
    // An unconfirmed object has no credit: one miss ends it.
    targets.keep(|target| target.misses <= if target.was_confirmed() { params.max_lost } else { 0 });
}
