//! Messages on their way to a destination, and the thread that writes them there.

mod sink;
mod waiting;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

pub use self::sink::{CALL_LIMIT, Sink, Written};
use self::waiting::Waiting;
use crate::monitor::Monitor;
use crate::threads::{self, now, since};
use crate::{Counts, Message};

/// Messages that are written at once.
pub const BATCH: usize = 64;
/// How long the thread waits before it opens again a destination that is not there.
const REOPEN: Duration = Duration::from_millis(20);
/// How long a thread that must end is waited for: longer than most calls of a sink take.
const END: Duration = Duration::from_secs(1);

/// What happens to a message for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The thread that brings it waits for room.
    Wait,
    /// It is dropped.
    DropNewest,
    /// It takes the place of the oldest that waits.
    DropOldest,
}

/// What an outbox has room for.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Messages that may wait, at least 1; those that take more than 64 MiB may not, but for the first.
    pub messages: usize,
    /// What happens to those for which there is no room.
    pub when_full: WhenFull,
}

/// Why a message was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// A flush began while there was no room.
    #[error("a flush began while there was no room for the message")]
    Flushing,
    /// The destination has failed, or no more messages are taken.
    #[error("no more messages are taken")]
    Closed,
}

/// How waiting for the destination ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// It has accepted everything.
    Done,
    /// That many messages are left, of which it has accepted none for as long as one waits for it.
    Stalled(usize),
    /// By a flush, or by a failure, of which `on_failure` knows.
    Interrupted,
}

/// Messages that wait for a sink, and the thread that writes them there, all in the order in which they came.
#[derive(Debug)]
pub struct Outbox {
    shared: Arc<Shared>,
    capacity: Capacity,
    thread: ThreadId,
}

#[derive(Debug)]
struct Shared {
    state: Monitor<State>,
    counts: Arc<Counts>,
    /// How long a destination may accept nothing before it is no longer waited for.
    patience: Duration,
}

#[derive(Debug)]
struct State {
    waiting: Waiting,
    /// Messages that the thread has taken out and that have not been accepted.
    taken: usize,
    /// When the destination last had nothing to accept, or accepted something.
    moved: Instant,
    flushing: bool,
    phase: Phase,
}

/// How far an outbox is; each comes after those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Messages come and are written.
    Open,
    /// No more come; what is left is written.
    Closing,
    /// What is left is not written any more.
    Abandoned,
    /// The thread does nothing any more.
    Ended,
    /// Neither, because the sink has failed.
    Failed,
}

impl State {
    fn left(&self) -> usize {
        self.waiting.len() + self.taken
    }

    fn has_ended(&self) -> bool {
        self.phase >= Phase::Ended
    }

    /// Goes on to a phase, unless it has been reached.
    fn advance(&mut self, phase: Phase) {
        self.phase = self.phase.max(phase);
    }

    /// Forgets what is left; returns how many that were.
    fn clear(&mut self) -> usize {
        let left = self.left();
        self.waiting.clear();
        self.taken = 0;
        left
    }
}

