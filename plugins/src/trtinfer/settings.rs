//! trtinfer's properties, and what they ask for.

use std::path::PathBuf;
use std::time::Duration;

use cudainfer_kernels::device::Choice;
use gst::glib;
use gst::prelude::*;

use super::cores;
use super::instance::Setup;
use super::leaky::Leaky;
use crate::inference::{Config, Precision, Provider};
use crate::nick::nick;
use crate::{device, stats, strings};

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub model: Option<PathBuf>,
    pub labels: Option<PathBuf>,
    library: Option<PathBuf>,
    provider: Provider,
    intra_threads: u32,
    inter_threads: u32,
    workers: u32,
    pub max_in_flight: u32,
    device: Option<String>,
    precision: Precision,
    workspace: u32,
    memory_limit: u32,
    cache: Option<PathBuf>,
    cuda_graphs: bool,
    pub instance: Option<String>,
    batch_size: Option<u32>,
    min_batch_size: u32,
    batch_timeout: u64,
    pub priority: i32,
    pub leaky: Leaky,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            labels: None,
            library: None,
            provider: Provider::default(),
            intra_threads: 0,
            inter_threads: 1,
            workers: 0,
            max_in_flight: 0,
            device: None,
            precision: Precision::default(),
            workspace: 0,
            memory_limit: 0,
            cache: None,
            cuda_graphs: true,
            instance: None,
            batch_size: None,
            min_batch_size: 0,
            batch_timeout: 0,
            priority: 0,
            leaky: Leaky::default(),
        }
    }
}

/// Settings that cannot work.
pub(super) struct InvalidSettings {
    pub error: gst::ResourceError,
    /// A sentence.
    pub why: String,
}

impl Settings {
    /// Sets the property of this name.
    pub fn set(&mut self, value: &glib::Value, pspec: &glib::ParamSpec) {
        let text = || value.get::<Option<String>>().ok().flatten().filter(|text| !text.is_empty());
        let path = || strings::path(value);
        let count = || value.get().unwrap_or_default();
        match pspec.name() {
            "model" => self.model = path(),
            "labels" => self.labels = path(),
            "onnxruntime" => self.library = path(),
            "provider" => self.provider = value.get().unwrap_or_default(),
            "intra-threads" => self.intra_threads = count(),
            "inter-threads" => self.inter_threads = count(),
            "workers" => self.workers = count(),
            "max-in-flight" => self.max_in_flight = count(),
            "leaky" => self.leaky = value.get().unwrap_or_default(),
            "instance" => self.instance = text(),
            "batch-size" => self.batch_size = value.get().ok(),
            "min-batch-size" => self.min_batch_size = count(),
            "batch-timeout" => self.batch_timeout = value.get().unwrap_or_default(),
            "priority" => self.priority = value.get().unwrap_or_default(),
            "device" => self.device = value.get().ok().flatten(),
            "precision" => self.precision = value.get().unwrap_or_default(),
            "workspace" => self.workspace = count(),
            "memory-limit" => self.memory_limit = count(),
            "engine-cache" => self.cache = path(),
            "cuda-graphs" => self.cuda_graphs = value.get().unwrap_or(true),
            _ => (),
        }
    }

