//! The connection to a broker, and what is done while there is none.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Message;
use crate::backoff::Backoff;
use crate::client::{Access, Client, Failure, Sent};
use crate::counts::Counts;
use crate::outbox::{Sink, Written};
use crate::report::{REMIND, Reminder, Report, Reporter};
use crate::threads::now;

/// Bytes that are sent together, about.
pub(crate) const BATCH_BYTES: usize = 1 << 20;

/// Makes a connection: [`Access::connect`], but for the simulation's broker.
pub(crate) type Connect = Box<dyn FnMut(&Access) -> Result<Box<dyn Client>, Failure> + Send>;

/// Sends messages to a broker, and accepts those that it has acknowledged, or takes under no circumstances.
pub(crate) struct Sender {
    access: Access,
    connect: Connect,
    counts: Arc<Counts>,
    report: Reporter,
    client: Option<Box<dyn Client>>,
    outage: Reminder,
    /// Messages that were refused; they are no outage.
    refusals: Reminder,
    backoff: Backoff,
    /// Before when nothing is tried.
    next_try: Option<Instant>,
    /// Whether the broker has ever acknowledged anything.
    ever: bool,
}

impl Sender {
    pub fn new(access: Access, connect: Connect, counts: &Arc<Counts>, report: &Reporter) -> Self {
        Self {
            access,
            connect,
            counts: Arc::clone(counts),
            report: Arc::clone(report),
            client: None,
            outage: Reminder::default(),
            refusals: Reminder::default(),
            backoff: Backoff::new(),
            next_try: None,
            ever: false,
        }
    }

    /// Whether the broker could be reached when it was last tried.
    pub fn is_connected(&self) -> bool {
        self.client.is_some()
    }

    /// The connection, which is made where there is none.
    ///
    /// # Errors
    /// The broker refuses this client, before it has ever taken anything.
    fn connection(&mut self) -> io::Result<Result<&mut Box<dyn Client>, Duration>> {
        if self.client.is_none() {
            let left = self.next_try.map(|next| next.saturating_duration_since(now()));
            if let Some(left) = left.filter(|left| !left.is_zero()) {
                return Ok(Err(left));
            }
            match (self.connect)(&self.access) {
                Ok(client) => {
                    self.client = Some(client);
                    self.counts.reconnects.add(usize::from(self.outage.is_on()));
                }
                Err(failure) => return self.failed(failure).map(Err),
            }
        }
        Ok(self.client.as_mut().ok_or(Duration::ZERO))
    }

    /// How many of the messages, from the first, are sent together; why the first is not sent at all.
    fn sendable(&self, messages: &[Arc<Message>]) -> Result<usize, String> {
        let mut bytes = 0;
        let mut count = 0;
        for message in messages {
            bytes += message.payload.len();
            match self.access.destination.check_topic(&message.topic) {
                Err(e) if count == 0 => return Err(e.to_string()),
                Err(_) => break,
                Ok(()) if count > 0 && bytes > BATCH_BYTES => break,
                Ok(()) => count += 1,
            }
        }
        Ok(count)
    }

    /// Messages were sent, and nothing was wrong with any.
    fn well(&mut self) {
        if self.outage.end() {
            (self.report)(Report::Info(format!(
                "'{}' takes messages again; {} are waiting",
                self.access.destination,
                self.counts.waiting.get()
            )));
        }
    }

    /// The broker never takes the next message.
    fn refused(&mut self, reason: &str) {
        self.counts.refused.add(1);
        if self.refusals.is_due() {
            (self.report)(Report::Warning(format!(
                "'{}' refuses a message: {reason}. {} have been dropped for that, counted in stats as refused",
                self.access.destination,
                self.counts.refused.get()
            )));
        }
    }

    /// There is no connection. Returns how long to wait before the next try.
    ///
    /// # Errors
    /// The broker refuses this client, before it has ever taken anything: somebody who has just started it can mend it.
    fn failed(&mut self, failure: Failure) -> io::Result<Duration> {
        self.client = None;
        let (denied, reason) = match failure {
            Failure::Denied(reason) => (true, reason),
            Failure::Lost(reason) | Failure::Unsendable(reason) => (false, reason),
        };
        if denied && !self.ever {
            return Err(io::Error::other(reason));
        }
        if self.outage.is_due_for(&reason) {
            (self.report)(Report::Warning(format!(
                "'{}' takes no messages: {reason}. {} are waiting, and it is tried again until it does",
                self.access.destination,
                self.counts.waiting.get()
            )));
        }
        let wait = self.backoff.wait();
        self.next_try = Some(now() + wait);
        Ok(wait)
    }
}

impl Sink for Sender {
    /// Takes as long as the broker takes to connect and to acknowledge.
    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        let count = match self.sendable(messages) {
            Ok(count) => count,
            Err(reason) => {
                self.refused(&reason);
                return Ok(Written::accepted(1));
            }
        };
        let count = if self.access.alone.is_some() { count.min(1) } else { count };
        let messages = messages.get(..count).unwrap_or_default();
        let client = match self.connection()? {
            Ok(client) => client,
            Err(wait) => return Ok(Written::later(wait)),
        };
        let Sent { acknowledged, failure } = client.send(messages);
        self.counts.sent.add(count);
        self.counts.acknowledged.add(acknowledged);
        if acknowledged > 0 {
            self.ever = true;
            self.backoff.reset();
        }
        match failure {
            None => self.well(),
            Some(Failure::Unsendable(reason)) => {
                self.refused(&reason);
                return Ok(Written::accepted(acknowledged + 1));
            }
            Some(failure) => {
                let again_in = self.failed(failure)?;
                return Ok(Written { accepted: acknowledged, again_in, ..Written::default() });
            }
        }
        Ok(Written::accepted(acknowledged))
    }

    /// Connects before there are messages: a login that is refused is reported at once.
    fn idle(&mut self) -> io::Result<Option<Duration>> {
        match self.connection()? {
            Ok(client) => client.idle(),
            Err(wait) => return Ok(Some(wait)),
        }
        Ok(Some(REMIND))
    }
}
