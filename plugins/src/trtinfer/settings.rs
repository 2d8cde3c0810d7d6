//! trtinfer's properties, and the setup of an instance that follows from them.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use cudainfer_kernels::device::Choice;
use gst::glib;
use gst::prelude::*;

use super::cores;
use super::forms::TensorForm;
use super::leaky::Leaky;
use super::profile::Profile;
use super::setup::{ModelSelection, Setup};
use crate::decoding::reading;
use crate::device::AskedDevice;
use crate::inference::{Config, EngineSearch, OpenVinoDevice, Precision, Provider, WarmUp};
use crate::model::file_of;
use crate::property::nick;
use crate::property::{Table, Words, property};
use crate::stats;

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub model: Option<PathBuf>,
    pub labels: Option<PathBuf>,
    pub constants: Option<gst::Structure>,
    onnxruntime: Option<PathBuf>,
    openvino: Option<PathBuf>,
    provider_library: Option<PathBuf>,
    /// Empty where there are none.
    provider_options: String,
    provider: Provider,
    pub profile: Profile,
    intra_threads: u32,
    inter_threads: u32,
    workers: u32,
    pub max_in_flight: u32,
    device: AskedDevice,
    precision: Precision,
    workspace: u32,
    memory_limit: u32,
    engine_cache: Option<PathBuf>,
    cuda_graphs: bool,
    engine_search: EngineSearch,
    warm_up: WarmUp,
    /// Empty where it has none.
    instance: String,
    batch_size: Option<u32>,
    min_batch_size: u32,
    batch_timeout: u64,
    pub priority: i32,
    pub leaky: Leaky,
    pub tensors: TensorForm,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            labels: None,
            constants: None,
            onnxruntime: None,
            openvino: None,
            provider_library: None,
            provider_options: String::new(),
            provider: Provider::default(),
            profile: Profile::default(),
            intra_threads: 0,
            inter_threads: 1,
            workers: 0,
            max_in_flight: 0,
            device: AskedDevice::default(),
            precision: Precision::default(),
            workspace: 0,
            memory_limit: 0,
            engine_cache: None,
            cuda_graphs: true,
            engine_search: EngineSearch::default(),
            warm_up: WarmUp::default(),
            instance: String::new(),
            batch_size: None,
            min_batch_size: 0,
            batch_timeout: 0,
            priority: 0,
            leaky: Leaky::default(),
            tensors: TensorForm::default(),
        }
    }
}

impl Words for Leaky {}
impl Words for Profile {}
impl Words for TensorForm {}

/// Settings that cannot work.
pub(super) struct InvalidSettings {
    pub error: gst::ResourceError,
    /// A sentence.
    pub why: String,
}

impl Settings {
    /// What names the model.
    pub fn selection(&self) -> ModelSelection {
        ModelSelection { model: self.model.clone(), labels: self.labels.clone() }
    }

    /// Replaces a folder by the model in it, which exporters call `model.onnx`.
    pub fn find_in_folder(&mut self) {
        self.model = self.model.as_deref().map(file_of);
    }

    /// The name of the shared instance, if there is one.
    pub fn instance(&self) -> Option<String> {
        Some(self.instance.clone()).filter(|name| !name.is_empty())
    }

    /// The property `device`, where it is one.
    pub fn device(&self) -> Option<Choice> {
        self.placement().map(|(choice, _)| choice).ok()
    }

    /// What the property `device` stands for: where tensors are, and which of OpenVINO's devices it names.
    ///
    /// # Errors
    /// A sentence: it is no device.
    fn placement(&self) -> Result<(Choice, Option<OpenVinoDevice>), String> {
        let text = self.device.text();
        let Some(name) = text.strip_prefix(OF_OPENVINO) else {
            return self.device.choice().map(|choice| (choice, None)).map_err(|e| {
                format!("device: {e}, or {OF_OPENVINO}GPU, {OF_OPENVINO}NPU or {OF_OPENVINO}CPU for provider=openvino")
            });
        };
        // Its tensors come through the host.
        OpenVinoDevice::named(name).map(|device| (Choice::Cpu, Some(device))).ok_or_else(|| {
            format!(
                "device: '{text}' is none of OpenVINO's devices. Write {OF_OPENVINO}CPU, {OF_OPENVINO}GPU, {OF_OPENVINO}GPU.N (N is \
                 the GPU's number, from 0) or {OF_OPENVINO}NPU"
            )
        })
    }

