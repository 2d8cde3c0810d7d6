//! Sessions of a runtime, measured on noise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudainfer_kernels::device::{Counters, CudaStream, SharedMemory};

use super::Bench;
use crate::inference::backend::Backend;
use crate::inference::shape::{darkness, noise, zeros};
use crate::inference::stop::Stop;
use crate::inference::{Config, FedTensors, InferenceError, RunShape, Session, row};
use crate::memory::tensor::{TensorAllocator, part};
use crate::meta::tensor::Tensor;

/// Device memory in bytes that is left free beside another session.
const MARGIN: u64 = 256 << 20;

/// What opens sessions, and ends their runs.
#[derive(Clone, Copy)]
pub(in crate::inference) struct Sessions<'a> {
    pub backend: &'a dyn Backend,
    pub config: &'a Config,
    pub counters: &'a Arc<Counters>,
    pub stop: &'a Stop,
}

/// The largest batch of a shape, filled with noise that lies where the sessions run.
pub(in crate::inference) struct OnNoise<'a> {
    sessions: Sessions<'a>,
    shape: &'a Arc<RunShape>,
    /// A run's, no two of them alike: a variant that mixes up rows has other outputs.
    images: Vec<gst::Buffer>,
    /// Frames of a run, to which the images belong.
    frames: usize,
    /// Bytes that must be free for another session, as measured with the first one.
    needed: Option<u64>,
    /// Where the sessions run.
    stream: Option<Arc<CudaStream>>,
}

impl<'a> OnNoise<'a> {
    /// For sessions on the GPU of `session`, or on the CPU, whose runs have up to `frames` frames.
    ///
    /// # Errors
    /// There is not enough memory for a batch.
    pub fn new(
        sessions: Sessions<'a>,
        shape: &'a Arc<RunShape>,
        frames: usize,
        session: &dyn Session,
    ) -> Result<Self, InferenceError> {
        let (bytes, count) = (shape.picture_bytes(), frames * shape.pictures());
        let mut batch = zeros(bytes * count)?;
        for (row, image) in batch.chunks_exact_mut(bytes.max(1)).enumerate() {
            image.copy_from_slice(&noise(bytes, shape.given, darkness(row, count))?);
        }
        let batch = match session.stream() {
            Some(stream) => on_device(stream, &batch)?,
            None => gst::Buffer::from_slice(batch),
        };
        let rows = (0..count).map(|row| part(&batch, row * bytes, bytes));
        let images = rows.collect::<Result<_, _>>().map_err(|e| InferenceError::Run(e.to_string()))?;
        let stream = session.stream().cloned();
        Ok(Self { sessions, shape, images, frames, needed: None, stream })
    }

    /// A run with what is remembered of each image's stream.
    fn run(
        &self,
        session: &mut dyn Session,
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        let images: Vec<&gst::BufferRef> = self.images.iter().map(AsRef::as_ref).collect();
        let outputs =
            self.sessions.stop.during(session.interrupt(), || session.run(self.shape, &images, fed));
        let outputs = outputs.unwrap_or(Err(InferenceError::Interrupted));
        let finished = session.finish();
        if let Some(stream) = session.stream() {
            // The noise belongs to no frame.
            stream.counters().reset();
        }
        finished.and(outputs)
    }
}

impl Bench for OnNoise<'_> {
    fn open(&mut self, variant: &'static str) -> Result<Box<dyn Session>, InferenceError> {
        let Sessions { backend, config, counters, stop } = self.sessions;
        if stop.is_set() {
            return Err(InferenceError::Interrupted);
        }
        let mut session = backend.open_variant(config, counters, variant)?;
        session.reserve(self.frames);
        Ok(session)
    }

    fn outputs(&mut self, session: &mut dyn Session) -> Result<Vec<Tensor>, InferenceError> {
        let before = free_memory(session);
        let mut outputs = self.run(session, &[])?;
        for _ in 1..session.warm_up_runs() {
            outputs = self.run(session, &[])?;
        }
        if self.shape.is_recurrent() {
            // At first, a state may be zeros, which show little of what becomes of it.
            let rows = session.rows(self.shape, self.frames);
            let before =
                (0..self.frames).map(|index| Ok(self.shape.remembered(&row(&outputs, index, rows)?)));
            let before = before.collect::<Result<Vec<_>, InferenceError>>()?;
            outputs = self.run(session, &before)?;
        }
        self.needed = self.needed.or_else(|| memory_for(self.sessions.config, before, free_memory(session)));
        let on_host = |output: &Tensor| {
            let map = output.data.map_readable().map_err(|e| InferenceError::Run(e.to_string()))?;
            Ok(Tensor { desc: output.desc.clone(), data: gst::Buffer::from_slice(map.to_vec()) })
        };
        outputs.iter().map(on_host).collect()
    }

    fn time(&mut self, session: &mut dyn Session) -> Result<Duration, InferenceError> {
        let started = Instant::now();
        self.run(session, &[])?;
        Ok(started.elapsed())
    }

    fn has_room(&self) -> bool {
        let free = self.stream.as_deref().and_then(free);
        free.zip(self.needed).is_none_or(|(free, needed)| free >= needed)
    }
}

/// Unused bytes of the memory of a session's GPU; nothing on the CPU.
pub(in crate::inference) fn free_memory(session: &dyn Session) -> Option<u64> {
    free(session.stream()?)
}

fn free(stream: &CudaStream) -> Option<u64> {
    let (free, _) = stream.context().memory().ok()?;
    u64::try_from(free).ok()
}

/// Bytes that must be free before another session of the model is opened, from those that were free before and after the first
/// one was warmed up: what that took, its weights, and a margin. Nothing on the CPU.
pub(in crate::inference) fn memory_for(
    config: &Config,
    before: Option<u64>,
    after: Option<u64>,
) -> Option<u64> {
    let ran = before?.saturating_sub(after?);
    let weights = std::fs::metadata(&config.model).map_or(0, |file| file.len());
    Some(ran + ran / 4 + 2 * weights + MARGIN)
}

/// Tensors in device memory.
fn on_device(stream: &Arc<CudaStream>, bytes: &[u8]) -> Result<gst::Buffer, InferenceError> {
    let mut pinned = stream.pin(bytes.len())?;
    pinned.as_mut_slice().copy_from_slice(bytes);
    let memory = Arc::new(SharedMemory::new(stream, bytes.len())?);
    memory.begin_write(stream)?;
    let uploaded = stream.upload(&pinned, memory.slice());
    memory.end_write(stream)?;
    uploaded?;
    let buffer = TensorAllocator::new(stream)?.buffer(&memory, bytes.len());
    buffer.ok_or_else(|| InferenceError::Run("a tensor has no stream".into()))
}
