//! How similar two sets of objects are, and the best one-to-one assignment between them.
//!
//! A tracker calls both once or twice per frame: [`iou_pairs`] between its predictions and the detections, then [`assign`]
//! on the result. [`rotated_iou_pairs`] compares rotated boxes, [`oks_pairs`] objects by their keypoints; [`Similarity`] does the
//! latter on the GPU where that is faster, in crowds.

mod assign;
mod choose;
mod cuda;
mod full;
mod oks;
mod overlap;
mod rotated;
mod solver;

pub(crate) use assign::assign_most;
pub use assign::{Assignment, Gate, Pair, assign};
pub use choose::{GPU_OKS_DISTANCES, Similarity};
pub use cuda::CudaSimilarity;
pub(crate) use full::assign_full;
pub use oks::{COCO_SIGMAS, Pose, oks_matrix, oks_pairs};
pub use overlap::{MOST_PARTNERS, iou_pairs, rotated_iou_pairs};
pub use rotated::Oriented;
