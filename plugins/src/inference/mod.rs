//! ONNX Runtime: finding its library, choosing a provider, loading a model and running it.
//!
//! The `ort` crate speaks to the library. `unsafe` is only where libraries are looked at or opened (`library`, `libraries`)
//! and where addresses on the device and a stream are handed over (`binding`, `provider`).

mod cache;
mod ort;
mod progress;
mod provider;
mod shape;

pub use ort::Session;
pub use progress::{Progress, watched};
pub use provider::{Precision, Provider};
pub use shape::{Constant, Shape, row};

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudainfer_kernels::device::{Choice, Context, Counters, DeviceError};
use cudainfer_kernels::tensor::TensorDesc;

use crate::model::{ImageInput, ModelError, ModelInfo};
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
    /// Sessions on the CPU that may run at the same time; at least 1.
    pub sessions: usize,
    /// Threads in which an operation of the model runs on the CPU, in each session; at least 1.
    pub intra_threads: usize,
    /// Branches of the model that run at the same time on the CPU, in each session; at least 1.
    pub inter_threads: usize,
    /// Frames of a run, at most; `None` leaves it to the model.
    pub batch: Option<usize>,
    /// Bytes of device memory that ONNX Runtime may use; 0 is no limit.
    pub memory_limit: usize,
}

impl Config {
    /// The model on the provider and the device that are best, in one session of one thread.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self {
            model: model.into(),
            labels: None,
            provider: Provider::Auto,
            device: Choice::Auto,
            precision: Precision::Model,
            workspace: 0,
            cache: None,
            graphs: true,
            library: None,
            sessions: 1,
            intra_threads: 1,
            inter_threads: 1,
            batch: None,
            memory_limit: 0,
        }
    }
}

/// How long a session is left to others between two runs that warm it up.
const GAP: Duration = Duration::from_millis(1);

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
    /// Frames of a run, at most.
    pub batch: usize,
    /// The GPU that it runs on.
    context: Option<Arc<Context>>,
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
    ) -> Result<Self, InferenceError> {
        let path = &config.model;
        std::fs::File::open(path).map_err(|e| ModelError::File("model", path.clone(), e.to_string()))?;
        let info = ModelInfo::read(path, config.labels.as_deref())?;
        let environment = ort::library::environment(config.library.as_deref())?;
        let batches =
            config.batch.map_or_else(|| "the model's batch".to_owned(), |n| format!("batches of {n}"));
        let mut cache = Cache::new(config, &batches);
        let (provider, mut first, fallbacks) =
            ort::provider::open(environment, config, counters, &mut cache, progress)?;
        let cached = cache.hit();
        let inputs = first.inputs().to_vec();
        let input = ImageInput::of(&inputs, &info, path)?;
        let batch = batch_size(config, &input)?;
        first.reserve(batch);
        let outputs = first.outputs().to_vec();
        if outputs.is_empty() {
            let why = "it has no output that is a tensor of numbers".to_owned();
            return Err(ModelError::Unfit(path.clone(), why).into());
        }
        let context = first.stream().map(|stream| Arc::clone(stream.context()));
        let mut sessions = vec![Arc::new(Mutex::new(first))];
        // A GPU runs one frame at a time anyway; on the CPU several sessions use the cores better than one.
        if provider == Provider::Cpu && config.sessions > 1 {
            watched(&ort::provider::loading(config, provider), progress, || {
                while sessions.len() < config.sessions {
                    let session = Session::open(environment, config, provider, None, &mut cache)?;
                    sessions.push(Arc::new(Mutex::new(session)));
                }
                Ok::<(), InferenceError>(())
            })?;
        }
        let warnings = cache.warnings();
        let cache = Mutex::new(cache);
        Ok(Self {
            input,
            outputs,
            info,
            provider,
            fallbacks,
            inputs,
            sessions,
            batch,
            context,
            cached,
            warnings,
            cache,
        })
    }
}

impl Engine {
    /// Bytes of the GPU's memory that are in use, by whomever, and all that it has; nothing on the CPU.
    pub fn device_memory(&self) -> Option<(u64, u64)> {
        let (free, total) = self.context.as_ref()?.memory().ok()?;
        Some((u64::try_from(total - free).ok()?, u64::try_from(total).ok()?))
    }

