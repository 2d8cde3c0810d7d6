//! A frame that was sampled, and the work that is done for it.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::super::chrome::thread;
use super::super::observe::{Pipeline, Stream};
use super::exporter::Exporter;
use super::span::{Span, SpanId, Value};
use crate::time::nanoseconds;

/// A moment by all three clocks.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// ns since GStreamer was started, as the hooks give it.
    hooks: u64,
    instant: Instant,
    /// ns since 1970.
    unix: u64,
}

/// A frame on its way.
#[derive(Debug)]
pub(crate) struct Frame {
    stream: Weak<Stream>,
    pub(super) pipeline: Arc<Pipeline>,
    /// Of the stream.
    label: String,
    /// In ns; the frame is recognised by this and its stream.
    time: u64,
    /// How many frames of its stream came before.
    number: u64,
    id: SpanId,
    /// Spans so far, its own included.
    spans: AtomicU64,
    began: Moment,
    /// When the last of its spans ended, in ns since it began.
    last: AtomicU64,
    /// Whether it has come to a sink, or to where its stream ends.
    arrived: AtomicBool,
    exporter: Arc<Exporter>,
}

/// A random number that is not 0.
fn random() -> u64 {
    // Each one has a random key of its own.
    RandomState::new().hash_one(0).max(1)
}

fn unix() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, nanoseconds)
}

impl Frame {
    /// The frame with this number and running time begins its way; `now` is the hooks' time.
    pub(super) fn new(
        stream: &Arc<Stream>,
        time: u64,
        number: u64,
        now: u64,
        exporter: Arc<Exporter>,
    ) -> Self {
        Self {
            stream: Arc::downgrade(stream),
            pipeline: Arc::clone(&stream.pipeline),
            label: stream.label.clone(),
            time,
            number,
            id: SpanId { trace: (u128::from(random()) << 64) | u128::from(random()), span: random() },
            spans: AtomicU64::new(1),
            began: Moment { hooks: now, instant: Instant::now(), unix: unix() },
            last: AtomicU64::new(0),
            arrived: AtomicBool::new(false),
            exporter,
        }
    }

    /// Whether it is the one of this stream and running time.
    pub(super) fn is(&self, stream: &Arc<Stream>, time: u64) -> bool {
        self.time == time && std::ptr::eq(self.stream.as_ptr(), Arc::as_ptr(stream))
    }

    /// Whether it has come to where its stream ends.
    pub(super) fn has_arrived(&self) -> bool {
        self.arrived.load(Ordering::Relaxed)
    }

    /// How long no work has been done for it.
    pub(super) fn quiet(&self) -> Duration {
        let last = Duration::from_nanos(self.last.load(Ordering::Relaxed));
        self.began.instant.elapsed().saturating_sub(last)
    }

    /// The id of one more span: in a trace no two are equal.
    fn next_id(&self) -> u64 {
        self.id.span.wrapping_add(self.spans.fetch_add(1, Ordering::Relaxed)).max(1)
    }

    /// Work was done for it, from `began` to `ended` in ns since it began.
    fn add(&self, id: u64, parent: u64, name: String, [began, ended]: [u64; 2], more: More) {
        self.last.fetch_max(ended, Ordering::Relaxed);
        self.exporter.offer(Span {
            id: SpanId { span: id, ..self.id },
            parent: Some(parent),
            name,
            began: self.began.unix.saturating_add(began),
            ended: self.began.unix.saturating_add(ended),
            attributes: more.attributes,
            links: more.links,
        });
    }

    /// No more work is expected for it: adds the frame's own span.
    pub(super) fn close(&self) {
        self.exporter.offer(Span {
            id: self.id,
            parent: None,
            name: "frame".into(),
            began: self.began.unix,
            ended: self.began.unix.saturating_add(self.last.load(Ordering::Relaxed)),
            attributes: vec![
                ("cudainfer.pipeline", Value::Text(self.pipeline.name.clone())),
                ("cudainfer.stream", Value::Text(self.label.clone())),
                ("cudainfer.frame.number", self.number.into()),
                ("cudainfer.frame.running_time", Value::Float(Duration::from_nanos(self.time).as_secs_f64())),
                ("cudainfer.frame.arrived", Value::Flag(self.has_arrived())),
            ],
            links: Vec::new(),
        });
    }
}

/// What a span has beside its times.
struct More {
    attributes: Vec<(&'static str, Value)>,
    links: Vec<SpanId>,
}

/// A call of an element's chain function with a sampled frame, that has not returned.
#[derive(Debug)]
pub(crate) struct OpenCall {
    frame: Arc<Frame>,
    id: u64,
    parent: u64,
    /// Whether the frame's stream ends there.
    end: bool,
}

impl OpenCall {
    /// A call that `caller` made with the same frame, if it was made in a call with it.
    pub fn new(frame: Arc<Frame>, caller: Option<&Self>, end: bool) -> Self {
        let parent = caller.map_or(frame.id.span, |caller| caller.id);
        Self { id: frame.next_id(), parent, end, frame }
    }

    /// The frame.
    pub fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// The call returns. The times are the hooks', `own` is its time without the elements downstream, in ns.
    pub fn close(&self, element: &str, began: u64, ended: u64, own: u64) {
        if self.end {
            self.frame.arrived.store(true, Ordering::Relaxed);
        }
        let since = |time: u64| time.saturating_sub(self.frame.began.hooks);
        let attributes = vec![
            ("cudainfer.own_seconds", Value::Float(Duration::from_nanos(own).as_secs_f64())),
            ("thread.id", Value::Integer(thread().into())),
        ];
        let more = More { attributes, links: Vec::new() };
        self.frame.add(self.id, self.parent, element.to_owned(), [since(began), since(ended)], more);
    }
}

/// A run of a network.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    /// The element for which it was done.
    pub element: &'a str,
    pub began: Instant,
    pub took: Duration,
    /// Frames in its batch, sampled or not; with regions, those.
    pub images: u64,
}

impl Run<'_> {
    /// The run was done for these sampled frames: each gets a span for it, with links to the others.
    pub fn add(&self, frames: &[&Arc<Frame>]) {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        if frames.is_empty() {
            return;
        }
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        for frame in frames {
            let others = frames.iter().filter(|other| !Arc::ptr_eq(other, frame));
            let began = nanoseconds(self.began.saturating_duration_since(frame.began.instant));
            let attributes = vec![
                ("cudainfer.run.number", number.into()),
                ("cudainfer.run.frames", self.images.into()),
                ("thread.id", Value::Integer(thread().into())),
            ];
            let more = More { attributes, links: others.map(|other| other.id).collect() };
            let times = [began, began.saturating_add(nanoseconds(self.took))];
            frame.add(frame.next_id(), frame.id.span, format!("{} run", self.element), times, more);
        }
    }
}
