use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime};

use cudainfer_brokers::Counts;
use cudainfer_kernels::device::{Counter, Counters};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::destination;
use super::settings::{self, Settings};
use crate::meta::object::{Object, objects};
use crate::model::ModelInfo;
use crate::nick::nick;
use crate::publish::sink::FileCounts;
use crate::publish::{Composer, Details, Drained, End, Messages, Queue, Tally};
use crate::sync::lock;
use crate::{caps, stats};

/// How long the destination may accept nothing before the end of the stream, or stopping, no longer waits for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often records that are dropped are warned of.
const REMIND: Duration = Duration::from_secs(60);

struct State {
    composer: Composer,
    /// Messages that could not be handed over because of a flush, or have had no turn: they go before the next.
    unsent: Messages,
    /// The model upstream, until its classes have been compared with those that are wanted.
    model: Option<ModelInfo>,
    /// Records whose loss has been warned of, of those that the queue has dropped.
    told: u64,
    /// The same of those that could not be written.
    failed: u64,
    /// When that was.
    warned: Option<Instant>,
    /// Whether it was warned of several streams in one file, and of streams that were forgotten.
    told_of_streams: [bool; 2],
}

#[derive(Default)]
pub struct InferPublish {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    /// Apart from the state: it is needed while a frame waits for room.
    queue: Mutex<Option<Arc<Queue>>>,
    counters: Counters,
    /// Records that were made.
    records: Counter,
    /// Objects in the records of frames that were taken over.
    objects: Counter,
    /// Streams that were forgotten because there were too many, and had tracks.
    forgotten: Counter,
    tally: Arc<Tally>,
    files: Arc<FileCounts>,
    /// What became of the messages behind the queue, for a broker.
    counts: Arc<Counts>,
}

