//! A broker with a spool: messages are stored first, and a thread sends them from there.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Message;
use crate::counts::Counts;
use crate::monitor::Monitor;
use crate::outbox::{CALL_LIMIT, Sink, Written, or_panic};
use crate::sender::{BATCH_BYTES, Report, Reporter, Sender};
use crate::spool::Spool;

/// Messages that are sent together.
const BATCH: usize = 256;
/// How long the thread waits before it reads again a spool that could not be read.
const REREAD: Duration = Duration::from_secs(1);
/// How often a spool that cannot be written is reported again.
const REMIND: Duration = Duration::from_secs(60);
/// How long the end waits for a broker that takes what is in the spool.
const SETTLE: Duration = Duration::from_secs(5);

/// Accepts messages that the spool has stored.
pub(crate) struct Spooled {
    shared: Arc<Shared>,
    report: Reporter,
    /// When it was last reported that the spool cannot be written, if it could not.
    unwritable: Option<Instant>,
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
    /// Starts the thread.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(spool: Spool, sender: Sender, counts: &Arc<Counts>, report: &Reporter) -> io::Result<Self> {
        counts.damaged.set(spool.lost());
        let state = State { spool: Some(Box::new(spool)), counted: 0, unreachable: false, denied: None };
        let shared = Arc::new(Shared { state: Monitor::new(state), counts: Arc::clone(counts) });
        shared.count(&mut shared.state.lock());
        let own = Arc::clone(&shared);
        // Not joined: a call of a client may take its whole time.
        std::thread::Builder::new().name("spool".to_owned()).spawn(move || {
            if let Err(e) = or_panic(|| own.send(sender)) {
                own.state.lock().denied = Some(e.to_string());
                own.state.notify();
            }
        })?;
        Ok(Self { shared, report: Arc::clone(report), unwritable: None })
    }

    /// Reports that the spool cannot be written: the first time, and again after a while; and that it can be again.
    fn report_storing(&mut self, stored: usize, failure: Option<&io::Error>) {
        if let Some(failure) = failure {
            if self.unwritable.is_none_or(|reported| reported.elapsed() >= REMIND) {
                self.unwritable = Some(Instant::now());
                (self.report)(Report::Warning(format!(
                    "the spool cannot be written: {failure}. Messages wait in memory, and it is tried again until it can"
                )));
            }
        } else if stored > 0 && self.unwritable.take().is_some() {
            (self.report)(Report::Info("the spool can be written again".to_owned()));
        }
    }
}

impl Sink for Spooled {
    /// Waits for room where there is none, or where the disk is full.
    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        let shared = Arc::clone(&self.shared);
        let until = Instant::now() + CALL_LIMIT;
        let mut state = shared.state.lock();
        loop {
            if let Some(reason) = &state.denied {
                return Err(io::Error::other(reason.clone()));
            }
            let Some(spool) = &mut state.spool else { return Ok(Written::later(CALL_LIMIT)) };
            let appended = spool.append(messages);
            let stored = appended.as_ref().map_or(0, |stored| *stored);
            shared.counts.spooled.add(stored);
            shared.count(&mut state);
            shared.state.notify();
            let left = until.saturating_duration_since(Instant::now());
            if stored > 0 || left.is_zero() {
                drop(state);
                self.report_storing(stored, appended.err().as_ref());
                return Ok(Written::accepted(stored));
            }
            state = shared.state.wait(state, Some(left));
        }
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        let mut until = Instant::now() + SETTLE;
        let mut before = u64::MAX;
        while let Some(spool) = &state.spool {
            let waiting = spool.waiting();
            if waiting < before {
                (before, until) = (waiting, until.max(Instant::now() + SETTLE / 5).min(until + SETTLE / 5));
            }
            let left = until.saturating_duration_since(Instant::now());
            if waiting == 0 || state.unreachable || state.denied.is_some() || left.is_zero() {
                break;
            }
            state = self.shared.state.wait(state, Some(left));
        }
        // Also closes the spool, which the next start opens while the thread may still be in a call.
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
    fn send(&self, mut sender: Sender) -> io::Result<()> {
        let mut idle_in = Duration::ZERO;
        while let Some(messages) = self.next(&sender, idle_in) {
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
    fn next(&self, sender: &Sender, most: Duration) -> Option<Vec<Arc<Message>>> {
        let until = Instant::now().checked_add(most);
        let mut state = self.state.lock();
        loop {
            let spool = state.spool.as_mut()?;
            if spool.waiting() > 0 {
                match spool.first(BATCH, BATCH_BYTES) {
                    Ok(messages) => {
                        self.note_damage(&mut state, sender);
                        if !messages.is_empty() {
                            return Some(messages);
                        }
                    }
                    Err(e) => {
                        drop(state);
                        sender.report(Report::Warning(format!(
                            "the spool cannot be read: {e}. It is tried again"
                        )));
                        self.pause(REREAD);
                        state = self.state.lock();
                        continue;
                    }
                }
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Some(Vec::new());
            }
            state = self.state.wait(state, Some(left));
        }
    }

    /// Counts and reports messages that damage of the spool has taken since it was last looked at.
    fn note_damage(&self, state: &mut State, sender: &Sender) {
        let Some(lost) = state.spool.as_ref().map(|spool| spool.lost()) else { return };
        self.count(state);
        let before = self.counts.damaged.get();
        if lost > before {
            self.counts.damaged.set(lost);
            sender.report(Report::Warning(format!(
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

    /// Waits before the next try, but not for longer than anybody is there.
    fn pause(&self, wait: Duration) {
        drop(self.state.wait_while(self.state.lock(), wait, |state| state.spool.is_some()));
    }
}
