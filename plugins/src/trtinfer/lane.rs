//! An element's frames and events on their way: frames go in, are inferred elsewhere in any order, and leave in order,
//! with the events between them where they were.

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
    /// Its frame is being inferred.
    Taken,
    Done(Result<F, FlowError>),
    /// Its frame was given up.
    Dropped,
}

/// A frame's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Whether an item is on its way downstream.
    pushing: bool,
    /// Whether a frame was given up behind the one that was pushed last.
    gap: bool,
    flushing: bool,
    stopped: bool,
    /// What downstream said last.
    flow: Result<FlowSuccess, FlowError>,
}

impl<F> Inner<F> {
    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot<F>> {
        if ticket.epoch != self.epoch {
            return None;
        }
        let index = usize::try_from(ticket.number.checked_sub(self.front)?).ok()?;
        self.slots.get_mut(index)
    }

    /// Whether a frame may come in at all.
    fn open(&self) -> Result<(), FlowError> {
        if self.flushing || self.stopped {
            return Err(FlowError::Flushing);
        }
        self.flow.map(drop)
    }

    fn enter(&mut self) -> Ticket {
        self.frames += 1;
        self.slots.push_back(Slot::Taken);
        Ticket { number: self.front + self.slots.len() as u64 - 1, epoch: self.epoch }
    }
}

/// The queue. Every method may be called from any thread.
#[derive(Debug)]
pub(super) struct Lane<F> {
    inner: Mutex<Inner<F>>,
    changed: Condvar,
}

