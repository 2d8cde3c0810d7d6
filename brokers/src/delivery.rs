//! The thread that brings messages to a broker, and what it does when the broker is not there.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::Message;
use crate::backlog::Backlog;
use crate::backoff::Backoff;
use crate::client::{Access, Client, Failure, Sent};
use crate::counts::Counts;
use crate::credentials::{Credentials, CredentialsError};
use crate::spool::{Spool, SpoolError};
use crate::tls::{TlsError, TlsFiles};
use crate::uri::{Destination, UriError};

/// Messages that are sent together.
const BATCH: usize = 256;
/// Bytes that are sent together, about.
const BATCH_BYTES: usize = 1 << 20;
/// How often an outage is reported again.
const REMIND: Duration = Duration::from_secs(60);
/// How long the end waits for a broker that takes what is in the spool.
const SETTLE: Duration = Duration::from_secs(5);

/// Where to, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The URI.
    pub location: String,
    /// Certificates.
    pub tls: TlsFiles,
    /// The file with user and password.
    pub credentials: Option<PathBuf>,
    /// The spool's folder and its limit in bytes; without it messages wait in memory.
    pub spool: Option<(PathBuf, u64)>,
}

/// Why messages cannot be delivered, before anything has been tried. Each is a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SetupError {
    #[error(transparent)]
    Uri(#[from] UriError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("'{0}' takes no user and password: its kind has no login. Unset credentials")]
    NoLogin(String),
    #[error(
        "'{0}' says how to log in, but there are no user and password. Set credentials, or leave sasl out"
    )]
    NoCredentials(String),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error("there is no thread for the delivery: {0}")]
    Thread(io::Error),
}

/// Something that the user should know; each is a sentence or two.
#[derive(Debug)]
pub enum Report {
    /// It is well again.
    Info(String),
    /// Messages wait or are lost.
    Warning(String),
}

/// Brings messages to a broker in a thread of its own, in order, each at least once.
///
/// Dropping it lets the broker take what is in the spool for some seconds, unless it could not be reached when it was last
/// tried, and gives the spool back.
#[derive(Debug)]
pub struct Delivery {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct State {
    /// `None` when this has ended.
    backlog: Option<Backlog>,
    /// Messages in memory that are done with and have not been returned to whoever offered them.
    done: usize,
    /// What comes is not waited for any more.
    ending: bool,
    /// Whether the broker could not be reached when it was last tried.
    lost: bool,
    /// Why nothing will ever be delivered.
    denied: Option<String>,
}

impl Delivery {
    /// Checks the options, opens the spool and starts the thread. `report` is called in the thread.
    ///
    /// # Errors
    /// What is wrong with the options.
    pub fn start(
        options: &Options,
        counts: &Arc<Counts>,
        report: impl Fn(Report) + Send + 'static,
    ) -> Result<Self, SetupError> {
        let access = access(options)?;
        let backlog = match &options.spool {
            Some((folder, most_bytes)) => Backlog::Disk(Box::new(Spool::open(folder, *most_bytes)?)),
            None => Backlog::Memory(std::collections::VecDeque::new()),
        };
        counts.waiting.set(backlog.waiting());
        counts.damaged.set(backlog.lost());
        for warning in backlog.warnings() {
            report(Report::Warning(warning.clone()));
        }
        let state = State { backlog: Some(backlog), done: 0, ending: false, lost: false, denied: None };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            counts: Arc::clone(counts),
        });
        let worker = Worker {
            shared: Arc::clone(&shared),
            access,
            report: Box::new(report),
            outage: None,
            backoff: Backoff::new(),
            ever: false,
        };
        let thread = std::thread::Builder::new().name("publish-broker".to_owned());
        let alive = Alive(Arc::clone(&shared));
        let started = thread.spawn(move || {
            let _alive = alive;
            worker.run();
        });
        started.map_err(SetupError::Thread)?;
        // Not joined: a call of a client may take its whole time.
        Ok(Self { shared })
    }

    /// Offers messages, and returns how many of them, from the first, the broker has acknowledged or the spool has stored.
    /// Messages that are not returned as such must be offered again, from the first of them on, and new ones after them. Waits
    /// for `most` if there is nothing to return.
    ///
    /// # Errors
    /// Why nothing will ever be delivered.
    pub fn offer(&self, messages: &[Message], most: Duration) -> io::Result<usize> {
        let Shared { counts, changed, .. } = &*self.shared;
        let mut state = self.shared.lock();
        let until = Instant::now() + most;
        loop {
            if let Some(reason) = &state.denied {
                return Err(io::Error::other(reason.clone()));
            }
            let State { backlog, done, .. } = &mut *state;
            let accepted = match backlog {
                None => 0,
                Some(Backlog::Memory(waiting)) => {
                    let known = waiting.len() + *done;
                    waiting.extend(messages.get(known..).unwrap_or_default().iter().cloned());
                    std::mem::take(done).min(messages.len())
                }
                // A full disk is as a full spool: there may be room later.
                Some(Backlog::Disk(spool)) => {
                    let stored = spool.append(messages).unwrap_or(0);
                    counts.spooled.add(stored);
                    stored
                }
            };
            counts.waiting.set(backlog.as_ref().map_or(0, Backlog::waiting));
            changed.notify_all();
            let left = until.saturating_duration_since(Instant::now());
            if accepted > 0 || left.is_zero() {
                return Ok(accepted);
            }
            state = self.shared.wait(state, left);
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ending = true;
        self.shared.changed.notify_all();
        let mut until = Instant::now() + SETTLE;
        let mut before = u64::MAX;
        // In memory there is nothing that anybody would take up again.
        while let Some(Backlog::Disk(spool)) = &state.backlog {
            let waiting = spool.waiting();
            if waiting < before {
                (before, until) = (waiting, until.max(Instant::now() + SETTLE / 5).min(until + SETTLE / 5));
            }
            let left = until.saturating_duration_since(Instant::now());
            if waiting == 0 || state.lost || state.denied.is_some() || left.is_zero() {
                break;
            }
            state = self.shared.wait(state, left);
        }
        // Also closes the spool, which the next start opens while the thread may still be in a call.
        state.backlog = None;
        self.shared.changed.notify_all();
    }
}

