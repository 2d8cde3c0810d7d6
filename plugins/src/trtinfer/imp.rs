use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use cudainfer_kernels::device::{Choice, Counters, DEVICE_BYTES};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::constants::check;
use super::flow::Flow;
use super::forms;
use super::given_slot::GivenConstants;
use super::instance::Instance;
use super::instance_slot::{self, NoInstance};
use super::memories::Memories;
use super::owner::Tally;
use super::prompts;
use super::settings::{self, InvalidSettings, Settings};
use super::switch::ModelSwitch;
use crate::decoding::reading;
use crate::element::described;
use crate::inference::{Progress, Provider};
use crate::lag::Lag;
use crate::log::TRTINFER as CAT;
use crate::notice::post_info;
use crate::property::nick;
use crate::sync::lock;
use crate::{auto_gpu, caps, feedback, notice, stats};

pub struct TrtInfer {
    pub(super) sink: gst::Pad,
    pub(super) src: gst::Pad,
    pub(super) settings: Mutex<Settings>,
    /// From READY on: the instance in use, and the one that replaces it.
    pub(super) switch: ModelSwitch<Instance, JoinHandle<()>>,
    /// From PAUSED on.
    pub(super) flow: Flow,
    /// What a recurrent model remembers of the streams.
    pub(super) memories: Memories,
    /// What the property `constants` gives.
    pub(super) given: GivenConstants,
    /// How late the frames of a live source come here.
    pub(super) lag: Lag,
    pub(super) counters: Arc<Counters>,
    pub(super) tally: Arc<Tally>,
}

impl TrtInfer {
    /// NULL -> READY: everything that can be missing is found missing here. Called once more on the way to PAUSED, where it does
    /// something only if properties were set in READY.
    fn open(&self) -> Result<(), gst::ErrorMessage> {
        let name = self.obj().name();
        let setup = lock(&self.settings)
            .setup()
            .map_err(|InvalidSettings { error, why }| gst::error_msg!(error, ("{name}: {why}")))?;
        let shared = lock(&self.settings).instance();
        let slot = instance_slot::named(shared.as_deref());
        let same = |instance: &Arc<Instance>| {
            let before = self.switch.slot();
            (instance.setup == setup || self.only_model_differs(&setup, instance))
                && before.is_some_and(|before| before.has_name(shared.as_deref()))
        };
        let in_use = self.switch.in_use();
        if in_use.as_ref().is_some_and(same) {
            return Ok(());
        }
        drop(in_use);
        // Released before the next one loads: both might not fit in memory.
        self.close();
        // Asked before the slot opens: the elements that are asked may wait for the same slot.
        let is_open = setup.config.device == Choice::Auto && !setup.config.provider.is_on_host();
        let near = if is_open { auto_gpu::near(self.obj().upcast_ref(), shared.is_some()) } else { None };
        let opened = instance_slot::open(&slot, &setup, near, &|progress| self.post_progress(progress));
        let instance = opened.map_err(|none| match none {
            NoInstance::InUse(why) => gst::error_msg!(gst::ResourceError::Busy, ("{name}: {why}")),
            NoInstance::Unloadable(why) => gst::error_msg!(gst::ResourceError::NotFound, ("{name}: {why}")),
        })?;
        self.adopt_on_start(&setup, &instance);
        if let Some(given) = self.given.any() {
            check(&given, &instance.engine)
                .map_err(|why| gst::error_msg!(gst::ResourceError::Settings, ("{name}: {why}")))?;
        }
        if let (Some(gpu), None) = (instance.gpu(), &shared) {
            auto_gpu::remember(self.obj().upcast_ref(), gpu);
        }
        let (config, engine) = (&instance.setup.config, &instance.engine);
        gst::info!(CAT, imp = self, "{} on {}", config.model.display(), nick(engine.provider()));
        let fallbacks = engine.fallbacks.join("; ");
        match (config.provider, engine.provider()) {
            // Nothing else was tried: device=cpu asks for it.
            (Provider::Auto, active) if active.is_on_host() && fallbacks.is_empty() => (),
            (Provider::Auto, active) if active.is_on_host() => {
                notice::running_on_cpu(self.obj().upcast_ref(), &fallbacks)
            }
            (Provider::Auto, active) => post_info!(
                self.obj(),
                gst::LibraryError::Init,
                ("{name}: the model runs on {} ({fallbacks})", nick(active))
            ),
            _ => (),
        }
        self.switch.open(slot, Arc::clone(&instance));
        self.obj().notify("active-provider");
        self.report_reading(&instance);
        Ok(())
    }

