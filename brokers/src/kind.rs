//! The kinds of destinations that have a URI.

/// A kind of destination that has a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerKind {
    /// An MQTT 3.1.1 broker.
    Mqtt,
    /// A NATS server; JetStream where the subject has a stream.
    Nats,
    /// A stream of a Redis server.
    Redis,
    /// A topic of a Kafka cluster.
    Kafka,
    /// A webhook.
    Http,
    /// A Unix socket.
    Unix,
}

impl BrokerKind {
    /// Whether the client of this kind has been built in.
    pub fn is_built(self) -> bool {
        match self {
            Self::Mqtt => cfg!(feature = "mqtt"),
            Self::Nats => cfg!(feature = "nats"),
            Self::Redis => cfg!(feature = "redis"),
            Self::Kafka => cfg!(feature = "kafka"),
            Self::Http => cfg!(feature = "http"),
            Self::Unix => true,
        }
    }
}
