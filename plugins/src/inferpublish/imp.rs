use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use cudainfer_brokers::{Counts, Drained, Outbox, PushError};
use cudainfer_kernels::device::{Counter, Counters};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::destination;
use super::settings::{self, Settings};
use crate::element::described;
use crate::lag::Lag;
use crate::log::INFERPUBLISH as CAT;
use crate::memory::cropping::{self, Use};
use crate::model::{self, ModelInfo};
use crate::publish::file::FileCounts;
use crate::publish::{Arrival, Composer, Details, End, LeftOut, Messages, PassCounts, PublishParams};
use crate::sync::lock;
use crate::{caps, notice, stats};

/// How long the destination may accept nothing before the end of the stream, or stopping, no longer waits for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct State {
    pub composer: Composer,
    /// Messages that could not be handed over because of a flush, or have had no turn: they go before the next.
    unsent: Messages,
    /// The model upstream, until its classes have been compared with those that are wanted.
    pub model: Option<ModelInfo>,
    /// Records whose loss has been warned of, of those that the queue has dropped.
    pub reported: u64,
    /// The same of those that could not be written.
    pub failed: u64,
    /// When that was.
    pub warned: Option<Instant>,
    /// Whether it was warned of several streams in one file, and of streams that were forgotten.
    pub reported_of_streams: [bool; 2],
    /// Frames that are missing, and were warned of.
    pub missing: u64,
    /// How many individuals have columns in a table.
    pub individuals: u32,
    /// The number of frames that the file beside the table was written for.
    pub companion_of: Option<u64>,
    /// What was left out of the table, and warned of.
    pub left_out: LeftOut,
    /// Whether it was warned of a live source.
    pub reported_of_live: bool,
    /// Whether it was warned of a clock that is wrong.
    pub reported_of_clock: bool,
}

#[derive(Default)]
pub struct InferPublish {
    pub(super) settings: Mutex<Settings>,
    pub(super) state: Mutex<Option<State>>,
    /// How late the frames of a live source come here.
    lag: Lag,
    /// Apart from the state: it is needed while a frame waits for room.
    outbox: Mutex<Option<Arc<Outbox>>>,
    pub(super) counters: Counters,
    /// Records that were made.
    pub(super) records: Counter,
    /// Objects in the records of frames that were taken over.
    objects: Counter,
    /// Streams that were forgotten because there were too many, and had tracks.
    pub(super) forgotten: Counter,
    /// Frames that were lost before they came here.
    pub(super) missing: Counter,
    /// Instances that have no place in the table.
    pub(super) left_out: Counter,
    /// What second passes have done: tracks joined, boxes filled in, and passes before the end.
    pub(super) passes: [Counter; 3],
    files: Arc<FileCounts>,
    /// What became of the messages.
    pub(super) counts: Arc<Counts>,
}

