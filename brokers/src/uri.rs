//! Where to: the URI of a destination, checked.

use std::fmt;
use std::path::PathBuf;

use url::Url;

use crate::kind::BrokerKind;
use crate::topic::forbidden;

/// Scheme, kind, whether it is encrypted, port.
const SCHEMES: [(&str, BrokerKind, bool, u16); 11] = [
    ("mqtt", BrokerKind::Mqtt, false, 1883),
    ("mqtts", BrokerKind::Mqtt, true, 8883),
    ("nats", BrokerKind::Nats, false, 4222),
    ("natss", BrokerKind::Nats, true, 4222),
    ("redis", BrokerKind::Redis, false, 6379),
    ("rediss", BrokerKind::Redis, true, 6379),
    ("kafka", BrokerKind::Kafka, false, 9092),
    ("kafkas", BrokerKind::Kafka, true, 9093),
    ("http", BrokerKind::Http, false, 80),
    ("https", BrokerKind::Http, true, 443),
    ("unix", BrokerKind::Unix, false, 0),
];

impl BrokerKind {
    /// The scheme of its URIs, without TLS.
    pub fn scheme(self) -> &'static str {
        SCHEMES.iter().find(|(_, kind, tls, _)| *kind == self && !tls).map_or("", |(scheme, ..)| *scheme)
    }
}

/// The schemes with TLS, for a sentence: `mqtts, natss or https`.
pub(crate) fn encrypted_schemes() -> String {
    let all: Vec<&str> = SCHEMES.iter().filter(|(_, _, tls, _)| *tls).map(|(scheme, ..)| *scheme).collect();
    match all.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Parameters after the `?` of a URI, and the kind that knows them.
const PARAMETERS: [(&str, BrokerKind); 3] =
    [("maxlen", BrokerKind::Redis), ("partition", BrokerKind::Kafka), ("sasl", BrokerKind::Kafka)];

/// How a client proves to a Kafka cluster who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sasl {
    /// It sends the password.
    #[default]
    Plain,
    /// It shows that it knows the password, with SHA-256.
    ScramSha256,
    /// The same with SHA-512.
    ScramSha512,
}

/// By the parameter's values.
const MECHANISMS: [(&str, Sasl); 3] =
    [("plain", Sasl::Plain), ("scram-sha-256", Sasl::ScramSha256), ("scram-sha-512", Sasl::ScramSha512)];

/// Why a text is no destination; each a sentence or two.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum UriError {
    #[error(
        "'{0}' is no kind of destination. Write a file's path, or a URI with mqtt, nats, redis, kafka (or mqtts, natss, rediss, kafkas), http, https or unix"
    )]
    Scheme(String),
    #[error("'{0}' has no host. Write SCHEME://HOST[:PORT]/TOPIC")]
    Host(String),
    #[error("'{uri}' is no URI: {reason}")]
    Syntax { uri: String, reason: String },
    #[error(
        "the URI has an @: user and password are not taken from it, because others may read it. Put them in a file and set credentials to its path, or set CUDAINFER_PUBLISH_USER and CUDAINFER_PUBLISH_PASSWORD; an @ of a topic is written %40"
    )]
    Login,
    #[error("'{0}' has no topic. Write it after the host, as in SCHEME://HOST/TOPIC")]
    NoTopic(String),
    #[error("the topic '{topic}' {reason}. Set another topic")]
    Topic { topic: String, reason: &'static str },
    #[error("'{0}' has no path. Write unix:/PATH/OF/THE/SOCKET")]
    NoPath(String),
    #[error(
        "the parameter '{name}' of '{uri}' is not known. Redis takes maxlen, Kafka takes partition and sasl"
    )]
    Parameter { uri: String, name: String },
    #[error("the parameter '{name}' of '{uri}' must be a number from 0 to {most}")]
    Number { uri: String, name: String, most: u64 },
    #[error("the parameter 'sasl' of '{0}' must be plain, scram-sha-256 or scram-sha-512")]
    Sasl(String),
    #[error("this plugin was built without {0:?}: build it with the feature of that name")]
    NotBuilt(BrokerKind),
}

/// A destination.
#[derive(Clone, PartialEq, Eq)]
pub struct Destination {
    /// What is there.
    pub kind: BrokerKind,
    /// Whether the connection is encrypted.
    pub tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The path, as the topic of messages that have none.
    pub(crate) topic: String,
    /// Of a socket.
    pub(crate) path: PathBuf,
    /// The whole URI, for a webhook.
    pub(crate) url: String,
    /// What messages call it.
    shown: String,
    /// How many entries a Redis stream keeps, about.
    pub(crate) maxlen: Option<u64>,
    /// The partition of a Kafka topic.
    pub(crate) partition: i32,
    /// How to log in to a Kafka cluster, where that is said.
    pub(crate) sasl: Option<Sasl>,
}

/// For messages: what comes after a `?` may be a secret of a webhook.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {self}", self.kind)
    }
}

