//! The sums on a GPU: `cuda/shrink.cu`.

use super::{Axis, SumPlan};
use crate::device::{CudaStream, DeviceError, DeviceFrame, DeviceSlice, Kernel};
use crate::preproc::{PreprocError, reciprocal};

/// Threads of a block. Half of them add up a word of bytes each, of every second row.
const THREADS: u32 = 256;
const WORDS: u32 = 128;
const WORD: u32 = 4;

/// Adds up frames of one format in device memory.
#[derive(Debug)]
pub(in crate::camera) struct CudaSums {
    plan: SumPlan,
    kernel: Kernel,
    /// All but the addresses.
    parameters: Parameters,
}

/// The kernel's `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    plane: u64,
    stride: u64,
    picture: u64,
    x: KernelAxis,
    y: KernelAxis,
    width: u32,
    bytes: u32,
    group: u32,
    tile: u32,
    channels: u32,
    offset: [u32; 3],
    factor: [f32; 3],
    low: u32,
    high: u32,
    by_words: u32,
}

const _: () = assert!(size_of::<Parameters>() == 128, "cuda/shrink.cu says the same");

/// The kernel's `Axis`: with what divides by twice the unit.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct KernelAxis {
    step: u32,
    unit: u32,
    ratio: u32,
    rest: u32,
    multiplier: u32,
    shift: u32,
}

impl From<Axis> for KernelAxis {
    fn from(Axis { step, unit, ratio, rest }: Axis) -> Self {
        let (multiplier, shift) = reciprocal(2 * unit);
        Self { step, unit, ratio, rest, multiplier, shift }
    }
}

impl CudaSums {
    /// # Errors
    /// [`DeviceError`] where the kernel cannot be loaded.
    pub fn load(stream: &CudaStream, plan: SumPlan) -> Result<Self, DeviceError> {
        let is_whole = plan.x.unit == 1 && plan.y.unit == 1;
        let name = if is_whole { "shrink_whole" } else { "shrink" };
        let kernel = Kernel::load(stream.context(), "shrink", name)?;
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (mut offset, mut factor) = ([0; 3], [0.0; 3]);
        for (channel, (offset, factor)) in plan.channels.iter().zip(offset.iter_mut().zip(&mut factor)) {
            (*offset, *factor) = (narrow(channel.offset), channel.factor);
        }
        let parameters = Parameters {
            plane: 0,
            stride: 0,
            picture: 0,
            x: plan.x.into(),
            y: plan.y.into(),
            width: plan.width,
            bytes: narrow(plan.row_bytes()),
            group: narrow(plan.group),
            tile: tile(&plan.x, plan.width, narrow(plan.group)),
            channels: narrow(plan.channels.len()),
            offset,
            factor,
            low: plan.low.into(),
            high: plan.high.into(),
            by_words: 0,
        };
        Ok(Self { plan, kernel, parameters })
    }

    /// Enqueues one launch, which fills `picture`.
    ///
    /// # Errors
    /// A frame that is smaller than the format, a picture of another size, [`PreprocError::Device`].
    pub fn launch(
        &self,
        stream: &CudaStream,
        frame: &DeviceFrame<'_>,
        picture: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        frame.check(&self.plan.format)?;
        let wanted = self.plan.width as usize * self.plan.height as usize;
        if picture.bytes() != wanted {
            return Err(PreprocError::Tensor { wanted, given: picture.bytes() });
        }
        let [(plane, stride), ..] = frame.layout();
        let stride = stride as u64;
        let by_words = u32::from((plane | stride).is_multiple_of(WORD.into()));
        let parameters =
            Parameters { plane, stride, picture: picture.pointer(), by_words, ..self.parameters };
        let grid = [parameters.width.div_ceil(parameters.tile), self.plan.height, 1];
        // SAFETY: `Parameters` mirrors the kernel's struct. The plane was checked to hold the frame's rows, outside of which nothing
        // is read; the picture holds its pixels. The kernel waits for earlier work before it touches either.
        unsafe { stream.launch_overlapping(&self.kernel, grid, [THREADS, 1, 1], 0, &parameters) }?;
        Ok(())
    }
}

/// How many pixels of a row a block makes: as many as its words hold, in tiles of even sizes.
fn tile(axis: &Axis, width: u32, group: u32) -> u32 {
    // A block's first word may begin WORD - 1 bytes before its first pixel, and its first and last source pixel may be covered in parts.
    let sources = (WORDS * WORD - (WORD - 1)) / group - 2;
    let most = (u64::from(sources) * u64::from(axis.unit) / u64::from(axis.step)).max(1);
    let tiles = u64::from(width).div_ceil(most);
    u32::try_from(u64::from(width).div_ceil(tiles)).unwrap_or(1)
}
