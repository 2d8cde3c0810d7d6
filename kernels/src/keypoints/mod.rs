//! Keypoints of networks that draw no confidence maps.
//!
//! | | the network's outputs | result |
//! |---|---|---|
//! | [`SimccReader`] | two vectors of scores a point, one an axis: SimCC (Li et al., ECCV 2022; RTMPose, DWPose) | points |
//! | [`PointReader`] | coordinates, and mostly a score, of each point of one person: MoveNet, MediaPipe, regression heads | points |
//! | [`InstanceReader`] | the same of several people, each with a box and a score: MoveNet MultiPose | instances |
//! | [`CandidateReader`] | peaks, and scores of the lines between them: sleap-nn's bottom-up exports | poses |
//! | [`IndividualReader`] | peaks, and which individual each is taken for: sleap-nn's multi-class bottom-up exports | poses |
//! | [`CellReader`] | a logit for each pixel of cells of 8x8, and one for none: SuperPoint | points of interest |
//! | [`LaneReader`] | where lanes cross rows and columns, or lines: Ultra-Fast-Lane-Detection, CLRNet | lanes |
//! | [`PoseReader`] | coordinates of several people's points, and mostly scores in outputs of their own: sleap-nn's exports | poses |
//!
//! [`CudaSimcc`] and [`CudaReader`] read outputs that lie on the GPU. The maxima of SimCC are found there; coordinates are results
//! already, some hundred bytes a frame, so they are downloaded and read by the CPU's own code.

mod candidates;
mod cells;
mod coordinates;
mod cuda;
mod error;
mod format;
mod identities;
mod individuals;
mod instances;
mod lanes;
mod layout;
mod params;
mod points;
mod poses;
mod reader;
mod simcc;
#[cfg(test)]
mod tests;

pub use candidates::{CandidateOutputs, CandidateReader};
pub use cells::{CellParams, CellReader};
pub use cuda::{CudaReader, CudaSimcc};
pub use error::KeypointsError;
pub use format::PointFormat;
pub use identities::identify;
pub use individuals::{IndividualOutputs, IndividualReader};
pub use instances::{Instance, InstanceReader};
pub use lanes::{Lane, LaneAnchors, LaneParams, LaneReader};
pub use params::{CoordinateParams, PixelOrigin, PoseActivation, SimccParams};
pub use points::{PointOutputs, PointReader, Points};
pub use poses::{PoseOutputs, PoseReader};
pub use reader::RowReader;
pub use simcc::SimccReader;