impl InferPublish {
    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        stats.set("records", self.records.get());
        stats.set("objects", self.objects.get());
        stats.set("streams-forgotten", self.forgotten.get());
        stats.set("written", self.tally.written.get());
        stats.set("failed", self.tally.failed.get());
        stats.set("dropped", self.tally.dropped.get());
        stats.set("torn", self.files.torn.get());
        stats.set("rotated", self.files.rotated.get());
        let Counts { spooled, sent, acknowledged, refused, reconnects, waiting, damaged } = &*self.counts;
        for (name, count) in [
            ("spooled", spooled),
            ("sent", sent),
            ("acknowledged", acknowledged),
            ("refused", refused),
            ("reconnects", reconnects),
            ("waiting", waiting),
            ("damaged", damaged),
        ] {
            stats.set(name, count.get());
        }
        stats
    }

    fn queue(&self) -> Option<Arc<Queue>> {
        lock(&self.queue).clone()
    }

    /// For messages.
    fn location(&self) -> String {
        lock(&self.settings).location.to_string()
    }

    fn set_flushing(&self, flushing: bool) {
        if let Some(queue) = self.queue() {
            queue.set_flushing(flushing);
        }
    }

    /// The messages that have had no turn and those about the frame that comes now, and how many objects it has.
    fn compose(&self, buffer: &gst::BufferRef) -> Result<(Messages, usize), gst::FlowError> {
        let details = lock(&self.settings).details();
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or(gst::FlowError::Flushing)?;
        let composed = state.composer.compose(buffer, SystemTime::now(), details);
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
        }
    }

    /// Hands messages over to the queue, without a lock: it may be full. What a flush interrupts is kept, but for what is about the
    /// frame, which does not pass either. Returns whether a record was dropped.
    fn send(&self, messages: Messages) -> Result<bool, gst::FlowError> {
        let queue = self.queue().ok_or(gst::FlowError::Flushing)?;
        let mut dropped = false;
        let mut messages = messages.into_iter();
        while let Some((kind, message)) = messages.next() {
            let again = (!kind.is_of_frame()).then(|| message.clone());
            match queue.push(message) {
                Ok(one) => dropped |= one,
                Err(gst::FlowError::Flushing) => {
                    let rest = messages.filter(|(kind, _)| !kind.is_of_frame());
                    if let Some(state) = lock(&self.state).as_mut() {
                        state.unsent = again.map(|message| (kind, message)).into_iter().chain(rest).collect();
                    }
                    return Err(gst::FlowError::Flushing);
                }
                Err(e) => {
                    self.tally.failed.add_size(messages.len());
                    return Err(e);
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

    /// Warns if records were dropped: of the first, and then not more often than [`REMIND`].
    fn note_drop(&self) {
        let (first, again) = lock(&self.state).as_mut().map_or((false, false), |state| {
            let first = state.told == 0;
            let again = !first && state.warned.is_none_or(|warned| warned.elapsed() >= REMIND);
            state.told += u64::from(first);
            if first || again {
                state.warned = Some(Instant::now());
            }
            (first, again)
        });
        if first {
            self.warn_of_first_drop();
        } else if again {
            self.warn_of_drops();
        }
    }

    /// Warns of classes that the model upstream has not, when it is clear that the objects are its own.
    fn compare_classes(&self, buffer: &gst::BufferRef) {
        let warnings = {
            let mut state = lock(&self.state);
            let Some(state) = state.as_mut().filter(|state| state.model.is_some()) else { return };
            let found = objects(buffer);
            let detected = |object: &Object| object.detection.is_some();
            if !found.iter().any(detected) {
                return;
            }
            let labels = state.model.take().map(|info| info.output.labels.clone()).unwrap_or_default();
            // A second model, whose classes are others, may stand between this element and the one that made the objects.
            if !found.iter().any(|object| labels.contains(&object.label)) {
                return;
            }
            let unknown = state.composer.selection().unknown(&labels);
            unknown
                .map(|class| {
                    format!("the model has no class '{class}' of classes; it has {}", labels.join(", "))
                })
                .collect::<Vec<_>>()
        };
        for warning in warnings {
            let name = self.obj().name();
            gst::element_imp_warning!(self, gst::ResourceError::Settings, ("{name}: {warning}"));
        }
    }

    /// Warns if tracks or events were to be written and cannot have been.
    fn warn_of_missing_elements(&self) {
        let missing = lock(&self.state)
            .as_ref()
            .map(|state| (state.composer.misses_identities(), state.composer.misses_zones()));
        let (identities, zones) = missing.unwrap_or_default();
        let tracker =
            "no object has had an identity, so no track was written. Put tracker before this element";
        let zonecount = "no frame has had zones, so no event was written. Put zonecount before this element";
        for (missing, text) in [(identities, tracker), (zones, zonecount)] {
            if missing {
                let name = self.obj().name();
                gst::element_imp_warning!(self, gst::StreamError::Failed, ("{name}: {text}"));
            }
        }
    }

    /// Warns once if what is written cannot tell the streams apart, and once if there are more than are remembered.
    fn warn_of_streams(&self) {
        let news = lock(&self.state).as_mut().map(|state| {
            let now = [state.composer.mixes_streams(), state.composer.forgotten() > 0];
            self.forgotten.add(state.composer.forgotten().saturating_sub(self.forgotten.get()));
            let before = std::mem::replace(&mut state.told_of_streams, now);
            [now[0] && !before[0], now[1] && !before[1]]
        });
        let mixed = "frames of several streams go into one file, whose format has no stream: frame numbers and identities \
                     repeat. Put one inferpublish into the branch of each stream, or set format=json";
        let forgotten = "more than 256 streams take turns here: the one that has waited longest is forgotten, its tracks are \
                         ended and written, and its frames are numbered anew if it comes back. The property stats counts \
                         them as streams-forgotten. Put fewer streams into one pipeline";
        for (new, text) in news.unwrap_or_default().into_iter().zip([mixed, forgotten]) {
            if new {
                let name = self.obj().name();
                gst::element_imp_warning!(self, gst::StreamError::Failed, ("{name}: {text}"));
            }
        }
    }

    /// Warns of the first record that the queue drops.
    fn warn_of_first_drop(&self) {
        let Settings { location, queue_size, leaky, .. } = lock(&self.settings).clone();
        gst::element_imp_warning!(
            self,
            gst::ResourceError::Write,
            (
                "{}: a record was dropped, because {queue_size} are waiting for '{}' (leaky={}). The property stats counts \
                 them as dropped. Set leaky=no to lose none, or a larger queue-size",
                self.obj().name(),
                location,
                nick(leaky.resolved(location.uri().is_some()))
            )
        );
    }

    /// Warns of the records that have been dropped since the last time, if there are more than the first.
    fn warn_of_drops(&self) {
        let dropped = self.tally.dropped.get();
        let told =
            lock(&self.state).as_mut().map_or(dropped, |state| std::mem::replace(&mut state.told, dropped));
        if dropped > told {
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Write,
                (
                    "{}: {dropped} records of {} frames were dropped, because the queue was full",
                    self.obj().name(),
                    self.counters.frames.get()
                )
            );
        }
    }

    /// Warns of the records that could not be written since the last time.
    fn warn_of_failures(&self) {
        let failed = self.tally.failed.get();
        let told =
            lock(&self.state).as_mut().map_or(failed, |state| std::mem::replace(&mut state.failed, failed));
        if failed > told {
            let (name, location, records) = (self.obj().name(), self.location(), self.records.get());
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Write,
                ("{name}: {failed} of {records} records could not be written to '{location}', and are lost")
            );
        }
    }

    /// For the end of the stream: waits until everything is written.
    fn drain(&self) {
        if let Some(Drained::Stalled(left)) = self.queue().map(|queue| queue.drain()) {
            let location = self.location();
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Write,
                (
                    "{}: the stream ends, and {left} records are not written: '{location}' has accepted none for {} s. They \
                     are lost unless it does before the pipeline stops",
                    self.obj().name(),
                    PATIENCE.as_secs()
                )
            );
        }
        self.warn_of_failures();
        self.warn_of_drops();
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
        crate::names::shorten(self.obj().upcast_ref());
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
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Inference results as JSON lines",
                "Filter/Analyzer/Video",
                "Writes the results of each frame as one JSON object per line and passes the frame through",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let any = caps::any_memory();
            caps::pad_templates(&any, &any)
        });
        &TEMPLATES
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if transition == gst::StateChange::PausedToReady {
            // The parent waits for the streaming thread, which may be waiting for room.
            self.set_flushing(true);
        }
        self.parent_change_state(transition)
    }
}

