//! The queue inside trtinfer: frames go in, workers take them out of order, and they leave in order, with the
//! events between them where they were.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use gst::{FlowError, FlowSuccess};

use crate::sync::lock;

/// What leaves the lane.
#[derive(Debug)]
pub(super) enum Item<F> {
    /// An event, in its place.
    Event(gst::Event),
    /// A finished frame.
    Frame(Result<F, FlowError>),
}

#[derive(Debug)]
enum Slot<F> {
    Event(gst::Event),
    Waiting(F),
    Running,
    Done(Result<F, FlowError>),
}

/// Names a frame that a worker has taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: u64,
    epoch: u64,
}

#[derive(Debug)]
struct Inner<F> {
    slots: VecDeque<Slot<F>>,
    /// Number of the slot at the front.
    front: u64,
    /// Counts flushes: what was taken before one is dropped when it comes back.
    epoch: u64,
    /// Frames in the lane or being pushed.
    frames: usize,
    limit: usize,
    /// Whether an item is on its way downstream.
    pushing: bool,
    flushing: bool,
    stopped: bool,
    /// What downstream said last.
    flow: Result<FlowSuccess, FlowError>,
}

/// The queue. Every method may be called from any thread.
#[derive(Debug)]
pub(super) struct Lane<F> {
    inner: Mutex<Inner<F>>,
    changed: Condvar,
}

