use std::io;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use cudainfer_kernels::device::{Counter, Counters};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::settings::{self, Settings};
use crate::meta::object::objects;
use crate::meta::zone;
use crate::nick::nick;
use crate::publish::sink::FileSink;
use crate::publish::{Drained, FrameRecord, Message, ObjectRecord, Queue, SCHEMA, Tally};
use crate::streams::{PerStream, Streams};
use crate::sync::lock;
use crate::{caps, stats};

/// How long the destination may accept nothing before the end of the stream, or stopping, no longer waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct State {
    frames: Streams<FrameCount>,
    size: (u32, u32),
    /// Records whose loss has been warned of, of those that the queue has dropped.
    told: u64,
    /// The messages that have been made.
    ids: Ids,
}

/// Names messages: a word of this start of the element, which no other has, and how many there were before.
#[derive(Default)]
struct Ids {
    start: String,
    made: u64,
}

impl Ids {
    fn new() -> Self {
        Self { start: glib::uuid_string_random().to_string(), made: 0 }
    }

    fn next(&mut self) -> String {
        let id = format!("{}-{}", self.start, self.made);
        self.made += 1;
        id
    }
}

/// How many frames a stream has had, which is the number of the next.
#[derive(Default)]
struct FrameCount(u64);

impl PerStream for FrameCount {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }
}

#[derive(Default)]
pub struct InferPublish {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    /// Apart from the state: it is needed while a frame waits for room.
    queue: Mutex<Option<Arc<Queue>>>,
    counters: Counters,
    /// Objects in the records that were taken over.
    objects: Counter,
    tally: Arc<Tally>,
}

impl InferPublish {
    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        stats.set("objects", self.objects.get());
        stats.set("written", self.tally.written.get());
        stats.set("failed", self.tally.failed.get());
        stats.set("dropped", self.tally.dropped.get());
        stats
    }

    fn queue(&self) -> Option<Arc<Queue>> {
        lock(&self.queue).clone()
    }

    /// For messages.
    fn location(&self) -> String {
        lock(&self.settings).location.display().to_string()
    }

    fn set_flushing(&self, flushing: bool) {
        if let Some(queue) = self.queue() {
            queue.set_flushing(flushing);
        }
    }

    fn open(&self, settings: &Settings) -> io::Result<Queue> {
        let element = self.obj().downgrade();
        let location = settings.location.display().to_string();
        Queue::start(
            Box::new(FileSink::new(&settings.location)),
            (usize::try_from(settings.queue_size).unwrap_or(usize::MAX), settings.leaky),
            PATIENCE,
            &self.tally,
            move |e| {
                let Some(element) = element.upgrade() else { return };
                gst::element_error!(
                    element,
                    gst::ResourceError::Write,
                    (
                        "{}: '{location}' cannot be written: {e}. The property stats counts the frames whose record is lost as failed",
                        element.name()
                    )
                );
            },
        )
    }

    /// The message about the frame that comes now, and how many objects it has. Its number is counted when it has been taken over.
    fn record(&self, buffer: &gst::BufferRef) -> Result<(Message, usize), gst::FlowError> {
        let (stream_ids, embeddings) = {
            let settings = lock(&self.settings);
            (settings.stream_ids, settings.embeddings)
        };
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or(gst::FlowError::Flushing)?;
        let record = FrameRecord {
            schema: SCHEMA,
            stream: state.frames.id().filter(|_| stream_ids),
            frame: state.frames.current().0,
            pts: buffer.pts().map(gst::ClockTime::nseconds),
            width: state.size.0,
            height: state.size.1,
            objects: objects(buffer).into_iter().map(|object| ObjectRecord::of(object, embeddings)).collect(),
            zones: zone::zones(buffer).map(Into::into),
        };
        let objects = record.objects.len();
        let payload = record.encode().map_err(|_| gst::FlowError::Error)?;
        Ok((Message { topic: String::new(), id: state.ids.next(), payload }, objects))
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
                location.display(),
                nick(leaky)
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
        self.counters.reset();
        self.objects.reset();
        self.tally.reset();
        let queue = self.open(&settings).map_err(|e| {
            gst::error_msg!(
                gst::ResourceError::OpenWrite,
                (
                    "{}: '{}' cannot be written: {e}. Set location to a file in a folder that exists and can be written, to a \
                     FIFO, or to - for the standard output",
                    self.obj().name(),
                    settings.location.display()
                )
            )
        })?;
        *lock(&self.queue) = Some(Arc::new(queue));
        *lock(&self.state) = Some(State { ids: Ids::new(), ..State::default() });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let queue = lock(&self.queue).take();
        let lost = queue.map_or(0, |queue| queue.close());
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
        if let Some(state) = lock(&self.state).as_mut() {
            state.size = (size("width"), size("height"));
        }
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        match event.type_() {
            gst::EventType::StreamStart => {
                // A seek does not set the frames' numbers back.
                if let Some(state) = lock(&self.state).as_mut() {
                    state.frames.see(&event);
                }
            }
            gst::EventType::FlushStart => self.set_flushing(true),
            gst::EventType::FlushStop => self.set_flushing(false),
            // Whoever reads the file after the end finds all of it.
            gst::EventType::Eos => self.drain(),
            _ => (),
        }
        self.parent_sink_event(event)
    }

    fn transform_ip_passthrough(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let (message, objects) = {
            let _frame = stats::frame(&*self.obj(), &self.counters);
            self.record(buffer)?
        };
        // No lock is held while the frame waits for room.
        let queue = self.queue().ok_or(gst::FlowError::Flushing)?;
        let dropped = queue.push(message)?;
        self.objects.add_size(objects);
        let first = lock(&self.state).as_mut().is_some_and(|state| {
            state.frames.current_mut().0 += 1;
            let first = dropped && state.told == 0;
            state.told += u64::from(first);
            first
        });
        if first {
            self.warn_of_first_drop();
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
