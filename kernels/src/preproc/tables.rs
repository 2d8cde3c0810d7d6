//! The CUDA implementation that needs tables: filters, and parts of a frame. The host writes every pixel's taps into a table, by
//! the same code as for the CPU, and a kernel of `cuda/preproc_table.cu` reads it.

use super::conversion::{Conversion, Kernels, PIXELS, Planes, Source, narrow};
use super::cpu::horizontal_first;
use super::filters::{Filter, ONE};
use super::limits::MAX_BATCH;
use super::placement;
use super::plan::PreprocPlan;
use super::samples::Columns;
use super::taps::Taps;
use super::{Interpolation, PreprocError};
use crate::device::{CudaStream, DeviceFrame, DeviceSlice};

/// The most threads of a block.
const THREADS: u32 = 256;

/// Words of an image at the beginning of a table (`Image` in the kernel).
const IMAGE: usize = 12;

/// Words of the kernel's `Image` after its axes: whether columns go first, and three that are not used.
const REST: usize = 4;

/// The table for images of `plans`.
pub(super) fn table<'a>(plans: impl ExactSizeIterator<Item = &'a PreprocPlan>) -> Vec<u32> {
    let mut words = vec![0; plans.len() * IMAGE];
    for (i, plan) in plans.enumerate() {
        let PreprocPlan { placement, params, .. } = plan;
        let [x, y] = [&placement.x, &placement.y].map(|axis| Taps::new(axis, params.interpolation));
        let first = horizontal_first(&x, &y, &Columns::new(x.sources()));
        let [across, down] = [(&placement.x, &x), (&placement.y, &y)]
            .map(|(axis, taps)| append(&mut words, axis, taps, params.interpolation));
        let rest = [u32::from(first), 0, 0, 0];
        let header = across.into_iter().chain(down).chain(rest);
        words[i * IMAGE..(i + 1) * IMAGE].iter_mut().zip(header).for_each(|(word, value)| *word = value);
    }
    words
}

const _: () = assert!(IMAGE == 2 * 4 + REST && IMAGE * size_of::<u32>() == 48, "as in cuda/preproc_table.cu");

/// Appends the taps of an axis. Returns the kernel's `Axis`.
fn append(
    words: &mut Vec<u32>,
    axis: &placement::Axis,
    taps: &Taps,
    interpolation: Interpolation,
) -> [u32; 4] {
    let (at, step) = (words.len(), 2 + taps.longest());
    let whole = Filter::of(interpolation).is_some();
    for (first, weights) in taps.runs() {
        let end = words.len() + step;
        words.extend([narrow(first), narrow(weights.len())]);
        // Integers of filters are stored as two's complement.
        words.extend(weights.iter().map(|w| if whole { (w * ONE) as i32 as u32 } else { w.to_bits() }));
        words.resize(end, 0);
    }
    [narrow(axis.pad), narrow(axis.len), narrow(at), narrow(step)]
}

/// Launches of the kernel.
#[derive(Debug)]
pub(super) struct TableKernels {
    kernels: Kernels,
    planes: Planes,
    /// All but the addresses.
    parameters: Parameters,
}

impl TableKernels {
    /// Loads the kernels for `plan`, or for parts of its frames.
    ///
    /// # Errors
    /// [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn load(stream: &CudaStream, plan: &PreprocPlan) -> Result<Self, PreprocError> {
        let mode = if Filter::of(plan.params.interpolation).is_some() { "filtered" } else { "mean" };
        let kernels = Kernels::load(stream, "preproc_table", plan, mode)?;
        let (planes, conversion) = Conversion::new(plan);
        let frames = [Source::default(); MAX_BATCH];
        let parameters = Parameters { conversion, frames, table: 0, parts: 0, unused: 0 };
        Ok(Self { kernels, planes, parameters })
    }

    /// Enqueues the filling of `tensor` with `images` images. With `parts` these are parts of the only frame, and `table` has
    /// an image for each; else they are as many frames, and `table` has one image.
    ///
    /// # Errors
    /// As [`super::CudaPreproc::run`]; the number of frames has been checked.
    pub fn launch(
        &self,
        stream: &CudaStream,
        plan: &PreprocPlan,
        frames: &[DeviceFrame<'_>],
        (table, parts): (DeviceSlice<'_>, bool),
        images: usize,
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        let mut parameters = self.parameters;
        parameters.conversion.set_tensor(plan, images, tensor)?;
        parameters.table = table.pointer();
        parameters.parts = u32::from(parts);
        let mut addresses = 0;
        for (frame, slot) in frames.iter().zip(&mut parameters.frames) {
            frame.check(&plan.source)?;
            *slot = Source::new(frame, &self.planes, &mut addresses);
        }
        let kernel = self.kernels.choose(addresses);
        let Conversion { width, height, .. } = parameters.conversion;
        let groups = width.div_ceil(PIXELS);
        let blocks = groups.div_ceil(THREADS);
        let threads = groups.div_ceil(blocks).next_multiple_of(32);
        let grid = [blocks, height, narrow(images)];
        // SAFETY: `Parameters` mirrors the kernel's struct. The planes were checked to hold the frame, inside which the
        // table's taps lie; the tensor to hold as many images as there are. The kernel waits for earlier work first.
        unsafe { stream.launch_overlapping(kernel, grid, [threads, 1, 1], 0, &parameters) }?;
        Ok(())
    }
}

/// The kernel's `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    conversion: Conversion,
    frames: [Source; MAX_BATCH],
    table: u64,
    parts: u32,
    unused: u32,
}

const _: () = assert!(size_of::<Parameters>() == 3280, "cuda/preproc_table.cu says the same");