impl InferPublish {
    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        stats.set("records", self.records.get());
        stats.set("objects", self.objects.get());
        stats.set("streams-forgotten", self.forgotten.get());
        stats.set("frames-missing", self.missing.get());
        stats.set("left-out", self.left_out.get());
        for (name, count) in ["joined", "interpolated", "early-passes"].into_iter().zip(&self.passes) {
            stats.set(name, count.get());
        }
        stats.set("torn", self.files.torn.get());
        stats.set("rotated", self.files.rotated.get());
        for (name, count) in self.counts.all() {
            stats.set(name, count.get());
        }
        stats
    }

    /// The settings, and what messages they make.
    fn params(&self) -> Result<(Settings, PublishParams), gst::ErrorMessage> {
        let settings = lock(&self.settings).clone();
        let checked = destination::check(&settings).map_err(|e| e.to_string());
        let params = checked.and_then(|()| settings.params());
        let params = params
            .map_err(|e| gst::error_msg!(gst::ResourceError::Settings, ("{}: {e}", self.obj().name())))?;
        Ok((settings, params))
    }

    fn outbox(&self) -> Option<Arc<Outbox>> {
        lock(&self.outbox).clone()
    }

    /// For messages.
    pub(super) fn location(&self) -> String {
        lock(&self.settings).location.to_string()
    }

    fn set_flushing(&self, flushing: bool) {
        if let Some(outbox) = self.outbox() {
            outbox.set_flushing(flushing);
        }
    }

    /// The messages that have had no turn and those about the frame that comes now, and how many objects it has.
    fn compose(&self, buffer: &gst::BufferRef) -> Result<(Messages, usize), gst::FlowError> {
        let details = lock(&self.settings).details();
        let lag = self.obj().static_pad("sink").and_then(|sink| self.lag.of(&sink, buffer));
        let arrival = Arrival { now: SystemTime::now(), lag };
        let segment = self.obj().segment().downcast::<gst::ClockTime>().ok();
        let stream_time =
            segment.and_then(|segment| segment.to_stream_time(buffer.pts()?)).map(gst::ClockTime::nseconds);
        self.warn_of_clock(arrival.ahead(buffer));
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or(gst::FlowError::Flushing)?;
        let composed = state.composer.compose(buffer, stream_time, arrival, details);
        let (messages, objects) = composed.map_err(|_| gst::FlowError::Error)?;
        self.records.add_size(messages.len());
        let mut all = std::mem::take(&mut state.unsent);
        all.extend(messages);
        Ok((all, objects))
    }

    /// Keeps what `say` has to say about something that is no frame until there is a turn for it.
    fn remember(&self, say: impl FnOnce(&mut Composer, Details) -> serde_json::Result<Messages>) {
        let details = lock(&self.settings).details();
        if let Some(state) = lock(&self.state).as_mut()
            && let Ok(messages) = say(&mut state.composer, details)
        {
            self.records.add_size(messages.len());
            state.unsent.extend(messages);
            self.count_passes(&state.composer);
        }
    }

    /// Counts what second passes have done since the last time. Returns how many of them were early.
    fn count_passes(&self, composer: &Composer) -> u64 {
        let PassCounts { joined, filled, early } = composer.passes();
        let [.., early_before] = &self.passes;
        let new = early.saturating_sub(early_before.get());
        for (counter, now) in self.passes.iter().zip([joined, filled, early]) {
            counter.add(now.saturating_sub(counter.get()));
        }
        new
    }

    /// Hands messages over to the outbox, without a lock: it may be full. What a flush interrupts is kept, but for what is about the
    /// frame, which does not pass either. Returns whether a record was dropped.
    fn send(&self, messages: Messages) -> Result<bool, gst::FlowError> {
        let outbox = self.outbox().ok_or(gst::FlowError::Flushing)?;
        let mut dropped = false;
        let mut messages = messages.into_iter();
        while let Some((kind, message)) = messages.next() {
            let again = (!kind.is_of_frame()).then(|| Arc::clone(&message));
            match outbox.push(message) {
                Ok(one) => dropped |= one,
                Err(PushError::Flushing) => {
                    let rest = messages.filter(|(kind, _)| !kind.is_of_frame());
                    if let Some(state) = lock(&self.state).as_mut() {
                        state.unsent = again.map(|message| (kind, message)).into_iter().chain(rest).collect();
                    }
                    return Err(gst::FlowError::Flushing);
                }
                Err(PushError::Closed) => {
                    self.counts.failed.add(messages.len());
                    return Err(gst::FlowError::Error);
                }
            }
        }
        Ok(dropped)
    }

    /// Hands over what has had no turn.
    fn send_rest(&self) {
        let rest = lock(&self.state).as_mut().map(|state| std::mem::take(&mut state.unsent));
        if let Ok(true) = self.send(rest.unwrap_or_default()) {
            self.note_drop();
        }
    }

    /// For the end of the stream: waits until everything is written.
    fn drain(&self) {
        if let Some(Drained::Stalled(left)) = self.outbox().map(|outbox| outbox.drain()) {
            self.warn_of_stalled(left);
        }
        self.warn_of_failures();
        self.warn_of_drops();
        self.write_companion();
    }
}

#[glib::object_subclass]
impl ObjectSubclass for InferPublish {
    const NAME: &'static str = "GstCudaInferInferPublish";
    type Type = super::InferPublish;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for InferPublish {
    fn constructed(&self) {
        self.parent_constructed();
        crate::element::name_after_factory(self.obj().upcast_ref());
    }

    fn properties() -> &'static [glib::ParamSpec] {
        settings::PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        settings::PROPERTIES.set(&*self.obj(), &self.settings, value, pspec);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        if pspec.name() == "stats" {
            return self.stats().to_value();
        }
        let value = settings::PROPERTIES.get(&lock(&self.settings), pspec);
        value.unwrap_or_else(|| pspec.default_value().clone())
    }
}

impl GstObjectImpl for InferPublish {}

