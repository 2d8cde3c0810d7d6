//! How messages get to a broker: at least once, in order, and without anybody waiting for it. Knows nothing of GStreamer.
//!
//! A [`Delivery`] has a thread with a connection to what a URI names. Messages wait in its spool, on the disk, until the broker
//! has acknowledged them, or, without a spool, with whoever offers them.

// Without one of them, some of what they share is not used.
#![cfg_attr(
    not(all(feature = "mqtt", feature = "nats", feature = "redis", feature = "kafka", feature = "http")),
    allow(dead_code)
)]

mod backlog;
mod backoff;
mod client;
mod counts;
mod credentials;
mod delivery;
#[cfg(feature = "https")]
pub mod https;
mod kind;
mod message;
mod spool;
mod tls;
mod topic;
mod uri;

pub use counts::{Count, Counts};
pub use credentials::{CredentialsError, PASSWORD, USER};
pub use delivery::{Delivery, Options, Report, SetupError};
pub use kind::BrokerKind;
pub use message::Message;
pub use spool::SpoolError;
pub use tls::{TlsError, TlsFiles};
pub use uri::{Destination, UriError, is_uri, without_login};
