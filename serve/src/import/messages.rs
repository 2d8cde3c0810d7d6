//! Message brokers: sinks of type 6 and `[message-converter]` to `[[publish]]`, and the sensors' names.

use std::collections::BTreeMap;

use cudainfer_brokers::BrokerKind;

use super::document::Document;
use super::report::{
    Report,
    Verdict::{Differs, NotNeeded, NotTranslated},
};
use super::section::{Reasons, Section};
use super::sources::plain_name;

/// One destination of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportedDestination {
    pub(super) location: String,
    /// Whether it is nvmsgconv's minimal payload.
    pub(super) minimal: bool,
}

/// Keys of brokers that another translation reads, or that have no counterpart.
pub(super) const REASONS: Reasons = &[
    (&["msg-broker-config"], NotTranslated, "set credentials, tls-ca, tls-cert and tls-key of [[publish]]"),
    (
        &["msg-conv-frame-interval", "msg-conv-msg2p-new-api", "msg-conv-dummy-payload"],
        NotTranslated,
        "each frame has a record; interval of [[publish]] thins them by time",
    ),
    (
        &[
            "msg-conv-msg2p-lib",
            "msg-conv-comp-id",
            "msg-broker-comp-id",
            "new-api",
            "disable-msgconv",
            "msg-conv-debug-payload-basedir",
        ],
        NotNeeded,
        "records are made by inferpublish, without a library",
    ),
    (
        &["sync", "qos", "gpu-id", "nvbuf-memory-type", "source-id", "subscribe-topic-list"],
        NotNeeded,
        "records of all streams are sent, as soon as they are there",
    ),
];

/// The destination of a sink of type 6.
pub(super) fn publish(section: Section<'_>) -> Option<ImportedDestination> {
    let library = section.text("msg-broker-proto-lib").unwrap_or("");
    let parts = section.list("msg-broker-conn-str");
    let Some(scheme) = scheme(library) else {
        let names = BrokerKind::ALL.map(BrokerKind::name).join(", ");
        let sentence = format!("inferpublish sends to {names}: add a [[publish]] with one of these");
        section.note("msg-broker-proto-lib", NotTranslated, sentence);
        return None;
    };
    let [host, port, rest @ ..] = &parts[..] else {
        section.note("msg-broker-conn-str", NotTranslated, "expected host;port");
        return None;
    };
    let Some(topic) = section.text("topic").or_else(|| rest.first().copied()) else {
        section.about(NotTranslated, "it has no topic, and location of [[publish]] needs one");
        return None;
    };
    let minimal = match section.integer("msg-conv-payload-type") {
        Some(1) => true,
        Some(kind) => {
            let why = if kind == 0 || kind == 2 {
                "DeepStream's full or protobuf payload"
            } else {
                "a payload of your own"
            };
            section.note("msg-conv-payload-type", Differs, format!("{why} becomes cudainfer's JSON (docs/schema.md); format = \"deepstream\" is the minimal payload"));
            false
        }
        None => {
            section.about(Differs, "DeepStream's full payload becomes cudainfer's JSON (docs/schema.md); format = \"deepstream\" is the minimal one");
            false
        }
    };
    Some(ImportedDestination { location: format!("{scheme}://{host}:{port}/{topic}"), minimal })
}

/// The scheme of the broker after which DeepStream's library for it is named, as libnvds_kafka_proto.so is.
fn scheme(library: &str) -> Option<&'static str> {
    let with_topics = BrokerKind::ALL.into_iter().filter(|kind| kind.has_topics());
    with_topics.map(BrokerKind::scheme).find(|scheme| library.contains(scheme))
}

/// Names of sensors by the number of their source, from the converter's file, if a sink or `[message-converter]` has one.
pub(super) fn sensors(document: &Document, report: &Report) -> BTreeMap<usize, String> {
    let mut names = BTreeMap::new();
    let mut files = Vec::new();
    for group in &document.groups {
        let section = Section { document, group, report };
        if group.name.starts_with("sink") || group.name == "message-converter" {
            // The translation of a group reports if it is switched off.
            let on =
                group.entries.iter().any(|e| e.key == "enable" && !["0", "false"].contains(&e.value.trim()));
            if on && let Some(path) = section.path("msg-conv-config") {
                files.push((section, path));
            }
        }
    }
    files.dedup_by(|a, b| a.1 == b.1);
    for (section, path) in files {
        let settings = match Document::open(&path) {
            Ok(settings) => settings,
            Err(e) => {
                section.note(
                    "msg-conv-config",
                    NotTranslated,
                    format!("sources keep their numbers as names: {e}"),
                );
                continue;
            }
        };
        for group in &settings.groups {
            let sensor = Section { document: &settings, group, report };
            let number = group.name.strip_prefix("sensor").and_then(|n| n.parse().ok());
            if let Some(number) = number
                && sensor.enabled()
                && let Some(id) = sensor.text("id")
            {
                names.insert(number, plain_name(id));
            }
            sensor.finish(&[(&["*"], NotTranslated, "records have the stream's name (the sensor's id) and no other facts about sensors, places and analytics")]);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_known_by_the_name_of_deepstreams_library() {
        for (library, expected) in [
            ("/opt/nvidia/deepstream/lib/libnvds_kafka_proto.so", Some("kafka")),
            ("libnvds_mqtt_proto.so", Some("mqtt")),
            ("libnvds_redis_proto.so", Some("redis")),
            ("libnvds_amqp_proto.so", None),
            ("", None),
        ] {
            assert_eq!(scheme(library), expected, "{library}");
        }
    }
}