impl<F> Lane<F> {
    /// An empty lane.
    pub fn new() -> Self {
        let inner = Inner {
            slots: VecDeque::new(),
            front: 0,
            epoch: 0,
            frames: 0,
            pushing: false,
            gap: false,
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

    /// A place for a frame that comes in; waits while there are as many as `limit` says. [`Lane::finish`] or [`Lane::give_up`] must follow.
    ///
    /// # Errors
    /// Flushing, or what downstream said.
    pub fn enter(&self, limit: impl Fn() -> usize) -> Result<Ticket, FlowError> {
        let mut inner = self.lock();
        loop {
            inner.open()?;
            if inner.frames < limit().max(1) {
                return Ok(inner.enter());
            }
            inner = self.wait(inner);
        }
    }

    /// As [`Lane::enter`], but `None` where the lane is full.
    ///
    /// # Errors
    /// As [`Lane::enter`].
    pub fn try_enter(&self, limit: usize) -> Result<Option<Ticket>, FlowError> {
        let mut inner = self.lock();
        inner.open()?;
        Ok((inner.frames < limit.max(1)).then(|| inner.enter()))
    }

    /// Whether the frame is still wanted: no flush has passed since it came in.
    pub fn wants(&self, ticket: Ticket) -> bool {
        let mut inner = self.lock();
        !inner.stopped && matches!(inner.slot(ticket), Some(Slot::Taken))
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

    /// A frame comes back.
    pub fn finish(&self, ticket: Ticket, frame: Result<F, FlowError>) {
        let mut inner = self.lock();
        if let Some(slot @ Slot::Taken) = inner.slot(ticket) {
            *slot = Slot::Done(frame);
        }
        self.changed.notify_all();
    }

    /// A frame does not come back: the ones behind it close up.
    pub fn give_up(&self, ticket: Ticket) {
        let mut inner = self.lock();
        if let Some(slot @ Slot::Taken) = inner.slot(ticket) {
            *slot = Slot::Dropped;
            inner.frames = inner.frames.saturating_sub(1);
        }
        self.changed.notify_all();
    }

    /// Drops the oldest frame that is finished and not yet pushed, and returns it.
    pub fn drop_oldest_done(&self) -> Option<F> {
        let mut inner = self.lock();
        let done = inner.slots.iter_mut().find(|slot| matches!(slot, Slot::Done(Ok(_))))?;
        let Slot::Done(Ok(frame)) = std::mem::replace(done, Slot::Dropped) else { return None };
        inner.frames = inner.frames.saturating_sub(1);
        Some(frame)
    }

    /// What is to be pushed next, in order; `None` while flushing or when stopped. [`Lane::pushed`] must follow.
    pub fn pop(&self) -> Option<Item<F>> {
        let mut inner = self.lock();
        loop {
            if inner.flushing || inner.stopped {
                return None;
            }
            if let Some(Slot::Event(_) | Slot::Done(_) | Slot::Dropped) = inner.slots.front() {
                let slot = inner.slots.pop_front();
                inner.front += 1;
                inner.pushing = true;
                match slot {
                    Some(Slot::Event(event)) => {
                        // A new stream or segment is wanted again by what has had enough of the one before.
                        let anew =
                            matches!(event.type_(), gst::EventType::StreamStart | gst::EventType::Segment);
                        if anew && inner.flow == Err(FlowError::Eos) {
                            inner.flow = Ok(FlowSuccess::Ok);
                        }
                        return Some(Item::Event(event));
                    }
                    Some(Slot::Done(frame)) => return Some(Item::Frame(frame)),
                    _ => {
                        inner.pushing = false;
                        inner.gap = true;
                        // Somebody may wait for the lane to be empty.
                        self.changed.notify_all();
                        continue;
                    }
                }
            }
            inner = self.wait(inner);
        }
    }

    /// Whether frames were given up between the last that asked this and the one that is to be pushed.
    pub fn take_gap(&self) -> bool {
        std::mem::take(&mut self.lock().gap)
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
        inner.gap = false;
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
                Slot::Taken | Slot::Done(_) | Slot::Dropped => None,
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

    /// Waits until nothing is on its way downstream; to be asked while flushing, when nothing more goes there.
    pub fn wait_for_push(&self) {
        let mut inner = self.lock();
        while inner.flushing && inner.pushing && !inner.stopped {
            inner = self.wait(inner);
        }
    }

    /// Waits until nothing is flushing; false where the lane has been stopped.
    pub fn wait_for_flush_stop(&self) -> bool {
        let mut inner = self.lock();
        while inner.flushing && !inner.stopped {
            inner = self.wait(inner);
        }
        !inner.stopped
    }

    /// Lets every waiting thread go, for good.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn frames_leave_in_order_whatever_order_they_are_finished_in() {
        gst::init().unwrap();
        let lane = Arc::new(Lane::new());
        let (sender, receiver) = std::sync::mpsc::channel::<(Ticket, u64)>();
        let receiver = Arc::new(Mutex::new(receiver));
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let (lane, receiver) = (lane.clone(), receiver.clone());
                std::thread::spawn(move || {
                    loop {
                        let taken = receiver.lock().unwrap().recv();
                        let Ok((ticket, n)) = taken else { break };
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
                    sender.send((lane.enter(|| 8).unwrap(), n)).unwrap();
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
    fn a_flush_drops_what_is_being_inferred_and_frees_a_full_lane() {
        let lane = Arc::new(Lane::new());
        let old = lane.enter(|| 1).unwrap();
        assert!(lane.wants(old));
        assert_eq!(lane.try_enter(1), Ok(None));
        let blocked = {
            let lane = lane.clone();
            std::thread::spawn(move || lane.enter(|| 1))
        };
        std::thread::sleep(Duration::from_millis(20));
        assert!(lane.flush_start().is_empty());
        assert_eq!(blocked.join().unwrap(), Err(FlowError::Flushing));
        lane.flush_stop();
        assert!(!lane.wants(old));
        let new = lane.enter(|| 1).unwrap();
        lane.finish(old, Ok(1));
        lane.finish(new, Ok(3));
        assert!(matches!(lane.pop(), Some(Item::Frame(Ok(3)))));
        lane.pushed(Err(FlowError::Eos));
        assert_eq!(lane.enter(|| 1), Err(FlowError::Eos));
    }

    #[test]
    fn frames_that_are_given_up_leave_no_gap() {
        let lane = Lane::new();
        let tickets: HashMap<u32, Ticket> = (0..3).map(|n| (n, lane.enter(|| 3).unwrap())).collect();
        lane.give_up(tickets[&0]);
        assert!(!lane.wants(tickets[&0]));
        let last = lane.try_enter(3).unwrap().unwrap();
        assert_eq!(lane.try_enter(3), Ok(None));
        lane.finish(tickets[&0], Ok(0));
        lane.finish(tickets[&2], Ok(2));
        assert_eq!(lane.drop_oldest_done(), Some(2));
        assert_eq!(lane.drop_oldest_done(), None);
        lane.finish(tickets[&1], Ok(1));
        lane.finish(last, Ok(3));
        for n in [1, 3] {
            assert!(matches!(lane.pop(), Some(Item::Frame(Ok(m))) if m == n));
            assert_eq!([lane.take_gap(), lane.take_gap()], [true, false], "0 and 2 are missing");
            lane.pushed(Ok(FlowSuccess::Ok));
        }
        assert_eq!(lane.lock().frames, 0);
        lane.give_up(lane.enter(|| 3).unwrap());
        let empty = std::thread::scope(|scope| {
            let popping = scope.spawn(|| lane.pop().is_none());
            let drained = lane.drain();
            lane.stop();
            drained && popping.join().unwrap()
        });
        assert!(empty);
    }

    #[test]
    fn a_flush_hands_back_the_sticky_events_that_nobody_would_send_again() {
        gst::init().unwrap();
        let lane = Lane::<u32>::new();
        lane.enter(|| 8).unwrap();
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
        lane.finish(lane.enter(|| 8).unwrap(), Ok(1));
        assert!(lane.pop().is_some());
        lane.pushed(flow);
    }

    #[test]
    fn a_push_that_outlasts_a_flush_leaves_no_failure_behind() {
        let lane = Lane::new();
        lane.finish(lane.enter(|| 2).unwrap(), Ok(1));
        assert!(lane.pop().is_some());
        let _ = lane.flush_start();
        lane.flush_stop();
        lane.enter(|| 2).unwrap();
        lane.pushed(Err(FlowError::Flushing));
        assert_eq!(lane.flow(), Ok(FlowSuccess::Ok));
        lane.enter(|| 2).unwrap();
        assert_eq!(lane.lock().frames, 2);
    }

    #[test]
    fn a_new_segment_ends_eos_and_a_new_link_ends_not_linked() {
        gst::init().unwrap();
        let lane = Lane::new();
        pass(&lane, Err(FlowError::Eos));
        assert_eq!(lane.enter(|| 2), Err(FlowError::Eos));
        lane.relinked();
        assert_eq!(lane.enter(|| 2), Err(FlowError::Eos));
        assert!(lane.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new())));
        assert!(lane.pop().is_some());
        lane.pushed_event();
        pass(&lane, Err(FlowError::NotLinked));
        assert_eq!(lane.enter(|| 2), Err(FlowError::NotLinked));
        lane.relinked();
        pass(&lane, Ok(FlowSuccess::Ok));
    }
}
