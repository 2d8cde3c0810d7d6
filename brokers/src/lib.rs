//! How messages get to their destination: at least once, in order, and without anybody waiting for it. Knows nothing of GStreamer.
//!
//! Messages wait in an [`Outbox`], whose thread writes them to a [`Sink`]. [`broker`] makes that of a URI: without a spool the
//! outbox's thread itself sends the messages, which stay in the outbox until the broker has acknowledged them; with a spool it
//! stores them on the disk, from where a second thread sends them.

#![forbid(unsafe_code)]
// Without one of them, some of what they share is not used.
#![cfg_attr(
    not(all(feature = "mqtt", feature = "nats", feature = "redis", feature = "kafka", feature = "http")),
    allow(dead_code)
)]

mod backoff;
mod client;
mod counts;
mod credentials;
mod delivery;
#[cfg(feature = "https")]
pub mod https;
mod kind;
mod message;
mod monitor;
mod outbox;
mod report;
#[cfg(feature = "https")]
mod resolver;
mod sender;
#[cfg(test)]
mod simulation;
mod spool;
mod spooled;
mod threads;
mod tls;
mod topic;
mod uri;
#[cfg(test)]
mod world;

#[cfg(feature = "http")]
pub use client::{PostAnswer, PostError, Poster};
pub use counts::{Count, Counts};
pub use credentials::{CredentialsError, PASSWORD, USER};
pub use delivery::{Options, SetupError, Webhook, broker, webhook};
pub use kind::BrokerKind;
pub use message::Message;
pub use outbox::{BATCH, CALL_LIMIT, Capacity, Drained, Outbox, PushError, Sink, WhenFull, Written};
pub use report::Report;
#[cfg(feature = "https")]
pub use resolver::agent;
pub use spool::SpoolError;
pub use tls::{TlsError, TlsFiles};
pub use uri::{Destination, UriError, is_uri, without_login};
