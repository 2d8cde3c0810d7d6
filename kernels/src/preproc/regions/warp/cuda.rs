//! The CUDA implementation: warped regions of a frame become a tensor in one launch of a kernel of `cuda/warp.cu`.

use super::grid::WarpGrid;
use crate::device::{CudaStream, DeviceFrame, DeviceSlice};
use crate::frame::FrameFormat;
use crate::homography::Homography;
use crate::preproc::regions::cuda::{CudaGrids, Parameters};
use crate::preproc::{PreprocError, PreprocParams};

/// The most regions of one launch (`REGIONS` in warp.cu).
const MOST: usize = 48;

/// A prepared conversion of warped regions to a batch, on a GPU.
#[derive(Debug)]
pub struct CudaWarpPreproc(CudaGrids<WarpGrid, MOST>);

impl CudaWarpPreproc {
    /// Prepares the conversion for the GPU of `stream`.
    ///
    /// # Errors
    /// As [`super::WarpPreproc::new`], and [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn new(
        source: FrameFormat,
        params: PreprocParams,
        stream: &CudaStream,
    ) -> Result<Self, PreprocError> {
        CudaGrids::new(source, params, stream, "warp").map(Self)
    }

    /// The dimensions of one region's tensor, in its layout. A batch has one for each region, one after the other:
    /// its first dimension is the number of regions.
    pub fn dims(&self) -> [usize; 4] {
        self.0.plan.dims()
    }

    /// The size in bytes of one region's tensor.
    pub fn bytes(&self) -> usize {
        self.0.plan.bytes
    }

    /// Enqueues the filling of `tensor` (of [`CudaWarpPreproc::bytes`] bytes a region) from parts of `frame`, as
    /// [`super::WarpPreproc::run`]: one launch for up to 48 regions. The stream must be of the context given to
    /// [`CudaWarpPreproc::new`].
    ///
    /// # Errors
    /// As [`super::WarpPreproc::run`]; a tensor that is not aligned to its element type; [`PreprocError::Device`].
    pub fn run(
        &self,
        stream: &CudaStream,
        frame: &DeviceFrame<'_>,
        to_frame: &[Homography],
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        self.0.run(stream, frame, to_frame, WarpGrid::new, tensor)
    }
}

const _: () = assert!(size_of::<Parameters<WarpGrid, MOST>>() == 4088, "cuda/warp.cu says the same");
