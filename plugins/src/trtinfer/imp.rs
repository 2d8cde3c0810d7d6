use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use cudainfer_kernels::device::{Choice, Counters};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::change::Next;
use super::cores;
use super::instance::{Instance, Place, Setup};
use super::leaky::Leaky;
use super::negotiate::Latency;
use super::owner::Tally;
use super::running::{Negotiated, Running};
use crate::engine::{Config, ModelInfo, Precision, Provider};
use crate::nick::nick;
use crate::sync::lock;
use crate::{caps, device, notice, stats};

pub(super) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("trtinfer", gst::DebugColorFlags::empty(), Some("ONNX Runtime inference"))
});

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) model: Option<PathBuf>,
    pub(super) labels: Option<PathBuf>,
    library: Option<PathBuf>,
    provider: Provider,
    intra_threads: u32,
    inter_threads: u32,
    workers: u32,
    pub(super) max_in_flight: u32,
    device: Option<String>,
    precision: Precision,
    workspace: u32,
    memory_limit: u32,
    cache: Option<PathBuf>,
    cuda_graphs: bool,
    instance: Option<String>,
    batch_size: Option<u32>,
    min_batch_size: u32,
    batch_timeout: u64,
    pub(super) priority: i32,
    pub(super) leaky: Leaky,
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
pub(super) struct Wrong {
    error: gst::ResourceError,
    /// A sentence.
    pub why: String,
}

pub struct TrtInfer {
    pub(super) sink: gst::Pad,
    pub(super) src: gst::Pad,
    pub(super) settings: Mutex<Settings>,
    /// From READY on: where the instance is found, and the one in use.
    pub(super) place: Mutex<Option<Arc<Place>>>,
    pub(super) instance: Mutex<Option<Arc<Instance>>>,
    /// The one that replaces it.
    pub(super) next: Mutex<Next>,
    /// Held while a model loads that replaces the one in use.
    pub(super) changing: Mutex<()>,
    /// From PAUSED on.
    pub(super) running: Mutex<Option<Running>>,
    pub(super) negotiated: Mutex<Option<Negotiated>>,
    /// What is known of the latest models, by their names in the caps: who is behind may ask for one when another is in use.
    pub(super) infos: Mutex<VecDeque<(String, ModelInfo)>>,
    /// What this element adds to the pipeline's; known with the caps.
    pub(super) latency: Mutex<Latency>,
    pub(super) live: AtomicBool,
    /// Whether a frame was lost before the one that comes next.
    pub(super) dropped: AtomicBool,
    /// The thread that pushed last.
    pub(super) task: Mutex<Option<ThreadId>>,
    pub(super) counters: Arc<Counters>,
    pub(super) tally: Arc<Tally>,
}

