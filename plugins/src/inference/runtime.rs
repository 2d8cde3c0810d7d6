//! Which libraries can run a model.

use super::backend::Backend;
use super::fused::Fused;
use super::openvino::OpenVino;
use super::ort::OnnxRuntime;
use super::{Config, InferenceError, Provider};

/// What runs models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// ONNX Runtime.
    OnnxRuntime,
    /// OpenVINO.
    OpenVino,
    /// The engine of the crate cudainfer-fused.
    Fused,
}

impl Runtime {
    /// The runtime that has this provider; ONNX Runtime where it is left open.
    pub fn of(provider: Provider) -> Self {
        match provider {
            Provider::OpenVino => Self::OpenVino,
            Provider::Fused => Self::Fused,
            _ => Self::OnnxRuntime,
        }
    }

    /// Finds and opens the library, once a process.
    ///
    /// # Errors
    /// [`InferenceError::Library`]: it is not there or does not serve.
    pub(super) fn start(self, config: &Config) -> Result<Box<dyn Backend>, InferenceError> {
        match self {
            Self::OnnxRuntime => Ok(Box::new(OnnxRuntime::start(config)?)),
            Self::OpenVino => Ok(Box::new(OpenVino::start(config)?)),
            Self::Fused => Ok(Box::new(Fused::start(config)?)),
        }
    }
}