/// Whether a location is meant as a URI, and not as the path of a file.
pub fn is_uri(location: &str) -> bool {
    let scheme = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    location.starts_with("unix:") || location.split_once("://").is_some_and(|(name, _)| scheme(name))
}

/// A location without user and password, where it is a URI with an `@`; `None` where it has none.
pub fn without_login(location: &str) -> Option<String> {
    let (scheme, rest) = location.split_once("://").filter(|_| is_uri(location))?;
    // The last @, because a password may have everything in it, even one that should be encoded.
    let (_, host) = rest.rsplit_once('@')?;
    Some(format!("{scheme}://***@{host}"))
}

impl Destination {
    /// Reads a URI.
    ///
    /// # Errors
    /// What is wrong with it, without a user or password that it may have.
    pub fn parse(uri: &str) -> Result<Self, UriError> {
        let scheme = uri.split(':').next().unwrap_or_default();
        let Some((_, kind, tls, port)) = SCHEMES.into_iter().find(|(name, ..)| *name == scheme) else {
            return Err(UriError::Scheme(scheme.to_owned()));
        };
        if without_login(uri).is_some() {
            return Err(UriError::Login);
        }
        if !kind.is_built() {
            return Err(UriError::NotBuilt(kind));
        }
        let mut destination = Self {
            kind,
            tls,
            host: String::new(),
            port,
            topic: String::new(),
            path: PathBuf::new(),
            url: uri.to_owned(),
            shown: uri.split('?').next().unwrap_or_default().to_owned(),
            maxlen: None,
            partition: 0,
            sasl: None,
        };
        if kind == BrokerKind::Unix {
            let path = uri.trim_start_matches("unix:");
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(UriError::NoPath(uri.to_owned()));
            }
            destination.path = path.into();
            return Ok(destination);
        }
        if !uri.get(scheme.len()..).is_some_and(|rest| rest.starts_with("://")) {
            return Err(UriError::Host(destination.to_string()));
        }
        let url = match Url::parse(uri) {
            Ok(url) => url,
            Err(url::ParseError::EmptyHost) => return Err(UriError::Host(destination.to_string())),
            Err(e) => return Err(UriError::Syntax { uri: destination.to_string(), reason: e.to_string() }),
        };
        destination.host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if destination.host.is_empty() {
            return Err(UriError::Host(destination.to_string()));
        }
        destination.port = url.port().unwrap_or(port);
        if kind.has_topics() {
            destination.read_topic(&url)?;
            destination.read_parameters(&url)?;
        }
        Ok(destination)
    }

    /// `HOST:PORT`.
    #[cfg(any(feature = "nats", feature = "kafka"))]
    pub(crate) fn address(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// The same, but messages call it by scheme, host and port alone: the path of a webhook may be a secret.
    pub fn shown_by_host(mut self) -> Self {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        self.shown = format!("{scheme}://{host}");
        self
    }

    fn read_topic(&mut self, url: &Url) -> Result<(), UriError> {
        let path = url.path().strip_prefix('/').unwrap_or_default();
        let Some(topic) = decoded(path) else {
            let reason = "its path is not UTF-8".to_owned();
            return Err(UriError::Syntax { uri: self.to_string(), reason });
        };
        // What looks like the beginning of a fragment is a wildcard.
        self.topic = url.fragment().map_or(topic.clone(), |fragment| format!("{topic}#{fragment}"));
        if self.topic.is_empty() {
            return Ok(());
        }
        self.check_topic(&self.topic)
    }

    /// Says why messages under `topic`, or under the URI's if that is empty, cannot be sent there.
    ///
    /// # Errors
    /// There is no topic, or the broker's protocol forbids it.
    pub fn check_topic(&self, topic: &str) -> Result<(), UriError> {
        let topic = if topic.is_empty() { &self.topic } else { topic };
        match forbidden(self.kind, topic) {
            Some(_) if topic.is_empty() => Err(UriError::NoTopic(self.to_string())),
            Some(reason) => Err(UriError::Topic { topic: topic.to_owned(), reason }),
            None => Ok(()),
        }
    }

    fn read_parameters(&mut self, url: &Url) -> Result<(), UriError> {
        for (name, value) in url.query_pairs() {
            let [uri, name] = [self.to_string(), name.into_owned()];
            match name.as_str() {
                known if !PARAMETERS.contains(&(known, self.kind)) => {
                    return Err(UriError::Parameter { uri, name });
                }
                "sasl" => match MECHANISMS.iter().find(|(known, _)| *known == value) {
                    Some((_, sasl)) => self.sasl = Some(*sasl),
                    None => return Err(UriError::Sasl(uri)),
                },
                "maxlen" => match value.parse() {
                    Ok(number) => self.maxlen = Some(number),
                    Err(_) => return Err(UriError::Number { uri, name, most: u64::MAX }),
                },
                _ => match value.parse() {
                    Ok(number @ 0..) => self.partition = number,
                    _ => return Err(UriError::Number { uri, name, most: 2_147_483_647 }),
                },
            }
        }
        Ok(())
    }
}

