//! Who belongs to whom: how well two sets of objects fit, and the best one-to-one pairing of them.
//!
//! A tracker calls both once or twice per frame: [`iou_matrix`] between what it expects and what was detected, then
//! [`assign`] on the result. [`oks_matrix`] compares objects by their keypoints instead of their boxes. [`Costs`]
//! computes either on the GPU where that is faster, which takes crowds.

mod assign;
mod choose;
mod cost;
mod cuda;
mod oks;

pub use assign::{Assignment, Gate, assign};
pub use choose::{Costs, GPU_IOU_PAIRS, GPU_OKS_DISTANCES};
pub use cost::iou_matrix;
pub(crate) use cost::is_usable;
pub use cuda::CudaCosts;
pub use oks::{COCO_SIGMAS, Pose, oks_matrix};
