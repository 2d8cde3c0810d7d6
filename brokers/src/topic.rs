//! Which topics each kind of broker takes.

use crate::uri::Kind;

/// Says why a broker of this kind takes no messages under `topic`, as the end of a sentence that begins with the topic; `None`
/// where it takes them.
pub fn forbidden(kind: Kind, topic: &str) -> Option<&'static str> {
    match kind {
        Kind::Http | Kind::Unix => None,
        _ if topic.is_empty() => Some("is empty"),
        Kind::Mqtt if topic.contains(['+', '#']) => {
            Some("has a wildcard, + or #, which MQTT allows only to subscribers")
        }
        Kind::Mqtt if topic.contains('\0') => Some("has a null character, which MQTT does not allow"),
        Kind::Mqtt if topic.starts_with('$') => Some("begins with $, which MQTT keeps for the broker itself"),
        Kind::Mqtt if topic.len() > 65_535 => Some("is longer than the 65535 bytes that MQTT allows"),
        Kind::Nats if topic.contains(|c: char| c.is_whitespace() || c.is_control()) => {
            Some("has a space or control character, which NATS does not allow")
        }
        Kind::Nats if topic.split('.').any(|token| token.is_empty()) => {
            Some("has an empty part: NATS wants words between its dots")
        }
        Kind::Nats if topic.split('.').any(|token| token == "*" || token == ">") => {
            Some("has a wildcard, * or >, which NATS allows only to subscribers")
        }
        Kind::Kafka if topic.len() > 249 => Some("is longer than the 249 characters that Kafka allows"),
        Kind::Kafka if topic == "." || topic == ".." => Some("is . or .., which Kafka does not allow"),
        Kind::Kafka if !topic.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c)) => Some(
            "has a character other than letters, digits, dot, underscore and hyphen, which Kafka does not allow",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_broker_forbids_what_its_protocol_forbids() {
        for (kind, good, bad) in [
            (
                Kind::Mqtt,
                &["a", "cams/front door/frame", "*", "a//b"][..],
                &["", "a/+/b", "a/#", "$SYS/x", "a\0"][..],
            ),
            (
                Kind::Nats,
                &["a", "cams.front.frame", "a/b", "a*"],
                &["", "a b", "a..b", ".a", "a.", "a.*", "a.>", "a\tb"],
            ),
            (Kind::Kafka, &["a", "cams.front-1_x"], &["", "a/b", "a b", ".", "..", "ä"]),
            (Kind::Redis, &["a b*:/#"], &[""]),
            (Kind::Http, &["", "a b"], &[]),
            (Kind::Unix, &["", "a b"], &[]),
        ] {
            for topic in good {
                assert_eq!(forbidden(kind, topic), None, "{kind:?} {topic}");
            }
            for topic in bad {
                assert!(forbidden(kind, topic).is_some(), "{kind:?} {topic}");
            }
        }
        assert!(forbidden(Kind::Kafka, &"a".repeat(250)).is_some());
    }
}
