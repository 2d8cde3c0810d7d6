//! The counts of one stream in one element.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::stream::Stream;
use crate::histogram::Histogram;
use crate::sync::lock;

/// Classes with a count of their own in each series. Of models with more, those that come first.
const MOST_CLASSES: usize = 100;

/// The label of all other classes.
const OTHER_CLASSES: &str = "(other)";

/// Why an element dropped a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// trtinfer's `leaky`: frames came faster than the model runs.
    Leaky,
    /// It came too late for the clock: a sink or a decoder left it out.
    Late,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 2] = [Self::Leaky, Self::Late];

    /// The label's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaky => "leaky",
            Self::Late => "late",
        }
    }
}

/// The counts. Each is a number of its own: no thread waits for another.
#[derive(Debug)]
pub(crate) struct Series {
    /// The element's name.
    pub element: String,
    pub stream: Arc<Stream>,
    /// Buffers that it has handled.
    frames: AtomicU64,
    /// The time of its chain function for one buffer, without the elements downstream.
    pub processing: Histogram,
    /// How old frames were when they came, in a sink.
    latency: OnceLock<Histogram>,
    /// For [`super::births::Births::age`].
    pub(super) next: AtomicU64,
    leaky: AtomicU64,
    late: AtomicU64,
    /// Objects on the frames that left the element, by class; those that it made.
    classes: Mutex<Vec<(String, Arc<AtomicU64>)>>,
    /// Tracks on the last of these frames; of a tracker.
    tracks: OnceLock<AtomicU64>,
}

impl Series {
    /// A series without counts.
    pub(super) fn new(element: String, stream: Arc<Stream>) -> Self {
        Self {
            element,
            stream,
            frames: AtomicU64::new(0),
            processing: Histogram::of_times(),
            latency: OnceLock::new(),
            next: AtomicU64::new(0),
            leaky: AtomicU64::new(0),
            late: AtomicU64::new(0),
            classes: Mutex::default(),
            tracks: OnceLock::new(),
        }
    }

    /// The element has handled `buffers` buffers, in `own` ns of its own.
    pub fn handled(&self, buffers: u64, own: u64) {
        self.frames.fetch_add(buffers, Ordering::Relaxed);
        self.processing.add(own);
    }

    /// A frame of this age, in ns, has come to a sink.
    pub(super) fn came(&self, age: u64) {
        self.latency.get_or_init(Histogram::of_times).add(age);
    }

    /// The element has dropped a frame.
    pub fn drop_frame(&self, reason: DropReason) {
        self.dropped_by(reason).fetch_add(1, Ordering::Relaxed);
    }

    fn dropped_by(&self, reason: DropReason) -> &AtomicU64 {
        match reason {
            DropReason::Leaky => &self.leaky,
            DropReason::Late => &self.late,
        }
    }

    /// The counter of a class. The caller keeps it.
    pub(super) fn class(&self, label: &str) -> Arc<AtomicU64> {
        let mut classes = lock(&self.classes);
        let label = if classes.len() < MOST_CLASSES { label } else { OTHER_CLASSES };
        if let Some((_, count)) = classes.iter().find(|(known, _)| *known == label) {
            return Arc::clone(count);
        }
        let count = Arc::default();
        classes.push((label.to_owned(), Arc::clone(&count)));
        count
    }

    /// A frame with this many tracks has left the element.
    pub(super) fn has_tracks(&self, tracks: u64) {
        self.tracks.get_or_init(AtomicU64::default).store(tracks, Ordering::Relaxed);
    }

    /// Buffers that the element has handled.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// How old frames were when they came; `None` where that is unknown.
    pub fn latency(&self) -> Option<&Histogram> {
        self.latency.get()
    }

    /// Frames that it has dropped.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped_by(reason).load(Ordering::Relaxed)
    }

    /// Objects so far, by class.
    pub fn objects(&self) -> Vec<(String, u64)> {
        let classes = lock(&self.classes);
        classes.iter().map(|(label, count)| (label.clone(), count.load(Ordering::Relaxed))).collect()
    }

    /// Tracks on the last frame.
    pub fn tracks(&self) -> Option<u64> {
        self.tracks.get().map(|tracks| tracks.load(Ordering::Relaxed))
    }
}
