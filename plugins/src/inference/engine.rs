//! A loaded model and its sessions: opening them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cudainfer_files as files;
use cudainfer_kernels::device::{Choice, Context, Counters, Resolved};
use cudainfer_kernels::tensor::TensorDesc;

use super::backend::{Backend, Opened, loading};
use super::cache::Cache;
use super::device_bytes::Before;
use super::earlier::earlier_pictures;
use super::rival::{self, Rival};
use super::start::StartPart;
use super::variant::ActiveVariant;
use super::{
    Config, EarlierPicture, Fed, InferenceError, Progress, Provider, Runtime, SharedSession, StartTimes,
    state, watched,
};
use crate::log::ENGINE as CAT;
use crate::model::onnx::external_files;
use crate::model::{
    Array, ArrayFile, ConstantValue, ImageInput, ModelError, ModelInfo, Prompted, sidecar_path,
};
use crate::sync::lock;

/// A loaded model: its inputs and outputs, and the sessions that run it.
#[derive(Debug)]
pub struct Engine {
    /// Its image input, or, of a promptable model, the input that takes what another model has made of the frame.
    pub input: ImageInput,
    /// Its outputs, in the model's order.
    pub outputs: Vec<TensorDesc>,
    /// What is known of the model: the sidecar, and what the file says as far as its inputs do not contradict it.
    pub info: ModelInfo,
    /// Why better providers do not run it; empty where the first choice does.
    pub fallbacks: Vec<String>,
    /// All its inputs that are tensors of numbers.
    pub inputs: Vec<TensorDesc>,
    /// Its further inputs that take a picture.
    pub earlier: Vec<EarlierPicture>,
    /// What it remembers from one frame of a stream to the next; empty where it is not recurrent.
    pub states: Vec<Fed>,
    /// What a promptable model takes; `None` where it is none.
    pub prompted: Option<Prompted>,
    /// The arrays of the sidecar's `[constants]`, by the names of the inputs.
    pub arrays: BTreeMap<String, Array>,
    /// One for each worker.
    pub sessions: Vec<SharedSession>,
    /// Frames of a run, at most.
    pub batch: usize,
    /// The GPU that it runs on.
    pub(super) context: Option<Arc<Context>>,
    /// The counters of the serving session's runs on a GPU.
    pub(super) counters: Mutex<Arc<Counters>>,
    /// Device memory that the library has allocated by itself, in bytes.
    pub(super) taken: AtomicU64,
    /// Whether the session came from the cache.
    pub cached: bool,
    /// Warnings for the user, a sentence each: what the model's file states wrongly, what in the cache was damaged.
    pub warnings: Vec<String>,
    pub(super) cache: Mutex<Cache>,
    pub(super) backend: Box<dyn Backend>,
    pub(super) config: Config,
    pub(super) variant: ActiveVariant,
    /// How long the model's start took, by part.
    pub times: StartTimes,
}