/// Text in which %XX stands for a byte.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut ahead = rest.clone();
        match (byte, ahead.next().and_then(hex), ahead.next().and_then(hex)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(high * 16 + low);
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_says_where_to() {
        let mqtt = Destination::parse("mqtt://broker/cams/front%20door").unwrap();
        assert_eq!(
            (mqtt.kind, mqtt.tls, mqtt.host.as_str(), mqtt.port),
            (BrokerKind::Mqtt, false, "broker", 1883)
        );
        assert_eq!(mqtt.topic, "cams/front door");
        let redis = Destination::parse("rediss://[::1]:7000/cams?maxlen=100").unwrap();
        assert_eq!(
            (redis.tls, redis.host.as_str(), redis.port, redis.maxlen),
            (true, "::1", 7000, Some(100))
        );
        let kafka = Destination::parse("kafka://k/a?partition=3&sasl=scram-sha-512").unwrap();
        assert_eq!((kafka.partition, kafka.sasl), (3, Some(Sasl::ScramSha512)));
        let hook = Destination::parse("https://h/hook?token=secret").unwrap();
        assert_eq!((hook.port, hook.to_string().as_str()), (443, "https://h/hook"));
        assert!(hook.url.contains("secret") && !format!("{hook:?}").contains("secret"));
        for (uri, path) in [("unix:/run/x", "/run/x"), ("unix:///run/x", "/run/x"), ("unix:x.sock", "x.sock")]
        {
            assert_eq!(Destination::parse(uri).unwrap().path, PathBuf::from(path));
        }
    }

    #[test]
    fn each_kind_has_a_scheme() {
        assert_eq!(
            BrokerKind::ALL.map(BrokerKind::scheme),
            ["mqtt", "nats", "redis", "kafka", "http", "unix"]
        );
        assert_eq!(encrypted_schemes(), "mqtts, natss, rediss, kafkas or https");
    }

    #[test]
    fn what_is_wrong_with_a_uri_is_a_sentence() {
        for (uri, parts) in [
            ("amqp://host/x", &["'amqp'", "mqtt"][..]),
            ("mqtt://", &["no host"]),
            ("mqtt:///x", &["no host"]),
            ("mqtt:x", &["no host"]),
            ("mqtt://host:99999/x", &["no URI", "port"]),
            ("mqtt://host/a/+/b", &["'a/+/b'", "wildcard", "topic"]),
            ("mqtt://host/a/#", &["'a/#'", "wildcard"]),
            ("nats://host/a%20b", &["'a b'", "space"]),
            ("kafka://host/a/b", &["'a/b'", "Kafka"]),
            ("redis://host/x?maxlen=many", &["maxlen", "number"]),
            ("kafka://host/x?partition=-1", &["partition", "number"]),
            ("kafka://host/x?sasl=gssapi", &["sasl", "plain, scram-sha-256 or scram-sha-512"]),
            ("redis://host/x?sasl=plain", &["'sasl'", "not known"]),
            ("mqtt://host/x?qos=2", &["'qos'", "not known"]),
            ("unix:", &["no path"]),
        ] {
            let said = Destination::parse(uri).unwrap_err().to_string();
            assert!(parts.iter().all(|part| said.contains(part)), "{uri}: {said}");
            assert!(said.matches(". ").count() < 3, "{said}");
        }
        let bare = Destination::parse("mqtt://host").unwrap();
        assert!(bare.check_topic("").unwrap_err().to_string().contains("no topic"));
        assert_eq!(bare.check_topic("a"), Ok(()));
    }

    #[test]
    fn user_and_password_are_refused_and_never_said() {
        for uri in [
            "mqtt://me:secret@host/x",
            "mqtt://me:se/secret@host/x",
            "mqtt://secret@host",
            "https://me:secret@host/x?y",
            "nats://me:secret@",
        ] {
            let said = Destination::parse(uri).unwrap_err();
            assert_eq!(said, UriError::Login, "{uri}");
            let masked = without_login(uri).unwrap();
            assert!(!masked.contains("secret") && masked.contains("***@"), "{masked}");
        }
        for location in ["mqtt://host/x", "a@b.jsonl", "/tmp/x@y://z", "-"] {
            assert_eq!(without_login(location), None);
        }
    }

    #[test]
    fn files_are_no_uris() {
        for file in ["-", "out.jsonl", "/tmp/a:b", "C:/x", "1a://b", "://x"] {
            assert!(!is_uri(file), "{file}");
        }
        for uri in ["mqtt://h/x", "amqp://h", "unix:/x"] {
            assert!(is_uri(uri), "{uri}");
        }
    }

    #[test]
    fn fuzz_destination() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "destination").run_text(|text| {
            let (uri, topic) = text.split_once('\n').unwrap_or((text, "a/b"));
            without_login(uri);
            if let Ok(destination) = Destination::parse(uri) {
                let _ = destination.check_topic(topic);
            }
        });
    }
}
