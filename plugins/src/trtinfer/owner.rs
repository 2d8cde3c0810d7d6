//! What an element and the model that it uses share: where frames come back to, and what is counted for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cudainfer_kernels::device::Counters;
use gst::glib;
use gst::prelude::*;

use super::batcher;
use super::instance::Instance;
use super::lane::{Lane, Ticket};
use crate::inference::Shape;
use crate::stats::nanoseconds;

/// Frames after which the longest way through the element is forgotten.
const WINDOW: u64 = 64;

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
    slowest: AtomicU64,
    /// The window before.
    before: AtomicU64,
    seen: AtomicU64,
}

impl Tally {
    /// Starts anew.
    pub fn reset(&self) {
        let all = [&self.busy_ns, &self.batches, &self.batched, &self.dropped];
        all.into_iter()
            .chain([&self.slowest, &self.before, &self.seen])
            .for_each(|c| c.store(0, Ordering::Relaxed));
    }

    /// A frame took this long from its arrival to the end of its run.
    pub fn took(&self, time: Duration) {
        self.slowest.fetch_max(nanoseconds(time), Ordering::Relaxed);
        if self.seen.fetch_add(1, Ordering::Relaxed) % WINDOW == WINDOW - 1 {
            self.before.store(self.slowest.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The longest that a frame took lately; nothing before there were enough of them.
    pub fn slowest(&self) -> Option<Duration> {
        Some(self.before.load(Ordering::Relaxed)).filter(|ns| *ns > 0).map(Duration::from_nanos)
    }
}

/// A frame on its way through a model.
pub(super) struct Request {
    pub ticket: Ticket,
    pub buffer: gst::Buffer,
    pub shape: Arc<Shape>,
    /// Width and height of the frame.
    pub frame: [usize; 2],
    pub owner: Arc<Owner>,
    pub arrived: Instant,
    /// It goes only when its last frame is done.
    pub instance: Arc<Instance>,
    pub guard: ReturnGuard,
}

/// That a frame is due back. Where it is lost on its way, its place in the lane ends as failed: what is behind it would wait for
/// ever.
pub(super) struct ReturnGuard {
    ticket: Ticket,
    owner: Arc<Owner>,
}

impl ReturnGuard {
    pub fn new(ticket: Ticket, owner: &Arc<Owner>) -> Self {
        Self { ticket, owner: Arc::clone(owner) }
    }
}

impl Drop for ReturnGuard {
    fn drop(&mut self) {
        if !self.owner.lane.wants(self.ticket) {
            return;
        }
        if let Some(element) = self.owner.element.upgrade() {
            gst::element_error!(
                element,
                gst::LibraryError::Failed,
                (
                    "{}: a frame was lost on its way through the model; this is a bug of cudainfer",
                    element.name()
                )
            );
        }
        self.owner.lane.finish(self.ticket, Err(gst::FlowError::Error));
    }
}

impl batcher::Job for Request {
    fn fits(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shape, &other.shape)
    }
}

impl Request {
    /// Brings the frame back.
    pub fn finish(self, result: Result<(), String>) {
        let Self { ticket, buffer, owner, arrived, guard, .. } = self;
        owner.counters.frames.add(1);
        owner.tally.took(arrived.elapsed());
        let frame = result.map(|()| buffer).map_err(|why| {
            if let Some(element) = owner.element.upgrade() {
                gst::element_error!(element, gst::StreamError::Failed, ("{}: {why}", element.name()));
            }
            gst::FlowError::Error
        });
        owner.lane.finish(ticket, frame);
        drop(guard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_frame_is_that_of_a_whole_window() {
        let tally = Tally::default();
        for n in 1..=WINDOW {
            assert_eq!(tally.slowest(), None);
            tally.took(Duration::from_millis(n));
        }
        assert_eq!(tally.slowest(), Some(Duration::from_millis(WINDOW)));
        (0..WINDOW).for_each(|_| tally.took(Duration::from_millis(3)));
        assert_eq!(tally.slowest(), Some(Duration::from_millis(3)));
    }
}
