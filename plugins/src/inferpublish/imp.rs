use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::record::{Record, SCHEMA};
use crate::meta::object::objects;
use crate::meta::zone;
use crate::streams::{PerStream, Streams};
use crate::sync::lock;
use crate::{caps, stats};

/// The location that means the standard output.
const STDOUT: &str = "-";

struct State {
    to: Box<dyn Write + Send>,
    frames: Streams<Frames>,
    size: (u32, u32),
}

/// How many frames a stream has had.
#[derive(Default)]
struct Frames(u64);

impl Frames {
    /// The number of the frame that comes now.
    fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0 - 1
    }
}

impl PerStream for Frames {
    fn alike(&self) -> Self {
        Self::default()
    }
}

pub struct InferPublish {
    location: Mutex<String>,
    stream_ids: AtomicBool,
    state: Mutex<Option<State>>,
    counters: Counters,
    /// Objects that were written.
    objects: Counter,
    /// Frames whose line could not be written.
    failed: Counter,
}

impl InferPublish {
    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        stats.set("objects", self.objects.get());
        stats.set("failed", self.failed.get());
        stats
    }
}

impl Default for InferPublish {
    fn default() -> Self {
        Self {
            location: Mutex::new(STDOUT.to_owned()),
            stream_ids: AtomicBool::default(),
            state: Mutex::default(),
            counters: Counters::default(),
            objects: Counter::default(),
            failed: Counter::default(),
        }
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
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            vec![
                glib::ParamSpecString::builder("location")
                    .nick("Location")
                    .blurb("The file that is written, anew at each start; - is the standard output")
                    .default_value(Some(STDOUT))
                    .mutable_ready()
                    .build(),
                glib::ParamSpecBoolean::builder("stream-ids")
                    .nick("Stream IDs")
                    .blurb("Write the stream-id of each frame, as \"stream\": which stream behind a funnel it is of")
                    .mutable_playing()
                    .build(),
                stats::param_spec(", objects written, and failed: frames whose line could not be written"),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        match pspec.name() {
            "location" => {
                let location = value.get::<Option<String>>().ok().flatten().filter(|l| !l.is_empty());
                *lock(&self.location) = location.unwrap_or_else(|| STDOUT.to_owned());
            }
            "stream-ids" => self.stream_ids.store(value.get().unwrap_or_default(), Ordering::Relaxed),
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "location" => lock(&self.location).to_value(),
            "stream-ids" => self.stream_ids.load(Ordering::Relaxed).to_value(),
            "stats" => self.stats().to_value(),
            _ => pspec.default_value().clone(),
        }
    }
}

impl GstObjectImpl for InferPublish {}

impl ElementImpl for InferPublish {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Inference results as JSON lines",
                "Filter/Analyzer/Video",
                "Writes detections, tracks, keypoints, classes and zones of each frame as one JSON object a line and passes the frame through",
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
}

impl BaseTransformImpl for InferPublish {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = true;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let location = lock(&self.location).clone();
        let to: Box<dyn Write + Send> = if location == STDOUT {
            Box::new(std::io::stdout())
        } else {
            Box::new(File::create(&location).map_err(|e| {
                gst::error_msg!(
                    gst::ResourceError::OpenWrite,
                    ("{}: '{location}' cannot be written: {e}", self.obj().name())
                )
            })?)
        };
        self.counters.reset();
        self.objects.reset();
        self.failed.reset();
        *lock(&self.state) =
            Some(State { to: Box::new(BufWriter::new(to)), frames: Streams::default(), size: (0, 0) });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
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
        // A seek does not set the frames' numbers back.
        if let (gst::EventType::StreamStart, Some(state)) = (event.type_(), lock(&self.state).as_mut()) {
            state.frames.see(&event);
        }
        self.parent_sink_event(event)
    }

    fn transform_ip_passthrough(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let stream_ids = self.stream_ids.load(Ordering::Relaxed);
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or(gst::FlowError::Flushing)?;
        let frame = state.frames.current_mut().next();
        let record = Record {
            schema: SCHEMA,
            stream: state.frames.id().filter(|_| stream_ids),
            frame,
            pts: buffer.pts().map(gst::ClockTime::nseconds),
            width: state.size.0,
            height: state.size.1,
            objects: objects(buffer).into_iter().map(Into::into).collect(),
            zones: zone::zones(buffer).map(Into::into),
        };
        // A line is out as soon as its frame has passed: whoever reads along is never behind.
        let written = serde_json::to_writer(&mut state.to, &record)
            .map_err(std::io::Error::from)
            .and_then(|()| state.to.write_all(b"\n"))
            .and_then(|()| state.to.flush());
        if let Err(e) = written {
            self.failed.add(1);
            let location = lock(&self.location).clone();
            gst::element_imp_error!(
                self,
                gst::ResourceError::Write,
                ("{}: '{location}' cannot be written: {e}", self.obj().name())
            );
            return Err(gst::FlowError::Error);
        }
        self.objects.add_size(record.objects.len());
        Ok(gst::FlowSuccess::Ok)
    }
}
