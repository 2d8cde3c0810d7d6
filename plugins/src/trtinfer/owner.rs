//! What an element shares with its instance: the lane to which frames return, and the element's counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cudainfer_kernels::device::Counters;
use gst::glib;

use super::lane::Lane;
use super::latency::Delays;

/// An element, as the model's workers see it.
pub(super) struct Owner {
    pub element: glib::WeakRef<super::TrtInfer>,
    pub lane: Lane<gst::Buffer>,
    pub counters: Arc<Counters>,
    pub tally: Arc<Tally>,
}

/// What an element counts besides.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Time in ONNX Runtime.
    pub busy_ns: AtomicU64,
    /// Runs of the model that had a frame of this element.
    pub batches: AtomicU64,
    /// Frames of those runs, of whichever element.
    pub batched: AtomicU64,
    /// Frames that were left out because they came too fast.
    pub dropped: AtomicU64,
    /// How long frames took.
    pub delays: Delays,
}

impl Tally {
    /// Starts anew.
    pub fn reset(&self) {
        let all = [&self.busy_ns, &self.batches, &self.batched, &self.dropped];
        all.into_iter().for_each(|c| c.store(0, Ordering::Relaxed));
        self.delays.reset(Instant::now());
    }
}
