//! Why a model cannot be loaded or run.

use cudainfer_kernels::device::DeviceError;

use crate::model::ModelError;

impl InferenceError {
    /// Whether a smaller batch might have worked.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::Memory(_) | Self::Device(DeviceError::OutOfMemory { .. }))
    }
}

/// Why a model cannot be loaded or run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InferenceError {
    /// The model or its files are not right.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The library that runs models was not found or does not serve.
    #[error("{0}")]
    Library(String),
    /// The provider that was asked for does not work.
    #[error(
        "provider={provider} does not work here: {reason}. Set provider=auto to use the best one that works"
    )]
    Provider {
        /// The provider's name.
        provider: String,
        /// The library's reason.
        reason: String,
    },
    /// The GPU that was asked for cannot be used.
    #[error("device={device}: {reason}")]
    Gpu {
        /// The GPU as the property names it.
        device: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// The GPU failed.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// A run that ONNX Runtime failed: its own words, shortened.
    #[error(
        "ONNX Runtime failed to run the model: {0}. Check the input's width and height and the sidecar's [constants], or export \
         the model again"
    )]
    Failed(String),
    /// A run that OpenVINO failed: its own words, shortened.
    #[error(
        "OpenVINO failed to run the model: {0}. Check the input's width and height and the sidecar's [constants], or set provider=cpu"
    )]
    OpenVino(String),
    /// A run that failed otherwise.
    #[error("the model could not be run: {0}")]
    Run(String),
    /// A run that another thread has ended.
    #[error("the run of the model was ended")]
    Interrupted,
    /// No thread to run in.
    #[error(
        "no worker thread could be started ({0}). Raise the process's limits of memory and threads (ulimit -v, ulimit -u), or \
         set fewer workers"
    )]
    Thread(String),
    /// A run for which there was not enough memory.
    #[error(
        "there is not enough memory to run the model ({0}). Set a smaller batch-size, or use a smaller model"
    )]
    Memory(String),
    /// More pictures than a stream may keep.
    #[error(
        "the model looks back over {frames} frames, and their tensors, {picture} each, would have more than 8 GiB for every stream. Name \
         fewer frames in the sidecar, or export the model with a smaller input"
    )]
    Pictures {
        /// A frame's tensor.
        picture: String,
        /// The frames.
        frames: usize,
    },
    /// A tensor of an impossible size.
    #[error(
        "the tensor {tensor} cannot be that large: for a batch of {rows} frames it would have more than 8 GiB, or other bytes than its \
         dimensions say. Export the model with smaller dimensions, or set a smaller batch-size"
    )]
    Size {
        /// Its description, for a frame alone.
        tensor: String,
        /// Rows of the run.
        rows: usize,
    },
    /// Outputs that cannot be split by frame.
    #[error(
        "a batch of {rows} frames gives '{output}', which cannot be divided among the frames: its first dimension should be \
         {rows}. Export the model with a batch in all its outputs, or set batch-size=1"
    )]
    Batch {
        /// Rows of the run.
        rows: usize,
        /// The output's description.
        output: String,
    },
}
