//! Running models: a [`Session`] is a model that is ready to run, whatever library runs it, and an [`Engine`] all sessions
//! of one model. `ort` makes sessions with ONNX Runtime; another library would be a folder beside it and a variant of
//! [`Runtime`].

mod backend;
mod cache;
mod config;
mod device_bytes;
mod error;
mod ort;
mod progress;
mod provider;
mod runtime;
mod session;
mod shape;

pub use config::Config;
pub use error::InferenceError;
pub use progress::{Progress, watched};
pub use provider::{Precision, Provider};
pub use runtime::Runtime;
pub use session::{Session, SharedSession};
pub use shape::{Constant, FrameTensors, RunShape, row};

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudainfer_kernels::device::{Choice, Context, Counters, Resolved};
use cudainfer_kernels::tensor::TensorDesc;

use self::backend::{Opened, loading};
use self::cache::Cache;
use self::device_bytes::Before;
use self::shape::{noise, zeros};
use crate::files;
use crate::model::onnx::external_files;
use crate::model::{ImageInput, ModelError, ModelInfo};
use crate::sync::lock;

/// How long a session is left to others between two runs that warm it up.
const GAP: Duration = Duration::from_millis(1);

/// A loaded model: what it wants, what it gives, and the sessions that run it.
#[derive(Debug)]
pub struct Engine {
    /// Its image input.
    pub input: ImageInput,
    /// Its outputs, in the model's order.
    pub outputs: Vec<TensorDesc>,
    /// What is known of it: the sidecar, and what the model says itself as far as its inputs do not contradict it.
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
    /// What its runs are counted in on a GPU.
    counters: Arc<Counters>,
    /// Device memory that the library has taken by itself, in bytes.
    taken: AtomicU64,
    /// Whether it came from the cache.
    pub cached: bool,
    /// What the user should know of, a sentence each: what the model says wrongly of itself, what in the cache was damaged.
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
        check_files(path)?;
        let info = ModelInfo::read(path, config.labels.as_deref())?;
        let backend = Runtime::OnnxRuntime.start(config)?;
        let batches =
            config.batch.map_or_else(|| "the model's batch".to_owned(), |n| format!("batches of {n}"));
        let mut cache = Cache::new(config, &batches, &backend.version());
        let before = gpu(config).and_then(|context| Before::of(&context, counters));
        let Opened { provider, session: mut first, refused: fallbacks } =
            backend.open(config, counters, &mut cache, progress)?;
        let taken = AtomicU64::new(before.map_or(0, |before| before.taken()));
        let cached = cache.hit();
        let inputs = first.inputs().to_vec();
        let (info, contradictions) = info.settle(&inputs, path);
        let input = ImageInput::of(&inputs, &info, path)?;
        let batch = batch_size(config, &input)?;
        first.reserve(batch);
        let outputs = first.outputs().to_vec();
        if outputs.is_empty() {
            let why =
                "it has no output that is a tensor of numbers. Export it with such an output".to_owned();
            return Err(ModelError::Unfit(path.clone(), why).into());
        }
        let context = first.stream().map(|stream| Arc::clone(stream.context()));
        let mut sessions = vec![Arc::new(Mutex::new(first))];
        // A GPU runs one frame at a time anyway; on the CPU several sessions use the cores better than one.
        if provider == Provider::Cpu && config.sessions > 1 {
            watched(&loading(config, provider), progress, || {
                while sessions.len() < config.sessions {
                    let session = backend.open_another(config, &mut cache)?;
                    sessions.push(Arc::new(Mutex::new(session)));
                }
                Ok::<(), InferenceError>(())
            })?;
        }
        let mut warnings = info.warnings.clone();
        warnings.extend(contradictions);
        warnings.extend(cache.warnings());
        warnings.extend(backend.warning(provider));
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
            counters: Arc::clone(counters),
            taken,
            cached,
            warnings,
            cache,
        })
    }
}

/// The GPU that the model will run on, if it may run on one.
fn gpu(config: &Config) -> Option<Arc<Context>> {
    let on_gpu = config.provider != Provider::Cpu && config.device != Choice::Cpu;
    match config.device.resolve().ok().filter(|_| on_gpu)? {
        Resolved::Cuda(device) => Context::new(&device).ok(),
        Resolved::Cpu { .. } => None,
    }
}

/// Whether the model, and the files with weights of it, can be read: ONNX Runtime itself would wait for ever at a FIFO.
fn check_files(model: &Path) -> Result<(), ModelError> {
    let unreadable =
        |what, path: &Path, e: std::io::Error| ModelError::File(what, path.to_owned(), e.to_string());
    files::open(model).map_err(|e| unreadable("model", model, e))?;
    // ONNX Runtime reports better what is not a model, and which files are missing.
    for weights in external_files(model).unwrap_or_default() {
        match files::open(&weights) {
            Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => {
                return Err(unreadable("weights", &weights, e));
            }
            _ => (),
        }
    }
    Ok(())
}