impl<F> Lane<F> {
    /// A lane that holds at most `limit` frames.
    pub fn new(limit: usize) -> Self {
        let inner = Inner {
            slots: VecDeque::new(),
            front: 0,
            epoch: 0,
            frames: 0,
            limit: limit.max(1),
            pushing: false,
            flushing: false,
            stopped: false,
            flow: Ok(FlowSuccess::Ok),
        };
        Self { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<F>> {
        lock(&self.inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, Inner<F>>) -> MutexGuard<'a, Inner<F>> {
        self.changed.wait(guard).unwrap_or_else(|e| e.into_inner())
    }

    /// Takes a frame in; waits while the lane is full.
    ///
    /// # Errors
    /// Flushing, or what downstream said.
    pub fn push(&self, frame: F) -> Result<FlowSuccess, FlowError> {
        let mut inner = self.lock();
        loop {
            if inner.flushing || inner.stopped {
                return Err(FlowError::Flushing);
            }
            inner.flow?;
            if inner.frames < inner.limit {
                break;
            }
            inner = self.wait(inner);
        }
        inner.frames += 1;
        inner.slots.push_back(Slot::Waiting(frame));
        self.changed.notify_all();
        Ok(FlowSuccess::Ok)
    }

    /// Takes an event in, behind the frames that came before it. Returns false while flushing.
    pub fn push_event(&self, event: gst::Event) -> bool {
        let mut inner = self.lock();
        if inner.flushing || inner.stopped {
            return false;
        }
        inner.slots.push_back(Slot::Event(event));
        self.changed.notify_all();
        true
    }

    /// A worker's next frame, oldest first; `None` when the lane has been stopped.
    pub fn take(&self) -> Option<(Ticket, F)> {
        let mut inner = self.lock();
        loop {
            if inner.stopped {
                return None;
            }
            let waiting = inner.slots.iter().position(|slot| matches!(slot, Slot::Waiting(_)));
            if let Some(index) = waiting {
                let ticket = Ticket { number: inner.front + index as u64, epoch: inner.epoch };
                if let Some(Slot::Waiting(frame)) =
                    inner.slots.get_mut(index).map(|slot| std::mem::replace(slot, Slot::Running))
                {
                    return Some((ticket, frame));
                }
            }
            inner = self.wait(inner);
        }
    }

    /// A worker brings a frame back.
    pub fn finish(&self, ticket: Ticket, frame: Result<F, FlowError>) {
        let mut inner = self.lock();
        if ticket.epoch == inner.epoch {
            let index = usize::try_from(ticket.number - inner.front).unwrap_or(usize::MAX);
            if let Some(slot) = inner.slots.get_mut(index) {
                *slot = Slot::Done(frame);
            }
        }
        self.changed.notify_all();
    }

    /// What is to be pushed next, in order; `None` while flushing or when stopped. [`Lane::pushed`] must follow.
    pub fn pop(&self) -> Option<Item<F>> {
        let mut inner = self.lock();
        loop {
            if inner.flushing || inner.stopped {
                return None;
            }
            if let Some(Slot::Event(_) | Slot::Done(_)) = inner.slots.front() {
                let slot = inner.slots.pop_front();
                inner.front += 1;
                inner.pushing = true;
                return match slot {
                    Some(Slot::Event(event)) => {
                        // A new stream or segment is wanted again by what has had enough of the one before.
                        let anew =
                            matches!(event.type_(), gst::EventType::StreamStart | gst::EventType::Segment);
                        if anew && inner.flow == Err(FlowError::Eos) {
                            inner.flow = Ok(FlowSuccess::Ok);
                        }
                        Some(Item::Event(event))
                    }
                    Some(Slot::Done(frame)) => Some(Item::Frame(frame)),
                    _ => None,
                };
            }
            inner = self.wait(inner);
        }
    }

    /// An event has been pushed.
    pub fn pushed_event(&self) {
        self.lock().pushing = false;
        self.changed.notify_all();
    }

    /// A frame has been pushed, with this result. A failure stays until a flush, or an event that ends it.
    pub fn pushed(&self, flow: Result<FlowSuccess, FlowError>) {
        let mut inner = self.lock();
        // A whole flush may have passed during the push, when what is behind seeks from its own streaming thread: what
        // came of a frame from before it no longer matters.
        if std::mem::replace(&mut inner.pushing, false) {
            inner.frames = inner.frames.saturating_sub(1);
            if inner.flow.is_ok() {
                inner.flow = flow;
            }
        }
        self.changed.notify_all();
    }

    /// What is behind has been linked anew: it may take frames now.
    pub fn relinked(&self) {
        let mut inner = self.lock();
        if inner.flow == Err(FlowError::NotLinked) {
            inner.flow = Ok(FlowSuccess::Ok);
        }
    }

    /// Frames that it holds at most.
    pub fn limit(&self) -> usize {
        self.lock().limit
    }

    /// What downstream said.
    pub fn flow(&self) -> Result<FlowSuccess, FlowError> {
        self.lock().flow
    }

    /// Waits until everything that came in has been pushed; false while flushing.
    pub fn drain(&self) -> bool {
        let mut inner = self.lock();
        while !inner.flushing && !inner.stopped && (inner.pushing || !inner.slots.is_empty()) {
            inner = self.wait(inner);
        }
        !inner.flushing && !inner.stopped
    }

    /// Drops all frames and refuses more until [`Lane::flush_stop`]. Returns the sticky events that outlive a flush,
    /// oldest first: nobody sends them again, so they have to be stored on the source pad.
    #[must_use]
    pub fn flush_start(&self) -> Vec<gst::Event> {
        let mut inner = self.lock();
        inner.flushing = true;
        inner.front += inner.slots.len() as u64;
        inner.epoch += 1;
        inner.frames = 0;
        let dropped = std::mem::take(&mut inner.slots);
        self.changed.notify_all();
        drop(inner);
        let sticky = |event: &gst::Event| {
            event.is_sticky() && !matches!(event.type_(), gst::EventType::Segment | gst::EventType::Eos)
        };
        dropped
            .into_iter()
            .filter_map(|slot| match slot {
                Slot::Event(event) => Some(event).filter(sticky),
                Slot::Waiting(_) | Slot::Running | Slot::Done(_) => None,
            })
            .collect()
    }

    /// Takes frames again.
    pub fn flush_stop(&self) {
        let mut inner = self.lock();
        inner.flushing = false;
        inner.pushing = false;
        inner.frames = 0;
        inner.flow = Ok(FlowSuccess::Ok);
        self.changed.notify_all();
    }

    /// Lets every waiting thread go, for good.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn frames_leave_in_order_whatever_order_the_workers_finish_in() {
        gst::init().unwrap();
        let lane = Arc::new(Lane::new(8));
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let lane = lane.clone();
                std::thread::spawn(move || {
                    while let Some((ticket, n)) = lane.take() {
                        // Later frames finish earlier.
                        std::thread::sleep(Duration::from_micros(200 * (7 - n % 8)));
                        lane.finish(ticket, Ok(n));
                    }
                })
            })
            .collect();
        let feeder = {
            let lane = lane.clone();
            std::thread::spawn(move || {
                for n in 0..200u64 {
                    lane.push(n).unwrap();
                    if n == 99 {
                        assert!(lane.push_event(gst::event::FlushStart::new()));
                    }
                }
            })
        };
        let mut seen = Vec::new();
        while seen.len() < 201 {
            match lane.pop().unwrap() {
                Item::Event(_) => {
                    seen.push(u64::MAX);
                    lane.pushed_event();
                }
                Item::Frame(n) => {
                    seen.push(n.unwrap());
                    lane.pushed(Ok(FlowSuccess::Ok));
                }
            }
        }
        feeder.join().unwrap();
        assert!(lane.drain());
        lane.stop();
        workers.into_iter().for_each(|w| w.join().unwrap());
        assert_eq!(seen.remove(100), u64::MAX);
        assert_eq!(seen, (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn a_flush_drops_what_workers_still_hold_and_frees_a_full_lane() {
        let lane = Arc::new(Lane::new(1));
        lane.push(1).unwrap();
        let (ticket, frame) = lane.take().unwrap();
        let blocked = {
            let lane = lane.clone();
            std::thread::spawn(move || lane.push(2))
        };
        std::thread::sleep(Duration::from_millis(20));
        assert!(lane.flush_start().is_empty());
        assert_eq!(blocked.join().unwrap(), Err(FlowError::Flushing));
        lane.flush_stop();
        lane.push(3).unwrap();
        lane.finish(ticket, Ok(frame));
        let (ticket, frame) = lane.take().unwrap();
        lane.finish(ticket, Ok(frame));
        assert!(matches!(lane.pop(), Some(Item::Frame(Ok(3)))));
        lane.pushed(Err(FlowError::Eos));
        assert_eq!(lane.push(4), Err(FlowError::Eos));
    }
    #[test]
    fn a_flush_hands_back_the_sticky_events_that_nobody_would_send_again() {
        gst::init().unwrap();
        let lane = Lane::new(8);
        lane.push(1).unwrap();
        let caps = gst::event::Caps::new(&gst::Caps::new_empty_simple("video/x-raw"));
        assert!(lane.push_event(caps.clone()));
        assert!(lane.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new())));
        assert!(lane.push_event(gst::event::Gap::new(gst::ClockTime::ZERO, None)));
        assert!(lane.push_event(gst::event::Eos::new()));
        let kept = lane.flush_start();
        assert_eq!(kept.iter().map(|e| e.seqnum()).collect::<Vec<_>>(), [caps.seqnum()]);
        assert!(lane.flush_start().is_empty());
    }
    /// Sends one frame through; downstream answers `flow`.
    fn pass(lane: &Lane<u32>, flow: Result<FlowSuccess, FlowError>) {
        lane.push(1).unwrap();
        let (ticket, frame) = lane.take().unwrap();
        lane.finish(ticket, Ok(frame));
        assert!(lane.pop().is_some());
        lane.pushed(flow);
    }