impl TrtInfer {
    /// What the properties ask for.
    pub(super) fn setup(&self) -> Result<Setup, Wrong> {
        let settings = lock(&self.settings).clone();
        let wrong = |why: &str| Wrong { error: gst::ResourceError::Settings, why: why.to_owned() };
        let model = settings.model.ok_or_else(|| Wrong {
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

    /// NULL -> READY: everything that can be missing is missed here. Once more on the way to PAUSED, where it does
    /// something only if properties were set in READY.
    fn open(&self) -> Result<(), gst::ErrorMessage> {
        let name = self.obj().name();
        let setup = self.setup().map_err(|Wrong { error, why }| gst::error_msg!(error, ("{name}: {why}")))?;
        let shared = lock(&self.settings).instance.clone();
        let place = Place::of(shared.as_deref());
        let same = |instance: &Arc<Instance>| {
            let before = lock(&self.place).clone();
            instance.setup == setup && before.is_some_and(|before| before.has_name(shared.as_deref()))
        };
        if lock(&self.instance).as_ref().is_some_and(same) {
            return Ok(());
        }
        // Let go of before the next one loads: both might not fit in memory.
        self.close();
        let instance = place
            .open(setup)
            .map_err(|why| gst::error_msg!(gst::ResourceError::NotFound, ("{name}: {why}")))?;
        let (config, engine) = (&instance.setup.config, &instance.engine);
        gst::info!(CAT, imp = self, "{} on {}", config.model.display(), nick(engine.provider));
        let fallbacks = engine.fallbacks.join("; ");
        match (config.provider, engine.provider) {
            (Provider::Auto, Provider::Cpu) => notice::running_on_cpu(self.obj().upcast_ref(), &fallbacks),
            (Provider::Auto, active) => gst::element_imp_info!(
                self,
                gst::LibraryError::Init,
                ("{name}: the model runs on {} ({fallbacks})", nick(active))
            ),
            _ => (),
        }
        *lock(&self.place) = Some(place);
        *lock(&self.instance) = Some(instance);
        self.obj().notify("active-provider");
        Ok(())
    }

    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        let Tally { busy_ns, batches, batched, dropped, .. } = &*self.tally;
        let counts =
            [("busy-ns", busy_ns), ("batches", batches), ("batched-frames", batched), ("dropped", dropped)];
        for (name, count) in counts {
            stats.set(name, count.load(Ordering::Relaxed));
        }
        // Whoever holds it may be waiting for this.
        if let Some(instance) = self.instance.try_lock().ok().and_then(|instance| instance.clone()) {
            stats.set("batch-limit", instance.batcher.size() as u64);
            stats.set("step-downs", instance.step_downs.load(Ordering::Relaxed));
            if let Some((used, total)) = instance.engine.device_memory() {
                stats.set("device-memory-used", used);
                stats.set("device-memory-total", total);
            }
        }
        stats
    }

    /// Lets go of the instance.
    fn close(&self) {
        let next = std::mem::take(&mut *lock(&self.next));
        let held = (lock(&self.instance).take(), lock(&self.place).take());
        // Outside of the locks: the last one to let go waits for the workers.
        drop((next, held));
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        use gst::EventView;
        let Some(running) = self.running() else {
            return gst::Pad::event_default(&self.sink, Some(&*self.obj()), event);
        };
        let lane = &running.owner.lane;
        match event.view() {
            EventView::Caps(caps) => {
                // Frames of another kind do not fill the batch that waits.
                running.instance.batcher.hurry(running.client);
                self.caps_event(caps.caps())
            }
            EventView::Eos(_) => {
                running.instance.batcher.hurry(running.client);
                lane.push_event(event)
            }
            EventView::FlushStart(_) => {
                let unsent = lane.flush_start();
                running.take_back();
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
                running.as_ref().is_some_and(|r| self.start_task(&r.owner).is_ok()) && forwarded
            }
            _ if event.is_serialized() => lane.push_event(event),
            _ => self.src.push_event(event),
        }
    }

    fn src_event(&self, event: gst::Event) -> bool {
        if let (gst::EventType::Reconfigure, Some(running)) = (event.type_(), self.running()) {
            running.owner.lane.relinked();
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
            place: Mutex::default(),
            instance: Mutex::default(),
            next: Mutex::default(),
            changing: Mutex::default(),
            running: Mutex::default(),
            negotiated: Mutex::default(),
            infos: Mutex::default(),
            latency: Mutex::default(),
            live: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            task: Mutex::default(),
            counters: Arc::default(),
            tally: Arc::default(),
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
                    "The folder where TensorRT keeps its engines and timings; not set, it is cudainfer/tensorrt in the user's cache folder",
                ),
                stats::param_spec(
                    "; busy-ns, nanoseconds in ONNX Runtime, added up over the workers; batches that had a frame of this element, and batched-frames, all frames of those; dropped frames (leaky); batch-limit, frames of a batch at most for now, and step-downs, how often it became less for want of memory; device-memory-used and device-memory-total, bytes of the GPU. A run of the model on the GPU counts as one launch",
                ),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = lock(&self.settings);
        let text = || value.get::<Option<String>>().ok().flatten().filter(|text| !text.is_empty());
        let path = || text().map(PathBuf::from);
        let count = || value.get().unwrap_or_default();
        match pspec.name() {
            "model" => settings.model = path(),
            "labels" => settings.labels = path(),
            "onnxruntime" => settings.library = path(),
            "provider" => settings.provider = value.get().unwrap_or_default(),
            "intra-threads" => settings.intra_threads = count(),
            "inter-threads" => settings.inter_threads = count(),
            "workers" => settings.workers = count(),
            "max-in-flight" => settings.max_in_flight = count(),
            "leaky" => settings.leaky = value.get().unwrap_or_default(),
            "instance" => settings.instance = text(),
            "batch-size" => settings.batch_size = value.get().ok(),
            "min-batch-size" => settings.min_batch_size = count(),
            "batch-timeout" => settings.batch_timeout = value.get().unwrap_or_default(),
            "priority" => settings.priority = value.get().unwrap_or_default(),
            "device" => settings.device = value.get().ok().flatten(),
            "precision" => settings.precision = value.get().unwrap_or_default(),
            "workspace" => settings.workspace = count(),
            "memory-limit" => settings.memory_limit = count(),
            "engine-cache" => settings.cache = path(),
            "cuda-graphs" => settings.cuda_graphs = value.get().unwrap_or(true),
            _ => (),
        }
        drop(settings);
        if pspec.name() == "model" && self.running().is_some() {
            self.change_model();
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        // Read by the tracer while an element posts an error, whatever it holds then.
        if pspec.name() == "stats" {
            return self.stats().to_value();
        }
        let settings = lock(&self.settings);
        let path = |p: &Option<PathBuf>| p.as_ref().map(|p| p.display().to_string()).to_value();
        match pspec.name() {
            "model" => path(&settings.model),
            "labels" => path(&settings.labels),
            "onnxruntime" => path(&settings.library),
            "provider" => settings.provider.to_value(),
            "active-provider" => {
                lock(&self.instance).as_ref().map_or(Provider::Auto, |i| i.engine.provider).to_value()
            }
            "intra-threads" => settings.intra_threads.to_value(),
            "inter-threads" => settings.inter_threads.to_value(),
            "workers" => settings.workers.to_value(),
            "max-in-flight" => settings.max_in_flight.to_value(),
            "leaky" => settings.leaky.to_value(),
            "instance" => settings.instance.to_value(),
            "batch-size" => {
                settings.batch_size.map_or_else(|| pspec.default_value().clone(), |n| n.to_value())
            }
            "min-batch-size" => settings.min_batch_size.to_value(),
            "batch-timeout" => settings.batch_timeout.to_value(),
            "priority" => settings.priority.to_value(),
            "device" => settings.device.as_deref().unwrap_or("auto").to_value(),
            "precision" => settings.precision.to_value(),
            "workspace" => settings.workspace.to_value(),
            "memory-limit" => settings.memory_limit.to_value(),
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
            self.tally.reset();
            let fell_back = |instance: &Arc<Instance>| {
                let config = &instance.setup.config;
                let open = config.provider == Provider::Auto && config.device != Choice::Cpu;
                open && instance.engine.provider == Provider::Cpu
            };
            self.counters.fallbacks.add(u64::from(lock(&self.instance).as_ref().is_some_and(fell_back)));
        }
        let result = self.parent_change_state(transition);
        if transition == gst::StateChange::ReadyToNull {
            self.close();
        }
        result
    }
}
