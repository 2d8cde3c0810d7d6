//! What an element shares with its instance: the lane to which frames return, and the element's counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cudainfer_kernels::device::Counters;
use gst::glib;

use super::lane::Lane;
use super::latency::Delays;
use super::look::Outgoing;
use crate::histogram::Histogram;
use crate::sync::lock;

/// An element, as the model's workers see it.
pub(super) struct Owner {
    pub element: glib::WeakRef<super::TrtInfer>,
    pub lane: Lane<Outgoing>,
    pub counters: Arc<Counters>,
    pub tally: Arc<Tally>,
    /// When frames began to be taken.
    pub started: Instant,
    /// The lane's epoch in which a failure was reported last. More follow, because other frames are in flight.
    pub reported: Mutex<Option<u64>>,
}

impl Owner {
    /// Whether a failure is the first in this epoch of the lane, and so to be reported.
    pub fn is_first_failure(&self, epoch: u64) -> bool {
        lock(&self.reported).replace(epoch) != Some(epoch)
    }

    /// Whether a failure has been reported since the last flush.
    pub fn has_reported(&self) -> bool {
        *lock(&self.reported) == Some(self.lane.epoch())
    }
}

/// What an element counts besides.
#[derive(Debug)]
pub(super) struct Tally {
    /// Time in ONNX Runtime.
    pub busy_ns: AtomicU64,
    /// Runs of the model that had a frame of this element.
    pub batches: AtomicU64,
    /// Frames of those runs, of all elements.
    pub batched: AtomicU64,
    /// Frames that were left out because they came too fast.
    pub dropped: AtomicU64,
    /// Frames for which a recurrent model remembered nothing.
    pub state_starts: AtomicU64,
    /// Answers of earlier frames that frames carried, because no clip was due.
    pub held: AtomicU64,
    /// Objects that nothing asks a promptable model for.
    pub unprompted: AtomicU64,
    /// How many frames the runs with a frame of this element had, and how long they took.
    pub batch_sizes: Histogram,
    pub runs: Histogram,
    /// How long this element's frames waited for their batch.
    pub queueing: Histogram,
    /// How long frames took.
    pub delays: Delays,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            busy_ns: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            batched: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            state_starts: AtomicU64::new(0),
            held: AtomicU64::new(0),
            unprompted: AtomicU64::new(0),
            batch_sizes: Histogram::of_sizes(),
            runs: Histogram::of_times(),
            queueing: Histogram::of_times(),
            delays: Delays::default(),
        }
    }
}

impl Tally {
    /// Starts anew.
    pub fn reset(&self) {
        let counts = [&self.busy_ns, &self.batches, &self.batched, &self.dropped];
        let seldom = [&self.state_starts, &self.held, &self.unprompted];
        counts.into_iter().chain(seldom).for_each(|c| c.store(0, Ordering::Relaxed));
        self.histograms().into_iter().for_each(|(_, histogram)| histogram.reset());
        self.delays.reset(Instant::now());
    }

    /// The distributions, by their names in `stats`.
    pub fn histograms(&self) -> [(&'static str, &Histogram); 3] {
        [("batch-size", &self.batch_sizes), ("queue-time", &self.queueing), ("run-time", &self.runs)]
    }
}