    /// What the properties ask for.
    pub fn setup(&self) -> Result<Setup, InvalidSettings> {
        let settings = self.clone();
        let wrong = |why: &str| InvalidSettings { error: gst::ResourceError::Settings, why: why.to_owned() };
        let model = settings.model.ok_or_else(|| InvalidSettings {
            error: gst::ResourceError::NotFound,
            why: "no model is named: set model=FILE.onnx".into(),
        })?;
        let (device, of_openvino) = self.placement().map_err(|why| wrong(&why))?;
        let provider = match (of_openvino, settings.provider) {
            (Some(_), Provider::Auto) => Provider::OpenVino,
            (_, provider) => provider,
        };
        let fits = match (device, of_openvino) {
            (_, Some(_)) => provider == Provider::OpenVino,
            (Choice::Cpu, None) => provider == Provider::Auto || provider.is_on_host(),
            (Choice::Cuda(_), None) => !matches!(provider, Provider::OpenVino | Provider::Plugin),
            (Choice::Auto, None) => true,
        };
        if !fits {
            let (device, provider) = (settings.device.text(), nick(provider));
            return Err(wrong(&format!(
                "device={device} and provider={provider} contradict each other. Remove one of them"
            )));
        }
        let asks_for_plugin = settings.provider_library.is_some() || !settings.provider_options.is_empty();
        if asks_for_plugin && !matches!(provider, Provider::Auto | Provider::Plugin) {
            return Err(wrong(&format!(
                "provider-library and provider-options are a plugin's, but provider={} is none. Set provider=plugin, or remove them",
                nick(provider)
            )));
        }
        let plugin_options = options(&settings.provider_options).map_err(|why| wrong(&why))?;
        if settings.batch_size == Some(0) {
            return Err(wrong(
                "batch-size=0, but a batch has at least one frame. Set 1 or more, or remove it to use the model's",
            ));
        }
        if let Some(size) = settings.batch_size.filter(|size| settings.min_batch_size > *size) {
            return Err(wrong(&format!(
                "min-batch-size={} is more than batch-size={size}, so no batch would ever be large enough. Set a smaller min-batch-size",
                settings.min_batch_size
            )));
        }
        let size = |set: u32| usize::try_from(set).unwrap_or(0);
        let count = |set: u32, default: usize| Some(size(set)).filter(|n| *n > 0).unwrap_or(default);
        let cores = cores::count();
        let sessions =
            count(settings.workers, settings.profile.workers(cores / count(settings.intra_threads, 1)));
        Ok(Setup {
            config: Config {
                model,
                labels: settings.labels,
                provider,
                device,
                gpu: None,
                openvino_device: of_openvino.unwrap_or_default(),
                precision: settings.precision,
                workspace: size(settings.workspace) << 20,
                memory_limit: size(settings.memory_limit) << 20,
                cache: settings.engine_cache,
                graphs: settings.cuda_graphs,
                search: settings.engine_search,
                warm_up: settings.warm_up,
                library: settings.onnxruntime,
                openvino: settings.openvino,
                plugin: settings.provider_library,
                plugin_options,
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

/// The options of a plugin: `KEY=VALUE,KEY=VALUE`.
///
/// # Errors
/// A sentence: a part has no `=`, or no key.
fn options(text: &str) -> Result<Vec<(String, String)>, String> {
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    let option = |part: &str| {
        let (key, value) =
            part.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or_else(|| {
                format!(
                    "provider-options: '{}' is no option. Write KEY=VALUE, with commas between several",
                    part.trim()
                )
            })?;
        Ok((key.trim().to_owned(), value.trim().to_owned()))
    };
    parts.map(option).collect()
}

/// What the property `device` begins with where OpenVINO chooses among its own devices.
const OF_OPENVINO: &str = "openvino:";

/// The blurb of `device`.
const DEVICE: &str = "Device to work on: auto (a usable GPU, that of the stream's model, else the CPU), cuda (the first GPU, or an error), \
                      cuda:N (GPU number N, or an error), cpu, openvino:GPU, openvino:GPU.N or openvino:NPU (with OpenVINO)";

/// All properties of the element.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new([
        property!(
            Settings,
            model,
            (),
            "Model",
            "Path of the ONNX file, or of a folder that has it as model.onnx. The sidecar is the file beside it with the ending .toml. If set while frames flow, the new \
             model is loaded in the background and takes over between two frames; if it cannot be used, a WARNING is posted and \
             the current model stays",
        )
        .playing(),
        property!(
            Settings,
            labels,
            (),
            "Labels",
            "Path of a text file with one class name per line; overrides the sidecar's labels. If set while frames flow, it \
             applies to the next model that is set",
        )
        .playing(),
        property!(
            Settings,
            constants,
            (),
            "Constants",
            "Values of the model's inputs other than the image, by their names, as constants,txt_feats=prompts.npy,labels=<cat,dog>: a \
             .npy or .npz file, numbers as <0.5,1.5>, or a GstBuffer; they override the sidecar's. labels are the names of the classes \
             that change with them, or a file of them. If set while frames flow, the next frame has them; if they do not fit, a \
             WARNING is posted and those before stay",
        )
        .playing(),
        property!(
            Settings,
            onnxruntime,
            (),
            "ONNX Runtime",
            "Path of ONNX Runtime's shared library. If not set: ORT_DYLIB_PATH, then the plugin's directory, what \
             cudainfer-setup-onnxruntime has installed, the loader's path, and Python packages in VIRTUAL_ENV or a .venv",
        ),
        property!(
            Settings,
            openvino,
            (),
            "OpenVINO",
            "Path of OpenVINO's C library, libopenvino_c.so. If not set: CUDAINFER_OPENVINO, then the plugin's directory, the loader's \
             path, and Python packages beside the plugin, in VIRTUAL_ENV or a .venv",
        ),
        property!(Settings, provider, (), "Provider", "Execution provider that runs the model"),
        property!(
            Settings,
            provider_library,
            (),
            "Provider library",
            "Path of a plugin of ONNX Runtime, for provider=plugin; with provider=auto it is tried before the others. If not set, \
             provider=plugin takes the first that Python packages onnxruntime-ep-… have",
        ),
        property!(
            Settings,
            provider_options,
            (),
            "Provider options",
            "Options of the plugin, as KEY=VALUE with commas between them; its documentation has the keys",
        ),
        property!(
            Settings,
            profile,
            (),
            "Profile",
            "What matters most: it decides about workers, intra-threads and max-in-flight where they are 0. The element's presets have the same names",
        ),
        property!(
            Settings,
            intra_threads,
            0..=1024,
            "Intra-op threads",
            "CPU threads of one run of the model; 0 divides the cores among the workers",
        ),
        property!(
            Settings,
            inter_threads,
            1..=1024,
            "Inter-op threads",
            "Branches of the model that run in parallel on the CPU; 1 runs them one after the other",
        ),
        property!(
            Settings,
            workers,
            0..=1024,
            "Workers",
            "Batches that are inferred in parallel on the CPU, each in a session of its own. More workers raise the throughput, \
             fewer lower the latency; 0 uses as many as the profile says",
        ),
        property!(
            Settings,
            max_in_flight,
            0..=1024,
            "Maximum in flight",
            "Maximum number of this element's frames in flight; 0 allows what keeps the model busy: two batches on a GPU or one \
             per worker on the CPU, and one more that fills meanwhile; with profile=latency one batch",
        ),
        property!(
            Settings,
            leaky,
            (),
            "Leaky",
            "Which frame to drop when max-in-flight is reached. Dropped frames are counted in stats and reported in QOS messages",
        )
        .playing(),
        property!(
            Settings,
            instance,
            (),
            "Instance",
            "Name of a shared instance: elements of the process with the same name share the model and its batches, also across \
             pipelines. If not set: an instance of its own",
        ),
        property!(
            Settings,
            batch_size?,
            0..=1024,
            1,
            "Batch size",
            "Maximum number of frames in a batch. If not set: the model's fixed batch, else 1",
        ),
        property!(
            Settings,
            min_batch_size,
            0..=1024,
            "Minimum batch size",
            "Number of frames that start a batch before batch-timeout has passed; 0 waits for batch-size frames",
        ),
        property!(
            Settings,
            batch_timeout,
            0..=3_600_000_000_000,
            "Batch timeout",
            "Maximum time in nanoseconds that a frame waits for its batch to fill; 0 waits only while the model is busy",
        ),
        property!(
            Settings,
            priority,
            i32::MIN..=i32::MAX,
            "Priority",
            "Frames of elements with a higher priority are inferred first in a shared instance; the others wait",
        )
        .playing(),
        property!(
            Settings,
            precision,
            (),
            "Precision",
            "Numbers to compute in, for GPUs and OpenVINO; ONNX Runtime on the CPU follows float16 for comparison and is slower with it. \
             Where a provider does not know a value, it uses the model's",
        ),
        property!(
            Settings,
            workspace,
            0..=1 << 20,
            "Workspace",
            "Device memory in MiB that TensorRT may use as workspace; 0 leaves it to TensorRT",
        ),
        property!(
            Settings,
            memory_limit,
            0..=1 << 20,
            "Memory limit",
            "Device memory in MiB that ONNX Runtime may use with the CUDA provider; 0 is unlimited. If it is too little, batches \
             become smaller",
        ),
        property!(
            Settings,
            cuda_graphs,
            (),
            "CUDA graphs",
            "Record runs on the GPU as CUDA graphs, if the model permits it",
        ),
        property!(
            Settings,
            engine_search,
            (),
            "Engine search",
            "Ways to run the model with the CUDA provider, or on the CPU with provider=auto, that are timed at the first start. The fastest whose results agree with \
             those of the default is used, and kept in engine-cache, so that later starts do not time again",
        ),
        property!(
            Settings,
            warm_up,
            (),
            "Warm-up",
            "Whether the first frames wait for the fastest variant of the session, which needs seconds for each size of batch, or \
             the default one serves meanwhile. It matters from the second start on, when engine-search has chosen",
        ),
        property!(
            Settings,
            engine_cache,
            (),
            "Engine cache",
            "Directory for TensorRT engines, optimised models and the fastest ways to run them, which make the next start faster. If not set: cudainfer in the \
             user's cache directory; none disables the cache",
        ),
        property!(
            Settings,
            tensors,
            (),
            "Tensors",
            "As what the model's outputs are put on the frames: as this plugin's tensors, which have everything, or as GStreamer's own",
        ),
        property!(Settings, device, (), "Device", DEVICE),
    ])
    .with([
        glib::ParamSpecEnum::builder::<Provider>("active-provider")
            .nick("Active provider")
            .blurb("Execution provider in use, from READY on")
            .read_only()
            .build(),
        glib::ParamSpecString::builder("active-variant")
            .nick("Active variant")
            .blurb(
                "How the provider runs the model, which engine-search has chosen: plain is ONNX Runtime's default. NULL before READY",
            )
            .read_only()
            .build(),
        reading::param_spec(
            "How the model's input is filled where no property of fusedpreproc says otherwise, its names, and where that comes \
             from: a property, the sidecar, the model's file, a file beside it, or an assumption. NULL before READY",
        ),
        stats::param_spec(
            "; busy-ns (time in ONNX Runtime or OpenVINO, summed over the workers), batches (that contained a frame of this element), \
             batched-frames (all frames in those), dropped (because of leaky), state-starts (frames for which a recurrent model remembered nothing: the first of their streams, \
             and those after a reset), held (answers of earlier frames that frames carried, because no clip of theirs was due), unprompted (objects that nothing asks a promptable model for), batch-limit (current maximum batch), step-downs \
             (times the maximum was lowered for want of memory), device-memory-used and device-memory-total (bytes of the whole GPU); \
             device-bytes is a share of the model's memory where elements share an instance; of the start, in nanoseconds: \
             start-library-ns, start-session-ns, start-search-ns, start-warm-up-ns, start-graphs-ns (a part of warming up) and \
             start-upgrade-ns (beside the frames). A run on the GPU counts as one launch. Besides, three structures with \
             bounds, counts (one more: those above) and sum: \
             batch-size (frames of those batches), run-time (seconds of their runs, on a GPU to enqueue them) and queue-time \
             (seconds that this element's frames waited for their batch)",
        ),
    ])
});