    /// Posts how the model's input is filled and where that is stated, and what is wrong in it.
    pub(super) fn report_reading(&self, instance: &Instance) {
        let engine = &instance.engine;
        for warning in &engine.warnings {
            gst::element_imp_warning!(self, gst::ResourceError::Read, ("{}: {warning}", self.obj().name()));
        }
        for said in [engine.recurrent(), engine.earlier_frames()].into_iter().flatten() {
            post_info!(self.obj(), gst::LibraryError::Settings, ("{}: {said}", self.obj().name()));
        }
        self.obj().notify(reading::PROPERTY);
        reading::post(&*self.obj(), &prompts::reading(engine), &engine.info.to_toml(None));
    }

    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        let Tally { busy_ns, batches, batched, dropped, state_starts, held, unprompted, .. } = &*self.tally;
        let counts = [
            ("busy-ns", busy_ns),
            ("batches", batches),
            ("batched-frames", batched),
            ("dropped", dropped),
            ("state-starts", state_starts),
            ("held", held),
            ("unprompted", unprompted),
        ];
        for (name, count) in counts {
            stats.set(name, count.load(Ordering::Relaxed));
        }
        for (name, histogram) in self.tally.histograms() {
            stats.set(name, histogram.snapshot().to_structure());
        }
        if let Some(instance) = self.switch.in_use() {
            stats.set(DEVICE_BYTES, self.counters.device_bytes() + instance.device_bytes_a_client());
            stats.set("batch-limit", instance.batcher.size() as u64);
            stats.set("step-downs", instance.batcher.step_downs());
            for (name, time) in instance.engine.times.values() {
                stats.set(name, time);
            }
            if let Some((used, total)) = instance.engine.device_memory() {
                stats.set("device-memory-used", used);
                stats.set("device-memory-total", total);
            }
        }
        stats
    }

    pub(super) fn post_progress(&self, progress: Progress) {
        progress.post(self.obj().upcast_ref());
    }

    /// Releases the instance.
    fn close(&self) {
        self.wait_for_loader();
        drop(self.switch.close());
    }

    /// Takes an event in. That this element refuses it because it is being stopped or flushed is no error of the stream.
    fn sink_event(&self, event: gst::Event) -> Result<gst::FlowSuccess, gst::FlowError> {
        let is_caps = event.type_() == gst::EventType::Caps;
        if self.takes_event(event) {
            return Ok(gst::FlowSuccess::Ok);
        }
        Err(match self.flow.running() {
            Some(running) if running.owner.lane.is_closed() => gst::FlowError::Flushing,
            None => gst::FlowError::Flushing,
            Some(_) if is_caps => gst::FlowError::NotNegotiated,
            Some(_) => gst::FlowError::Error,
        })
    }

    fn takes_event(&self, event: gst::Event) -> bool {
        use gst::EventView;
        self.lag.see(&event);
        let Some(running) = self.flow.running() else {
            return gst::Pad::event_default(&self.sink, Some(&*self.obj()), event);
        };
        let lane = &running.owner.lane;
        let engine = &running.instance.engine;
        let remembers = !engine.states.is_empty() || engine.looks_back();
        if self.memories.see(&event) && remembers && !self.flow.has_forgotten.swap(true, Ordering::Relaxed) {
            notice::streams_forgotten(&*self.obj(), "their states and earlier frames");
        }
        match event.view() {
            EventView::Caps(caps) => {
                // Frames of another kind do not fill the batch that waits.
                running.instance.batcher.hurry(running.client);
                self.caps_event(caps.caps())
            }
            EventView::Eos(_) => {
                self.warn_without_run(&running.instance);
                running.instance.batcher.hurry(running.client);
                lane.push_event(event)
            }
            EventView::FlushStart(_) => {
                let unsent = lane.flush_start();
                running.take_back();
                let forwarded = self.src.push_event(event);
                // Only a seek from an element downstream, in the thread that pushes, cannot wait for that thread.
                if !self.flow.is_pusher() {
                    lane.wait_for_push();
                }
                // Not earlier, or an older sticky event could replace these on the pad. The pad sends them before the next frame.
                for sticky in unsent {
                    let _ = self.src.store_sticky_event(&sticky);
                }
                forwarded
            }
            EventView::FlushStop(_) => {
                // Downstream must accept things again before the first is pushed.
                let forwarded = self.src.push_event(event);
                lane.flush_stop();
                forwarded
            }
            _ if event.is_serialized() => {
                if feedback::is_end(&event) {
                    // The stream's next frame waits for what is found in this one.
                    running.instance.batcher.hurry(running.client);
                }
                lane.push_event(event)
            }
            _ => self.src.push_event(event),
        }
    }

    fn src_event(&self, event: gst::Event) -> bool {
        if let (gst::EventType::Reconfigure, Some(running)) = (event.type_(), self.flow.running()) {
            running.owner.lane.relinked();
        }
        gst::Pad::event_default(&self.src, Some(&*self.obj()), event)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for TrtInfer {
    const NAME: &'static str = "GstCudaInferTrtInfer";
    type Type = super::TrtInfer;
    type ParentType = gst::Element;
    type Interfaces = (gst::Preset,);

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
                .event_full_function(|_, parent, event| {
                    Self::catch_panic_pad_function(
                        parent,
                        || Err(gst::FlowError::Error),
                        |imp| imp.sink_event(event),
                    )
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
                        |imp| {
                            if active {
                                return imp.start();
                            }
                            imp.stop();
                            Ok(())
                        },
                    )
                })
                .build()
        });
        Self {
            sink: sink.unwrap_or_else(|| gst::Pad::new(gst::PadDirection::Sink)),
            src: src.unwrap_or_else(|| gst::Pad::new(gst::PadDirection::Src)),
            settings: Mutex::default(),
            switch: ModelSwitch::default(),
            flow: Flow::default(),
            memories: Memories::default(),
            lag: Lag::default(),
            given: GivenConstants::default(),
            counters: Arc::default(),
            tally: Arc::default(),
        }
    }
}

