//! The queue of messages, a record each, and the thread that writes them to their destination. Frames wait only if the queue is full.

mod waiting;

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use cudainfer_kernels::device::Counter;
use gst::glib;

use self::waiting::Waiting;
use super::Message;
use super::sink::Sink;
use crate::sync::lock;

/// Records that are written at once.
pub(super) const BATCH: usize = 64;
/// How long the thread waits before it opens again a destination that is not there.
const REOPEN: Duration = Duration::from_millis(20);
/// How long a thread that must end is waited for: longer than any call of a sink should take.
const END: Duration = Duration::from_secs(1);

/// What happens to a record when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPublishLeaky")]
pub enum Leaky {
    /// As `No` for a file, as `Downstream` for a broker.
    #[default]
    #[enum_value(
        name = "As no for a file, a FIFO and the standard output, as downstream for a URI",
        nick = "auto"
    )]
    Auto,
    /// The frame waits with it.
    #[enum_value(name = "Lose nothing: frames wait until there is room", nick = "no")]
    No,
    /// It is dropped.
    #[enum_value(name = "Drop the new record", nick = "upstream")]
    Upstream,
    /// It takes the place of the oldest.
    #[enum_value(name = "Drop the oldest record that waits", nick = "downstream")]
    Downstream,
}

impl Leaky {
    /// What `Auto` means, for a destination on this machine or a broker.
    pub(crate) fn resolved(self, broker: bool) -> Self {
        match self {
            Self::Auto if broker => Self::Downstream,
            Self::Auto => Self::No,
            other => other,
        }
    }
}

/// What became of the records.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Records that the destination has accepted.
    pub written: Counter,
    /// Records that could not be written.
    pub failed: Counter,
    /// Records that were dropped because the queue was full.
    pub dropped: Counter,
}

impl Tally {
    pub fn reset(&self) {
        [&self.written, &self.failed, &self.dropped].into_iter().for_each(Counter::reset);
    }
}

/// How waiting for the destination ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// It has accepted everything.
    Done,
    /// That many records are left, of which it has accepted none for as long as one waits for it.
    Stalled(usize),
    /// By a flush, or by a failure that has been posted.
    Interrupted,
}

/// Records that wait for a sink, and the thread that writes them there, all in the order in which they came.
#[derive(Debug)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
    size: usize,
    leaky: Leaky,
    thread: ThreadId,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    tally: Arc<Tally>,
    /// How long a destination may accept nothing before it is no longer waited for.
    patience: Duration,
}

#[derive(Debug)]
struct State {
    waiting: Waiting,
    /// Records that the thread has taken out and that have not been accepted.
    taken: usize,
    /// When the destination last had nothing to accept, or accepted something.
    moved: Instant,
    flushing: bool,
    /// No more records come.
    closing: bool,
    /// What is left is not written any more.
    abandoned: bool,
    /// The sink has failed, and this has been posted.
    failed: bool,
    /// The thread does nothing any more.
    ended: bool,
}

impl State {
    fn left(&self) -> usize {
        self.waiting.len() + self.taken
    }
}

