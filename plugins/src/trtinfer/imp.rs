use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::ThreadId;

use cudainfer_kernels::device::{Choice, Counters};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::running::Running;
use super::stream::Stream;
use crate::engine::{Config, Engine, Precision, Provider};
use crate::nick::nick;
use crate::sync::lock;
use crate::{caps, device, notice, stats};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("trtinfer", gst::DebugColorFlags::empty(), Some("ONNX Runtime inference"))
});

#[derive(Clone, Debug)]
pub(super) struct Settings {
    model: Option<PathBuf>,
    labels: Option<PathBuf>,
    library: Option<PathBuf>,
    provider: Provider,
    threads: u32,
    workers: u32,
    pub(super) max_in_flight: u32,
    device: Option<String>,
    precision: Precision,
    workspace: u32,
    cache: Option<PathBuf>,
    cuda_graphs: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            labels: None,
            library: None,
            provider: Provider::default(),
            threads: 0,
            workers: 0,
            max_in_flight: 0,
            device: None,
            precision: Precision::default(),
            workspace: 0,
            cache: None,
            cuda_graphs: true,
        }
    }
}

pub struct TrtInfer {
    pub(super) sink: gst::Pad,
    pub(super) src: gst::Pad,
    pub(super) settings: Mutex<Settings>,
    /// From READY on.
    pub(super) engine: Mutex<Option<Arc<Engine>>>,
    /// What the engine was opened with.
    pub(super) opened: Mutex<Option<Config>>,
    /// From PAUSED on.
    pub(super) running: Mutex<Option<Running>>,
    pub(super) stream: Mutex<Option<Arc<Stream>>>,
    /// What this element adds to the pipeline's; known with the caps.
    pub(super) latency: Mutex<gst::ClockTime>,
    /// The thread that pushed last.
    pub(super) task: Mutex<Option<ThreadId>>,
    pub(super) counters: Arc<Counters>,
    pub(super) inference_ns: AtomicU64,
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl TrtInfer {
    fn config(&self) -> Result<Config, gst::ErrorMessage> {
        let settings = lock(&self.settings).clone();
        let model = settings.model.ok_or_else(|| {
            gst::error_msg!(
                gst::ResourceError::NotFound,
                ("{}: no model is named: set model=FILE.onnx", self.obj().name())
            )
        })?;
        let device = device::parse(settings.device.as_deref().unwrap_or("auto"), &*self.obj())?;
        if device == Choice::Cpu && !matches!(settings.provider, Provider::Auto | Provider::Cpu) {
            let name = self.obj().name();
            let provider = nick(settings.provider);
            return Err(gst::error_msg!(
                gst::ResourceError::Settings,
                ("{name}: device=cpu and provider={provider} contradict each other: drop one of them")
            ));
        }
        let count =
            |set: u32, default: usize| usize::try_from(set).ok().filter(|n| *n > 0).unwrap_or(default);
        let threads = count(settings.threads, cores());
        // More than four sessions cost more memory than they bring speed.
        let workers = count(settings.workers, threads.min(4));
        Ok(Config {
            model,
            labels: settings.labels,
            provider: settings.provider,
            device,
            precision: settings.precision,
            workspace: usize::try_from(settings.workspace).unwrap_or(0) << 20,
            cache: settings.cache,
            graphs: settings.cuda_graphs,
            library: settings.library,
            sessions: workers,
            threads,
        })
    }

    /// NULL -> READY: everything that can be missing is missed here. Once more on the way to PAUSED, where it does
    /// something only if properties were set in READY.
    fn open(&self) -> Result<(), gst::ErrorMessage> {
        let config = self.config()?;
        if lock(&self.opened).as_ref() == Some(&config) {
            return Ok(());
        }
        let element: gst::Element = self.obj().clone().upcast();
        let engine = Engine::open(&config, &self.counters, &|progress| progress.post(&element))
            .map_err(|e| gst::error_msg!(gst::ResourceError::NotFound, ("{}: {e}", self.obj().name())))?;
        gst::info!(CAT, imp = self, "{} on {}", config.model.display(), nick(engine.provider));
        for warning in &engine.warnings {
            gst::element_imp_warning!(self, gst::ResourceError::Read, ("{}: {warning}", self.obj().name()));
        }
        let fallbacks = engine.fallbacks.join("; ");
        match (config.provider, engine.provider) {
            (Provider::Auto, Provider::Cpu) => notice::running_on_cpu(self.obj().upcast_ref(), &fallbacks),
            (Provider::Auto, active) => gst::element_imp_info!(
                self,
                gst::LibraryError::Init,
                ("{}: the model runs on {} ({fallbacks})", self.obj().name(), nick(active))
            ),
            _ => (),
        }
        *lock(&self.engine) = Some(Arc::new(engine));
        *lock(&self.opened) = Some(config);
        self.obj().notify("active-provider");
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        use gst::EventView;
        let Some(lane) = self.lane() else {
            return gst::Pad::event_default(&self.sink, Some(&*self.obj()), event);
        };
        match event.view() {
            EventView::Caps(caps) => self.caps_event(&lane, caps.caps()),
            EventView::FlushStart(_) => {
                let unsent = lane.flush_start();
                let forwarded = self.src.push_event(event);
                // Stopped, not paused: gst_pad_start_task would leak the closure that it gets for a task that exists.
                // Only a seek from behind, in the task's own thread, cannot wait for that thread to end.
                let own = *lock(&self.task) == Some(std::thread::current().id());
                let _ = if own { self.src.pause_task() } else { self.src.stop_task() };
                // Only now, or the task could put an older one over it. The pad sends them before the next frame.
                for sticky in unsent {
                    let _ = self.src.store_sticky_event(&sticky);
                }
                forwarded
            }
            EventView::FlushStop(_) => {
                lane.flush_stop();
                let forwarded = self.src.push_event(event);
                // Held, so that `stop` cannot come in between and leave a task on a pad that is not active.
                let running = lock(&self.running);
                running.as_ref().is_some_and(|r| self.start_task(&r.lane).is_ok()) && forwarded
            }
            _ if event.is_serialized() => lane.push_event(event),
            _ => self.src.push_event(event),
        }
    }

    fn src_event(&self, event: gst::Event) -> bool {
        if let (gst::EventType::Reconfigure, Some(lane)) = (event.type_(), self.lane()) {
            lane.relinked();
        }
        gst::Pad::event_default(&self.src, Some(&*self.obj()), event)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for TrtInfer {
    const NAME: &'static str = "GstTrtInfer";
    type Type = super::TrtInfer;
    type ParentType = gst::Element;

    fn with_class(class: &Self::Class) -> Self {
        let template = |name: &str| class.pad_template(name);
        let sink = template("sink").map(|template| {
            gst::Pad::builder_from_template(&template)
                .chain_function(|_, parent, buffer| {
                    Self::catch_panic_pad_function(
                        parent,
                        || Err(gst::FlowError::Error),
                        |imp| imp.chain(buffer),
                    )
                })
                .event_function(|_, parent, event| {
                    Self::catch_panic_pad_function(parent, || false, |imp| imp.sink_event(event))
                })
                .query_function(|_, parent, query| {
                    Self::catch_panic_pad_function(parent, || false, |imp| imp.sink_query(query))
                })
                .flags(gst::PadFlags::ACCEPT_TEMPLATE)
                .build()
        });
        let src = template("src").map(|template| {
            gst::Pad::builder_from_template(&template)
                .query_function(|_, parent, query| {
                    Self::catch_panic_pad_function(parent, || false, |imp| imp.src_query(query))
                })
                .event_function(|_, parent, event| {
                    Self::catch_panic_pad_function(parent, || false, |imp| imp.src_event(event))
                })
                .activatemode_function(|_, parent, _, active| {
                    Self::catch_panic_pad_function(
                        parent,
                        || Err(gst::loggable_error!(CAT, "panicked")),
                        |imp| if active { imp.start() } else { imp.stop() },
                    )
                })
                .build()
        });
        Self {
            sink: sink.unwrap_or_else(|| gst::Pad::new(gst::PadDirection::Sink)),
            src: src.unwrap_or_else(|| gst::Pad::new(gst::PadDirection::Src)),
            settings: Mutex::default(),
            engine: Mutex::default(),
            opened: Mutex::default(),
            running: Mutex::default(),
            stream: Mutex::default(),
            latency: Mutex::new(gst::ClockTime::ZERO),
            task: Mutex::default(),
            counters: Arc::default(),
            inference_ns: AtomicU64::new(0),
        }
    }
}

impl ObjectImpl for TrtInfer {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let file = |name: &str, nick: &str, blurb: &str| {
                glib::ParamSpecString::builder(name).nick(nick).blurb(blurb).mutable_ready().build()
            };
            let count = |name: &str, nick: &str, blurb: &str| {
                glib::ParamSpecUInt::builder(name)
                    .nick(nick)
                    .blurb(blurb)
                    .maximum(1024)
                    .mutable_ready()
                    .build()
            };
            vec![
                file(
                    "model",
                    "Model",
                    "The ONNX file. A sidecar beside it, of the same name ending in .toml, may describe its input and outputs",
                ),
                file(
                    "labels",
                    "Labels",
                    "A text file with the classes' names, one a line; beats the sidecar's",
                ),
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
                count("threads", "Threads", "CPU threads of all workers together; 0 takes one a core"),
                count(
                    "workers",
                    "Workers",
                    "Frames that are inferred at the same time, each with its share of the threads; more use the cores better, fewer answer sooner; 0 takes one a thread, at most 4",
                ),
                count(
                    "max-in-flight",
                    "Maximum in flight",
                    "Frames that this element holds at most, and its latency in a live pipeline; 0 takes two more than there are workers, on a GPU 4",
                ),
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
                    "; busy-ns, nanoseconds in ONNX Runtime, added up over the workers. A run of the model on the GPU counts as one launch",
                ),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = lock(&self.settings);
        let path =
            || value.get::<Option<String>>().ok().flatten().filter(|p| !p.is_empty()).map(PathBuf::from);
        let count = || value.get().unwrap_or_default();
        match pspec.name() {
            "model" => settings.model = path(),
            "labels" => settings.labels = path(),
            "onnxruntime" => settings.library = path(),
            "provider" => settings.provider = value.get().unwrap_or_default(),
            "threads" => settings.threads = count(),
            "workers" => settings.workers = count(),
            "max-in-flight" => settings.max_in_flight = count(),
            "device" => settings.device = value.get().ok().flatten(),
            "precision" => settings.precision = value.get().unwrap_or_default(),
            "workspace" => settings.workspace = count(),
            "engine-cache" => settings.cache = path(),
            "cuda-graphs" => settings.cuda_graphs = value.get().unwrap_or(true),
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        // Read by the tracer while an element posts an error, whatever it holds then.
        if pspec.name() == "stats" {
            let mut stats = stats::structure(&self.counters);
            stats.set("busy-ns", self.inference_ns.load(Ordering::Relaxed));
            return stats.to_value();
        }
        let settings = lock(&self.settings);
        let path = |p: &Option<PathBuf>| p.as_ref().map(|p| p.display().to_string()).to_value();
        match pspec.name() {
            "model" => path(&settings.model),
            "labels" => path(&settings.labels),
            "onnxruntime" => path(&settings.library),
            "provider" => settings.provider.to_value(),
            "active-provider" => {
                lock(&self.engine).as_ref().map_or(Provider::Auto, |e| e.provider).to_value()
            }
            "threads" => settings.threads.to_value(),
            "workers" => settings.workers.to_value(),
            "max-in-flight" => settings.max_in_flight.to_value(),
            "device" => settings.device.as_deref().unwrap_or("auto").to_value(),
            "precision" => settings.precision.to_value(),
            "workspace" => settings.workspace.to_value(),
            "engine-cache" => path(&settings.cache),
            "cuda-graphs" => settings.cuda_graphs.to_value(),
            _ => pspec.default_value().clone(),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        let element = self.obj();
        for pad in [&self.sink, &self.src] {
            if let Err(e) = element.add_pad(pad) {
                gst::error!(CAT, imp = self, "{e}");
            }
        }
    }
}

impl GstObjectImpl for TrtInfer {}

impl ElementImpl for TrtInfer {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Neural network inference",
                "Filter/Analyzer/Video",
                "Runs an ONNX model on the tensor that fusedpreproc made, with TensorRT, CUDA or the CPU",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            caps::pad_templates(&caps::sink_template(), &caps::with_feature(&caps::any_video()))
        });
        &TEMPLATES
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if matches!(transition, gst::StateChange::NullToReady | gst::StateChange::ReadyToPaused) {
            self.open().map_err(|message| {
                self.post_error_message(message);
                gst::StateChangeError
            })?;
            self.counters.reset();
            self.inference_ns.store(0, Ordering::Relaxed);
            let fell_back = {
                let (opened, engine) = (lock(&self.opened), lock(&self.engine));
                let open =
                    opened.as_ref().is_some_and(|c| c.provider == Provider::Auto && c.device != Choice::Cpu);
                open && engine.as_ref().is_some_and(|e| e.provider == Provider::Cpu)
            };
            self.counters.fallbacks.add(u64::from(fell_back));
        }
        let result = self.parent_change_state(transition);
        if transition == gst::StateChange::ReadyToNull {
            *lock(&self.engine) = None;
            *lock(&self.opened) = None;
        }
        result
    }
}