    /// The value of the property of this name; its default if it is none of these.
    pub fn get(&self, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "model" => self.model.to_value(),
            "labels" => self.labels.to_value(),
            "onnxruntime" => self.library.to_value(),
            "provider" => self.provider.to_value(),
            "intra-threads" => self.intra_threads.to_value(),
            "inter-threads" => self.inter_threads.to_value(),
            "workers" => self.workers.to_value(),
            "max-in-flight" => self.max_in_flight.to_value(),
            "leaky" => self.leaky.to_value(),
            "instance" => self.instance.to_value(),
            "batch-size" => self.batch_size.map_or_else(|| pspec.default_value().clone(), |n| n.to_value()),
            "min-batch-size" => self.min_batch_size.to_value(),
            "batch-timeout" => self.batch_timeout.to_value(),
            "priority" => self.priority.to_value(),
            "device" => self.device.as_deref().unwrap_or("auto").to_value(),
            "precision" => self.precision.to_value(),
            "workspace" => self.workspace.to_value(),
            "memory-limit" => self.memory_limit.to_value(),
            "engine-cache" => self.cache.to_value(),
            "cuda-graphs" => self.cuda_graphs.to_value(),
            _ => pspec.default_value().clone(),
        }
    }

    /// What the properties ask for.
    pub fn setup(&self) -> Result<Setup, InvalidSettings> {
        let settings = self.clone();
        let wrong = |why: &str| InvalidSettings { error: gst::ResourceError::Settings, why: why.to_owned() };
        let model = settings.model.ok_or_else(|| InvalidSettings {
            error: gst::ResourceError::NotFound,
            why: "no model is named: set model=FILE.onnx".into(),
        })?;
        let device = settings.device.as_deref().unwrap_or("auto");
        let device: Choice = device.parse().map_err(|e| wrong(&format!("device: {e}")))?;
        if device == Choice::Cpu && !matches!(settings.provider, Provider::Auto | Provider::Cpu) {
            let provider = nick(settings.provider);
            return Err(wrong(&format!(
                "device=cpu and provider={provider} contradict each other: drop one of them"
            )));
        }
        if settings.batch_size == Some(0) {
            return Err(wrong(
                "batch-size=0: a run has one frame at least; leave it out to take what the model takes",
            ));
        }
        if let Some(size) = settings.batch_size.filter(|size| settings.min_batch_size > *size) {
            return Err(wrong(&format!(
                "min-batch-size={} is more than batch-size={size}: no batch would ever be large enough",
                settings.min_batch_size
            )));
        }
        let size = |set: u32| usize::try_from(set).unwrap_or(0);
        let count = |set: u32, default: usize| Some(size(set)).filter(|n| *n > 0).unwrap_or(default);
        let cores = cores::count();
        // More than four sessions cost more memory than they bring speed.
        let sessions = count(settings.workers, (cores / count(settings.intra_threads, 1)).clamp(1, 4));
        Ok(Setup {
            config: Config {
                model,
                labels: settings.labels,
                provider: settings.provider,
                device,
                precision: settings.precision,
                workspace: size(settings.workspace) << 20,
                memory_limit: size(settings.memory_limit) << 20,
                cache: settings.cache,
                graphs: settings.cuda_graphs,
                library: settings.library,
                sessions,
                intra_threads: count(settings.intra_threads, (cores / sessions).max(1)),
                inter_threads: count(settings.inter_threads, 1),
                batch: settings.batch_size.map(size),
            },
            min_batch: size(settings.min_batch_size),
            timeout: Duration::from_nanos(settings.batch_timeout),
        })
    }
}

/// Whether the property of this name is that of a file or a folder.
pub(super) fn is_path(name: &str) -> bool {
    matches!(name, "model" | "labels" | "onnxruntime" | "engine-cache")
}