impl Queue {
    /// Opens `sink` and starts its thread. `size` records may wait, as far as they take no more than 64 MiB; `on_failure` is called in the thread, without locks, when
    /// the sink has failed for good.
    ///
    /// # Errors
    /// Why the sink cannot be opened, or there is no thread.
    pub fn start(
        mut sink: Box<dyn Sink>,
        (size, leaky): (usize, Leaky),
        patience: Duration,
        tally: &Arc<Tally>,
        on_failure: impl FnOnce(io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let open = sink.open()?;
        let state = State {
            waiting: Waiting::default(),
            taken: 0,
            moved: Instant::now(),
            flushing: false,
            closing: false,
            abandoned: false,
            failed: false,
            ended: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            tally: Arc::clone(tally),
            patience,
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("publish".to_owned()).spawn(move || {
            let result = own.write(&mut *sink, open);
            // Before the end is announced: whoever starts again opens the same destination.
            drop(sink);
            own.end(result, on_failure);
        })?;
        // Not joined but waited for by `ended`: a call of the system may never return.
        let thread = thread.thread().id();
        Ok(Self { shared, size: size.max(1), leaky, thread })
    }

    /// Takes a message in. Returns whether one was dropped for it, or it itself.
    ///
    /// # Errors
    /// `Flushing`, where that begins while the queue is full; `Error`, where the sink has failed. Then the message has not been
    /// taken in.
    pub fn push(&self, message: Message) -> Result<bool, gst::FlowError> {
        let Shared { tally, .. } = &*self.shared;
        let mut state = lock(&self.shared.state);
        let mut dropped = false;
        loop {
            if state.failed || state.closing {
                tally.failed.add(1);
                return Err(gst::FlowError::Error);
            }
            if state.waiting.has_room(&message, self.size) {
                break;
            }
            match self.leaky {
                Leaky::No | Leaky::Auto if state.flushing => return Err(gst::FlowError::Flushing),
                Leaky::No | Leaky::Auto => state = self.shared.wait(state, None),
                Leaky::Upstream => {
                    tally.dropped.add(1);
                    return Ok(true);
                }
                Leaky::Downstream => {
                    state.waiting.drop_oldest();
                    tally.dropped.add(1);
                    dropped = true;
                }
            }
        }
        if state.left() == 0 {
            state.moved = Instant::now();
        }
        state.waiting.push(message);
        self.shared.changed.notify_all();
        Ok(dropped)
    }

    /// Whoever waits for room, or for the end, returns at once while this is set. What has been taken in stays.
    pub fn set_flushing(&self, flushing: bool) {
        lock(&self.shared.state).flushing = flushing;
        self.shared.changed.notify_all();
    }

    /// Waits until all records are accepted.
    pub fn drain(&self) -> Drained {
        let mut state = lock(&self.shared.state);
        loop {
            if state.failed || state.flushing || state.ended {
                return if state.left() == 0 && !state.failed { Drained::Done } else { Drained::Interrupted };
            }
            if state.left() == 0 {
                return Drained::Done;
            }
            let Some(patience) = self.shared.patience.checked_sub(state.moved.elapsed()) else {
                return Drained::Stalled(state.left());
            };
            state = self.shared.wait(state, Some(patience));
        }
    }

    /// Writes what is left, for no longer than the destination may take to accept something, and ends the thread. Returns how many
    /// records are lost.
    pub fn close(&self) -> usize {
        let Shared { patience, tally, .. } = &*self.shared;
        let begun = Instant::now();
        let mut state = lock(&self.shared.state);
        state.closing = true;
        self.shared.changed.notify_all();
        // A handler of its message may stop the element in the sink's own thread, which then cannot wait for itself.
        let own = std::thread::current().id() == self.thread;
        while !state.ended && !state.failed && !own {
            let waited =
                begun.elapsed().max(if state.left() > 0 { state.moved.elapsed() } else { Duration::ZERO });
            let Some(left) = patience.checked_sub(waited).filter(|left| !left.is_zero()) else { break };
            state = self.shared.wait(state, Some(left));
        }
        state.abandoned = true;
        self.shared.changed.notify_all();
        let asked = Instant::now();
        while !state.ended && !own {
            let Some(left) = END.checked_sub(asked.elapsed()).filter(|left| !left.is_zero()) else { break };
            state = self.shared.wait(state, Some(left));
        }
        // Where the thread still is in a call, its records may yet arrive; nobody would know.
        let lost = state.left();
        state.waiting.clear();
        state.taken = 0;
        tally.failed.add_size(lost);
        lost
    }
}

impl Drop for Queue {
    /// Without [`Queue::close`], the thread ends with the call that it is in.
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        (state.closing, state.abandoned) = (true, true);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// Waits for a change, or for `most`.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Option<Duration>) -> MutexGuard<'a, State> {
        match most {
            None => self.changed.wait(state).unwrap_or_else(|e| e.into_inner()),
            Some(most) => self.changed.wait_timeout(state, most).unwrap_or_else(|e| e.into_inner()).0,
        }
    }

    /// The thread: opens the sink, if it is not, and writes until everything is written and no more comes, or nothing has to be
    /// written any more.
    fn write(&self, sink: &mut dyn Sink, mut open: bool) -> io::Result<()> {
        while !open {
            let state = lock(&self.state);
            if state.abandoned || (state.closing && state.left() == 0) {
                return Ok(());
            }
            drop(self.wait(state, Some(REOPEN)));
            open = sink.open()?;
        }
        let mut batch = Vec::new();
        while self.take(&mut batch) {
            while !batch.is_empty() {
                let accepted = sink.write(&batch)?.min(batch.len());
                batch.drain(..accepted);
                if !self.accepted(accepted, sink.lost()) {
                    return Ok(());
                }
                if accepted == 0 && sink.gathers_records() {
                    self.add(&mut batch);
                }
            }
        }
        Ok(())
    }

    /// Waits for records and takes some out. Returns whether there are any to be written.
    fn take(&self, batch: &mut Vec<Message>) -> bool {
        batch.clear();
        let mut state = lock(&self.state);
        while state.waiting.is_empty() && !state.closing && !state.abandoned {
            state = self.wait(state, None);
        }
        if state.abandoned {
            return false;
        }
        let count = state.waiting.take(BATCH, batch);
        state.taken = count;
        self.changed.notify_all();
        count > 0
    }

    /// Takes out what has come meanwhile, as far as it is written at once.
    fn add(&self, batch: &mut Vec<Message>) {
        let mut state = lock(&self.state);
        let count = state.waiting.take(BATCH.saturating_sub(batch.len()), batch);
        if count > 0 {
            state.taken += count;
            self.changed.notify_all();
        }
    }

    /// Records have been accepted, of which some may be lost, or none. Returns whether to go on.
    fn accepted(&self, count: usize, lost: usize) -> bool {
        let mut state = lock(&self.state);
        // None, if nobody has waited for them and they have been counted as lost.
        let count = count.min(state.taken);
        if count > 0 {
            state.taken -= count;
            state.moved = Instant::now();
            let lost = lost.min(count);
            self.tally.written.add_size(count - lost);
            self.tally.failed.add_size(lost);
            self.changed.notify_all();
        }
        !state.abandoned
    }

    fn end(&self, result: io::Result<()>, on_failure: impl FnOnce(io::Error)) {
        let failed = result.is_err();
        if let Err(e) = result {
            // First, and without the lock: it posts the error, which must come before the flow that ends with it.
            on_failure(e);
        }
        let mut state = lock(&self.state);
        if failed {
            state.failed = true;
            self.tally.failed.add_size(state.left());
            state.waiting.clear();
            state.taken = 0;
        }
        state.ended = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