    #[test]
    fn a_push_that_outlasts_a_flush_leaves_no_failure_behind() {
        let lane = Lane::new(2);
        lane.push(1).unwrap();
        let (ticket, frame) = lane.take().unwrap();
        lane.finish(ticket, Ok(frame));
        assert!(lane.pop().is_some());
        let _ = lane.flush_start();
        lane.flush_stop();
        lane.push(2).unwrap();
        lane.pushed(Err(FlowError::Flushing));
        assert_eq!(lane.flow(), Ok(FlowSuccess::Ok));
        lane.push(3).unwrap();
        assert_eq!(lane.lock().frames, 2);
    }

    #[test]
    fn a_new_segment_ends_eos_and_a_new_link_ends_not_linked() {
        gst::init().unwrap();
        let lane = Lane::new(2);
        pass(&lane, Err(FlowError::Eos));
        assert_eq!(lane.push(2), Err(FlowError::Eos));
        lane.relinked();
        assert_eq!(lane.push(2), Err(FlowError::Eos));
        assert!(lane.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new())));
        assert!(lane.pop().is_some());
        lane.pushed_event();
        pass(&lane, Err(FlowError::NotLinked));
        assert_eq!(lane.push(2), Err(FlowError::NotLinked));
        lane.relinked();
        pass(&lane, Ok(FlowSuccess::Ok));
    }
}
