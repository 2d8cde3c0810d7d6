use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use cudainfer_kernels::device::{Counter as Count, Counters};
use cudainfer_kernels::zones::FrameTime;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::file::ZonesFile;
use super::messages::Budget;
use super::notices::Notices;
use super::properties::{self, PROPERTIES};
use super::results::{counts, named, places, zones};
use super::settings::Settings;
use super::sight::{identity, is_seen, sighting};
use super::stream_counter::{StreamCounter, replace};
use crate::element::described;
use crate::log::ZONECOUNT as CAT;
use crate::memory::cropping::{self, Use};
use crate::meta::object::{add_world, add_zones, objects};
use crate::meta::zone::{self, Zone, ZoneEvent, set_counts};
use crate::model;
use crate::streams::Streams;
use crate::sync::lock;
use crate::{caps, meta, notice, stats};

struct State {
    streams: Streams<StreamCounter>,
    notices: Notices,
    /// From the last caps: width and height of the frames and how long they last in ns.
    frame: ([usize; 2], Option<u64>),
    budget: Budget,
}

/// The message of an event.
const MESSAGE: &str = "zonecount-event";

#[derive(Default)]
pub struct ZoneCount {
    settings: Mutex<Settings>,
    /// Held while a file of zones is read: of two files that are set at once the last one stays.
    reading: Mutex<()>,
    /// Whether the zones, or other settings of the counts, have been set since they were taken over.
    changed: AtomicBool,
    state: Mutex<Option<State>>,
    /// What was counted until the element stopped.
    last: Mutex<Option<gst::Structure>>,
    counters: Counters,
    /// Objects that were examined.
    objects: Count,
    /// Those of them without an identity.
    untracked: Count,
    events: Count,
    dropped_messages: Count,
    forgotten_streams: Count,
}

/// Messages about a frame or an event, which are posted when no lock is held any more.
#[derive(Default)]
struct PendingMessages {
    messages: Vec<gst::Structure>,
    warnings: Vec<String>,
}

impl ZoneCount {
    /// Reads the file of zones that is named. It may not have existed yet when its name was set, or may have changed since.
    fn read_file(&self) {
        let _one_at_a_time = lock(&self.reading);
        let path = lock(&self.settings).zones_file.clone();
        // No frame waits for a disk: the settings are not locked.
        let file = path.map(ZonesFile::read);
        lock(&self.settings).file = file;
    }

    /// Takes over what has been set since the last frame; the zones stay as they were, if the new ones cannot be used.
    fn apply_changes(&self, state: &mut State, pending: &mut PendingMessages) {
        if !self.changed.swap(false, Ordering::AcqRel) {
            return;
        }
        let settings = lock(&self.settings).clone();
        let taken = settings
            .params()
            .and_then(|params| replace(&mut state.streams, &params).map_err(|e| e.to_string()));
        match taken {
            Ok(()) => {
                let stream = state.streams.current();
                pending.warnings.extend(Notices::off_frame(&stream.counter, stream.size));
            }
            Err(why) => pending.warnings.push(format!("{why}. The zones are not changed")),
        }
    }

    fn count(&self, state: &mut State, buffer: &mut gst::BufferRef, pending: &mut PendingMessages) {
        // A stream that shares the element has no `set_caps` of its own where its caps are those of the previous stream.
        let (size, duration) = state.frame;
        state.streams.current_mut().fit(size, duration);
        self.apply_changes(state, pending);
        let State { streams, notices, budget, .. } = state;
        let counter = &mut streams.current_mut().counter;
        let objects = objects(buffer);
        let sightings: Vec<_> = objects.iter().map(sighting).collect();
        let seen = || objects.iter().filter(|object| is_seen(object));
        self.objects.add_size(seen().count());
        self.untracked.add_size(seen().filter(|object| object.tracking.is_none()).count());
        let time = FrameTime {
            pts: buffer.pts().map(gst::ClockTime::nseconds),
            duration: buffer.duration().map(gst::ClockTime::nseconds),
        };
        counter.update(time, &sightings);
        let (events, stays) = named(counter, &objects);
        let zones = zones(counter);
        add_zones(buffer, stays);
        if counter.params().ground.is_some() {
            add_world(buffer, places(counter, &objects));
        }
        zone::put(buffer, &zones, &events);
        self.events.add_size(events.len());
        gst::log!(
            CAT,
            imp = self,
            "{} objects and {} events in the frame at {}",
            sightings.len(),
            events.len(),
            buffer.pts().display()
        );
        pending.warnings.extend(notices.examine(counter, &objects, |object| identity(object).is_some()));
        let (on, most) = {
            let settings = lock(&self.settings);
            (settings.messages, settings.max_messages)
        };
        for event in events.iter().filter(|_| on) {
            match budget.spend(most, Instant::now()) {
                Some(dropped) => {
                    let mut message = self.message(event, &zones, buffer.pts(), dropped);
                    message.set("stream-id", streams.id());
                    pending.messages.push(message);
                }
                None => self.dropped_messages.add(1),
            }
        }
    }

    /// The event with its times and with what the zone has counted.
    fn message(
        &self,
        event: &ZoneEvent,
        zones: &[Zone],
        pts: Option<gst::ClockTime>,
        dropped: u64,
    ) -> gst::Structure {
        let mut s = gst::Structure::new_empty(MESSAGE);
        if let Some(zone) = zones.iter().find(|zone| zone.name == event.zone) {
            set_counts(&mut s, zone.kind, &zone.counts);
        }
        // These are the frame's last counts; the event's occupancy is that after the event.
        event.to_structure(MESSAGE).iter().for_each(|(field, value)| s.set_value(field, value.clone()));
        let segment = self.obj().segment();
        let segment = segment.downcast_ref::<gst::ClockTime>();
        s.set("pts", pts);
        s.set("stream-time", segment.and_then(|segment| segment.to_stream_time(pts)));
        s.set("running-time", segment.and_then(|segment| segment.to_running_time(pts)));
        s.set("dropped", dropped);
        s
    }

