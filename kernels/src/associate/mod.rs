//! Who belongs to whom: how well two sets of boxes overlap, and the best one-to-one pairing of them.
//!
//! A tracker calls both once or twice per frame: [`iou_matrix`] between what it expects and what was detected, then
//! [`assign`] on the result.

mod assign;
mod cost;

pub use assign::{Assignment, Gate, assign};
pub use cost::iou_matrix;
pub(crate) use cost::is_usable;
