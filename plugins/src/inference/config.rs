//! Which model to load, and how to run it.

use std::path::PathBuf;

use cudainfer_kernels::device::{Choice, DeviceError, Resolved};

use super::{OpenVinoDevice, Precision, Provider};
use crate::property::Words;

/// How many ways to run a model are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferEngineSearch")]
pub enum EngineSearch {
    /// None but the first.
    #[enum_value(name = "None: the model runs as ONNX Runtime runs it by default", nick = "off")]
    Off,
    /// Those that were faster for some models.
    #[default]
    #[enum_value(
        name = "Those that were faster for some models: layout, fused bias; OpenVINO on the CPU",
        nick = "quick"
    )]
    Quick,
}

impl Words for EngineSearch {}

/// What frames wait for at a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferWarmUp")]
pub enum WarmUp {
    /// A variant that is ready soon.
    #[default]
    #[enum_value(name = "The default variant serves until the fastest one is warm", nick = "background")]
    Background,
    /// The variant that stays.
    #[enum_value(name = "Frames wait until the fastest variant is warm", nick = "complete")]
    Complete,
}

impl Words for WarmUp {}

/// What to load and how to run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The ONNX file.
    pub model: PathBuf,
    /// A file with one label per line; overrides the sidecar's labels.
    pub labels: Option<PathBuf>,
    /// Where inference runs.
    pub provider: Provider,
    /// On which GPU, or on none.
    pub device: Choice,
    /// The GPU to use where that is left open; not set, the first one that can be used.
    pub gpu: Option<u32>,
    /// Where OpenVINO runs the model.
    pub openvino_device: OpenVinoDevice,
    /// In which numbers the model is computed.
    pub precision: Precision,
    /// Bytes of TensorRT's workspace; 0 leaves them to TensorRT.
    pub workspace: usize,
    /// The folder for what makes the next start faster; not set, it is `cudainfer` in the user's cache folder, and `none` turns
    /// the cache off.
    pub cache: Option<PathBuf>,
    /// Whether runs on the GPU may be captured as CUDA graphs.
    pub graphs: bool,
    /// How many ways to run the model are timed on a GPU.
    pub search: EngineSearch,
    /// What frames wait for at a start.
    pub warm_up: WarmUp,
    /// ONNX Runtime's library, where it must not be searched for.
    pub library: Option<PathBuf>,
    /// OpenVINO's library, where it must not be searched for.
    pub openvino: Option<PathBuf>,
    /// The library of a plugin of ONNX Runtime, where it must not be searched for.
    pub plugin: Option<PathBuf>,
    /// Options of the plugin: keys and values.
    pub plugin_options: Vec<(String, String)>,
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
    /// The device that `device` names: `gpu` where it is left open.
    ///
    /// # Errors
    /// Those of [`Choice::resolve`].
    pub fn resolve(&self) -> Result<Resolved, DeviceError> {
        match (self.device, self.gpu) {
            (Choice::Auto, Some(gpu)) => Choice::Cuda(gpu).resolve(),
            (choice, _) => choice.resolve(),
        }
    }

    /// The model on the provider and the device that are best, in one session of one thread.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self {
            model: model.into(),
            labels: None,
            provider: Provider::Auto,
            device: Choice::Auto,
            gpu: None,
            openvino_device: OpenVinoDevice::Cpu,
            precision: Precision::Model,
            workspace: 0,
            cache: None,
            graphs: true,
            search: EngineSearch::default(),
            warm_up: WarmUp::default(),
            library: None,
            openvino: None,
            plugin: None,
            plugin_options: Vec::new(),
            sessions: 1,
            intra_threads: 1,
            inter_threads: 1,
            batch: None,
            memory_limit: 0,
        }
    }
}
