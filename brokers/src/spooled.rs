//! A broker with a spool: messages are stored first, and a thread sends them from there.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::Message;
use crate::counts::Counts;
use crate::monitor::Monitor;
use crate::outbox::{CALL_LIMIT, Sink, Written, or_panic};
use crate::report::{Reminder, Report, Reporter};
use crate::sender::{BATCH_BYTES, Sender};
use crate::spool::{Appended, Spool};
use crate::threads::{self, now};

/// Messages that are sent together.
const BATCH: usize = 256;
/// How long a thread waits before it writes or reads again a spool that could not be written or read.
const RETRY: Duration = Duration::from_secs(1);
/// How often it is asked whether the broker refuses the login.
const DENIED: Duration = Duration::from_secs(1);
/// How long messages wait in the system's memory before the disk has them: what a power cut takes.
pub(crate) const SYNC: Duration = Duration::from_secs(1);
/// How long the end waits for a broker that takes what is in the spool.
const SETTLE: Duration = Duration::from_secs(5);

/// Accepts messages that the spool has stored.
pub(crate) struct Spooled {
    shared: Arc<Shared>,
    report: Reporter,
    /// The disk takes nothing.
    failing: Reminder,
    /// Messages had no room, not even in an empty spool.
    too_long: Reminder,
}

#[derive(Debug)]
struct Shared {
    state: Monitor<State>,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct State {
    /// `None` when this has ended.
    spool: Option<Box<Spool>>,
    /// What the spool has added to the messages that wait, of which the counts are.
    counted: u64,
    /// Whether the broker could not be reached when it was last tried.
    unreachable: bool,
    /// Why nothing will ever be delivered.
    denied: Option<String>,
}

impl Spooled {
    /// Starts the threads, and reports what was found in the spool.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(spool: Spool, sender: Sender, counts: &Arc<Counts>, report: &Reporter) -> io::Result<Self> {
        spool.warnings().iter().for_each(|warning| report(Report::Warning(warning.clone())));
        counts.damaged.set(spool.lost());
        let state = State { spool: Some(Box::new(spool)), counted: 0, unreachable: false, denied: None };
        let shared = Arc::new(Shared { state: Monitor::new(state), counts: Arc::clone(counts) });
        shared.count(&mut shared.state.lock());
        let spooled = Self {
            shared: Arc::clone(&shared),
            report: Arc::clone(report),
            failing: Reminder::default(),
            too_long: Reminder::default(),
        };
        let (own, own_report) = (Arc::clone(&shared), Arc::clone(report));
        threads::spawn("spool-sync", move || own.keep(&own_report))?;
        let report = Arc::clone(report);
        threads::spawn("spool", move || {
            if let Err(e) = or_panic(|| shared.send(sender, &report)) {
                shared.state.lock().denied = Some(e.to_string());
                shared.state.notify();
            }
        })?;
        Ok(spooled)
    }

    /// The spool cannot be written.
    fn fails(&mut self, error: &io::Error) {
        if self.failing.is_due_for(&error.to_string()) {
            (self.report)(Report::Warning(format!(
                "the spool cannot be written: {error}. It is tried again until it can; meanwhile messages wait in the queue"
            )));
        }
    }

    fn is_well(&mut self) {
        if self.failing.end() {
            (self.report)(Report::Info("the spool can be written again".to_owned()));
        }
    }

    /// The next message will never have room.
    fn loses(&mut self, message: Option<&Arc<Message>>) {
        if self.too_long.is_due() {
            let bytes = message.map_or(0, |message| message.payload.len());
            (self.report)(Report::Warning(format!(
                "a message of {bytes} bytes is lost, because it is larger than the spool may be. Give the spool more room; messages that \
                 are lost so are counted as failed"
            )));
        }
    }
}

impl Sink for Spooled {
    /// Waits for room where there is none, or where the disk is full.
    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        let shared = Arc::clone(&self.shared);
        let until = now() + CALL_LIMIT;
        let mut state = shared.state.lock();
        loop {
            if let Some(reason) = &state.denied {
                return Err(io::Error::other(reason.clone()));
            }
            let Some(spool) = &mut state.spool else { return Ok(Written::later(CALL_LIMIT)) };
            match spool.append(messages) {
                Ok(Appended::Stored(count)) => {
                    shared.counts.spooled.add(count);
                    shared.count(&mut state);
                    shared.state.notify();
                    drop(state);
                    self.is_well();
                    return Ok(Written::accepted(count));
                }
                Ok(Appended::TooLong) => {
                    drop(state);
                    self.loses(messages.first());
                    return Ok(Written { lost: 1, ..Written::accepted(1) });
                }
                Ok(Appended::Full) => (),
                Err(e) => {
                    drop(state);
                    self.fails(&e);
                    return Ok(Written::later(RETRY));
                }
            }
            let left = until.saturating_duration_since(now());
            if left.is_zero() {
                return Ok(Written::default());
            }
            state = shared.state.wait(state, Some(left));
        }
    }

    /// A login that is refused is reported soon, also where no other message comes.
    fn idle(&mut self) -> io::Result<Option<Duration>> {
        match &self.shared.state.lock().denied {
            Some(reason) => Err(io::Error::other(reason.clone())),
            None => Ok(Some(DENIED)),
        }
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        let mut until = now() + SETTLE;
        let mut before = u64::MAX;
        while let Some(spool) = &state.spool {
            let waiting = spool.waiting();
            if waiting < before {
                (before, until) = (waiting, until.max(now() + SETTLE / 5).min(until + SETTLE / 5));
            }
            let left = until.saturating_duration_since(now());
            if waiting == 0 || state.unreachable || state.denied.is_some() || left.is_zero() {
                break;
            }
            state = self.shared.state.wait(state, Some(left));
        }
        let unsynced = state.spool.as_mut().and_then(|spool| spool.take_unsynced());
        drop(state);
        if let Some(Err(e)) = unsynced.map(|unsynced| unsynced.sync()) {
            self.fails(&e);
        }
        // Also closes the spool, which the next start opens while the thread may still be in a call.
        let mut state = self.shared.state.lock();
        state.spool = None;
        self.shared.state.notify();
    }
}

