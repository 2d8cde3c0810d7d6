//! Regions that are warped: each a quadrilateral of the frame that is straightened by a homography of its own, to one batch.

mod cuda;
mod grid;
mod place;

pub use cuda::CudaWarpPreproc;
pub use place::warped;

use self::grid::WarpGrid;
use super::cpu::Cpu;
use super::{grids, plan};
use crate::frame::{Frame, FrameFormat};
use crate::homography::Homography;
use crate::preproc::plan::PreprocPlan;
use crate::preproc::{PreprocError, PreprocParams};

/// A prepared conversion of warped regions to a batch: coefficients and buffers are made once.
#[derive(Debug)]
pub struct WarpPreproc {
    plan: PreprocPlan,
    cpu: Cpu,
}

impl WarpPreproc {
    /// Prepares the conversion. [`PreprocParams::resize`] is not used, because the maps define it.
    ///
    /// # Errors
    /// As [`super::RegionPreproc::new`].
    pub fn new(source: FrameFormat, params: PreprocParams) -> Result<Self, PreprocError> {
        let plan = plan(source, params)?;
        Ok(Self { cpu: Cpu::new(&plan), plan })
    }

    /// The dimensions of one region's tensor, in its layout. A batch has one for each region, one after the other:
    /// its first dimension is the number of regions.
    pub fn dims(&self) -> [usize; 4] {
        self.plan.dims()
    }

    /// The size in bytes of one region's tensor.
    pub fn bytes(&self) -> usize {
        self.plan.bytes
    }

    /// Fills `tensor` (of [`WarpPreproc::bytes`] bytes a region, in any alignment, native endianness) from parts of `frame`:
    /// `to_frame[i]` leads from the pixels of row `i` to the frame's. No regions are no work.
    ///
    /// # Errors
    /// As [`super::RegionPreproc::run`]; also a map that reaches the camera ([`warped`] makes none).
    pub fn run(
        &mut self,
        frame: &Frame<'_>,
        to_frame: &[Homography],
        tensor: &mut [u8],
    ) -> Result<(), PreprocError> {
        let bytes = self.plan.bytes;
        let wanted = bytes.saturating_mul(to_frame.len());
        if tensor.len() != wanted {
            return Err(PreprocError::Tensor { wanted, given: tensor.len() });
        }
        frame.check(&self.plan.source)?;
        let grids = grids(&self.plan, to_frame, WarpGrid::new);
        for (grid, tensor) in grids.zip(tensor.chunks_exact_mut(bytes)) {
            self.cpu.run(frame, &grid?, tensor);
        }
        Ok(())
    }
}
