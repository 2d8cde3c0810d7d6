//! What runs of one shape need: memory at fixed addresses, and how it is bound.

use std::collections::HashMap;
use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, Graph, Memory, SharedMemory};

use super::runner::{RunMemory, Runner};
use crate::inference::shape::bytes;
use crate::inference::{Fed, InferenceError, RunShape};

/// What runs of one shape need. Work in the stream is in order, so that one place is enough for all runs.
#[derive(Debug)]
pub(super) struct ShapeRuns<Run> {
    pub shape: Arc<RunShape>,
    pub memory: ShapeMemory,
    /// The runs, by the number of rows.
    pub bound: HashMap<usize, BoundRun<Run>>,
}

/// Where the model reads and writes, with room for the largest batch.
#[derive(Debug)]
pub(super) struct ShapeMemory {
    pub input: Memory,
    /// Of the further inputs that take a picture.
    pub earlier: Vec<Memory>,
    pub fed: Vec<FedMemory>,
    pub outputs: Vec<Output>,
}

/// An output: where the model writes it, and where it is kept.
#[derive(Debug)]
pub(super) struct Output {
    memory: Memory,
    pool: Vec<Arc<SharedMemory>>,
}

/// A state: where the model reads it.
#[derive(Debug)]
pub(super) struct FedMemory {
    pub memory: Memory,
    /// A frame's state at first.
    pub at_first: Memory,
}

/// How a run of this many rows is made.
#[derive(Debug)]
pub(super) struct BoundRun<Run> {
    pub run: Run,
    pub graph: Option<Graph>,
    pub runs: usize,
    /// How often capturing it has failed.
    pub spoilt: u32,
}

impl<Run> ShapeRuns<Run> {
    /// Memory for runs of up to `batch` frames of a shape.
    pub fn allocate(
        stream: &CudaStream,
        shape: &Arc<RunShape>,
        batch: usize,
    ) -> Result<Self, InferenceError> {
        let most = shape.rows(batch);
        let pictures = |bytes: usize| {
            let memory = stream.allocate(bytes * most)?;
            // Rows beyond the frames of a run.
            stream.fill(memory.slice(), 0)?;
            Ok::<_, InferenceError>(memory)
        };
        let input = pictures(shape.image_bytes())?;
        let earlier =
            shape.earlier.iter().map(|_| pictures(bytes(&shape.image))).collect::<Result<_, _>>()?;
        let output = |desc| {
            let memory = stream.allocate(bytes(desc) * most)?;
            Ok(Output { memory, pool: Vec::new() })
        };
        let outputs = shape.outputs.iter().map(output).collect::<Result<_, InferenceError>>()?;
        let state = |state: &Fed| {
            let memory = stream.allocate(state.bytes() * if state.batched { most } else { 1 })?;
            Ok(FedMemory { memory, at_first: stream.allocate_with(&state.at_first()?)? })
        };
        let fed = shape.fed.iter().map(state).collect::<Result<_, InferenceError>>()?;
        let memory = ShapeMemory { input, earlier, fed, outputs };
        Ok(Self { shape: Arc::clone(shape), memory, bound: HashMap::new() })
    }
}

impl<Run> BoundRun<Run> {
    /// Binds a shape's memory for this many rows.
    pub fn new(
        stream: &CudaStream,
        runner: &mut impl Runner<Run = Run>,
        shape: &RunShape,
        memory: &ShapeMemory,
        rows: usize,
    ) -> Result<Self, InferenceError> {
        // In memory of our own: recorded work would find a library's memory used for something else.
        let constants = shape.constants(rows)?;
        let constants =
            constants.iter().map(|input| stream.allocate_with(&input.data)).collect::<Result<_, _>>()?;
        let image = memory.input.slice().first(shape.image_bytes() * rows);
        let earlier = memory.earlier.iter().map(Memory::slice).collect();
        let fed = memory.fed.iter().map(|state| state.memory.slice()).collect();
        let outputs = memory.outputs.iter().map(|output| output.memory.slice()).collect();
        let run = runner.bind(stream, RunMemory { shape, rows, image, earlier, constants, fed, outputs })?;
        Ok(Self { run, graph: None, runs: 0, spoilt: 0 })
    }
}

impl Output {
    /// Enqueues the copy of the first `bytes` to memory of that size that only the caller has.
    pub fn keep(&mut self, stream: &CudaStream, bytes: usize) -> Result<Arc<SharedMemory>, InferenceError> {
        let fits = |memory: &&Arc<SharedMemory>| memory.slice().bytes() == bytes;
        let free = self.pool.iter().filter(fits).find(|memory| Arc::strong_count(memory) == 1);
        let kept = match free {
            Some(memory) => Arc::clone(memory),
            None => {
                let memory = Arc::new(SharedMemory::new(stream, bytes)?);
                self.pool.push(Arc::clone(&memory));
                memory
            }
        };
        kept.begin_write(stream)?;
        let copied = stream.copy_on_device(self.memory.slice().first(bytes), kept.slice());
        kept.end_write(stream)?;
        copied?;
        Ok(kept)
    }
}
