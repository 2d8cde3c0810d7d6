//! Masks from logits on the GPU: `cuda/segment.cu`, one launch a frame, and those of the frame's range and of clean-up.

mod clean;
mod instances;
mod prototypes;
mod resize;
mod stretch;

pub(crate) use clean::{CudaSpread, Pick};
pub use instances::CudaInstanceMasks;
pub use prototypes::CudaPrototypes;
pub use resize::CudaResize;

use super::plan::{SegmentPlan, Task, TensorShape, number};
use super::{Activation, SegmentError, SegmentParams};
use crate::device::{CudaStream, DeviceSlice, DeviceTensor, Kernel, Memory, Pinned};
use crate::preproc::Layout;
use crate::tensor::TensorDesc;
use clean::CudaCleaner;
use stretch::CudaStretch;

/// Threads of a block.
const THREADS: usize = 128;
/// Bytes that a thread takes at once.
const WIDE: usize = 16;
/// Shared memory of a block, and the most cells in it.
const TILE_BYTES: usize = 24 << 10;
const TILE_CELLS: usize = 256;

/// `Params` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    logits: u64,
    state: u64,
    mask: u64,
    counts: u64,
    on_host: u64,
    cells: u32,
    channels: u32,
    cell_step: u32,
    channel_step: u32,
    channel: u32,
    fresh: u32,
    keep: f32,
    take: f32,
    gate: f32,
    output: u32,
    tile: u32,
    aligned: u32,
}
const _: () = assert!(size_of::<Arguments>() == 88);

/// [`super::Segmenter`] on the GPU: the same masks, to the bit. All frames in one stream, or in streams that wait for each
/// other.
#[derive(Debug)]
pub struct CudaSegmenter {
    plan: SegmentPlan,
    kernel: Kernel,
    /// The faster kernel for sizes and addresses that 16 bytes divide.
    wide: Option<Kernel>,
    state: Memory,
    fresh: bool,
    /// `Counts` of the kernels, and the number that they report to the host.
    counts: Memory,
    on_host: Pinned,
    /// Of masks whose range is each frame's.
    stretch: Option<CudaStretch>,
    cleaner: Option<CudaCleaner>,
}

impl CudaSegmenter {
    /// As [`super::Segmenter::new`]; allocates the state, and memory for clean-up.
    ///
    /// # Errors
    /// As there, and [`SegmentError::Device`].
    pub fn new(
        logits: &TensorDesc,
        input: [usize; 2],
        params: SegmentParams,
        stream: &CudaStream,
    ) -> Result<Self, SegmentError> {
        let plan = SegmentPlan::new(logits, input, params)?;
        let TensorShape { width, height, .. } = plan.announced.shape;
        let task = match plan.task {
            Task::Argmax => "argmax",
            Task::Value => "value",
            Task::Softmax => "softmax",
            Task::ClassMap => "map",
        };
        let ty = plan.announced.tensor.ty;
        let load = |way| Kernel::load(stream.context(), "segment", &format!("{way}_{task}_{ty}"));
        let kernel = load(if tiled(&plan) { "tiles" } else { "single" })?;
        let whole = (width * height * ty.size()).is_multiple_of(WIDE);
        let wide = !tiled(&plan) && plan.task == Task::Argmax && whole;
        let wide = wide.then(|| load("wide")).transpose()?;
        let smoothed = if params.smoothing > 0.0 { plan.planes() * width * height * ty.size() } else { 0 };
        let counts = stream.allocate(2 * size_of::<u64>())?;
        stream.fill(counts.slice(), 0)?;
        Ok(Self {
            kernel,
            wide,
            state: stream.allocate(smoothed)?,
            fresh: true,
            counts,
            on_host: stream.pin(size_of::<u64>())?,
            stretch: params
                .stretched
                .then(|| CudaStretch::new(width * height, plan.gate, params.soft, stream))
                .transpose()?,
            cleaner: CudaCleaner::new([width, height], &params, stream)?,
            plan,
        })
    }

    /// The mask's width and height, which are the tensor's.
    pub fn size(&self) -> [usize; 2] {
        self.plan.size()
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        self.plan.announced.shape.channels
    }

