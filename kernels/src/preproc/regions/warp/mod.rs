//! Regions that are warped: each a quadrilateral of the frame that is straightened by a homography of its own.

mod cuda;
mod grid;
mod place;

pub use cuda::CudaWarpPreproc;
pub use place::warped;
