//! The CUDA twin: `cuda/appearance.cu`.

use super::plan::{AppearancePlan, Mode, SampledBox};
use super::{AppearanceError, LENGTH, embed};
use crate::device::{CudaStream, DeviceFrame, Event, Kernel, Memory, Pinned};
use crate::frame::FrameFormat;
use crate::geometry::Rect;

/// The most boxes of one launch (`MOST` in the kernels): that many fit into its parameters, so boxes need no copy.
const MOST: usize = 480;
/// Bytes of a box's counts.
const BYTES: usize = LENGTH * size_of::<u16>();
/// Threads of a block of [`Variant::Shared`], and of the others' blocks, of which a box has `CHUNKS`.
const SHARED_THREADS: u32 = 512;
const THREADS: u32 = 256;
const CHUNKS: u32 = 4;
/// Boxes that there is room for at first.
const ROOM: usize = 128;
/// How the kernels add up counts; all variants give the same. On an H200, in microseconds (`benches/gpu/appearance.rs`):
///
/// | boxes | 1 | 10 | 50 | 100 | 200 | 480 |
/// |---|---|---|---|---|---|---|
/// | `Global` | 5.6 | 8.4 | 12.2 | 15.6 | 23.4 | 33.4 |
/// | `Shared` | 4.5 | 4.8 | 5.2 | 5.5 | 9.8 | 12.2 |
/// | `Chunked` | 4.5 | 4.8 | 5.5 | 6.5 | 9.6 | 13.6 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Every sample is added in global memory.
    Global,
    /// A block a box, which adds in shared memory. The default for any number of boxes: a box has at most 2,048 samples, so
    /// several blocks would gain less than combining their counts costs.
    #[default]
    Shared,
    /// Several blocks a box, which add in shared memory and then combine their counts in global memory.
    Chunked,
}

/// [`super::Describer`] on a GPU. A frame's boxes take one launch (for each 480 of them) and no copy: the kernels write the
/// counts to host memory, 256 bytes a box. One frame is under way at a time.
#[derive(Debug)]
pub struct CudaDescriber {
    plan: AppearancePlan,
    kernel: Kernel,
    /// Threads of a block.
    threads: u32,
    /// Blocks a box.
    chunks: u32,
    counts: Pinned,
    /// Where blocks combine their counts: a sum a count, and a ticket a box. All 0 between launches.
    sums: Memory,
    done: Event,
    /// Boxes under way.
    pending: usize,
    parameters: Parameters,
}

/// The kernels' `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    plane: [u64; 3],
    stride: [u64; 3],
    counters: u64,
    tickets: u64,
    out: u64,
    component: [[u32; 4]; 3],
    matrix: [[i32; 3]; 3],
    bias: [i32; 3],
    boxes: [SampledBox; MOST],
}

const _: () = assert!(size_of::<Parameters>() == 4008, "cuda/appearance.cu says the same");

impl CudaDescriber {
    /// Prepares for frames of `format` on the GPU of `stream`, which counts the allocations.
    ///
    /// # Errors
    /// As [`super::Describer::new`], and [`AppearanceError::Device`].
    pub fn new(format: FrameFormat, stream: &CudaStream) -> Result<Self, AppearanceError> {
        Self::with_variant(format, Variant::default(), stream)
    }

    /// As [`CudaDescriber::new`], with the kernel of another variant, to compare them.
    ///
    /// # Errors
    /// As [`CudaDescriber::new`].
    pub fn with_variant(
        format: FrameFormat,
        variant: Variant,
        stream: &CudaStream,
    ) -> Result<Self, AppearanceError> {
        let plan = AppearancePlan::new(format)?;
        let mode = match plan.color.mode {
            Mode::Yuv => "yuv",
            Mode::Rgb => "rgb",
            Mode::Luma => "luma",
        };
        let (name, threads, chunks) = match variant {
            Variant::Global => ("global", THREADS, CHUNKS),
            Variant::Shared => ("shared", SHARED_THREADS, 1),
            Variant::Chunked => ("chunked", THREADS, CHUNKS),
        };
        let kernel = Kernel::load(stream.context(), "appearance", &format!("{name}_{mode}"))?;
        let mut component = [[0; 4]; 3];
        for (slot, c) in component.iter_mut().zip(&plan.components) {
            *slot = [c.group, c.offset, usize::from(c.half_columns), usize::from(c.half_rows)].map(narrow);
        }
        let parameters = Parameters {
            plane: [0; 3],
            stride: [0; 3],
            counters: 0,
            tickets: 0,
            out: 0,
            component,
            matrix: plan.color.matrix,
            bias: plan.color.bias,
            boxes: [SampledBox::default(); MOST],
        };
        let (counts, sums) = room(stream, ROOM)?;
        let done = Event::new(stream.context())?;
        Ok(Self { plan, kernel, threads, chunks, counts, sums, done, pending: 0, parameters })
    }