fn access(options: &Options) -> Result<Access, SetupError> {
    let destination = Destination::parse(&options.location)?;
    let tls = match (destination.tls, options.tls.set()) {
        (true, _) => Some(options.tls.read()?),
        (false, None) => None,
        (false, Some(property)) => {
            let encrypted = "mqtts, natss, rediss, kafkas or https";
            return Err(TlsError::Plain(property, destination.to_string(), encrypted).into());
        }
    };
    let has_login = destination.kind != crate::kind::BrokerKind::Unix;
    if !has_login && options.credentials.is_some() {
        return Err(SetupError::NoLogin(destination.to_string()));
    }
    let credentials = if has_login { Credentials::find(options.credentials.as_deref())? } else { None };
    if destination.sasl.is_some() && credentials.is_none() {
        return Err(SetupError::NoCredentials(destination.to_string()));
    }
    // MQTT 3.1.1 promises 23 letters and digits.
    let name =
        format!("cudainfer{}", std::iter::repeat_with(fastrand::alphanumeric).take(14).collect::<String>());
    Ok(Access { destination: Arc::new(destination), tls, credentials, name })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(|e| e.into_inner()).0
    }
}

/// Reports that the thread ends because a client has failed where none should.
struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().denied =
                Some("its client has failed, which is an error in this program".to_owned());
            self.0.changed.notify_all();
        }
    }
}

/// Since when there is no connection, and when that was said.
struct Outage {
    said: Instant,
    /// Whether the user has heard of it.
    reported: bool,
}

/// What the thread has.
struct Worker {
    shared: Arc<Shared>,
    access: Access,
    report: Box<dyn Fn(Report) + Send>,
    outage: Option<Outage>,
    backoff: Backoff,
    /// Whether the broker has ever acknowledged anything.
    ever: bool,
}

impl Worker {
    fn run(mut self) {
        let mut client: Option<Box<dyn Client>> = None;
        while self.goes_on() {
            let Some(connection) = &mut client else {
                match self.access.connect() {
                    Ok(connected) => {
                        self.connected();
                        client = Some(connected);
                    }
                    Err(failure) => self.failed(failure),
                }
                continue;
            };
            let Some(mut messages) = self.next() else {
                connection.idle();
                continue;
            };
            let allowed = |message: &Message| self.access.destination.check_topic(&message.topic);
            messages.truncate(messages.iter().take_while(|message| allowed(message).is_ok()).count().max(1));
            if let Some(Err(e)) = messages.first().map(allowed) {
                self.refused(&e.to_string());
                continue;
            }
            self.shared.counts.sent.add(messages.len());
            let Sent { acknowledged, failure } = connection.send(&messages);
            self.done(acknowledged, failure.is_none());
            match failure {
                None => (),
                Some(Failure::Unsendable(reason)) => self.refused(&reason),
                Some(failure) => {
                    client = None;
                    self.failed(failure);
                }
            }
        }
    }

