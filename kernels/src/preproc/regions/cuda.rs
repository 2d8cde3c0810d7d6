//! The CUDA implementation: the regions of a frame become a tensor in one launch of a kernel of `cuda/regions.cu`, or of another file
//! with kernels of `cuda/regions.cuh`.

use super::grid::{Grid, RegionMap};
use super::{grids, plan};
use crate::device::{CudaStream, DeviceFrame, DeviceSlice};
use crate::frame::FrameFormat;
use crate::geometry::Affine;
use crate::preproc::conversion::{Conversion, Kernels, PIXELS, Planes, Source, narrow};
use crate::preproc::plan::PreprocPlan;
use crate::preproc::{Interpolation, PreprocError, PreprocParams};

/// Threads of a block.
const THREADS: u32 = 256;

/// The most regions of one launch (`REGIONS` in regions.cu).
const MOST: usize = 64;

/// A prepared conversion of regions of interest to a batch, on a GPU: one launch for up to 64 of them.
pub type CudaRegionPreproc = CudaRegions<Affine, MOST>;

/// A prepared conversion of regions to a batch, on a GPU. A launch makes up to `N`, which fit into its parameters, so that they need no
/// copy.
#[derive(Debug)]
pub struct CudaRegions<M: RegionMap, const N: usize> {
    plan: PreprocPlan,
    kernels: Kernels,
    planes: Planes,
    /// All but the addresses and the regions.
    parameters: Parameters<M::Grid, N>,
}

impl<M: RegionMap, const N: usize> CudaRegions<M, N> {
    /// Prepares the conversion for the GPU of `stream`.
    ///
    /// # Errors
    /// As [`super::RegionPreproc::new`]; [`PreprocError::GreyRegions`]; [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn new(
        source: FrameFormat,
        params: PreprocParams,
        stream: &CudaStream,
    ) -> Result<Self, PreprocError> {
        let plan = plan(source, params)?;
        if plan.color.channels() < plan.channels() {
            return Err(PreprocError::GreyRegions);
        }
        let nearest = plan.params.interpolation == Interpolation::Nearest;
        let kernels = Kernels::load(stream, M::OPERATION, &plan, if nearest { "point" } else { "linear" })?;
        let (planes, conversion) = Conversion::new(&plan);
        let parameters = Parameters {
            conversion,
            frame: Source::default(),
            grids: [M::Grid::default(); N],
            frame_width: narrow(plan.source.width),
            frame_height: narrow(plan.source.height),
        };
        Ok(Self { plan, kernels, planes, parameters })
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

    /// Enqueues the filling of `tensor` (of [`CudaRegions::bytes`] bytes a region) from parts of `frame`, as
    /// [`super::RegionPreproc::run`]. The stream must be of the context given to [`CudaRegions::new`].
    ///
    /// # Errors
    /// As [`super::RegionPreproc::run`]; a tensor that is not aligned to its element type; [`PreprocError::Device`].
    pub fn run(
        &self,
        stream: &CudaStream,
        frame: &DeviceFrame<'_>,
        to_frame: &[M],
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        let mut parameters = self.parameters;
        // Checked once for all launches, so that nothing is enqueued after an error.
        parameters.conversion.set_tensor(&self.plan, to_frame.len(), tensor)?;
        frame.check(&self.plan.source)?;
        grids(&self.plan, to_frame).try_for_each(|grid| grid.map(|_| ()))?;
        let mut addresses = 0;
        parameters.frame = Source::new(frame, &self.planes, &mut addresses);
        let kernel = self.kernels.choose(addresses);
        let Conversion { width, height, .. } = parameters.conversion;
        let blocks = (width.div_ceil(PIXELS) * height).div_ceil(THREADS);
        let mut rest = tensor;
        for chunk in to_frame.chunks(N) {
            for (slot, grid) in parameters.grids.iter_mut().zip(grids(&self.plan, chunk)) {
                *slot = grid?;
            }
            let bytes = chunk.len() * self.plan.bytes;
            parameters.conversion.set_tensor(&self.plan, chunk.len(), rest.first(bytes))?;
            // SAFETY: `Parameters` mirrors the kernel's struct. The planes were checked to hold the frame, to which the
            // kernel clamps what it reads; the tensor to hold as many images as there are regions. It waits for earlier work first.
            unsafe {
                let grid = [blocks, 1, narrow(chunk.len())];
                stream.launch_overlapping(kernel, grid, [THREADS, 1, 1], 0, &parameters)
            }?;
            rest = rest.after(bytes);
        }
        Ok(())
    }
}

/// The kernels' `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters<G, const N: usize> {
    conversion: Conversion,
    frame: Source,
    grids: [G; N],
    frame_width: u32,
    frame_height: u32,
}

const _: () = assert!(size_of::<Parameters<Grid, MOST>>() == 3832, "cuda/regions.cu says the same");