/// All properties of the element.
pub(super) fn properties() -> Vec<glib::ParamSpec> {
    let file = |name: &str, nick: &str, blurb: &str| {
        glib::ParamSpecString::builder(name).nick(nick).blurb(blurb).mutable_ready().build()
    };
    let count = |name: &str, nick: &str, blurb: &str| {
        glib::ParamSpecUInt::builder(name).nick(nick).blurb(blurb).maximum(1024).mutable_ready().build()
    };
    vec![
        glib::ParamSpecString::builder("model")
            .nick("Model")
            .blurb("The ONNX file. A sidecar beside it, of the same name ending in .toml, may describe its input and outputs. Set while frames flow, the new model is loaded beside the old one and takes over between two frames; if it cannot, a WARNING says why and the old one goes on")
            .mutable_playing()
            .build(),
        glib::ParamSpecString::builder("labels")
            .nick("Labels")
            .blurb("A text file with the classes' names, one a line; beats the sidecar's. Set while frames flow, it belongs to the model that is set next")
            .mutable_playing()
            .build(),
        file(
            "onnxruntime",
            "ONNX Runtime",
            "ONNX Runtime's shared library; not set, it is searched for: ORT_DYLIB_PATH, beside the plugin, the loader's path, Python packages in a .venv",
        ),
        glib::ParamSpecEnum::builder::<Provider>("provider")
            .nick("Provider")
            .blurb("Where the model runs")
            .mutable_ready()
            .build(),
        glib::ParamSpecEnum::builder::<Provider>("active-provider")
            .nick("Active provider")
            .blurb("Where the model really runs, from READY on")
            .read_only()
            .build(),
        count(
            "intra-threads",
            "Intra-op threads",
            "CPU threads of a run of the model; 0 shares the cores among the workers",
        ),
        glib::ParamSpecUInt::builder("inter-threads")
            .nick("Inter-op threads")
            .blurb("Branches of the model that run at the same time on the CPU; 1 runs them one after the other")
            .minimum(1)
            .maximum(1024)
            .default_value(1)
            .mutable_ready()
            .build(),
        count(
            "workers",
            "Workers",
            "Batches that are inferred at the same time on the CPU, each in a session of its own; more use the cores better, fewer answer sooner; 0 takes one a core, at most 4",
        ),
        count(
            "max-in-flight",
            "Maximum in flight",
            "Frames of this element that are inside at most; 0 takes what the model needs to be busy: two runs on a GPU, one a worker on the CPU, and another to gather meanwhile",
        ),
        glib::ParamSpecEnum::builder::<Leaky>("leaky")
            .nick("Leaky")
            .blurb("Which frame is lost while as many are inside as max-in-flight allows; what is lost is counted in stats and said in a QOS message")
            .mutable_playing()
            .build(),
        glib::ParamSpecString::builder("instance")
            .nick("Instance")
            .blurb("Elements of a process that name the same instance share a model and its batches, in one pipeline or in several")
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("batch-size")
            .nick("Batch size")
            .blurb("Frames of a run at most; not set, it is what the model is fixed to, else 1")
            .maximum(1024)
            .default_value(1)
            .mutable_ready()
            .build(),
        count(
            "min-batch-size",
            "Minimum batch size",
            "Frames that are enough for a run before batch-timeout is over; 0 waits for all",
        ),
        glib::ParamSpecUInt64::builder("batch-timeout")
            .nick("Batch timeout")
            .blurb("Nanoseconds that a frame waits for others to fill the batch, from its arrival; 0 waits only as long as the model is busy")
            .maximum(3_600_000_000_000)
            .mutable_ready()
            .build(),
        glib::ParamSpecInt::builder("priority")
            .nick("Priority")
            .blurb("Frames of a higher priority go first where elements share an instance; while they keep it busy, the others wait")
            .mutable_playing()
            .build(),
        device::param_spec(),
        glib::ParamSpecEnum::builder::<Precision>("precision")
            .nick("Precision")
            .blurb("In which numbers TensorRT computes; the other providers compute in the model's")
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("workspace")
            .nick("Workspace")
            .blurb("MiB of device memory that TensorRT may use to work in; 0 leaves it to TensorRT")
            .maximum(1 << 20)
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("memory-limit")
            .nick("Memory limit")
            .blurb("MiB of device memory that ONNX Runtime may use on the CUDA provider; 0 is no limit. Where it is not enough, batches become smaller")
            .maximum(1 << 20)
            .mutable_ready()
            .build(),
        glib::ParamSpecBoolean::builder("cuda-graphs")
            .nick("CUDA graphs")
            .blurb("Record a run on the GPU once and launch it as a whole, where the model allows it")
            .default_value(Settings::default().cuda_graphs)
            .mutable_ready()
            .build(),
        file(
            "engine-cache",
            "Engine cache",
            "The folder for what makes the next start quicker: TensorRT's engines, models that were optimised for the CPU; not set, it is cudainfer in the user's cache folder; none keeps nothing",
        ),
        stats::param_spec(
            "; busy-ns, nanoseconds in ONNX Runtime, added up over the workers; batches that had a frame of this element, and batched-frames, all frames of those; dropped frames (leaky); batch-limit, frames of a batch at most for now, and step-downs, how often it became less for want of memory; device-memory-used and device-memory-total, bytes of the GPU. A run of the model on the GPU counts as one launch",
        ),
    ]
}
