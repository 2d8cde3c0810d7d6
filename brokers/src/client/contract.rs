//! What every client of a broker is given, has to do and returns. What a client does not acknowledge comes again from
//! `sender`, which connects again after a wait.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
#[cfg(feature = "nats")]
use std::sync::PoisonError;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::Message;
use crate::credentials::Credentials;
use crate::tls::Tls;
use crate::uri::Destination;

/// How long a broker may take to connect, or to acknowledge what was sent to it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Why messages were not acknowledged. The reasons are for the user and have no secrets in them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The connection is lost or was never made, or the broker is busy: it may be better later.
    Lost(String),
    /// The broker refuses the login, the certificate or the topic: somebody has to change something. An error if the broker has never
    /// acknowledged anything; otherwise as [`Failure::Lost`].
    Denied(String),
    /// The broker takes the next message under no circumstances: it is dropped and counted, and the connection stays.
    Unsendable(String),
}

/// What became of messages.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// How many of them, from the first, are acknowledged.
    pub acknowledged: usize,
    /// Why the next is not.
    pub failure: Option<Failure>,
}

impl Sent {
    pub fn up_to(acknowledged: usize, failure: Failure) -> Self {
        Self { acknowledged, failure: Some(failure) }
    }

    pub fn all(messages: &[Arc<Message>]) -> Self {
        Self { acknowledged: messages.len(), failure: None }
    }
}

/// A connection.
pub(crate) trait Client: Send {
    /// Sends messages in their order and waits, for [`TIMEOUT`] at most, until they are acknowledged. After a failure other than
    /// [`Failure::Unsendable`] the connection is closed.
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent;

    /// Does what keeps the connection alive. Called now and then while there is nothing to send; returns soon.
    fn idle(&mut self) {}
}

/// How messages go by themselves.
#[derive(Clone, Default)]
pub(crate) struct Alone {
    /// What is sent as `Authorization: Bearer`.
    pub token: Option<String>,
}

impl std::fmt::Debug for Alone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Alone(***)")
    }
}

/// What a client needs to connect.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub destination: Arc<Destination>,
    pub tls: Option<Tls>,
    pub credentials: Option<Credentials>,
    /// Messages go by themselves, as a webhook of one gets them, with this token.
    pub alone: Option<Alone>,
    /// What the broker calls this client; no two have the same.
    pub name: String,
    /// Topics of which the broker has stored messages, by any connection.
    pub stored: Arc<Mutex<BTreeSet<String>>>,
}

impl Access {
    /// The broker has stored messages of this topic.
    #[cfg(feature = "nats")]
    pub fn note_stored(&self, topic: &str) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if !stored.contains(topic) {
            stored.insert(topic.to_owned());
        }
    }

    /// Whether it ever has.
    #[cfg(feature = "nats")]
    pub fn has_stored(&self, topic: &str) -> bool {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).contains(topic)
    }

    /// The message's topic, or the URI's.
    #[cfg(any(feature = "mqtt", feature = "nats", feature = "redis", feature = "kafka"))]
    pub fn topic<'a>(&'a self, message: &'a Message) -> &'a str {
        if message.topic.is_empty() { &self.destination.topic } else { &message.topic }
    }
}

/// The text of an error and of its causes, and whether one of these is a certificate or key that one side does not accept.
pub(super) fn explain(error: &(dyn Error + 'static)) -> Failure {
    let (mut text, mut next, mut tls) = (String::new(), Some(error), false);
    while let Some(error) = next {
        let said = error.to_string();
        if !text.contains(&said) {
            text = if text.is_empty() { said } else { format!("{text}: {said}") };
        }
        tls |= error.is::<rustls::Error>();
        next = inside(error);
    }
    if tls { Failure::Denied(text) } else { Failure::Lost(text) }
}

/// The error that another one was made of, also where that hides it from `source`.
fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        return Some(inner);
    }
    match error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        Some(inner) => Some(&**inner),
        None => error.source(),
    }
}

pub(super) fn timed_out() -> Failure {
    Failure::Lost(format!("it did not answer for {} s", TIMEOUT.as_secs()))
}
