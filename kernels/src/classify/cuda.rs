//! The CUDA twin: `cuda/classify.cu`, one launch for all rows of a batch.

use super::{Announced, Class, ClassifyError, MOST, Params, classes_of};
use crate::detect::Activation;
use crate::device::{CudaStream, DeviceTensor, Event, Kernel, Pinned};
use crate::tensor::TensorDesc;

/// Threads of a block.
const THREADS: u32 = 256;

/// The kernel's `Row`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
struct Row {
    sum: f64,
    non_finite: u32,
    unused: u32,
    keys: [u64; MOST],
}

/// The kernel's `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    scores: u64,
    rows: u64,
    classes: u32,
    top_k: u32,
    softmax: u32,
}

const _: () =
    assert!(size_of::<Row>() == 144 && size_of::<Parameters>() == 32, "cuda/classify.cu says the same");

/// Reads one output of a model that lies in device memory: [`super::Classifier`] on the GPU, for all rows of a batch at
/// once. One batch is under way at a time.
#[derive(Debug)]
pub struct CudaClassifier {
    announced: Announced,
    kernel: Kernel,
    /// Where the kernel writes: a `Row` a row.
    rows: Pinned,
    done: Event,
    /// Rows under way.
    pending: usize,
}

impl CudaClassifier {
    /// Prepares for `output`, as one row's is described.
    ///
    /// # Errors
    /// As [`super::Classifier::new`], and [`ClassifyError::Device`].
    pub fn new(output: &TensorDesc, params: Params, stream: &CudaStream) -> Result<Self, ClassifyError> {
        let announced = Announced::new(output, params)?;
        let kernel = format!("classify_{}", output.ty);
        Ok(Self {
            announced,
            kernel: Kernel::load(stream.context(), "classify", &kernel)?,
            rows: stream.pin(size_of::<Row>())?,
            done: Event::new(stream.context())?,
            pending: 0,
        })
    }

    /// Enqueues the choice in the first `rows` rows of `scores`; [`CudaClassifier::finish`] has it. What was started before
    /// and not finished is given up. It allocates where there are more rows than ever before.
    ///
    /// # Errors
    /// As [`super::Classifier::run`], and [`ClassifyError::Rows`] or [`ClassifyError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        scores: &DeviceTensor<'_>,
        rows: usize,
    ) -> Result<(), ClassifyError> {
        self.pending = 0;
        let classes = self.announced.classes(scores.name, scores.ty, &scores.dims, rows)?;
        if rows == 0 {
            return Ok(());
        }
        let bytes = rows * size_of::<Row>();
        if self.rows.bytes() < bytes {
            self.rows = stream.pin(bytes)?;
        }
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let Params { activation, top_k, .. } = self.announced.params;
        let parameters = Parameters {
            scores: scores.pointer(),
            rows: self.rows.pointer(),
            classes: narrow(classes),
            top_k: narrow(top_k),
            softmax: u32::from(activation == Activation::Softmax),
        };
        // SAFETY: `Parameters` mirrors the kernel's struct. The scores are as many as their dimensions say, of which `rows`
        // have been checked to be there; there is pinned memory for as many, which waits for the device when dropped.
        unsafe { stream.launch(&self.kernel, [narrow(rows), 1, 1], [THREADS, 1, 1], 0, &parameters) }?;
        stream.record(&self.done)?;
        self.pending = rows;
        Ok(())
    }

    /// Waits, once, for the batch that was started last and replaces `classes` by those of its rows, each as
    /// [`super::Classifier::run`] does; returns the number of scores that are not finite, row by row. If none was started,
    /// there are none.
    ///
    /// # Errors
    /// [`ClassifyError::Device`], also for faults of earlier work.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        classes: &mut Vec<Vec<Class>>,
    ) -> Result<Vec<usize>, ClassifyError> {
        let pending = std::mem::take(&mut self.pending);
        classes.resize_with(pending, Vec::new);
        if pending == 0 {
            return Ok(Vec::new());
        }
        stream.wait_on_host(&self.done)?;
        stream.counters().device_to_host.add_size(pending * size_of::<Row>());
        let params = &self.announced.params;
        let rows = self.rows.as_slice().chunks_exact(size_of::<Row>()).zip(classes);
        let outcomes = rows.map(|(row, classes)| {
            let row: Row = bytemuck::pod_read_unaligned(row);
            let keys = &row.keys[..params.top_k];
            let found = keys.iter().position(|key| *key == 0).unwrap_or(keys.len());
            classes_of(&keys[..found], row.sum, params, classes);
            // Lossless: a count of 32 bits.
            row.non_finite as usize
        });
        Ok(outcomes.collect())
    }
}
