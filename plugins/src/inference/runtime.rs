//! Which libraries can run a model.

use super::backend::Backend;
use super::ort::OnnxRuntime;
use super::{Config, InferenceError};

/// What runs models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// ONNX Runtime.
    OnnxRuntime,
}

impl Runtime {
    /// Finds and opens the library, once a process.
    ///
    /// # Errors
    /// [`InferenceError::Library`]: it is not there or does not serve.
    pub(super) fn start(self, config: &Config) -> Result<Box<dyn Backend>, InferenceError> {
        match self {
            Self::OnnxRuntime => Ok(Box::new(OnnxRuntime::start(config)?)),
        }
    }
}
