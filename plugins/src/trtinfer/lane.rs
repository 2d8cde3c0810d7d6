//! The frames and events of an element that are in flight: frames enter, are inferred elsewhere in any order, and leave in
//! order, with the events in their places between them.

use std::collections::VecDeque;

use gst::{FlowError, FlowSuccess};

use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait};

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
    /// A frame that only waits for those before it.
    Passed(F),
    /// Its frame was given up.
    Dropped,
}

/// A frame's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    number: u64,
    epoch: u64,
}

impl Ticket {
    /// Number of flushes before it.
    pub fn epoch(self) -> u64 {
        self.epoch
    }
}

#[derive(Debug)]
struct Inner<F> {
    slots: VecDeque<Slot<F>>,
    /// Number of the slot at the front.
    front: u64,
    /// Counts flushes: what was taken before one is dropped when it comes back.
    epoch: u64,
    /// Frames in the lane or being pushed, without those that only wait.
    frames: usize,
    /// Frames in the lane that only wait for others.
    passed: usize,
    /// Whether the item on its way downstream is one of them.
    pushing_passed: bool,
    /// Whether an item is on its way downstream.
    pushing: bool,
    /// Whether a frame was given up after the one that was pushed last.
    gap: bool,
    flushing: bool,
    stopped: bool,
    /// The last flow return from downstream.
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

    /// Whether nothing is taken in: while flushing, and when stopped.
    fn is_closed(&self) -> bool {
        self.flushing || self.stopped
    }

    /// Whether a frame may come in at all.
    fn open(&self) -> Result<(), FlowError> {
        if self.is_closed() {
            return Err(FlowError::Flushing);
        }
        self.flow.map(drop)
    }

    /// The next item to push, if it is there; takes away the frames before it that were given up.
    fn next(&mut self) -> Option<Item<F>> {
        while let Some(Slot::Event(_) | Slot::Done(_) | Slot::Passed(_) | Slot::Dropped) = self.slots.front()
        {
            self.front += 1;
            match self.slots.pop_front()? {
                Slot::Event(event) => {
                    // Downstream may have answered EOS for the previous stream or segment; a new one is wanted again.
                    let anew = matches!(event.type_(), gst::EventType::StreamStart | gst::EventType::Segment);
                    if anew && self.flow == Err(FlowError::Eos) {
                        self.flow = Ok(FlowSuccess::Ok);
                    }
                    self.pushing = true;
                    return Some(Item::Event(event));
                }
                Slot::Done(frame) => {
                    self.pushing = true;
                    return Some(Item::Frame(frame));
                }
                Slot::Passed(frame) => {
                    self.passed -= 1;
                    (self.pushing, self.pushing_passed) = (true, true);
                    return Some(Item::Frame(Ok(frame)));
                }
                Slot::Taken | Slot::Dropped => self.gap = true,
            }
        }
        None
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
    /// For [`Lane::pop`]: something may be ready to be pushed.
    ready: Condvar,
    /// For all others: something has left.
    left: Condvar,
}

impl<F> Lane<F> {
    /// An empty lane.
    pub fn new() -> Self {
        let inner = Inner {
            slots: VecDeque::new(),
            front: 0,
            epoch: 0,
            frames: 0,
            passed: 0,
            pushing_passed: false,
            pushing: false,
            gap: false,
            flushing: false,
            stopped: false,
            flow: Ok(FlowSuccess::Ok),
        };
        Self { inner: Mutex::new(inner), ready: Condvar::new(), left: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<F>> {
        lock(&self.inner)
    }

    /// Waits until something has left.
    fn wait<'a>(&self, guard: MutexGuard<'a, Inner<F>>) -> MutexGuard<'a, Inner<F>> {
        wait(&self.left, guard)
    }

    fn wake_all(&self) {
        self.ready.notify_all();
        self.left.notify_all();
    }

    /// A place for a frame that comes in; waits while there are as many as `limit` says. [`Lane::finish`] or [`Lane::give_up`] must follow.
    ///
    /// # Errors
    /// Flushing, or the flow return from downstream.
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

    /// Takes in a frame that is finished, after what came before it; it does not count as one of those in the lane. Waits while there are
    /// as many of this kind as `limit` says, if it `may_wait`. False where it may not, and the lane is full.
    ///
    /// # Errors
    /// As [`Lane::enter`].
    pub fn pass(&self, frame: F, limit: impl Fn() -> usize, may_wait: bool) -> Result<bool, FlowError> {
        let mut inner = self.lock();
        loop {
            inner.open()?;
            if inner.passed < limit() {
                inner.passed += 1;
                inner.slots.push_back(Slot::Passed(frame));
                self.ready.notify_all();
                return Ok(true);
            }
            if !may_wait {
                return Ok(false);
            }
            inner = self.wait(inner);
        }
    }

    /// Whether the frame is still wanted: no flush has happened since it came in.
    pub fn wants(&self, ticket: Ticket) -> bool {
        let mut inner = self.lock();
        !inner.stopped && matches!(inner.slot(ticket), Some(Slot::Taken))
    }

    /// Whether nothing is taken in: while flushing, and when stopped.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Takes an event in, after the frames that came before it. Returns false while flushing.
    pub fn push_event(&self, event: gst::Event) -> bool {
        let mut inner = self.lock();
        if inner.is_closed() {
            return false;
        }
        inner.slots.push_back(Slot::Event(event));
        self.ready.notify_all();
        true
    }