impl Engine {
    /// Bytes of the GPU's memory that are in use, by whomever, and all that it has; nothing on the CPU.
    pub fn device_memory(&self) -> Option<(u64, u64)> {
        let (free, total) = self.context.as_ref()?.memory().ok()?;
        Some((u64::try_from(total - free).ok()?, u64::try_from(total).ok()?))
    }

    /// Bytes of the GPU's memory that the model holds: what is counted, and by how much free memory fell while the library loaded
    /// the model and warmed it up. 0 on the CPU.
    pub fn held_device_bytes(&self) -> u64 {
        self.counters.device_bytes() + self.taken.load(Ordering::Relaxed)
    }

    /// Runs the model on zeros in every session and every size of batch that it will have, so that the first frames find
    /// everything chosen and allocated. Where the model leaves dimensions of its outputs open, they are learnt from that and from
    /// a run on noise; those that come out empty or different depend on the picture and stay open. Others' batches run in between.
    /// Returns the shape, complete, and how long a run of a whole batch takes.
    ///
    /// # Errors
    /// The model does not run, or its outputs are not told apart by frame.
    pub fn warm_up(
        &self,
        shape: RunShape,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Arc<RunShape>, Duration), InferenceError> {
        let what = format!("warming up for batches of {}", self.batch);
        let before = self.context.as_ref().and_then(|context| Before::of(context, &self.counters));
        let warm = watched(&what, progress, || self.run_all_sizes(shape))?;
        self.taken.fetch_add(before.map_or(0, |before| before.taken()), Ordering::Relaxed);
        // Some engines are built by the first run of their size only.
        lock(&self.cache).finish();
        Ok(warm)
    }

    fn run_all_sizes(&self, mut shape: RunShape) -> Result<(Arc<RunShape>, Duration), InferenceError> {
        let zeros = gst::Buffer::from_slice(zeros(shape.given_bytes())?);
        let images = vec![zeros.as_ref(); self.batch];
        let first = self.sessions.first().ok_or_else(|| InferenceError::Run("there is no session".into()))?;
        if !shape.is_known() {
            let noise = gst::Buffer::from_slice(noise(shape.given_bytes(), shape.given)?);
            let [black, noisy] = [images[0], &noise].map(|image| {
                let made = lock(first).run_on_host(&shape, &[image])?;
                row(&made, 0, shape.rows(1))
            });
            let black = black?;
            // A model that only this picture is too much for is left to the frames.
            shape = shape.with_outputs([&black, noisy.as_ref().unwrap_or(&black)], self.batch)?;
        }
        let shape = Arc::new(shape);
        let mut took = Duration::ZERO;
        for session in &self.sessions {
            let runs = lock(session).warm_up_runs();
            let sizes = shape.fixed.map_or_else(|| lock(session).sizes(self.batch), |_| vec![self.batch]);
            for frames in sizes {
                // Once more, when all is chosen, allocated and recorded: that is how long it takes. The largest batches' outputs
                // are kept as long as frames will keep them, so that there is memory for as many.
                let mut kept = Vec::new();
                for _ in 0..runs {
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

/// Frames that a run may have; as many as batch-size takes.
const MOST_FRAMES: usize = 1024;

/// Frames of a run at most: the property, else the fixed batch of the model, else 1.
fn batch_size(config: &Config, input: &ImageInput) -> Result<usize, InferenceError> {
    if let Some(fixed) = input.batch.filter(|fixed| *fixed > MOST_FRAMES) {
        let why = format!(
            "it takes batches of {fixed} frames, but may take at most {MOST_FRAMES}. Export it with an open batch dimension, or a \
             smaller one"
        );
        return Err(ModelError::Unfit(config.model.clone(), why).into());
    }
    match (config.batch, input.batch) {
        (Some(wanted), Some(fixed)) if wanted > fixed => {
            let takes = if fixed == 1 { "one frame".to_owned() } else { format!("{fixed} frames") };
            Err(ModelError::Unfit(
                config.model.clone(),
                format!(
                    "batch-size={wanted}, but it takes {takes} a run. Export it with an open batch dimension, or set \
                     batch-size={fixed} or less"
                ),
            )
            .into())
        }
        (Some(wanted), _) => Ok(wanted),
        (None, fixed) => Ok(fixed.unwrap_or(1)),
    }
}
