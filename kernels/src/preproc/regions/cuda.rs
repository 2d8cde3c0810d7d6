//! The CUDA implementation: the regions of a frame become a tensor in one launch of a kernel of `cuda/regions.cu`, or of another file
//! with kernels of `cuda/regions.cuh`.

use super::grid::Grid;
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

/// A prepared conversion of regions of interest to a batch, on a GPU.
#[derive(Debug)]
pub struct CudaRegionPreproc(CudaGrids<Grid, MOST>);

impl CudaRegionPreproc {
    /// Prepares the conversion for the GPU of `stream`.
    ///
    /// # Errors
    /// As [`super::RegionPreproc::new`], and [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn new(
        source: FrameFormat,
        params: PreprocParams,
        stream: &CudaStream,
    ) -> Result<Self, PreprocError> {
        CudaGrids::new(source, params, stream, "regions").map(Self)
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

    /// Enqueues the filling of `tensor` (of [`CudaRegionPreproc::bytes`] bytes a region) from parts of `frame`, as
    /// [`super::RegionPreproc::run`]: one launch for up to 64 regions. The stream must be of the context given to
    /// [`CudaRegionPreproc::new`].
    ///
    /// # Errors
    /// As [`super::RegionPreproc::run`]; a tensor that is not aligned to its element type; [`PreprocError::Device`].
    pub fn run(
        &self,
        stream: &CudaStream,
        frame: &DeviceFrame<'_>,
        to_frame: &[Affine],
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        self.0.run(stream, frame, to_frame, Grid::new, tensor)
    }
}

/// Kernels that sample regions on grids `G`, for up to `N` of them in a launch: that many fit into its parameters, so they need
/// no copy.
#[derive(Debug)]
pub(super) struct CudaGrids<G, const N: usize> {
    pub plan: PreprocPlan,
    kernels: Kernels,
    planes: Planes,
    /// All but the addresses and the regions.
    parameters: Parameters<G, N>,
}

impl<G: Copy + Default, const N: usize> CudaGrids<G, N> {
    /// For the kernels of `operation`.
    ///
    /// # Errors
    /// As [`super::RegionPreproc::new`], and [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn new(
        source: FrameFormat,
        params: PreprocParams,
        stream: &CudaStream,
        operation: &'static str,
    ) -> Result<Self, PreprocError> {
        let plan = plan(source, params)?;
        let nearest = plan.params.interpolation == Interpolation::Nearest;
        let kernels = Kernels::load(stream, operation, &plan, if nearest { "point" } else { "linear" })?;
        let (planes, conversion) = Conversion::new(&plan);
        let parameters = Parameters {
            conversion,
            frame: Source::default(),
            grids: [G::default(); N],
            frame_width: narrow(plan.source.width),
            frame_height: narrow(plan.source.height),
            outside: f32::from(plan.params.padding) / 256.0,
        };
        Ok(Self { plan, kernels, planes, parameters })
    }

    /// Enqueues the filling of `tensor` with the regions of these maps, of which `grid` makes grids.
    ///
    /// # Errors
    /// As [`CudaRegionPreproc::run`].
    pub fn run<M>(
        &self,
        stream: &CudaStream,
        frame: &DeviceFrame<'_>,
        maps: &[M],
        grid: fn(&M, [usize; 2], Interpolation) -> Option<G>,
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        let mut parameters = self.parameters;
        // Checked once for all launches, so that nothing is enqueued after an error.
        parameters.conversion.set_tensor(&self.plan, maps.len(), tensor)?;
        frame.check(&self.plan.source)?;
        grids(&self.plan, maps, grid).try_for_each(|grid| grid.map(|_| ()))?;
        let mut addresses = 0;
        parameters.frame = Source::new(frame, &self.planes, &mut addresses);
        let kernel = self.kernels.choose(addresses);
        let Conversion { width, height, .. } = parameters.conversion;
        let blocks = (width.div_ceil(PIXELS) * height).div_ceil(THREADS);
        let mut rest = tensor;
        for chunk in maps.chunks(N) {
            for (slot, grid) in parameters.grids.iter_mut().zip(grids(&self.plan, chunk, grid)) {
                *slot = grid?;
            }
            let bytes = chunk.len() * self.plan.bytes;
            parameters.conversion.set_tensor(&self.plan, chunk.len(), rest.first(bytes))?;
            // SAFETY: `Parameters` mirrors the kernel's struct. The planes were checked to hold the frame, to which the
            // kernel clamps what it reads; the tensor to hold as many images as there are regions.
            unsafe {
                stream.launch(kernel, [blocks, 1, narrow(chunk.len())], [THREADS, 1, 1], 0, &parameters)
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
    outside: f32,
}

const _: () = assert!(size_of::<Parameters<Grid, MOST>>() == 3832, "cuda/regions.cu says the same");