    /// A frame comes back.
    pub fn finish(&self, ticket: Ticket, frame: Result<F, FlowError>) {
        let mut inner = self.lock();
        if let Some(slot @ Slot::Taken) = inner.slot(ticket) {
            *slot = Slot::Done(frame);
        }
        self.ready.notify_all();
    }

    /// A frame does not come back: the later ones close up.
    pub fn give_up(&self, ticket: Ticket) {
        let mut inner = self.lock();
        if let Some(slot @ Slot::Taken) = inner.slot(ticket) {
            *slot = Slot::Dropped;
            inner.frames = inner.frames.saturating_sub(1);
        }
        self.wake_all();
    }

    /// Drops the oldest frame that is finished and not yet pushed, and returns it.
    pub fn drop_oldest_done(&self) -> Option<F> {
        let mut inner = self.lock();
        let done = inner.slots.iter_mut().find(|slot| matches!(slot, Slot::Done(Ok(_))))?;
        let Slot::Done(Ok(frame)) = std::mem::replace(done, Slot::Dropped) else { return None };
        inner.frames = inner.frames.saturating_sub(1);
        Some(frame)
    }

    /// What to push next, in order; `None` while flushing or when stopped. [`Lane::pushed`] must follow.
    pub fn pop(&self) -> Option<Item<F>> {
        let mut inner = self.lock();
        loop {
            if inner.is_closed() {
                return None;
            }
            let before = inner.slots.len();
            if let Some(item) = inner.next() {
                return Some(item);
            }
            if inner.slots.len() < before {
                // Another thread may wait for the lane to be empty.
                self.left.notify_all();
            }
            inner = wait(&self.ready, inner);
        }
    }

    /// As [`Lane::pop`], but `None` where there is nothing to push yet.
    #[cfg(test)]
    pub fn try_pop(&self) -> Option<Item<F>> {
        self.lock().next()
    }

    /// Whether frames were given up between the last call of this and the frame to be pushed.
    pub fn take_gap(&self) -> bool {
        std::mem::take(&mut self.lock().gap)
    }

    /// An event has been pushed.
    pub fn pushed_event(&self) {
        self.lock().pushing = false;
        self.left.notify_all();
    }

    /// A frame has been pushed, with this result. A failure stays until a flush, or an event that ends it.
    pub fn pushed(&self, flow: Result<FlowSuccess, FlowError>) {
        let mut inner = self.lock();
        // A whole flush may have happened during the push, when an element downstream seeks from its own streaming thread: the
        // result of a frame from before the flush no longer matters.
        if std::mem::replace(&mut inner.pushing, false) {
            if !std::mem::take(&mut inner.pushing_passed) {
                inner.frames = inner.frames.saturating_sub(1);
            }
            if inner.flow.is_ok() {
                inner.flow = flow;
            }
        }
        self.left.notify_all();
    }

    /// The source pad has been linked anew: downstream may take frames now.
    pub fn relinked(&self) {
        let mut inner = self.lock();
        if inner.flow == Err(FlowError::NotLinked) {
            inner.flow = Ok(FlowSuccess::Ok);
        }
    }

    /// The last flow return from downstream.
    pub fn flow(&self) -> Result<FlowSuccess, FlowError> {
        self.lock().flow
    }

    /// Number of flushes so far.
    pub fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    /// Waits until everything that came in has been pushed; false while flushing.
    pub fn drain(&self) -> bool {
        let mut inner = self.lock();
        while !inner.is_closed() && (inner.pushing || !inner.slots.is_empty()) {
            inner = self.wait(inner);
        }
        !inner.flushing && !inner.stopped
    }

    /// Drops all frames and refuses more until [`Lane::flush_stop`]. Returns the sticky events that outlive a flush, oldest
    /// first: they are not sent again, so they must be stored on the source pad.
    #[must_use]
    pub fn flush_start(&self) -> Vec<gst::Event> {
        let mut inner = self.lock();
        inner.flushing = true;
        inner.front += inner.slots.len() as u64;
        inner.epoch += 1;
        (inner.frames, inner.passed) = (0, 0);
        inner.gap = false;
        let dropped = std::mem::take(&mut inner.slots);
        self.wake_all();
        drop(inner);
        let sticky = |event: &gst::Event| {
            event.is_sticky() && !matches!(event.type_(), gst::EventType::Segment | gst::EventType::Eos)
        };
        dropped
            .into_iter()
            .filter_map(|slot| match slot {
                Slot::Event(event) => Some(event).filter(sticky),
                Slot::Taken | Slot::Done(_) | Slot::Passed(_) | Slot::Dropped => None,
            })
            .collect()
    }

    /// Takes frames again.
    pub fn flush_stop(&self) {
        let mut inner = self.lock();
        inner.flushing = false;
        (inner.pushing, inner.pushing_passed) = (false, false);
        (inner.frames, inner.passed) = (0, 0);
        inner.flow = Ok(FlowSuccess::Ok);
        self.wake_all();
    }

    /// Waits until no push is in progress; called while flushing, when no further push begins.
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

    /// Wakes every waiting thread, for good.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.wake_all();
    }
}

#[cfg(test)]
#[path = "lane/tests.rs"] // so that it is found from tests/interleavings, too
mod tests;
