//! Warped regions on a GPU: kernels of `cuda/warp.cu`.

use super::grid::WarpGrid;
use crate::homography::Homography;
use crate::preproc::regions::cuda::{CudaRegions, Parameters};

/// The most regions of one launch (`REGIONS` in warp.cu).
const MOST: usize = 48;

/// A prepared conversion of warped regions to a batch, on a GPU: one launch for up to 48 of them.
pub type CudaWarpPreproc = CudaRegions<Homography, MOST>;

const _: () = assert!(size_of::<Parameters<WarpGrid, MOST>>() == 4088, "cuda/warp.cu says the same");
