//! Execution providers: which there are, in which order they are tried, and how each is set up.

use ort::environment::Environment;
use ort::ep::{self, ExecutionProvider, ExecutionProviderDispatch};

use super::{Config, EngineError, Session};
use crate::nick::nick;

/// Where a model runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferProvider")]
pub enum Provider {
    /// The first of the others that works.
    #[default]
    #[enum_value(name = "The first of tensorrt, tensorrt-rtx, cuda and cpu that works", nick = "auto")]
    Auto,
    /// NVIDIA TensorRT.
    #[enum_value(name = "NVIDIA TensorRT", nick = "tensorrt")]
    TensorRt,
    /// NVIDIA TensorRT for RTX.
    #[enum_value(name = "NVIDIA TensorRT for RTX", nick = "tensorrt-rtx")]
    TensorRtRtx,
    /// CUDA and cuDNN.
    #[enum_value(name = "NVIDIA CUDA and cuDNN", nick = "cuda")]
    Cuda,
    /// The CPU.
    #[enum_value(name = "The CPU", nick = "cpu")]
    Cpu,
}

impl Provider {
    /// What is registered with ONNX Runtime, which falls back to the CPU for single nodes by itself.
    pub(super) fn registration(self) -> Result<Option<ExecutionProviderDispatch>, String> {
        fn built_in<E: ExecutionProvider + Into<ExecutionProviderDispatch>>(
            provider: E,
            package: &str,
        ) -> Result<Option<ExecutionProviderDispatch>, String> {
            match E::is_available() {
                Ok(true) => Ok(Some(provider.into().error_on_failure())),
                Ok(false) => {
                    Err(format!("this ONNX Runtime was built without {} (it comes with {package})", E::NAME))
                }
                Err(e) => Err(e.to_string()),
            }
        }
        match self {
            Self::TensorRt => {
                let cache = glib::user_cache_dir().join("cudainfer").join("tensorrt");
                let cache = cache.display().to_string();
                let provider = ep::TensorRT::default()
                    .with_engine_cache(true)
                    .with_engine_cache_path(&cache)
                    .with_timing_cache(true)
                    .with_timing_cache_path(&cache);
                built_in(provider, "the Python package onnxruntime-gpu")
            }
            Self::TensorRtRtx => built_in(ep::NVRTX::default(), "builds for TensorRT RTX"),
            // TF32 would round float32 models to 10 bits: boxes then differ from the CPU's by pixels.
            Self::Cuda => {
                built_in(ep::CUDA::default().with_tf32(false), "the Python package onnxruntime-gpu")
            }
            Self::Cpu | Self::Auto => Ok(None),
        }
    }
}

/// Opens the first session on the provider that was asked for, or on the best that works; returns which, and why
/// the better ones did not.
pub(super) fn open(
    environment: &Environment,
    config: &Config,
) -> Result<(Provider, Session, Vec<String>), EngineError> {
    if config.provider != Provider::Auto {
        let session = Session::open(environment, config, config.provider)?;
        return Ok((config.provider, session, Vec::new()));
    }
    let mut refused = Vec::new();
    match gpu() {
        Err(reason) => refused.push(reason),
        Ok(()) => {
            for provider in [Provider::TensorRt, Provider::TensorRtRtx, Provider::Cuda] {
                match Session::open(environment, config, provider) {
                    Ok(session) => return Ok((provider, session, refused)),
                    Err(EngineError::Provider { reason, .. }) => {
                        refused.push(format!("{}: {reason}", nick(provider)));
                    }
                    // Not the provider's fault: the CPU would refuse the model too.
                    Err(other) => return Err(other),
                }
            }
        }
    }
    Ok((Provider::Cpu, Session::open(environment, config, Provider::Cpu)?, refused))
}

/// Whether there is a GPU that the NVIDIA providers could use.
fn gpu() -> Result<(), String> {
    cudainfer_kernels::device::probe().map(|_| ()).map_err(|e| e.to_string())
}
