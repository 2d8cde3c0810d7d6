//! The maxima on the GPU: `cuda/simcc.cu`, one launch for all rows of a batch. The CPU's own code makes points of them.

use crate::device::{CudaStream, DeviceTensor, Event, Kernel, Pinned};
use crate::geometry::Affine;
use crate::keypoints::simcc::{Announced, Shape};
use crate::keypoints::{KeypointsError, SimccParams};
use crate::peaks::{Outcome, Peak};
use crate::tensor::TensorDesc;

/// Warps of a block, each of which takes a vector.
const WARPS: usize = 4;

/// The most vectors that the kernel counts.
const MOST: usize = 1 << 31;

/// The kernel's `Maximum`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
struct Maximum {
    value: f32,
    /// [`NONE`] if no value is finite.
    cell: u32,
    non_finite: u32,
    unused: u32,
}

/// The cell of a vector without a finite value.
const NONE: u32 = u32::MAX;

/// The kernel's `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Along x and y.
    scores: [u64; 2],
    maxima: u64,
    cells: [u32; 2],
    vectors: u32,
    unused: u32,
}

const _: () =
    assert!(size_of::<Maximum>() == 16 && size_of::<Parameters>() == 40, "cuda/simcc.cu says the same");

/// Reads the two outputs of a SimCC network that lie in device memory: [`crate::keypoints::SimccReader`] on the GPU, for all
/// rows of a batch at once. The results are those of the CPU to the bit. One batch is in flight at a time.
#[derive(Debug)]
pub struct CudaSimcc {
    announced: Announced,
    /// The kernel for the types of the outputs along x and y.
    kernel: Kernel,
    /// Where the kernel writes: a `Maximum` for each axis of each point of each row.
    maxima: Pinned,
    done: Event,
    /// The shape of the rows in flight.
    pending: Option<Shape>,
    to_frame: Vec<Affine>,
}

impl CudaSimcc {
    /// As [`crate::keypoints::SimccReader::new`].
    ///
    /// # Errors
    /// As that, and [`KeypointsError::Device`].
    pub fn new(
        x: &TensorDesc,
        y: &TensorDesc,
        input: [usize; 2],
        params: SimccParams,
        stream: &CudaStream,
    ) -> Result<Self, KeypointsError> {
        let announced = Announced::new([x, y], input, params)?;
        let kernel = format!("simcc_{}_{}", x.ty, y.ty);
        Ok(Self {
            announced,
            kernel: Kernel::load(stream.context(), "simcc", &kernel)?,
            maxima: stream.pin(0)?,
            done: Event::new(stream.context())?,
            pending: None,
            to_frame: Vec::new(),
        })
    }

    /// Enqueues the search in as many rows of `x` and `y` as there are `to_frame`; [`CudaSimcc::finish`] returns the points.
    /// A batch that was started before and not finished is dropped. Allocates only for more rows than ever before.
    ///
    /// # Errors
    /// As [`crate::keypoints::SimccReader::run`], and [`KeypointsError::Rows`], [`KeypointsError::TooLarge`] or
    /// [`KeypointsError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        x: &DeviceTensor<'_>,
        y: &DeviceTensor<'_>,
        to_frame: &[Affine],
    ) -> Result<(), KeypointsError> {
        self.pending = None;
        let rows = to_frame.len();
        let shape = self.announced.read([(x.name, x.ty, &x.dims), (y.name, y.ty, &y.dims)], rows)?;
        if rows == 0 {
            return Ok(());
        }
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let vectors = 2 * rows * shape.points;
        if vectors >= MOST || shape.cells.iter().any(|cells| *cells >= MOST) {
            return Err(KeypointsError::TooLarge(self.announced.outputs[0].to_string()));
        }
        let bytes = vectors * size_of::<Maximum>();
        if self.maxima.bytes() < bytes {
            self.maxima = stream.pin(bytes)?;
        }
        let parameters = Parameters {
            scores: [x.pointer(), y.pointer()],
            maxima: self.maxima.pointer(),
            cells: shape.cells.map(narrow),
            vectors: narrow(vectors),
            unused: 0,
        };
        let (blocks, threads) = (narrow(vectors.div_ceil(WARPS)), narrow(32 * WARPS));
        // SAFETY: `Parameters` mirrors the kernel's struct. Both outputs have been checked to hold this many vectors of this
        // many cells; there is pinned memory for as many maxima, which waits for the device when dropped.
        unsafe { stream.launch(&self.kernel, [blocks, 1, 1], [threads, 1, 1], 0, &parameters) }?;
        stream.record(&self.done)?;
        self.to_frame.clear();
        self.to_frame.extend_from_slice(to_frame);
        self.pending = Some(shape);
        Ok(())
    }

    /// Waits once for the batch that was started last and replaces `peaks` by the points of its rows, each as
    /// [`crate::keypoints::SimccReader::run`] does; returns the outcomes, row by row. If no batch was started, there are
    /// none.
    ///
    /// # Errors
    /// [`KeypointsError::Device`], also for faults of earlier work.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        peaks: &mut Vec<Vec<Peak>>,
    ) -> Result<Vec<Outcome>, KeypointsError> {
        peaks.clear();
        let Some(shape) = self.pending.take() else { return Ok(Vec::new()) };
        stream.wait_on_host(&self.done)?;
        let row_bytes = 2 * shape.points * size_of::<Maximum>();
        stream.counters().device_to_host.add_size(self.to_frame.len() * row_bytes);
        let rows = self.maxima.as_slice().chunks_exact(row_bytes).zip(&self.to_frame);
        let outcomes = rows.map(|(row, to_frame)| {
            let (mut of_row, mut outcome) = (Vec::new(), Outcome::default());
            for (point, pair) in row.chunks_exact(2 * size_of::<Maximum>()).enumerate() {
                let [x, y] = bytemuck::pod_read_unaligned::<[Maximum; 2]>(pair);
                // Lossless: counts of 32 bits.
                outcome.non_finite += x.non_finite as usize + y.non_finite as usize;
                let found = |at: Maximum| (at.cell != NONE).then_some((at.cell as usize, at.value));
                of_row.extend(self.announced.peak(&shape, point, [found(x), found(y)], to_frame));
            }
            peaks.push(of_row);
            outcome
        });
        Ok(outcomes.collect())
    }
}