    fn post(&self, pending: PendingMessages) {
        let element = self.obj();
        for why in pending.warnings {
            gst::element_imp_warning!(self, gst::LibraryError::Settings, ("{}: {why}", element.name()));
        }
        for message in pending.messages {
            let _ = element.post_message(gst::message::Element::builder(message).src(&*element).build());
        }
    }

    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        stats.set("objects", self.objects.get());
        stats.set("untracked", self.untracked.get());
        stats.set("events", self.events.get());
        stats.set("dropped-messages", self.dropped_messages.get());
        stats.set("forgotten-streams", self.forgotten_streams.get());
        stats
    }
}

#[glib::object_subclass]
impl ObjectSubclass for ZoneCount {
    const NAME: &'static str = "GstCudaInferZoneCount";
    type Type = super::ZoneCount;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for ZoneCount {
    fn constructed(&self) {
        self.parent_constructed();
        crate::element::name_after_factory(self.obj().upcast_ref());
    }

    fn properties() -> &'static [glib::ParamSpec] {
        PROPERTIES.specs()
    }

    fn signals() -> &'static [glib::subclass::Signal] {
        static SIGNALS: LazyLock<Vec<glib::subclass::Signal>> = LazyLock::new(|| {
            vec![
                glib::subclass::Signal::builder("reset")
                    .action()
                    .class_handler(|values| {
                        let element = values.first()?.get::<super::ZoneCount>().ok()?;
                        if let Some(state) = lock(&element.imp().state).as_mut() {
                            state.streams.iter_mut().for_each(|stream| stream.counter.clear());
                        }
                        None
                    })
                    .build(),
            ]
        });
        &SIGNALS
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        PROPERTIES.set(&*self.obj(), &self.settings, value, pspec);
        if pspec.name() == properties::FILE {
            self.read_file();
        }
        if !pspec.name().ends_with("messages") {
            self.changed.store(true, Ordering::Release);
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "counts" => {
                let now = lock(&self.state).as_ref().map(|state| counts(&state.streams.current().counter));
                now.or_else(|| lock(&self.last).clone()).to_value()
            }
            "stats" => self.stats().to_value(),
            _ => {
                let value = PROPERTIES.get(&lock(&self.settings), pspec);
                value.unwrap_or_else(|| pspec.default_value().clone())
            }
        }
    }
}

impl GstObjectImpl for ZoneCount {}

impl ElementImpl for ZoneCount {
    described! {
        "Zone and line counter",
        "Filter/Analyzer/Video",
        "Counts tracked objects that enter, leave and stay in polygons and that cross lines, by class, and measures their speed",
        sink: caps::any_memory(),
        src: caps::any_memory(),
    }
}

impl BaseTransformImpl for ZoneCount {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let wrong =
            |why: String| gst::error_msg!(gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
        self.changed.store(false, Ordering::Release);
        self.read_file();
        let params = lock(&self.settings).clone().params().map_err(wrong)?;
        let streams = Streams::new(StreamCounter::new(params).map_err(|e| wrong(e.to_string()))?);
        self.counters.reset();
        for count in
            [&self.objects, &self.untracked, &self.events, &self.dropped_messages, &self.forgotten_streams]
        {
            count.reset();
        }
        let mut notices = Notices::default();
        notices.begin();
        *lock(&self.last) = None;
        *lock(&self.state) =
            Some(State { streams, notices, frame: ([0; 2], None), budget: Budget::default() });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let state = lock(&self.state).take();
        *lock(&self.last) = state.map(|state| counts(&state.streams.current().counter));
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let size = caps::frame_size(incaps);
        let rate = caps::frame_rate(incaps).map(|rate| rate.map(u64::from));
        let duration = rate.map(|[frames, seconds]| seconds * 1_000_000_000 / frames);
        let model = self.obj().static_pad("sink").map(|sink| model::ask(&sink, incaps));
        let mut warnings = Vec::new();
        if let Some(state) = lock(&self.state).as_mut() {
            state.frame = (size, duration);
            // Streams of different sizes that take turns are looked at once.
            if state.streams.current_mut().fit(size, duration) {
                state.notices.model = model;
                warnings = Notices::off_frame(&state.streams.current().counter, size);
            }
        }
        self.post(PendingMessages { warnings, ..PendingMessages::default() });
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        let mut pending = PendingMessages::default();
        let mut forgotten = false;
        if let Some(state) = lock(&self.state).as_mut() {
            if state.streams.see(&event) {
                state.notices.begin();
            }
            forgotten = state.streams.take_came_back();
            if event.type_() == gst::EventType::Eos {
                pending.warnings.extend(state.notices.end());
            }
        }
        if forgotten {
            self.forgotten_streams.add(1);
            if self.forgotten_streams.get() == 1 {
                notice::streams_forgotten(&*self.obj(), "their counts");
            }
        }
        self.post(pending);
        self.parent_sink_event(event)
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
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

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        cropping::refuse(&*self.obj(), buffer)?;
        let mut pending = PendingMessages::default();
        {
            let _frame = stats::frame(&*self.obj(), &self.counters);
            let mut state = lock(&self.state);
            let state = state.as_mut().ok_or(gst::FlowError::Flushing)?;
            self.count(state, buffer, &mut pending);
        }
        self.post(pending);
        Ok(gst::FlowSuccess::Ok)
    }
}
