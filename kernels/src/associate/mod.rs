//! Who belongs to whom: how well two sets of objects fit, and the best one-to-one pairing of them.
//!
//! A tracker calls both once or twice per frame: [`iou_pairs`] between what it expects and what was detected, then
//! [`assign`] on the result. [`rotated_iou_pairs`] compares rotated boxes, [`oks_pairs`] objects by their keypoints;
//! [`Costs`] computes that on the GPU where it is faster, which takes crowds.

mod assign;
mod choose;
mod cuda;
mod oks;
mod overlap;
mod rotated;
mod solver;

pub(crate) use assign::assign_most;
pub use assign::{Assignment, Gate, Pair, assign};
pub use choose::{Costs, GPU_OKS_DISTANCES};
pub use cuda::CudaCosts;
pub use oks::{COCO_SIGMAS, Pose, oks_matrix, oks_pairs};
pub use overlap::{MOST_PARTNERS, iou_pairs, rotated_iou_pairs};
pub use rotated::Oriented;