impl Engine {
    /// Loads a model and everything that it needs. Its work on a GPU is counted in `counters`. `progress` is called every second
    /// while something takes longer than a second.
    ///
    /// # Errors
    /// What is missing or wrong, and what to do about it.
    pub fn open(
        config: &Config,
        counters: &Arc<Counters>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, InferenceError> {
        check_files(&config.model)?;
        let times = StartTimes::default();
        let backend = times.time(StartPart::Library, || Runtime::of(config.provider).start(config))?;
        let look = || match rival::only_cpu(config) {
            Some(_) => Rival::of(config, &*backend),
            None => Ok(Rival::on_gpu(config, &*backend)),
        };
        let rival = match times.time(StartPart::Library, look) {
            Ok(Some(rival)) => rival,
            Ok(None) => return Self::open_with(backend, times, config, counters, progress),
            Err(e) => {
                let mut engine = Self::open_with(backend, times, config, counters, progress)?;
                engine.warnings.push(format!("the model runs on ONNX Runtime alone: {e}"));
                return Ok(engine);
            }
        };
        if let Some(faster) = rival.known() {
            match Self::open_on(faster, config, counters, progress) {
                Ok(engine) => return Ok(engine),
                Err(e) => {
                    gst::warning!(
                        CAT,
                        "{} does not run the model any more, as it did before: {e}",
                        rival.name()
                    )
                }
            }
        }
        let engine = Self::open_with(backend, times, config, counters, progress)?;
        // Elements downstream have chosen their side by where the model runs: it does not move to a GPU while frames flow.
        if engine.context.is_some() || rival.provider() != Provider::Fused {
            *lock(&engine.variant.rival) = Some(rival);
        }
        Ok(engine)
    }

    /// Opens the model on the runtime of `faster`, which was the fastest before, in place of the one that `config` would begin with.
    fn open_on(
        faster: &Config,
        config: &Config,
        counters: &Arc<Counters>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, InferenceError> {
        let times = StartTimes::default();
        let backend = times.time(StartPart::Library, || Runtime::of(faster.provider).start(faster))?;
        let mut engine = Self::open_with(backend, times, faster, counters, progress)?;
        engine.fallbacks = rival::only_cpu(config).flatten().into_iter().collect();
        engine.cached = true;
        Ok(engine)
    }

    /// Where it runs.
    pub fn provider(&self) -> Provider {
        self.variant.provider()
    }

    /// As [`Engine::open`], with a library that has been opened; the files can be read.
    pub(super) fn open_with(
        backend: Box<dyn Backend>,
        times: StartTimes,
        config: &Config,
        counters: &Arc<Counters>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, InferenceError> {
        let path = &config.model;
        let info = ModelInfo::read(path, config.labels.as_deref())?;
        let batches =
            config.batch.map_or_else(|| "the model's batch".to_owned(), |n| format!("batches of {n}"));
        let mut cache = Cache::new(config, &batches, &backend.version());
        let before = gpu(config).and_then(|context| Before::of(&context, counters));
        let Opened { provider, session: mut first, variant, choices, refused: fallbacks } =
            times.time(StartPart::Session, || backend.open(config, counters, &mut cache, progress))?;
        let taken = AtomicU64::new(before.map_or(0, |before| before.taken()));
        let cached = cache.hit() || choices.latest().is_some();
        let variant = ActiveVariant::new(variant, provider, choices);
        let inputs = first.inputs().to_vec();
        let prompted = Prompted::of(&inputs, &info, path)?;
        let (info, contradictions, input) = match &prompted {
            Some(prompted) => (info, Vec::new(), prompted.features.clone()),
            None => {
                let (info, contradictions) = info.resolve(&inputs, path);
                let input = ImageInput::of(&inputs, &info, path)?;
                (info, contradictions, input)
            }
        };
        let outputs = first.outputs().to_vec();
        let states = state::states(&info, &input, &inputs, &outputs, path)?;
        let earlier = earlier_pictures(&info, &input, &inputs, path)?;
        let arrays = read_arrays(&info, path)?;
        // Those of several streams are not put together in one run.
        let (batch, too_large) =
            if state::may_share_runs(&states) { batch_size(config, &input)? } else { (1, None) };
        first.reserve(batch);
        if outputs.is_empty() {
            let why =
                "it has no output that is a tensor of numbers. Export it with such an output".to_owned();
            return Err(ModelError::Unfit(path.clone(), why).into());
        }
        let context = first.stream().map(|stream| Arc::clone(stream.context()));
        // A GPU runs one frame at a time anyway; on the CPU several sessions use the cores better than one.
        let several = provider.is_on_host() && !first.runs_alone() && config.sessions > 1;
        let mut sessions = vec![Arc::new(Mutex::new(first))];
        if several {
            let open = || {
                while sessions.len() < config.sessions {
                    let session = backend.open_another(config, provider, &mut cache)?;
                    sessions.push(Arc::new(Mutex::new(session)));
                }
                Ok::<(), InferenceError>(())
            };
            times.time(StartPart::Session, || watched(&loading(config, provider), progress, open))?;
        }
        let mut warnings = info.warnings.clone();
        warnings.extend(too_large);
        warnings.extend(contradictions);
        warnings.extend(info.contradictions(&inputs, &outputs));
        warnings.extend(state::unnamed(&info, &input, &inputs, &outputs));
        warnings.extend(cache.warnings());
        warnings.extend(backend.warning(provider));
        let cache = Mutex::new(cache);
        Ok(Self {
            input,
            outputs,
            info,
            fallbacks,
            inputs,
            earlier,
            states,
            prompted,
            arrays,
            sessions,
            batch,
            context,
            cached,
            warnings,
            cache,
            backend,
            config: config.clone(),
            counters: Mutex::new(Arc::clone(counters)),
            taken,
            variant,
            times,
        })
    }
}

/// Reads the arrays that the sidecar names.
fn read_arrays(info: &ModelInfo, model: &Path) -> Result<BTreeMap<String, Array>, ModelError> {
    let sidecar = sidecar_path(model);
    let mut arrays = BTreeMap::new();
    for (input, value) in &info.constants {
        let ConstantValue::File(ArrayFile { file, array }) = value else { continue };
        let path = sidecar.with_file_name(file);
        let read = Array::read(&path, array.as_deref().unwrap_or(input));
        let read = read.map_err(|why| {
            let why = format!("the file '{}' of the constant {input} cannot be used: {why}", path.display());
            ModelError::Sidecar(sidecar.clone(), why)
        })?;
        arrays.insert(input.clone(), read);
    }
    Ok(arrays)
}

/// The GPU that the model will run on, if it may run on one.
fn gpu(config: &Config) -> Option<Arc<Context>> {
    let on_gpu = !config.provider.is_on_host() && config.device != Choice::Cpu;
    match config.resolve().ok().filter(|_| on_gpu)? {
        Resolved::Cuda(device) => Context::new(&device).ok(),
        Resolved::Cpu { .. } => None,
    }
}

/// Whether the model, and its files with weights, can be read: ONNX Runtime itself would wait forever at a FIFO.
fn check_files(model: &Path) -> Result<(), ModelError> {
    let unreadable =
        |what, path: &Path, e: std::io::Error| ModelError::File(what, path.to_owned(), e.to_string());
    files::open(model).map_err(|e| unreadable("model", model, e))?;
    // ONNX Runtime's own error about a file that is not a model is better.
    for weights in external_files(model).unwrap_or_default() {
        files::open(&weights).map_err(|e| unreadable("weights", &weights, e))?;
    }
    Ok(())
}

impl Engine {
    /// Bytes of the GPU's memory that are in use by all programs, and all that it has; nothing on the CPU.
    pub fn device_memory(&self) -> Option<(u64, u64)> {
        let (free, total) = self.context.as_ref()?.memory().ok()?;
        Some((u64::try_from(total - free).ok()?, u64::try_from(total).ok()?))
    }

    /// Bytes of the GPU's memory that the model holds: those that are counted, and by how much free memory fell while the library
    /// loaded the model and warmed it up. 0 on the CPU.
    pub fn held_device_bytes(&self) -> u64 {
        lock(&self.counters).device_bytes() + self.taken.load(Ordering::Relaxed)
    }
}

/// Frames that a run may have; at most the largest `batch-size`.
const MOST_FRAMES: usize = 1024;

/// Frames of a run at most: the property, as far as the model takes as many, else the fixed batch of the model, else 1; and a
/// warning where the property asks for more than the model takes.
fn batch_size(config: &Config, input: &ImageInput) -> Result<(usize, Option<String>), InferenceError> {
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
            let warning = format!(
                "batch-size={wanted}, but the model takes {takes} a run, so its batches have {takes}. Export it with an open batch dimension, or \
                 set batch-size={fixed}"
            );
            Ok((fixed, Some(warning)))
        }
        (Some(wanted), _) => Ok((wanted, None)),
        (None, fixed) => Ok((fixed.unwrap_or(1), None)),
    }
}