impl Outbox {
    /// Opens `sink` and starts its thread. A destination that accepts nothing for as long as `patience` is not waited for any
    /// more. `on_failure` is called in the thread, without locks, when the sink has failed for good.
    ///
    /// # Errors
    /// Why the sink cannot be opened, or there is no thread.
    pub fn start(
        mut sink: Box<dyn Sink>,
        capacity: Capacity,
        patience: Duration,
        counts: &Arc<Counts>,
        on_failure: impl FnOnce(io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let open = sink.open()?;
        let state = State {
            waiting: Waiting::default(),
            taken: 0,
            moved: now(),
            flushing: false,
            phase: Phase::Open,
        };
        let shared = Arc::new(Shared { state: Monitor::new(state), counts: Arc::clone(counts), patience });
        let own = Arc::clone(&shared);
        let thread = threads::spawn("outbox", move || {
            let result = or_panic(|| own.write(&mut *sink, open));
            // Before the end is announced: the next start opens the same destination.
            drop(sink);
            own.end(result, on_failure);
        })?;
        Ok(Self { shared, capacity, thread })
    }

    /// Takes a message in. Returns whether one was dropped for it, or it itself.
    ///
    /// # Errors
    /// Why the message has not been taken in.
    pub fn push(&self, message: Arc<Message>) -> Result<bool, PushError> {
        let Shared { counts, .. } = &*self.shared;
        let mut state = self.shared.state.lock();
        let mut dropped = false;
        loop {
            if state.phase != Phase::Open {
                counts.failed.add(1);
                return Err(PushError::Closed);
            }
            if state.waiting.has_room(&message, self.capacity.messages) {
                break;
            }
            match self.capacity.when_full {
                WhenFull::Wait if state.flushing => return Err(PushError::Flushing),
                WhenFull::Wait => state = self.shared.state.wait(state, None),
                WhenFull::DropNewest => {
                    counts.dropped.add(1);
                    return Ok(true);
                }
                WhenFull::DropOldest => {
                    state.waiting.drop_oldest();
                    counts.dropped.add(1);
                    counts.waiting.subtract(1);
                    dropped = true;
                }
            }
        }
        if state.left() == 0 {
            state.moved = now();
        }
        state.waiting.push(message);
        counts.waiting.add(1);
        self.shared.state.notify();
        Ok(dropped)
    }

    /// Threads that wait for room, or for the end, return at once while this is set. What has been taken in stays.
    pub fn set_flushing(&self, flushing: bool) {
        self.shared.state.lock().flushing = flushing;
        self.shared.state.notify();
    }

    /// Waits until all messages are accepted.
    pub fn drain(&self) -> Drained {
        let mut state = self.shared.state.lock();
        loop {
            if state.phase == Phase::Failed {
                return Drained::Interrupted;
            }
            if state.left() == 0 {
                return Drained::Done;
            }
            if state.flushing || state.has_ended() {
                return Drained::Interrupted;
            }
            let patience = self.shared.patience.saturating_sub(since(state.moved));
            if patience.is_zero() {
                return Drained::Stalled(state.left());
            }
            state = self.shared.state.wait(state, Some(patience));
        }
    }

    /// Writes what is left, for no longer than the destination may take to accept something, and ends the thread. Returns how many
    /// messages are lost.
    pub fn close(&self) -> usize {
        let Shared { patience, counts, .. } = &*self.shared;
        let begun = now();
        let mut state = self.shared.state.lock();
        state.advance(Phase::Closing);
        self.shared.state.notify();
        // `on_failure` may close it in the sink's own thread, which then cannot wait for itself.
        let own = std::thread::current().id() == self.thread;
        while !state.has_ended() && !own {
            let waited = since(begun).max(if state.left() > 0 { since(state.moved) } else { Duration::ZERO });
            let Some(left) = patience.checked_sub(waited).filter(|left| !left.is_zero()) else { break };
            state = self.shared.state.wait(state, Some(left));
        }
        state.advance(Phase::Abandoned);
        self.shared.state.notify();
        state = self.shared.state.wait_while(state, END, |state| !state.has_ended() && !own);
        // Where the thread still is in a call, its messages may yet arrive; nobody would know.
        let lost = state.clear();
        counts.failed.add(lost);
        counts.waiting.subtract(lost);
        lost
    }
}

impl Drop for Outbox {
    /// Without [`Outbox::close`], the thread ends with the call that it is in.
    fn drop(&mut self) {
        self.shared.state.lock().advance(Phase::Abandoned);
        self.shared.state.notify();
    }
}

impl Shared {
    /// The thread: opens the sink, if it is not, and writes until everything is written and no more comes, or nothing has to be
    /// written any more.
    fn write(&self, sink: &mut dyn Sink, mut open: bool) -> io::Result<()> {
        while !open {
            let state = self.state.lock();
            if state.phase == Phase::Abandoned || (state.phase == Phase::Closing && state.left() == 0) {
                return Ok(());
            }
            drop(self.state.wait(state, Some(REOPEN)));
            open = sink.open()?;
        }
        let (mut batch, mut next_call) = (Vec::new(), Some(now()));
        while self.take(sink, &mut next_call, &mut batch)? {
            while !batch.is_empty() {
                let written = sink.write(&batch)?;
                let accepted = written.accepted.min(batch.len());
                batch.drain(..accepted);
                if !self.accepted(accepted, written.lost) {
                    return Ok(());
                }
                if accepted == 0 {
                    self.pause(written.again_in);
                    if sink.gathers_messages() {
                        self.add(&mut batch);
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for messages and takes some out. Returns whether there are any to be written. `next_call` is when the sink is called
    /// that has nothing to write.
    fn take(
        &self,
        sink: &mut dyn Sink,
        next_call: &mut Option<Instant>,
        batch: &mut Vec<Arc<Message>>,
    ) -> io::Result<bool> {
        batch.clear();
        let mut state = self.state.lock();
        while state.waiting.is_empty() && state.phase == Phase::Open {
            let left = next_call.map(|next| next.saturating_duration_since(now()));
            if left == Some(Duration::ZERO) {
                drop(state);
                *next_call = sink.idle()?.map(|wait| now() + wait);
                state = self.state.lock();
            } else {
                state = self.state.wait(state, left);
            }
        }
        if state.phase == Phase::Abandoned {
            return Ok(false);
        }
        let count = state.waiting.take(BATCH, batch);
        state.taken = count;
        self.state.notify();
        Ok(count > 0)
    }

    /// Takes out what has come meanwhile, as far as it is written at once.
    fn add(&self, batch: &mut Vec<Arc<Message>>) {
        let mut state = self.state.lock();
        let count = state.waiting.take(BATCH.saturating_sub(batch.len()), batch);
        if count > 0 {
            state.taken += count;
            self.state.notify();
        }
    }

    /// Messages have been accepted, of which some may be lost, or none. Returns whether to go on.
    fn accepted(&self, count: usize, lost: usize) -> bool {
        let mut state = self.state.lock();
        // None, if nobody has waited for them and they have been counted as lost.
        let count = count.min(state.taken);
        if count > 0 {
            state.taken -= count;
            state.moved = now();
            let lost = lost.min(count);
            self.counts.written.add(count - lost);
            self.counts.failed.add(lost);
            self.counts.waiting.subtract(count);
            self.state.notify();
        }
        state.phase < Phase::Abandoned
    }

    /// Waits before the next call of the sink, but not for longer than anybody is there.
    fn pause(&self, wait: Duration) {
        drop(self.state.wait_while(self.state.lock(), wait, |state| state.phase < Phase::Abandoned));
    }

    fn end(&self, result: io::Result<()>, on_failure: impl FnOnce(io::Error)) {
        let mut phase = Phase::Ended;
        if let Err(e) = result {
            phase = Phase::Failed;
            // First, and without the lock: it posts the error, which must come before the flow that ends with it.
            on_failure(e);
        }
        let mut state = self.state.lock();
        if phase == Phase::Failed {
            let lost = state.clear();
            self.counts.failed.add(lost);
            self.counts.waiting.subtract(lost);
        }
        state.advance(phase);
        self.state.notify();
    }
}

/// What `work` returns; a panic, which none should be, as a failure like others.
pub(crate) fn or_panic(work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(io::Error::other("its client has failed, which is an error in this program")))
}

#[cfg(test)]
mod tests;
