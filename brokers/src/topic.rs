//! Which topics each kind of broker takes.

use crate::kind::BrokerKind;

/// Says why a broker of this kind takes no messages under `topic`, as the end of a sentence that begins with the topic; `None`
/// where it takes them.
pub fn forbidden(kind: BrokerKind, topic: &str) -> Option<&'static str> {
    match kind {
        kind if !kind.has_topics() => None,
        _ if topic.is_empty() => Some("is empty"),
        BrokerKind::Mqtt if topic.contains(['+', '#']) => {
            Some("has a wildcard, + or #, which MQTT allows only to subscribers")
        }
        BrokerKind::Mqtt if topic.contains('\0') => Some("has a null character, which MQTT does not allow"),
        BrokerKind::Mqtt if topic.starts_with('$') => {
            Some("begins with $, which MQTT keeps for the broker itself")
        }
        BrokerKind::Mqtt if topic.len() > 65_535 => Some("is longer than the 65535 bytes that MQTT allows"),
        BrokerKind::Nats if topic.contains(|c: char| c.is_whitespace() || c.is_control()) => {
            Some("has a space or control character, which NATS does not allow")
        }
        BrokerKind::Nats if topic.split('.').any(|token| token.is_empty()) => {
            Some("has an empty part: NATS wants words between its dots")
        }
        BrokerKind::Nats if topic.split('.').any(|token| token == "*" || token == ">") => {
            Some("has a wildcard, * or >, which NATS allows only to subscribers")
        }
        BrokerKind::Kafka if topic.len() > 249 => Some("is longer than the 249 characters that Kafka allows"),
        BrokerKind::Kafka if topic == "." || topic == ".." => Some("is . or .., which Kafka does not allow"),
        BrokerKind::Kafka if !topic.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c)) => {
            Some(
                "has a character other than letters, digits, dot, underscore and hyphen, which Kafka does not allow",
            )
        }
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
                BrokerKind::Mqtt,
                &["a", "cams/front door/frame", "*", "a//b"][..],
                &["", "a/+/b", "a/#", "$SYS/x", "a\0"][..],
            ),
            (
                BrokerKind::Nats,
                &["a", "cams.front.frame", "a/b", "a*"],
                &["", "a b", "a..b", ".a", "a.", "a.*", "a.>", "a\tb"],
            ),
            (BrokerKind::Kafka, &["a", "cams.front-1_x"], &["", "a/b", "a b", ".", "..", "ä"]),
            (BrokerKind::Redis, &["a b*:/#"], &[""]),
            (BrokerKind::Http, &["", "a b"], &[]),
            (BrokerKind::Unix, &["", "a b"], &[]),
        ] {
            for topic in good {
                assert_eq!(forbidden(kind, topic), None, "{kind:?} {topic}");
            }
            for topic in bad {
                assert!(forbidden(kind, topic).is_some(), "{kind:?} {topic}");
            }
        }
        assert!(forbidden(BrokerKind::Kafka, &"a".repeat(250)).is_some());
    }
}