    /// Enqueues the mask of the stream's next frame and returns at once. `mask` has as many bytes as the mask.
    ///
    /// # Errors
    /// As [`super::Segmenter::run`], and [`SegmentError::Device`].
    pub fn run(
        &mut self,
        stream: &CudaStream,
        logits: &DeviceTensor<'_>,
        mask: DeviceSlice<'_>,
    ) -> Result<(), SegmentError> {
        self.plan.check(logits.name, logits.ty, &logits.dims, mask.bytes())?;
        let arguments = self.arguments(logits, mask);
        let size = logits.ty.size();
        let cells = self.plan.announced.shape.cells();
        let lanes = WIDE / size;
        let aligned =
            arguments.logits.is_multiple_of(WIDE as u64) && arguments.mask.is_multiple_of(lanes as u64);
        let (kernel, blocks, shared) = match &self.wide {
            Some(wide) if aligned => (wide, (cells / lanes).div_ceil(THREADS), 0),
            _ if tiled(&self.plan) => {
                let tile = arguments.tile as usize;
                (&self.kernel, cells.div_ceil(tile), tile * arguments.channels as usize * size)
            }
            _ => (&self.kernel, cells.div_ceil(THREADS), 0),
        };
        let [blocks, threads, shared] = [blocks, THREADS, shared].map(number);
        // SAFETY: `Arguments` mirrors the kernels' struct. Logits and mask are as large as the plan says, which has been
        // checked; so is the state, which is there if it is used, and so are the values in place of the mask, a float32 a cell.
        // All memory stays: `self` waits for the device when dropped, and the makers of the slices promised it.
        unsafe { stream.launch(kernel, [blocks, 1, 1], [threads, 1, 1], shared, &arguments) }?;
        self.fresh = false;
        if let Some(stretch) = &self.stretch {
            stretch.run(stream, mask)?;
        }
        match &self.cleaner {
            Some(cleaner) => Ok(cleaner.run(stream, mask)?),
            None => Ok(()),
        }
    }

    /// Forgets the frames so far: the next one is the first.
    pub fn reset(&mut self) {
        self.fresh = true;
    }

    /// Values that were NaN or infinite, as [`super::Outcome::non_finite`], in all frames that the device is done
    /// with; the last of these may be missing. It does not wait.
    pub fn non_finite(&self) -> u64 {
        if self.plan.task == Task::ClassMap { 0 } else { self.reported() }
    }

    /// Class numbers that a byte cannot hold, as [`super::Outcome::out_of_range`], in the same frames.
    pub fn out_of_range(&self) -> u64 {
        if self.plan.task == Task::ClassMap { self.reported() } else { 0 }
    }

    fn reported(&self) -> u64 {
        let count: *const u64 = self.on_host.as_slice().as_ptr().cast();
        // SAFETY: the memory is 8 bytes, aligned to more; the device writes them at once.
        unsafe { count.read_volatile() }
    }

    fn arguments(&self, logits: &DeviceTensor<'_>, mask: DeviceSlice<'_>) -> Arguments {
        let SegmentPlan { announced, params, task, gate } = &self.plan;
        let TensorShape { layout, channels, .. } = announced.shape;
        let (cells, size) = (announced.shape.cells(), logits.ty.size());
        let (cell_step, channel_step) = match layout {
            Layout::Nchw => (1, cells),
            Layout::Nhwc => (channels, 1),
        };
        let skipped = if *task == Task::Value { params.channel * channel_step * size } else { 0 };
        let tile = (TILE_BYTES / (channels * size) / 8 * 8).clamp(8, TILE_CELLS);
        Arguments {
            logits: logits.pointer() + skipped as u64,
            state: if params.smoothing > 0.0 { self.state.pointer() } else { 0 },
            mask: self.stretch.as_ref().map_or(mask.pointer(), CudaStretch::values),
            counts: self.counts.pointer(),
            on_host: self.on_host.pointer(),
            cells: number(cells),
            channels: number(channels),
            cell_step: number(cell_step),
            channel_step: number(channel_step),
            channel: number(params.channel),
            fresh: u32::from(self.fresh),
            keep: params.smoothing,
            take: 1.0 - params.smoothing,
            gate: *gate,
            output: match (params.stretched, params.soft, params.activation) {
                (true, _, Activation::Sigmoid) => 4,
                (true, ..) => 3,
                (_, true, Activation::Sigmoid) => 2,
                (_, true, _) => 1,
                (_, false, _) => 0,
            },
            tile: number(tile),
            aligned: u32::from(logits.pointer().is_multiple_of(WIDE as u64)),
        }
    }
}

/// Whether all channels of a cell are read and lie side by side.
fn tiled(plan: &SegmentPlan) -> bool {
    matches!(plan.task, Task::Argmax | Task::Softmax) && plan.announced.shape.layout == Layout::Nhwc
}
