//! The brokers' clients, each of which sends some messages and waits for their acknowledgement.

mod contained;
mod contract;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(feature = "mqtt")]
mod mqtt;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "http")]
mod poster;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "mqtt", feature = "kafka"))]
mod runtime;
mod unix;
#[cfg(any(feature = "nats", feature = "redis"))]
mod wire;

use crate::kind::BrokerKind;

pub(crate) use contract::{Access, Alone, Client, Failure, Sent};
#[cfg(feature = "http")]
pub use poster::{PostAnswer, PostError, Poster};

impl Access {
    /// Connects.
    ///
    /// # Errors
    /// Why not, [`Failure::Lost`] or [`Failure::Denied`].
    pub fn connect(&self) -> Result<Box<dyn Client>, Failure> {
        contained::Contained::connect(|| self.connect_client())
    }

    fn connect_client(&self) -> Result<Box<dyn Client>, Failure> {
        Ok(match self.destination.kind {
            #[cfg(feature = "mqtt")]
            BrokerKind::Mqtt => Box::new(mqtt::Mqtt::connect(self)?),
            #[cfg(feature = "nats")]
            BrokerKind::Nats => Box::new(nats::Nats::connect(self)?),
            #[cfg(feature = "redis")]
            BrokerKind::Redis => Box::new(redis::Redis::connect(self)?),
            #[cfg(feature = "kafka")]
            BrokerKind::Kafka => Box::new(kafka::Kafka::connect(self)?),
            #[cfg(feature = "http")]
            BrokerKind::Http => Box::new(http::Http::new(self)?),
            BrokerKind::Unix => Box::new(unix::Unix::connect(&self.destination.path)?),
            #[allow(unreachable_patterns)] // where all features are on
            _ => return Err(Failure::Denied("this plugin was built without it".to_owned())),
        })
    }
}