impl BaseTransformImpl for InferPublish {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = true;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let settings = lock(&self.settings).clone();
        let plan = settings
            .plan()
            .map_err(|e| gst::error_msg!(gst::ResourceError::Settings, ("{}: {e}", self.obj().name())))?;
        self.counters.reset();
        self.records.reset();
        self.objects.reset();
        self.forgotten.reset();
        self.tally.reset();
        self.files.reset();
        self.counts.reset();
        let queue =
            destination::open(&self.obj(), &settings, PATIENCE, (&self.tally, &self.counts, &self.files))?;
        *lock(&self.queue) = Some(Arc::new(queue));
        let composer = Composer::new(plan);
        *lock(&self.state) = Some(State {
            composer,
            unsent: Messages::new(),
            model: None,
            told: 0,
            failed: 0,
            warned: None,
            told_of_streams: [false; 2],
        });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        self.remember(|composer, details| composer.end(End::Stopped, details));
        self.send_rest();
        self.warn_of_failures();
        let unsent = lock(&self.state).as_ref().map_or(0, |state| state.unsent.len());
        self.tally.failed.add_size(unsent);
        let queue = lock(&self.queue).take();
        let lost = unsent + queue.map_or(0, |queue| queue.close());
        if lost > 0 {
            let location = self.location();
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Write,
                (
                    "{}: {lost} records are lost: '{location}' has not accepted them in {} s. If it is a FIFO, start its \
                     reader before the pipeline",
                    self.obj().name(),
                    PATIENCE.as_secs()
                )
            );
        }
        self.warn_of_drops();
        *lock(&self.state) = None;
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let size = |field| {
            let size = incaps.structure(0).and_then(|s| s.get::<i32>(field).ok());
            size.and_then(|v| u32::try_from(v).ok()).unwrap_or(0)
        };
        let model = self.obj().static_pad("sink").map(|sink| ModelInfo::ask(&sink, incaps));
        if let Some(state) = lock(&self.state).as_mut() {
            state.composer.set_size((size("width"), size("height")));
            state.model = model.filter(|_| !state.composer.selection().classes.is_empty());
        }
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            // A seek does not set the frames' numbers back.
            gst::EventType::StreamStart => self.remember(|composer, details| composer.start(&event, details)),
            gst::EventType::FlushStart => self.set_flushing(true),
            gst::EventType::FlushStop => {
                self.remember(|composer, details| composer.end(End::Flush, details));
                self.set_flushing(false);
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

    fn transform_ip_passthrough(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        self.compare_classes(buffer);
        let (messages, objects) = {
            let _frame = stats::frame(&*self.obj(), &self.counters);
            self.compose(buffer)?
        };
        let dropped = self.send(messages)?;
        self.objects.add_size(objects);
        if let Some(state) = lock(&self.state).as_mut() {
            state.composer.passed();
        }
        self.warn_of_streams();
        if dropped {
            self.note_drop();
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