    /// Enqueues the counting of `boxes` (in frame pixels) of `frame`; [`CudaDescriber::finish`] returns the result. A frame
    /// that was started before and not finished is dropped. Allocates only for more boxes than ever before. The stream must
    /// be that of the last call, or have waited for it.
    ///
    /// # Errors
    /// As [`super::Describer::run`], and [`AppearanceError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        frame: &DeviceFrame<'_>,
        boxes: &[Rect],
    ) -> Result<(), AppearanceError> {
        self.pending = 0;
        frame.check(&self.plan.format)?;
        if boxes.is_empty() {
            return Ok(());
        }
        if self.counts.bytes() < boxes.len() * BYTES {
            (self.counts, self.sums) =
                room(stream, boxes.len().checked_next_power_of_two().unwrap_or(boxes.len()))?;
        }
        let planes = frame.layout();
        for (c, component) in self.plan.components.iter().enumerate() {
            let (address, stride) = planes[component.plane];
            self.parameters.plane[c] = address;
            self.parameters.stride[c] = stride as u64;
        }
        let tickets = self.sums.pointer() + self.counts.bytes() as u64;
        for (number, boxes) in boxes.chunks(MOST).enumerate() {
            let first = (number * MOST) as u64;
            self.parameters.counters = self.sums.pointer() + first * BYTES as u64;
            self.parameters.tickets = tickets + first * size_of::<u32>() as u64;
            self.parameters.out = self.counts.pointer() + first * BYTES as u64;
            for (part, rect) in self.parameters.boxes.iter_mut().zip(boxes) {
                *part = self.plan.sampled_box(*rect);
            }
            let grid = [narrow(boxes.len()), self.chunks, 1];
            // SAFETY: `Parameters` mirrors the kernels' struct. The planes were checked to hold the frame, and boxes lie
            // inside; `room` has made place for the counts of all boxes, their sums and tickets.
            unsafe { stream.launch(&self.kernel, grid, [self.threads, 1, 1], 0, &self.parameters) }?;
        }
        stream.record(&self.done)?;
        self.pending = boxes.len();
        Ok(())
    }

    /// Waits once for the frame that was started last, and replaces `embeddings` by those of its boxes, as
    /// [`super::Describer::run`] does, bit for bit. If none was started, there are none.
    ///
    /// # Errors
    /// [`AppearanceError::Device`], also for faults of earlier work.
    pub fn finish(&mut self, stream: &CudaStream, embeddings: &mut Vec<f32>) -> Result<(), AppearanceError> {
        embeddings.clear();
        embed(self.finish_counts(stream)?, embeddings);
        Ok(())
    }

    /// As [`CudaDescriber::finish`], but the counts, as [`super::Describer::counts`] has them.
    ///
    /// # Errors
    /// As [`CudaDescriber::finish`].
    pub fn finish_counts(&mut self, stream: &CudaStream) -> Result<&[u16], AppearanceError> {
        let pending = std::mem::take(&mut self.pending);
        if pending > 0 {
            stream.wait_on_host(&self.done)?;
            stream.counters().device_to_host.add_size(pending * BYTES);
        }
        Ok(&bytemuck::cast_slice(self.counts.as_slice())[..pending * LENGTH])
    }
}

/// Memory for the counts of `boxes` boxes, and for their sums and tickets, which are 0.
fn room(stream: &CudaStream, boxes: usize) -> Result<(Pinned, Memory), AppearanceError> {
    let sums = stream.allocate(boxes * (BYTES + size_of::<u32>()))?;
    stream.fill(sums.slice(), 0)?;
    Ok((stream.pin(boxes * BYTES)?, sums))
}

/// For numbers of pixels and boxes, which have been checked to fit into 32 bits.
fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
