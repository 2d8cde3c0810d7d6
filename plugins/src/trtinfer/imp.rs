use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{JoinHandle, ThreadId};
use std::time::Instant;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::lane::{Item, Lane};
use super::stream::Stream;
use crate::engine::{Config, Engine, EngineError, Provider, SharedSession};
use crate::sync::lock;
use crate::{caps, notice};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("trtinfer", gst::DebugColorFlags::empty(), Some("ONNX Runtime inference"))
});

#[derive(Clone, Debug, Default)]
struct Settings {
    model: Option<PathBuf>,
    labels: Option<PathBuf>,
    library: Option<PathBuf>,
    provider: Provider,
    threads: u32,
    workers: u32,
    max_in_flight: u32,
}

/// What the workers need to know of a frame.
type Job = (gst::Buffer, Arc<Stream>);

/// What is there from PAUSED on.
struct Running {
    lane: Arc<Lane<Job>>,
    workers: Vec<JoinHandle<()>>,
}

pub struct TrtInfer {
    sink: gst::Pad,
    src: gst::Pad,
    settings: Mutex<Settings>,
    /// From READY on.
    engine: Mutex<Option<Arc<Engine>>>,
    /// What the engine was opened with.
    opened: Mutex<Option<Config>>,
    /// From PAUSED on.
    running: Mutex<Option<Running>>,
    stream: Mutex<Option<Arc<Stream>>>,
    /// What this element adds to the pipeline's; known with the caps.
    latency: Mutex<gst::ClockTime>,
    /// The thread that pushed last.
    task: Mutex<Option<ThreadId>>,
    frames: AtomicU64,
    inference_ns: AtomicU64,
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
        let count =
            |set: u32, default: usize| usize::try_from(set).ok().filter(|n| *n > 0).unwrap_or(default);
        let threads = count(settings.threads, cores());
        // More than four sessions cost more memory than they bring speed.
        let workers = count(settings.workers, threads.min(4));
        Ok(Config {
            model,
            labels: settings.labels,
            provider: settings.provider,
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
        let engine = Engine::open(&config)
            .map_err(|e| gst::error_msg!(gst::ResourceError::NotFound, ("{}: {e}", self.obj().name())))?;
        gst::info!(CAT, imp = self, "{} on {}", config.model.display(), caps::nick(engine.provider));
        let fallbacks = engine.fallbacks.join("; ");
        match (config.provider, engine.provider) {
            (Provider::Auto, Provider::Cpu) => notice::running_on_cpu(self.obj().upcast_ref(), &fallbacks),
            (Provider::Auto, active) => gst::element_imp_info!(
                self,
                gst::LibraryError::Init,
                ("{}: the model runs on {} ({fallbacks})", self.obj().name(), caps::nick(active))
            ),
            _ => (),
        }
        *lock(&self.engine) = Some(Arc::new(engine));
        *lock(&self.opened) = Some(config);
        self.obj().notify("active-provider");
        Ok(())
    }

    /// Starts the workers and, on the source pad, the task that pushes.
    fn start(&self) -> Result<(), gst::LoggableError> {
        let engine =
            lock(&self.engine).clone().ok_or_else(|| gst::loggable_error!(CAT, "there is no model"))?;
        let sessions = engine.sessions.clone();
        let limit = lock(&self.settings).max_in_flight;
        let limit = usize::try_from(limit).ok().filter(|n| *n > 0).unwrap_or(sessions.len() + 2);
        let lane = Arc::new(Lane::new(limit));
        let workers = sessions
            .into_iter()
            .enumerate()
            .filter_map(|(index, session)| {
                let (lane, element) = (lane.clone(), self.obj().downgrade());
                std::thread::Builder::new()
                    .name(format!("trtinfer:{index}"))
                    .spawn(move || work(&lane, &session, &element))
                    .map_err(|e| gst::error!(CAT, imp = self, "no worker thread: {e}"))
                    .ok()
            })
            .collect::<Vec<_>>();
        if workers.is_empty() {
            return Err(gst::loggable_error!(CAT, "no worker thread could be started"));
        }
        *lock(&self.running) = Some(Running { lane: lane.clone(), workers });
        self.start_task(&lane)
    }

    fn start_task(&self, lane: &Arc<Lane<Job>>) -> Result<(), gst::LoggableError> {
        let (lane, element) = (lane.clone(), self.obj().downgrade());
        self.src
            .start_task(move || match element.upgrade() {
                Some(element) => element.imp().push_next(&lane),
                None => lane.stop(),
            })
            .map_err(|e| gst::loggable_error!(CAT, "no task: {e}"))
    }

    /// Stops the task and the workers.
    fn stop(&self) -> Result<(), gst::LoggableError> {
        let running = lock(&self.running).take();
        if let Some(running) = &running {
            running.lane.stop();
        }
        let stopped =
            self.src.stop_task().map_err(|e| gst::loggable_error!(CAT, "the task does not stop: {e}"));
        if let Some(running) = running {
            running.workers.into_iter().for_each(|w| drop(w.join()));
        }
        *lock(&self.stream) = None;
        *lock(&self.latency) = gst::ClockTime::ZERO;
        stopped
    }

    fn lane(&self) -> Option<Arc<Lane<Job>>> {
        lock(&self.running).as_ref().map(|r| r.lane.clone())
    }

    /// One turn of the source pad's task.
    fn push_next(&self, lane: &Lane<Job>) {
        *lock(&self.task) = Some(std::thread::current().id());
        match lane.pop() {
            None => {
                // Flushing or stopping: whoever did that starts the task again when there is something to push.
                let _ = self.src.pause_task();
            }
            Some(Item::Event(event)) => {
                // Upstream has sent its last frame, so nobody but this element would report that it did not arrive.
                if let (gst::EventType::Eos, Err(flow)) = (event.type_(), lane.flow()) {
                    self.report(flow);
                }
                self.src.push_event(event);
                lane.pushed_event();
            }
            Some(Item::Frame(Ok((buffer, _)))) if lane.flow().is_ok() => {
                let flow = self.src.push(buffer);
                if let Err(e) = flow {
                    gst::debug!(CAT, imp = self, "downstream says {e:?}");
                }
                lane.pushed(flow);
            }
            // Behind a failure nothing is pushed any more, but the lane has to empty, so that events get through.
            Some(Item::Frame(frame)) => lane.pushed(frame.map(|_| gst::FlowSuccess::Ok)),
        }
    }

    /// Posts what ended the flow of frames, unless the application ended it.
    fn report(&self, flow: gst::FlowError) {
        let why = match flow {
            gst::FlowError::NotLinked => "nothing is linked behind it that takes the frames",
            gst::FlowError::NotNegotiated => "what is behind it refused the frames' caps",
            gst::FlowError::Error | gst::FlowError::NotSupported => {
                "this element or one behind it failed, as the error before says"
            }
            _ => return,
        };
        gst::element_imp_error!(
            self,
            gst::StreamError::Failed,
            ("{}: the stream ended early: {why}", self.obj().name()),
            ["flow: {flow:?}"]
        );
    }

    fn chain(&self, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let stream = lock(&self.stream).clone();
        // After the stream: it is taken away only when there is no lane any more.
        let lane = self.lane().ok_or(gst::FlowError::Flushing)?;
        let stream = stream.ok_or_else(|| {
            gst::element_imp_error!(
                self,
                gst::CoreError::Negotiation,
                (
                    "{}: frames arrive before their caps: put fusedpreproc before this element",
                    self.obj().name()
                )
            );
            gst::FlowError::NotNegotiated
        })?;
        lane.push((buffer, stream))
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

    /// Checks the caps against the model at once, and queues those of the outputs behind the frames before them.
    fn caps_event(&self, lane: &Lane<Job>, incoming: &gst::CapsRef) -> bool {
        let prepared = (|| -> Result<(Stream, gst::Caps), String> {
            let engine = lock(&self.engine).clone().ok_or("there is no model")?;
            let stream = Stream::new(incoming, &engine)?;
            let outputs = stream.outputs(&engine).map_err(|e| e.to_string())?;
            let mut fields = gst::Structure::builder("outputs")
                .field(caps::OUTPUTS, caps::outputs_value(&outputs))
                .build();
            for size in ["tensor-width", "tensor-height"] {
                if let Some(value) = incoming.structure(0).and_then(|s| s.get::<i32>(size).ok()) {
                    fields.set(size, value);
                }
            }
            let plain = caps::without_tensors(&incoming.to_owned());
            Ok((stream, caps::with_fields(&plain, &fields)))
        })();
        match prepared {
            Ok((stream, caps)) => {
                gst::info!(CAT, imp = self, "frames carry {caps}");
                *lock(&self.stream) = Some(Arc::new(stream));
                // It can hold all the frames that may be in flight.
                let latency = duration(incoming, lane.limit());
                if std::mem::replace(&mut *lock(&self.latency), latency) != latency {
                    // A live pipeline has asked before there were caps.
                    self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
                }
                lane.push_event(gst::event::Caps::new(&caps))
            }
            Err(why) => {
                *lock(&self.stream) = None;
                gst::element_imp_error!(self, gst::CoreError::Negotiation, ("{}: {why}", self.obj().name()));
                false
            }
        }
    }
}

/// A worker's life: take a frame, infer, bring it back.
fn work(lane: &Lane<Job>, session: &SharedSession, element: &glib::WeakRef<super::TrtInfer>) {
    while let Some((ticket, (mut buffer, stream))) = lane.take() {
        let started = Instant::now();
        // A panic must not take the frame with it: the lane would wait for it for ever.
        let result =
            panic::catch_unwind(AssertUnwindSafe(|| stream.infer(&mut lock(session), buffer.make_mut())))
                .unwrap_or_else(|_| Err(EngineError::Run("it panicked; this is a bug of cudainfer".into())));
        let Some(element) = element.upgrade() else {
            lane.finish(ticket, Err(gst::FlowError::Flushing));
            continue;
        };
        let imp = element.imp();
        let took = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        imp.inference_ns.fetch_add(took, Ordering::Relaxed);
        imp.frames.fetch_add(1, Ordering::Relaxed);
        let result = result.map(|()| (buffer, stream)).map_err(|e| {
            gst::element_error!(element, gst::StreamError::Failed, ("{}: {e}", element.name()));
            gst::FlowError::Error
        });
        lane.finish(ticket, result);
    }
}

impl TrtInfer {
    /// What this element accepts: what is behind it accepts, with the model's input tensor. The model's wishes come
    /// first, then its needs; then anything, so that what does not fit is refused by a sentence in `caps_event`.
    fn sink_caps(&self, filter: Option<&gst::CapsRef>) -> gst::Caps {
        let frames = caps::without_tensors(&self.src.peer_query_caps(None));
        let mut accepted = gst::Caps::new_empty();
        {
            let accepted = accepted.make_mut();
            if let Some(engine) = lock(&self.engine).as_ref() {
                accepted.append(caps::with_fields(&frames, &engine.input.preferred(&engine.info)));
                accepted.append(caps::with_fields(&frames, &engine.input.required()));
            }
            accepted.append(caps::with_feature(&frames));
            accepted.append(frames);
        }
        filtered(accepted, filter)
    }

    /// What this element makes: the frames that come in, with the model's outputs.
    fn src_caps(&self, filter: Option<&gst::CapsRef>) -> gst::Caps {
        let frames = match self.src.current_caps() {
            Some(caps) => return filtered(caps, filter),
            None => caps::without_tensors(&self.sink.peer_query_caps(None)),
        };
        filtered(caps::with_feature(&frames), filter)
    }

    fn sink_query(&self, query: &mut gst::QueryRef) -> bool {
        // Answered by what is behind, which must have seen everything that came before.
        if query.is_serialized() {
            return self.lane().is_some_and(|lane| lane.drain()) && self.src.peer_query(query);
        }
        match query.view_mut() {
            gst::QueryViewMut::Caps(q) => {
                let caps = self.sink_caps(q.filter());
                q.set_result(&caps);
                true
            }
            _ => gst::Pad::query_default(&self.sink, Some(&*self.obj()), query),
        }
    }

    fn src_query(&self, query: &mut gst::QueryRef) -> bool {
        use gst::QueryViewMut;
        match query.view_mut() {
            QueryViewMut::Caps(q) => {
                let caps = self.src_caps(q.filter());
                q.set_result(&caps);
                true
            }
            QueryViewMut::Latency(q) => {
                let mut upstream = gst::query::Latency::new();
                if !self.sink.peer_query(&mut upstream) {
                    return false;
                }
                let (live, min, max) = upstream.result();
                let own = *lock(&self.latency);
                gst::debug!(CAT, imp = self, "adds a latency of {own}");
                q.set(live, min.saturating_add(own), max.map(|max| max.saturating_add(own)));
                true
            }
            QueryViewMut::Custom(_) => {
                let engine = lock(&self.engine).clone();
                engine.is_some_and(|engine| engine.info.answer(query))
                    || gst::Pad::query_default(&self.src, Some(&*self.obj()), query)
            }
            _ => gst::Pad::query_default(&self.src, Some(&*self.obj()), query),
        }
    }
}

/// How long `frames` frames last at the caps' frame rate; 0 where that is not known.
fn duration(caps: &gst::CapsRef, frames: usize) -> gst::ClockTime {
    let rate = caps.structure(0).and_then(|s| s.get::<gst::Fraction>("framerate").ok());
    let (numer, denom) = rate.map_or((0, 1), |r| (r.numer(), r.denom()));
    match (u64::try_from(numer), u64::try_from(denom)) {
        (Ok(numer @ 1..), Ok(denom)) => {
            // A rate of a frame in years is no rate.
            let frames = u64::try_from(frames).unwrap_or(u64::MAX).saturating_mul(denom);
            let frames = gst::ClockTime::SECOND.mul_div_floor(frames, numer);
            frames.filter(|t| *t < 3600 * gst::ClockTime::SECOND).unwrap_or(gst::ClockTime::ZERO)
        }
        _ => gst::ClockTime::ZERO,
    }
}

fn filtered(caps: gst::Caps, filter: Option<&gst::CapsRef>) -> gst::Caps {
    match filter {
        Some(filter) => filter.intersect_with_mode(&caps, gst::CapsIntersectMode::First),
        None => caps,
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
            frames: AtomicU64::new(0),
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
                file("model", "Model", "The ONNX file. A sidecar beside it, of the same name ending in .toml, may describe its input and outputs"),
                file("labels", "Labels", "A text file with the classes' names, one a line; beats the sidecar's"),
                file("onnxruntime", "ONNX Runtime", "ONNX Runtime's shared library; not set, it is searched for: ORT_DYLIB_PATH, beside the plugin, the loader's path, Python packages in a .venv"),
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
                count("workers", "Workers", "Frames that are inferred at the same time, each with its share of the threads; more use the cores better, fewer answer sooner; 0 takes one a thread, at most 4"),
                count("max-in-flight", "Maximum in flight", "Frames that this element holds at most; 0 takes two more than there are workers"),
                glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                    .nick("Statistics")
                    .blurb("frames (uint64) that were inferred, busy-ns (uint64): nanoseconds in ONNX Runtime, added up over the workers")
                    .read_only()
                    .build(),
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
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
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
            "stats" => gst::Structure::builder("stats")
                .field("frames", self.frames.load(Ordering::Relaxed))
                .field("busy-ns", self.inference_ns.load(Ordering::Relaxed))
                .build()
                .to_value(),
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
            self.frames.store(0, Ordering::Relaxed);
            self.inference_ns.store(0, Ordering::Relaxed);
        }
        let result = self.parent_change_state(transition);
        if transition == gst::StateChange::ReadyToNull {
            *lock(&self.engine) = None;
            *lock(&self.opened) = None;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_what_the_frames_in_flight_last_and_nothing_without_a_rate() {
        gst::init().unwrap();
        let of = |rate: (i32, i32), frames| {
            let caps =
                gst::Caps::builder("video/x-raw").field("framerate", gst::Fraction::new(rate.0, rate.1));
            duration(&caps.build(), frames)
        };
        assert_eq!(of((30, 1), 6), gst::ClockTime::from_mseconds(200));
        assert_eq!(of((30_000, 1001), 3), gst::ClockTime::from_nseconds(100_100_000));
        assert_eq!(of((0, 1), 6), gst::ClockTime::ZERO);
        assert_eq!(of((1, i32::MAX), 1024), gst::ClockTime::ZERO);
        assert_eq!(duration(&gst::Caps::new_empty_simple("video/x-raw"), 6), gst::ClockTime::ZERO);
    }
}
