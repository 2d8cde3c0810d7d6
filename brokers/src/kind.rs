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
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Mqtt, Self::Nats, Self::Redis, Self::Kafka, Self::Http, Self::Unix];

    /// Its name, for a list in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mqtt => "MQTT",
            Self::Nats => "NATS",
            Self::Redis => "Redis",
            Self::Kafka => "Kafka",
            Self::Http => "webhooks",
            Self::Unix => "Unix sockets",
        }
    }

    /// Whether each message has a topic there.
    pub fn has_topics(self) -> bool {
        !matches!(self, Self::Http | Self::Unix)
    }

    /// Whether clients log in with a user and a password.
    pub fn has_login(self) -> bool {
        self != Self::Unix
    }

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
