//! ONNX Runtime: finding its library, choosing a provider, loading a model and running it.
//!
//! The `ort` crate speaks to the library. `unsafe` is only where libraries are looked at or opened (`library`, `libraries`)
//! and where addresses on the device and a stream are handed over (`binding`, `provider`).

mod binding;
mod cache;
mod gpu;
mod info;
mod input;
mod libraries;
mod library;
mod onnx;
mod progress;
mod provider;
mod session;
mod sidecar;

pub use info::ModelInfo;
pub use input::ImageInput;
pub use progress::{Progress, watched};
pub use provider::{Precision, Provider};
pub use session::{Input, Session};
pub use sidecar::{ConstantValue, Sidecar, SizeOf};

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Choice, Counters, DeviceError};
use cudainfer_kernels::tensor::TensorDesc;

use crate::sync::lock;
use cache::Cache;

/// What to load and how to run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The ONNX file.
    pub model: PathBuf,
    /// A file with one label a line; beats the sidecar's labels.
    pub labels: Option<PathBuf>,
    /// Where inference runs.
    pub provider: Provider,
    /// On which GPU, or on none.
    pub device: Choice,
    /// TensorRT's numbers.
    pub precision: Precision,
    /// Bytes that TensorRT may use to work in; 0 leaves it to TensorRT.
    pub workspace: usize,
    /// The folder for what makes the next start quicker; not set, it is `cudainfer` in the user's cache folder, and `none`
    /// is none.
    pub cache: Option<PathBuf>,
    /// Whether runs on the GPU may be recorded as CUDA graphs.
    pub graphs: bool,
    /// ONNX Runtime's library, where it is not to be searched for.
    pub library: Option<PathBuf>,
    /// Sessions on the CPU that may run at the same time, each with its share of the threads; at least 1.
    pub sessions: usize,
    /// Threads of all sessions together; at least 1.
    pub threads: usize,
}

/// A session and whose turn it is.
pub type SharedSession = Arc<Mutex<Session>>;

/// A loaded model: what it wants, what it gives, and the sessions that run it.
#[derive(Debug)]
pub struct Engine {
    /// Its image input.
    pub input: ImageInput,
    /// Its outputs, in the model's order.
    pub outputs: Vec<TensorDesc>,
    /// What the sidecar says.
    pub info: ModelInfo,
    /// Where it runs.
    pub provider: Provider,
    /// Why better providers do not run it; empty where the first choice does.
    pub fallbacks: Vec<String>,
    /// All its inputs that are tensors of numbers.
    pub inputs: Vec<TensorDesc>,
    /// One a worker.
    pub sessions: Vec<SharedSession>,
    /// Whether it came from the cache.
    pub cached: bool,
    /// What the user should know of, a sentence each: what in the cache was damaged.
    pub warnings: Vec<String>,
    cache: Mutex<Cache>,
}

impl Engine {
    /// Loads a model and everything that it needs. What it does on a GPU is counted in `counters`. Of what takes longer than
    /// a second, `progress` hears every second.
    ///
    /// # Errors
    /// What is missing or wrong, and what to do about it.
    pub fn open(
        config: &Config,
        counters: &Arc<Counters>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, EngineError> {
        let path = &config.model;
        std::fs::File::open(path).map_err(|e| EngineError::File("model", path.clone(), e.to_string()))?;
        let info = ModelInfo::read(path, config.labels.as_deref())?;
        let environment = library::environment(config.library.as_deref())?;
        let mut cache = Cache::new(config, "one frame a run");
        let (provider, first, fallbacks) =
            provider::open(environment, config, counters, &mut cache, progress)?;
        let cached = cache.hit();
        let inputs = first.inputs().to_vec();
        let input = ImageInput::of(&inputs, &info, path)?;
        let outputs = first.outputs().to_vec();
        if outputs.is_empty() {
            return Err(EngineError::Model(
                path.clone(),
                "it has no output that is a tensor of numbers".into(),
            ));
        }
        let mut sessions = vec![Arc::new(Mutex::new(first))];
        // A GPU runs one frame at a time anyway; on the CPU several sessions use the cores better than one.
        if provider == Provider::Cpu && config.sessions > 1 {
            watched(&provider::loading(config, provider), progress, || {
                while sessions.len() < config.sessions {
                    let session = Session::open(environment, config, provider, None, &mut cache)?;
                    sessions.push(Arc::new(Mutex::new(session)));
                }
                Ok::<(), EngineError>(())
            })?;
        }
        let warnings = cache.warnings();
        let cache = Mutex::new(cache);
        Ok(Self { input, inputs, outputs, info, provider, fallbacks, sessions, cached, warnings, cache })
    }

    /// Puts what TensorRT has built into the cache, once the model has run: some of it is built by the first run of its
    /// size only. Otherwise that is done when the engine is dropped.
    pub fn finish(&self) {
        lock(&self.cache).finish();
    }
}

/// Why a model cannot be loaded or run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// A file that cannot be read: what it is, where, why.
    #[error("the {0} file '{1}' cannot be read: {2}")]
    File(&'static str, PathBuf, String),
    /// A sidecar that does not parse.
    #[error("the sidecar '{0}' is not right: {1}. docs/model-sidecar.md describes its fields")]
    Sidecar(PathBuf, String),
    /// ONNX Runtime's library was not found or does not serve.
    #[error("{0}")]
    Library(String),
    /// A model that ONNX Runtime refuses, or that has no use here.
    #[error("the model '{0}' cannot be used: {1}")]
    Model(PathBuf, String),
    /// The provider that was asked for does not work.
    #[error("provider={provider} does not work here: {reason}. provider=auto takes the best that does")]
    Provider {
        /// Its name.
        provider: String,
        /// ONNX Runtime's reason.
        reason: String,
    },
    /// The GPU that was asked for cannot be used.
    #[error("device={device}: {reason}")]
    Gpu {
        /// As the property says it.
        device: String,
        /// Why not.
        reason: String,
    },
    /// The GPU failed.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// A run that failed.
    #[error("ONNX Runtime failed to run the model: {0}")]
    Run(String),
}

/// The sidecar that belongs to a model: the same name, ending in `.toml`.
pub fn sidecar_path(model: &Path) -> PathBuf {
    model.with_extension("toml")
}