impl ObjectImpl for TrtInfer {
    fn properties() -> &'static [glib::ParamSpec] {
        settings::PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        settings::PROPERTIES.set(&*self.obj(), &self.settings, value, pspec);
        if pspec.name() == "model" {
            lock(&self.settings).find_in_folder();
            self.change_model();
        }
        if pspec.name() == "constants" {
            self.change_constants();
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        // Read by the tracer while an element posts an error, whatever locks the element holds then.
        if pspec.name() == "stats" {
            return self.stats().to_value();
        }
        if pspec.name() == "active-provider" {
            return self.switch.in_use().map_or(Provider::Auto, |i| i.engine.provider()).to_value();
        }
        if pspec.name() == "active-variant" {
            return self.switch.in_use().map(|i| i.engine.variant()).to_value();
        }
        if pspec.name() == reading::PROPERTY {
            let instance = self.switch.in_use();
            return instance.map(|instance| prompts::reading(&instance.engine)).to_value();
        }
        let value = settings::PROPERTIES.get(&lock(&self.settings), pspec);
        value.unwrap_or_else(|| pspec.default_value().clone())
    }

    fn constructed(&self) {
        self.parent_constructed();
        let element = self.obj();
        crate::element::name_after_factory(element.upcast_ref());
        for pad in [&self.sink, &self.src] {
            if let Err(e) = element.add_pad(pad) {
                gst::error!(CAT, imp = self, "{e}");
            }
        }
    }

    /// Programs give up elements that play, though GStreamer forbids it. Without this, the thread that pushes would wait forever, and
    /// the batches of an instance for this element's frames.
    fn dispose(&self) {
        self.stop();
        self.close();
    }
}

impl GstObjectImpl for TrtInfer {}

impl PresetImpl for TrtInfer {}

impl ElementImpl for TrtInfer {
    described! {
        "Neural network inference",
        "Filter/Analyzer/Video",
        "Runs an ONNX model on the tensor that fusedpreproc made, with TensorRT, CUDA or the CPU",
        sink: caps::sink_template(),
        src: forms::src_template(),
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
                open && instance.engine.provider().is_on_host()
            };
            self.counters.fallbacks.add(u64::from(self.switch.in_use().as_ref().is_some_and(fell_back)));
        }
        if transition == gst::StateChange::PausedToPlaying {
            self.tally.delays.pause(false, Instant::now());
        }
        if transition == gst::StateChange::PausedToReady {
            // The pads wait for the thread that warms up.
            self.flow.warming().set();
        }
        let result = self.parent_change_state(transition);
        if transition == gst::StateChange::PlayingToPaused {
            self.tally.delays.pause(true, Instant::now());
        }
        if transition == gst::StateChange::ReadyToNull {
            self.close();
        }
        result
    }
}
