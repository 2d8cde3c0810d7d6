//! OC-SORT: J. Cao, J. Pang, X. Weng, R. Khirodkar, K. Kitani, "Observation-centric SORT: rethinking SORT for robust
//! multi-object tracking", CVPR 2023.
//!
//! SORT, and three things that rely on observations more than on the filter: a match that goes on in the object's direction
//! scores higher (observation-centric momentum, section 4.2); an object without a match is searched for where it was last seen,
//! not where the filter has drifted to (recovery, 4.3); and the filter of an object that comes back is run again along the
//! straight way between the two observations (re-update, 4.1: [`super::motion::Observed`]). Written from the paper. Unlike in
//! its authors' program, pairs that overlap too little are forbidden before the assignment, so that their direction has no
//! influence.

use super::TrackParams;
use super::lifecycle::Targets;
use super::matching::{Momentum, Rule, SearchBox};
use super::motion::Observed;
use super::observation::FrameView;
use crate::associate::{Gate, Similarity};

/// One frame; `usable` lists the detections to work with.
pub(super) fn step(
    targets: &mut Targets<Observed>,
    params: &TrackParams,
    seen: FrameView<'_>,
    mut usable: Vec<usize>,
    similarity: &mut Similarity,
) {
    let frame = targets.begin_frame(seen, params.max_lost);
    let first = Rule { momentum: Some(Momentum::of(params)), ..Rule::new(Gate::Before(params.iou), params) };
    targets.round(seen, &mut usable, first, similarity, |_| true);
    let recovery = Rule { search_box: SearchBox::LastSeen, ..Rule::new(Gate::Before(params.iou), params) };
    targets.round(seen, &mut usable, recovery, similarity, |_| true);
    targets.start(seen, &usable);
    targets.update_states(|target| target.streak >= params.min_hits || frame <= params.min_hits);
    targets.keep(|target| target.misses <= params.max_lost);
}