impl Shared {
    /// Brings the counts to what waits in the spool now.
    fn count(&self, state: &mut State) {
        let Some(spool) = &state.spool else { return };
        let waiting = spool.waiting();
        self.counts.waiting.replace(state.counted, waiting);
        state.counted = waiting;
    }

    /// The thread: sends what is in the spool until this ends.
    ///
    /// # Errors
    /// Why nothing will ever be delivered.
    fn send(&self, mut sender: Sender, report: &Reporter) -> io::Result<()> {
        let (mut idle_in, mut unreadable) = (Duration::ZERO, Reminder::default());
        while let Some(messages) = self.next(idle_in, &mut unreadable, report) {
            let mut written = Written::default();
            if messages.is_empty() {
                idle_in = sender.idle()?.unwrap_or(Duration::MAX);
            } else {
                written = sender.write(&messages)?;
            }
            self.acknowledge(written.accepted, sender.is_connected());
            self.pause(written.again_in);
        }
        Ok(())
    }

    /// Waits for messages, of which there are none when `most` has passed. `None` when this has ended.
    fn next(
        &self,
        most: Duration,
        unreadable: &mut Reminder,
        report: &Reporter,
    ) -> Option<Vec<Arc<Message>>> {
        let until = now().checked_add(most);
        let mut state = self.state.lock();
        loop {
            let spool = state.spool.as_mut()?;
            if spool.waiting() > 0 {
                match spool.first(BATCH, BATCH_BYTES) {
                    Ok(messages) => {
                        unreadable.end();
                        self.note_damage(&mut state, report);
                        if !messages.is_empty() {
                            return Some(messages);
                        }
                    }
                    Err(e) => {
                        drop(state);
                        if unreadable.is_due_for(&e.to_string()) {
                            report(Report::Warning(format!(
                                "the spool cannot be read: {e}. It is tried again until it can"
                            )));
                        }
                        self.pause(RETRY);
                        state = self.state.lock();
                        continue;
                    }
                }
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(now()));
            if left.is_zero() {
                return Some(Vec::new());
            }
            state = self.state.wait(state, Some(left));
        }
    }

    /// Counts and reports messages that damage of the spool has taken since it was last looked at.
    fn note_damage(&self, state: &mut State, report: &Reporter) {
        let Some(lost) = state.spool.as_ref().map(|spool| spool.lost()) else { return };
        self.count(state);
        let before = self.counts.damaged.get();
        if lost > before {
            self.counts.damaged.set(lost);
            report(Report::Warning(format!(
                "the spool was damaged while it was in use: messages are lost, {} since the last WARNING of this",
                lost - before
            )));
        }
    }

    /// The first `count` messages are done with.
    fn acknowledge(&self, count: usize, is_connected: bool) {
        let mut state = self.state.lock();
        state.unreachable = !is_connected;
        if let Some(spool) = &mut state.spool {
            // If its place cannot be written, messages come again at the next start, which is allowed.
            let _ = spool.acknowledge(count);
        }
        self.count(&mut state);
        self.state.notify();
    }

    /// The thread that has the disk keep what was appended, until this ends.
    fn keep(&self, report: &Reporter) {
        let mut failing = Reminder::default();
        loop {
            let mut state = self.state.lock();
            while state.spool.as_ref().is_some_and(|spool| !spool.has_unsynced()) {
                state = self.state.wait(state, None);
            }
            drop(state);
            self.pause(SYNC);
            let mut state = self.state.lock();
            let Some(spool) = &mut state.spool else { return };
            let unsynced = spool.take_unsynced();
            drop(state);
            match unsynced.map(|unsynced| unsynced.sync()) {
                Some(Err(e)) if failing.is_due_for(&e.to_string()) => report(Report::Warning(format!(
                    "the disk does not keep what is in the spool: {e}. A power cut would lose it"
                ))),
                Some(Ok(())) => drop(failing.end()),
                _ => (),
            }
        }
    }

    /// Waits before the next try, but not for longer than anybody is there.
    fn pause(&self, wait: Duration) {
        drop(self.state.wait_while(self.state.lock(), wait, |state| state.spool.is_some()));
    }
}
