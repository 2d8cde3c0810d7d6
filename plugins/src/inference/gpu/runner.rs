//! What runs a model in a stream: the interface between the session on the GPU and the libraries that do it.

use std::fmt::Debug;

use cudainfer_kernels::device::{CudaStream, DeviceSlice, Memory};

use crate::inference::{InferenceError, RunShape};

/// A model that is enqueued in a stream.
pub(in crate::inference) trait Runner {
    /// A run at fixed addresses, which can be recorded.
    type Run: Debug + Send;

    /// Binds a run to its memory, which stays as long as the run.
    ///
    /// # Errors
    /// The library refuses it.
    fn bind(&mut self, stream: &CudaStream, memory: RunMemory<'_>) -> Result<Self::Run, InferenceError>;

    /// Enqueues a run; `may_wait` says whether the library may wait for it, which it must not while it is recorded.
    ///
    /// # Errors
    /// The library fails.
    fn enqueue(
        &mut self,
        stream: &CudaStream,
        run: &mut Self::Run,
        may_wait: bool,
    ) -> Result<(), InferenceError>;

    /// Whether another thread has ended the current run.
    fn is_interrupted(&self) -> bool;
}

/// What a run reads and writes.
pub(in crate::inference) struct RunMemory<'a> {
    pub shape: &'a RunShape,
    /// Frames of the run.
    pub rows: usize,
    /// The image of these rows, in the order that the session takes.
    pub image: DeviceSlice<'a>,
    /// Where the run finds the pictures of the further inputs that take one, with room for the largest batch.
    pub earlier: Vec<DeviceSlice<'a>>,
    /// The other inputs, as [`RunShape::constants`] has them, for the run to keep.
    pub constants: Vec<Memory>,
    /// Where the run finds the states, with room for the largest batch.
    pub fed: Vec<DeviceSlice<'a>>,
    /// With room for the largest batch.
    pub outputs: Vec<DeviceSlice<'a>>,
}
