//! Another runtime beside ONNX Runtime, where `provider=auto` leaves it open what runs a model (`contest`): OpenVINO on the CPU, the
//! engine of cudainfer-fused on a GPU.

use std::sync::Arc;

use cudainfer_kernels::device::{Choice, Counters, Device, Resolved};

use super::backend::{Backend, PLAIN};
use super::cache::{Cache, Choices};
use super::search::Tolerance;
use super::{Config, EngineSearch, InferenceError, Precision, Provider, Runtime, Session, openvino};
use crate::log::ENGINE as CAT;
use crate::property::nick;

/// Another runtime beside ONNX Runtime, while both are possible.
#[derive(Debug)]
pub(super) struct Rival {
    pub backend: Box<dyn Backend>,
    /// How it runs the model.
    pub config: Config,
    /// What was the fastest before, by shape.
    choices: Choices,
    cache: Cache,
    /// The GPU that the choices are for.
    device: Option<Device>,
}

impl Rival {
    /// OpenVINO beside `reference`, where it may be chosen: it was left open what runs the model, it is installed, and float32 models
    /// are not asked to be computed otherwise. Its results must be the same.
    ///
    /// # Errors
    /// OpenVINO's library is named, and does not serve.
    pub fn of(config: &Config, reference: &dyn Backend) -> Result<Option<Self>, InferenceError> {
        let is_open = config.provider == Provider::Auto
            && config.precision == Precision::Model
            && config.search != EngineSearch::Off
            // Another way has been asked for.
            && config.plugin.is_none();
        if !is_open || !openvino::is_installed(config)? {
            return Ok(None);
        }
        let config = Config { provider: Provider::OpenVino, device: Choice::Cpu, ..config.clone() };
        let backend = Runtime::OpenVino.start(&config)?;
        let shapes = format!(
            "batches of {}, {} threads a run",
            config.batch.map_or_else(|| "the model's".to_owned(), |batch| batch.to_string()),
            config.intra_threads
        );
        let cache = Cache::new(&config, &shapes, &format!("{}, {}", reference.version(), backend.version()));
        Ok(Some(Self::new(backend, config, cache)))
    }

    /// The engine of cudainfer-fused beside `reference`, where it may be chosen: it was left open what runs the model, its libraries are
    /// there, and no limit of device memory forbids two sessions at a time.
    pub fn on_gpu(config: &Config, reference: &dyn Backend) -> Option<Self> {
        let is_open = config.provider == Provider::Auto
            && matches!(config.precision, Precision::Model | Precision::Float16)
            && config.search != EngineSearch::Off
            && config.memory_limit == 0
            && config.graphs
            && config.plugin.is_none();
        if !is_open {
            return None;
        }
        let config = Config { provider: Provider::Fused, ..config.clone() };
        let started = Runtime::Fused.start(&config);
        let backend = started.inspect_err(|e| gst::info!(CAT, "without the engine fused: {e}")).ok()?;
        let batches = config.batch.map_or_else(|| "the model's".to_owned(), |batch| batch.to_string());
        let runtimes = format!("{}, {}", reference.version(), backend.version());
        let cache = Cache::new(&config, &format!("batches of {batches}"), &runtimes);
        Some(Self::new(backend, config, cache))
    }

    /// Which one it is.
    pub fn provider(&self) -> Provider {
        self.config.provider
    }

    /// What it is called in sentences.
    pub fn name(&self) -> &'static str {
        if self.provider() == Provider::Fused { "the engine fused" } else { "OpenVINO" }
    }

    /// How far its results may be from ONNX Runtime's.
    pub fn tolerance(&self) -> Tolerance {
        match self.provider() {
            Provider::Fused => Tolerance::of(&self.config),
            _ => Tolerance::OtherRuntime,
        }
    }

    /// Frames of the runs that are timed, of a batch of this size.
    pub fn timed_frames(&self, batch: usize) -> usize {
        // OpenVINO would run those of a batch beside each other, in the cores of other workers.
        if self.provider() == Provider::Fused { batch } else { 1 }
    }

    /// Another session, whose work on a GPU is counted in `counters`.
    ///
    /// # Errors
    /// It does not run the model.
    pub fn session(&self, counters: &Arc<Counters>) -> Result<Box<dyn Session>, InferenceError> {
        match self.provider() {
            Provider::Fused => self.backend.open_variant(&self.config, counters, PLAIN),
            provider => self.backend.open_another(&self.config, provider, &mut Cache::off()),
        }
    }

    /// Another runtime with its configuration, whose results are kept in `cache`.
    pub fn new(backend: Box<dyn Backend>, config: Config, mut cache: Cache) -> Self {
        let device = match config.resolve() {
            Ok(Resolved::Cuda(device)) if config.provider == Provider::Fused => Some(device),
            _ => None,
        };
        let choices = cache.choices(&config, Provider::Auto, device.as_ref());
        Self { backend, config, choices, cache, device }
    }

    /// Its own configuration, if it was the faster one when the two were last measured.
    pub fn known(&self) -> Option<&Config> {
        let is_faster = self.choices.latest() == Some(nick(self.provider()).as_str());
        is_faster.then_some(&self.config)
    }

    /// Whether the two were measured for this shape.
    pub fn is_known(&self, shape: &str) -> bool {
        self.choices.of(shape).is_some()
    }

    /// Remembers the faster one.
    pub fn remember(&mut self, shape: &str, faster: Provider) {
        self.choices.add(shape, &nick(faster));
        self.cache.remember(&self.config, Provider::Auto, self.device.as_ref(), &self.choices);
    }
}

/// Why no GPU is used, where the model is going to run on the CPU; nothing where it may run on a GPU.
pub(super) fn only_cpu(config: &Config) -> Option<Option<String>> {
    match config.resolve() {
        Ok(Resolved::Cpu { reason }) => Some(reason),
        _ => None,
    }
}