impl ElementImpl for InferPublish {
    described! {
        "Inference results as JSON lines",
        "Filter/Analyzer/Video",
        "Writes the results of each frame as one JSON object per line and passes the frame through",
        sink: caps::any_memory(),
        src: caps::any_memory(),
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        match transition {
            gst::StateChange::NullToReady => {
                if let Err(message) = self.params() {
                    self.post_error_message(message);
                    return Err(gst::StateChangeError);
                }
            }
            // The parent waits for the streaming thread, which may be waiting for room.
            gst::StateChange::PausedToReady => self.set_flushing(true),
            _ => (),
        }
        self.parent_change_state(transition)
    }
}

impl BaseTransformImpl for InferPublish {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = true;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let (settings, params) = self.params()?;
        self.counters.reset();
        self.records.reset();
        self.objects.reset();
        self.forgotten.reset();
        self.left_out.reset();
        self.missing.reset();
        self.passes.iter().for_each(Counter::reset);
        self.files.reset();
        self.counts.reset();
        let outbox = destination::open(&self.obj(), &settings, PATIENCE, (&self.counts, &self.files))?;
        *lock(&self.outbox) = Some(Arc::new(outbox));
        let composer = Composer::new(params);
        *lock(&self.state) = Some(State {
            composer,
            unsent: Messages::new(),
            model: None,
            reported: 0,
            failed: 0,
            warned: None,
            reported_of_streams: [false; 2],
            missing: 0,
            individuals: 1,
            companion_of: None,
            left_out: LeftOut::default(),
            reported_of_live: false,
            reported_of_clock: false,
        });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.remember(|composer, details| composer.end(End::Stopped, details));
        self.send_rest();
        self.warn_of_failures();
        let unsent = lock(&self.state).as_ref().map_or(0, |state| state.unsent.len());
        self.counts.failed.add(unsent);
        let outbox = lock(&self.outbox).take();
        let lost = unsent + outbox.map_or(0, |outbox| outbox.close());
        if lost > 0 {
            self.warn_of_lost(lost);
        }
        self.warn_of_drops();
        self.write_companion();
        *lock(&self.state) = None;
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let size = |field| {
            let size = incaps.structure(0).and_then(|s| s.get::<i32>(field).ok());
            size.and_then(|v| u32::try_from(v).ok()).unwrap_or(0)
        };
        let model = self.obj().static_pad("sink").map(|sink| model::ask(&sink, incaps));
        if let Some(state) = lock(&self.state).as_mut() {
            let rate = incaps.structure(0).and_then(|s| s.get::<gst::Fraction>("framerate").ok());
            let rate = rate.map(|rate| f64::from(rate.numer()) / f64::from(rate.denom()));
            state.composer.set_format((size("width"), size("height")), rate);
            state.model = model.filter(|_| !state.composer.selection().classes.is_empty());
        }
        let sink = self.obj().static_pad("sink");
        sink.iter().for_each(|sink| self.warn_of_live(sink));
        sink.map_or(Ok(()), |sink| self.prepare_table(&sink, incaps)).map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        self.lag.see(&event);
        match event.type_() {
            // A seek does not set the frames' numbers back.
            gst::EventType::StreamStart => self.remember(|composer, details| composer.start(&event, details)),
            gst::EventType::Segment => {
                if let Some(state) = lock(&self.state).as_mut() {
                    state.composer.see_segment(&event);
                }
            }
            gst::EventType::FlushStart => self.set_flushing(true),
            gst::EventType::FlushStop => {
                self.remember(|composer, details| composer.end(End::Flush, details));
                self.set_flushing(false);
                self.warn_of_seek();
            }
            // Whoever reads the file after the end finds all of it.
            gst::EventType::Eos => {
                self.remember(|composer, details| composer.end(End::Eos, details));
                self.send_rest();
                self.warn_of_missing_elements();
                self.drain();
            }
            _ => (),
        }
        self.parent_sink_event(event)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        cropping::withhold(query, Use::Metadata);
        Ok(())
    }

    fn transform_ip_passthrough(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        cropping::refuse(&*self.obj(), buffer)?;
        self.compare_classes(buffer);
        let (messages, objects) = {
            let _frame = stats::frame(&*self.obj(), &self.counters);
            self.compose(buffer)?
        };
        let (count, pts) = (messages.len(), buffer.pts());
        let dropped = self.send(messages)?;
        gst::log!(CAT, imp = self, "{count} records of the frame at {}", pts.display());
        self.objects.add_size(objects);
        let early = lock(&self.state).as_mut().map_or(0, |state| {
            state.composer.passed();
            self.count_passes(&state.composer)
        });
        if early > 0 {
            self.warn_of_early_pass(buffer.pts());
        }
        self.warn_of_streams();
        self.warn_of_missing(buffer.pts());
        self.warn_of_left_out();
        if dropped {
            self.note_drop();
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