    /// Runs the model on zeros in every session and every size of batch that it will have, so that the first frames find
    /// everything chosen and allocated. Where the model leaves dimensions of its outputs open, they are learnt from that; those that
    /// come out empty depend on the picture and stay open. Others' batches run in between. Returns the shape, complete, and how long a run of a whole batch takes.
    ///
    /// # Errors
    /// The model does not run, or its outputs are not told apart by frame.
    pub fn warm_up(
        &self,
        shape: Shape,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Arc<Shape>, Duration), InferenceError> {
        let what = format!("warming up for batches of {}", self.batch);
        let warm = watched(&what, progress, || self.run_all_sizes(shape))?;
        // Some engines are built by the first run of their size only.
        lock(&self.cache).finish();
        Ok(warm)
    }

    fn run_all_sizes(&self, mut shape: Shape) -> Result<(Arc<Shape>, Duration), InferenceError> {
        let zeros = zeros(shape.given_bytes())?;
        let images = vec![zeros.as_ref(); self.batch];
        let first = self.sessions.first().ok_or_else(|| InferenceError::Run("there is no session".into()))?;
        if !shape.is_known() {
            let made = lock(first).run_on_host(&shape, &images[..1])?;
            shape.outputs = row(&made, 0, shape.rows(1))?.into_iter().map(|t| t.desc).collect();
            for output in &mut shape.outputs {
                output.dims.iter_mut().for_each(|dim| *dim = dim.filter(|dim| *dim > 0));
            }
        }
        let shape = Arc::new(shape);
        let mut took = Duration::ZERO;
        for session in &self.sessions {
            let sizes = shape.fixed.map_or_else(|| lock(session).sizes(self.batch), |_| vec![self.batch]);
            for frames in sizes {
                // Once more, when all is chosen, allocated and recorded: that is how long it takes. The largest batches' outputs
                // are kept as long as frames will keep them, so that there is memory for as many.
                let mut kept = Vec::new();
                for _ in 0..=if self.provider == Provider::Cpu { 0 } else { ort::WARM_UP + 1 } {
                    let (outputs, rows) = {
                        let mut session = lock(session);
                        // What others have enqueued is not part of it.
                        session.finish()?;
                        let started = Instant::now();
                        let rows = session.rows(&shape, frames);
                        let outputs = session.run(&shape, &images[..frames]);
                        let finished = session.finish();
                        took = started.elapsed();
                        // It is nobody's frame.
                        if let Some(stream) = session.stream() {
                            stream.counters().reset();
                        }
                        finished?;
                        (outputs?, rows)
                    };
                    row(&outputs, 0, rows)?;
                    kept.extend((frames == self.batch).then_some(outputs));
                    // Others use the session, and who waits for a lock of the standard library gets it only where it stays free
                    // for longer than it takes to wake up.
                    std::thread::sleep(GAP);
                }
            }
        }
        Ok((shape, took))
    }
}

/// A frame's tensor of zeros.
fn zeros(bytes: usize) -> Result<gst::Buffer, InferenceError> {
    let mut zeros = Vec::new();
    zeros
        .try_reserve_exact(bytes)
        .map_err(|e| InferenceError::Memory(format!("a frame's tensor has {bytes} bytes: {e}")))?;
    zeros.resize(bytes, 0u8);
    Ok(gst::Buffer::from_slice(zeros))
}

/// Frames of a run at most: what the user says, else what the model is fixed to, else 1.
fn batch_size(config: &Config, input: &ImageInput) -> Result<usize, InferenceError> {
    match (config.batch, input.batch) {
        (Some(wanted), Some(fixed)) if wanted > fixed => {
            let takes = if fixed == 1 { "one frame".to_owned() } else { format!("{fixed} frames") };
            Err(ModelError::Unfit(
                config.model.clone(),
                format!(
                    "batch-size={wanted}, but it takes {takes} a run: export it with an open batch dimension, or set \
                     batch-size={fixed} or less"
                ),
            )
            .into())
        }
        (Some(wanted), _) => Ok(wanted),
        (None, fixed) => Ok(fixed.unwrap_or(1)),
    }
}

impl InferenceError {
    /// Whether less might have worked.
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
    /// ONNX Runtime's library was not found or does not serve.
    #[error("{0}")]
    Library(String),
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
    /// A run for which there was not enough memory.
    #[error("there is not enough memory to run the model: {0}")]
    Memory(String),
    /// Outputs that cannot be told apart by frame.
    #[error(
        "a batch of {rows} frames gives '{output}', which does not tell whose is what: its first dimension would have to \
         be {rows}. Export the model with a batch in all its outputs, or set batch-size=1"
    )]
    Batch {
        /// Rows of the run.
        rows: usize,
        /// The output's description.
        output: String,
    },
}
