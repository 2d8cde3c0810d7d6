//! BoT-SORT: N. Aharon, R. Orfaig, B.-Z. Bobrovsky, "BoT-SORT: robust associations multi-pedestrian tracking",
//! arXiv:2206.14651, 2022.
//!
//! ByteTrack, and three things: a filter over width and height ([`super::motion::WidthHeight`], section 3.1), objects that
//! move with the camera before they are compared (3.2: [`super::TrackerInput::camera`], estimated by [`crate::camera`]), and
//! appearance, which counts where boxes are near each other ([`super::matching::AppearanceRule`], 3.3). Written from the paper.
//! The other algorithms can use the last two as well.

use super::TrackParams;
use super::bytetrack::cascade;
use super::lifecycle::Targets;
use super::matching::Rule;
use super::motion::WidthHeight;
use super::observation::FrameView;
use crate::associate::{Gate, Similarity};

/// One frame; `usable` lists the detections to work with.
pub(super) fn step(
    targets: &mut Targets<WidthHeight<100>>,
    params: &TrackParams,
    seen: FrameView<'_>,
    usable: Vec<usize>,
    similarity: &mut Similarity,
) {
    cascade(targets, params, seen, usable, similarity, [Rule::new(Gate::Before(params.iou), params)]);
}