    fn goes_on(&self) -> bool {
        let state = self.shared.lock();
        state.backlog.is_some() && state.denied.is_none()
    }

    /// Waits for messages. `None` where there are none yet, or no more.
    fn next(&self) -> Option<Vec<Message>> {
        let mut state = self.shared.lock();
        if state.backlog.as_ref()?.waiting() == 0 {
            state = self.shared.wait(state, REMIND);
        }
        let messages = match state.backlog.as_mut()?.first(BATCH, BATCH_BYTES) {
            Ok(messages) => messages,
            Err(e) => {
                drop(state);
                (self.report)(Report::Warning(format!("the spool cannot be read: {e}. It is tried again")));
                self.pause(Duration::from_secs(1));
                return None;
            }
        };
        let (waiting, lost) =
            state.backlog.as_ref().map_or((0, 0), |backlog| (backlog.waiting(), backlog.lost()));
        drop(state);
        self.shared.counts.waiting.set(waiting);
        let before = self.shared.counts.damaged.get();
        if lost > before {
            self.shared.counts.damaged.set(lost);
            (self.report)(Report::Warning(format!(
                "the spool was damaged while it was in use: messages are lost, {} since the last WARNING of this",
                lost - before
            )));
        }
        (!messages.is_empty()).then_some(messages)
    }

    /// The first `count` messages are done with; `well` where all that were sent are.
    fn done(&mut self, count: usize, well: bool) {
        let Shared { counts, changed, .. } = &*self.shared;
        if count > 0 {
            self.ever = true;
            self.backoff.reset();
        }
        counts.acknowledged.add(count);
        self.take_out(count);
        changed.notify_all();
        if well && let Some(Outage { reported: true, .. }) = self.outage.take() {
            (self.report)(Report::Info(format!(
                "'{}' takes messages again; {} are waiting",
                self.access.destination,
                counts.waiting.get()
            )));
        }
    }

    fn take_out(&self, count: usize) {
        let mut state = self.shared.lock();
        let State { backlog: Some(backlog), done, .. } = &mut *state else { return };
        let in_memory = matches!(backlog, Backlog::Memory(_));
        *done += if in_memory { count } else { 0 };
        // If its place cannot be written, messages come again at the next start, which is allowed.
        let _ = backlog.acknowledge(count);
        self.shared.counts.waiting.set(backlog.waiting());
        self.shared.changed.notify_all();
    }

    /// The next message is one that the broker never takes.
    fn refused(&mut self, reason: &str) {
        self.shared.counts.refused.add(1);
        self.take_out(1);
        let first = self.shared.counts.refused.get() == 1;
        if first || self.is_due() {
            (self.report)(Report::Warning(format!(
                "'{}' refuses a message: {reason}. {} have been dropped for that, counted in stats as refused",
                self.access.destination,
                self.shared.counts.refused.get()
            )));
        }
    }

    fn connected(&mut self) {
        self.shared.lock().lost = false;
        self.shared.changed.notify_all();
        if self.outage.is_some() {
            self.shared.counts.reconnects.add(1);
        }
    }

    fn failed(&mut self, failure: Failure) {
        self.shared.lock().lost = true;
        let (denied, reason) = match failure {
            Failure::Denied(reason) => (true, reason),
            Failure::Lost(reason) | Failure::Unsendable(reason) => (false, reason),
        };
        if denied && !self.ever {
            // Somebody who has just started it can mend it; what is in the spool stays there.
            self.shared.lock().denied = Some(reason);
            self.shared.changed.notify_all();
            return;
        }
        if self.is_due() {
            let waiting = self.shared.counts.waiting.get();
            (self.report)(Report::Warning(format!(
                "'{}' takes no messages: {reason}. {waiting} are waiting, and it is tried again until it does",
                self.access.destination
            )));
        }
        let wait = self.backoff.wait();
        self.pause(wait);
    }

    /// Whether the outage must be reported to the user: when it begins, and again after a while.
    fn is_due(&mut self) -> bool {
        let outage = self.outage.get_or_insert(Outage { said: Instant::now(), reported: false });
        let due = !outage.reported || outage.said.elapsed() >= REMIND;
        if due {
            *outage = Outage { said: Instant::now(), reported: true };
        }
        due
    }

    /// Waits before the next try, but not for longer than anybody is there.
    fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut state = self.shared.lock();
        while state.backlog.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.shared.wait(state, left);
        }
    }
}
