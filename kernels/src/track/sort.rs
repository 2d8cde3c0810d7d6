//! SORT: A. Bewley, Z. Ge, L. Ott, F. Ramos, B. Upcroft, "Simple online and realtime tracking", ICIP 2016.
//!
//! Predict every object, pair all of them with all detections by IoU, start an object for each detection left over.
//! Written from the paper (sections 3.2 to 3.4) and its published parameters.

use super::TrackParams;
use super::lifecycle::Targets;
use super::matching::Rule;
use super::motion::AreaRatio;
use super::observation::FrameView;
use crate::associate::{Gate, Similarity};

/// One frame; `usable` lists the detections to work with.
pub(super) fn step(
    targets: &mut Targets<AreaRatio>,
    params: &TrackParams,
    seen: FrameView<'_>,
    mut usable: Vec<usize>,
    similarity: &mut Similarity,
) {
    let frame = targets.begin_frame(seen, params.max_lost);
    // The paper solves the assignment first and then rejects the pairs that overlap too little.
    targets.round(seen, &mut usable, Rule::new(Gate::After(params.iou), params), similarity, |_| true);
    targets.start(seen, &usable);
    targets.update_states(|target| target.streak >= params.min_hits || frame <= params.min_hits);
    targets.keep(|target| target.misses <= params.max_lost);
}
