//! ByteTrack: Y. Zhang, P. Sun, Y. Jiang, D. Yu, F. Weng, Z. Yuan, P. Luo, W. Liu, X. Wang, "ByteTrack: multi-object
//! tracking by associating every detection box", ECCV 2022.
//!
//! Algorithm 1 of the paper: confident detections choose first, among all objects; objects that were still in sight in
//! the last frame and found nothing may then take a weak detection (a person half hidden), which never starts an object
//! itself. Two things of the authors' program that the paper does not have are left out: the removal of a lost object that
//! overlaps a living one (no measurable effect), and a last round of its own for unconfirmed objects. Measured on
//! MOT15, that round makes fewer switches and fewer false boxes and finds fewer people; HOTA and IDF1 are the same.

use super::TrackParams;
use super::lifecycle::Targets;
use super::matching::Rule;
use super::motion::{Motion, RatioHeight};
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
    cascade(targets, params, seen, usable, similarity, [first]);
}

/// One frame with several first associations in turn, each of the objects and detections that the previous one has left over;
/// all of them weigh scores by the confidence. Weak detections are compared as in the last of them.
pub(super) fn cascade<M: Motion, const N: usize>(
    targets: &mut Targets<M>,
    params: &TrackParams,
    seen: FrameView<'_>,
    usable: Vec<usize>,
    similarity: &mut Similarity,
    rules: [Rule; N],
) {
    let frame = targets.begin_frame(seen, params.max_lost);
    let (mut high, mut low) = seen.split(usable, params.high_confidence);
    for rule in rules {
        targets.round(seen, &mut high, Rule { weigh_confidence: true, ..rule }, similarity, |_| true);
    }
    // Objects that have been lost for longer do not take part: their prediction is vague, and weak detections are often
    // background.
    let buffer = rules.last().map_or(0.0, |rule| rule.buffer);
    let second = Rule { buffer, appearance: None, ..Rule::new(Gate::Before(params.iou_low), params) };
    targets.round(seen, &mut low, second, similarity, |target| target.was_confirmed() && target.misses <= 1);

    targets.start(seen, &seen.split(high, params.new_confidence).0);
    targets.update_states(|target| target.was_confirmed() || target.streak >= params.min_hits || frame == 1);
    // One miss ends an unconfirmed object.
    targets.keep(|target| target.misses <= if target.was_confirmed() { params.max_lost } else { 0 });
}
