//! The other runtime of the CPU: OpenVINO beside ONNX Runtime, where `provider=auto` leaves it open what runs a model (`contest`).

use cudainfer_kernels::device::{Choice, Resolved};

use super::backend::Backend;
use super::cache::{Cache, Choices};
use super::{Config, EngineSearch, InferenceError, Precision, Provider, Runtime, openvino};
use crate::property::nick;

/// OpenVINO beside ONNX Runtime, while both are possible.
#[derive(Debug)]
pub(super) struct Rival {
    pub backend: Box<dyn Backend>,
    /// How OpenVINO runs the model.
    pub config: Config,
    /// What was the fastest before, by shape.
    choices: Choices,
    cache: Cache,
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

    /// Another runtime with its configuration, whose results are kept in `cache`.
    pub fn new(backend: Box<dyn Backend>, config: Config, mut cache: Cache) -> Self {
        let choices = cache.choices(&config, Provider::Auto, None);
        Self { backend, config, choices, cache }
    }

    /// OpenVINO's own configuration, if it was the faster one when the two were last measured.
    pub fn known(&self) -> Option<&Config> {
        let is_faster = self.choices.latest() == Some(nick(Provider::OpenVino).as_str());
        is_faster.then_some(&self.config)
    }

    /// Whether the two were measured for this shape.
    pub fn is_known(&self, shape: &str) -> bool {
        self.choices.of(shape).is_some()
    }

    /// Remembers the faster one.
    pub fn remember(&mut self, shape: &str, faster: Provider) {
        self.choices.add(shape, &nick(faster));
        self.cache.remember(&self.config, Provider::Auto, None, &self.choices);
    }
}

/// Why no GPU is used, where the model is going to run on the CPU; nothing where it may run on a GPU.
pub(super) fn only_cpu(config: &Config) -> Option<Option<String>> {
    match config.resolve() {
        Ok(Resolved::Cpu { reason }) => Some(reason),
        _ => None,
    }
}
