//! The CUDA twin: `cuda/classify.cu`, one launch for all rows of a batch.

use super::{Announced, Class, ClassifyError, ClassifyParams, FEW, Outcome, classes_of};
use crate::detect::Activation;
use crate::device::{CudaStream, DeviceTensor, Event, Kernel, Pinned};
use crate::tensor::TensorDesc;

/// Threads of a block.
const THREADS: u32 = 256;

/// The kernel's `Row`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
struct ClassRow {
    sum: f64,
    total: f64,
    non_finite: u32,
    outside: u32,
    found: u32,
    unused: u32,
}

/// The kernel's `Parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Parameters {
    scores: u64,
    rows: u64,
    keys: u64,
    classes: u32,
    kept: u32,
    softmax: u32,
    unused: u32,
}

const _: () =
    assert!(size_of::<ClassRow>() == 32 && size_of::<Parameters>() == 40, "cuda/classify.cu says the same");

/// Bytes of a key.
const KEY: usize = size_of::<u64>();

/// The batch in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    rows: usize,
    /// Keys that there is room for in each row.
    kept: usize,
}

/// Reads one output of a model that lies in device memory: [`super::Classifier`] on the GPU, for all rows of a batch at
/// once. One batch is in flight at a time.
#[derive(Debug)]
pub struct CudaClassifier {
    announced: Announced,
    kernel: Kernel,
    /// Where the kernel writes: a `Row` of the kernel for each row, then the keys of all rows.
    results: Pinned,
    done: Event,
    pending: Pending,
    keys: Vec<u64>,
}

impl CudaClassifier {
    /// Prepares for `output`, described as that of one row.
    ///
    /// # Errors
    /// As [`super::Classifier::new`], and [`ClassifyError::Device`].
    pub fn new(
        output: &TensorDesc,
        params: ClassifyParams,
        stream: &CudaStream,
    ) -> Result<Self, ClassifyError> {
        let announced = Announced::new(output, params)?;
        let kernel = format!("classify_{}", output.ty);
        Ok(Self {
            announced,
            kernel: Kernel::load(stream.context(), "classify", &kernel)?,
            results: stream.pin(size_of::<ClassRow>())?,
            done: Event::new(stream.context())?,
            pending: Pending::default(),
            keys: Vec::new(),
        })
    }

    /// Enqueues the choice in the first `rows` rows of `scores`; [`CudaClassifier::finish`] returns the result. A batch that was
    /// started before and not finished is dropped. Allocates only for more rows than ever before.
    ///
    /// # Errors
    /// As [`super::Classifier::run`], and [`ClassifyError::Rows`] or [`ClassifyError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        scores: &DeviceTensor<'_>,
        rows: usize,
    ) -> Result<(), ClassifyError> {
        self.pending = Pending::default();
        let classes = self.announced.classes(scores.name, scores.ty, &scores.dims, rows)?;
        if rows == 0 {
            return Ok(());
        }
        let ClassifyParams { activation, .. } = self.announced.params;
        let kept = self.announced.params.kept(classes);
        let headers = rows * size_of::<ClassRow>();
        let bytes = headers + rows * kept * KEY;
        if self.results.bytes() < bytes {
            self.results = stream.pin(bytes)?;
        }
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let parameters = Parameters {
            scores: scores.pointer(),
            rows: self.results.pointer(),
            keys: self.results.pointer() + headers as u64,
            classes: narrow(classes),
            kept: narrow(kept),
            softmax: u32::from(activation == Activation::Softmax),
            unused: 0,
        };
        // SAFETY: `Parameters` mirrors the kernel's struct. The scores are as many as their dimensions say, and `rows` rows
        // have been checked to be there; there is pinned memory for that many rows and their keys, which waits for the
        // device when dropped.
        unsafe { stream.launch(&self.kernel, [narrow(rows), 1, 1], [THREADS, 1, 1], 0, &parameters) }?;
        stream.record(&self.done)?;
        self.pending = Pending { rows, kept };
        Ok(())
    }

    /// Waits once for the batch that was started last and replaces `classes` by those of its rows, each as
    /// [`super::Classifier::run`] does; returns what their scores are like, row by row. If no batch was started, there are
    /// no rows.
    ///
    /// # Errors
    /// [`ClassifyError::Device`], also for faults of earlier work.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        classes: &mut Vec<Vec<Class>>,
    ) -> Result<Vec<Outcome>, ClassifyError> {
        let Pending { rows, kept } = std::mem::take(&mut self.pending);
        classes.resize_with(rows, Vec::new);
        if rows == 0 {
            return Ok(Vec::new());
        }
        stream.wait_on_host(&self.done)?;
        let Self { announced, results, keys, .. } = self;
        let (headers, all_keys) = results.as_slice().split_at(rows * size_of::<ClassRow>());
        let headers = headers.chunks_exact(size_of::<ClassRow>());
        let mut outcomes = Vec::with_capacity(rows);
        let mut read = 0;
        for ((header, row_keys), classes) in headers.zip(all_keys.chunks(kept * KEY)).zip(classes) {
            let row: ClassRow = bytemuck::pod_read_unaligned(header);
            // Lossless: numbers of 32 bits.
            let [non_finite, outside, found] = [row.non_finite, row.outside, row.found].map(|n| n as usize);
            keys.clear();
            keys.extend(row_keys.chunks_exact(KEY).take(found).map(bytemuck::pod_read_unaligned::<u64>));
            if kept > FEW {
                // The kernel leaves selected keys in no order.
                keys.sort_unstable_by(|a, b| b.cmp(a));
            }
            classes_of(keys, row.sum, &announced.params, classes);
            outcomes.push(Outcome { non_finite, outside, total: row.total });
            read += size_of::<ClassRow>() + keys.len() * KEY;
        }
        stream.counters().device_to_host.add_size(read);
        Ok(outcomes)
    }
}
