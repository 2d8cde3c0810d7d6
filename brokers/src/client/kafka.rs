//! A Kafka topic: all replicas that are in sync acknowledge each message. Messages of a topic go to one partition, because only
//! within one they keep their order.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use std::time::SystemTime;

use chrono::DateTime;
use rskafka::BackoffConfig;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client as Cluster, ClientBuilder, Credentials, SaslConfig};
use rskafka::record::Record;

use super::contract::{Access, Client, Failure, Sent, explain};
use super::runtime::OwnRuntime;
use crate::Message;
use crate::uri::Sasl;

/// How long the library tries again by itself: while a cluster chooses another leader.
const RETRIES: Duration = Duration::from_secs(3);

/// Bytes of an answer: that with the cluster's topics may be long.
const LONGEST_ANSWER: usize = 8 << 20;

pub(super) struct Kafka {
    cluster: Cluster,
    partitions: HashMap<String, PartitionClient>,
    runtime: OwnRuntime,
    access: Access,
}

impl Kafka {
    pub fn connect(access: &Access) -> Result<Self, Failure> {
        let runtime = OwnRuntime::start()?;
        let destination = &access.destination;
        let retries = BackoffConfig { deadline: Some(RETRIES), ..BackoffConfig::default() };
        let mut builder = ClientBuilder::new(vec![destination.address()])
            .client_id(access.name.as_str())
            .max_message_size(LONGEST_ANSWER)
            .backoff_config(retries);
        if let Some(tls) = &access.tls {
            builder = builder.tls_config(tls.config.clone());
        }
        if let Some(login) = &access.credentials {
            let login = Credentials::new(login.user.clone(), login.password.clone());
            builder = builder.sasl_config(match destination.sasl.unwrap_or_default() {
                Sasl::Plain => SaslConfig::Plain(login),
                Sasl::ScramSha256 => SaslConfig::ScramSha256(login),
                Sasl::ScramSha512 => SaslConfig::ScramSha512(login),
            });
        }
        let cluster = runtime.wait(async { builder.build().await.map_err(|e| failure(&e)) })?;
        Ok(Self { cluster, partitions: HashMap::new(), runtime, access: access.clone() })
    }
}

impl Client for Kafka {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        let Self { cluster, partitions, runtime, access } = self;
        let mut acknowledged = 0;
        let result = runtime.wait(async {
            let mut rest = messages;
            while let Some(first) = rest.first() {
                let topic = access.topic(first);
                let same = rest.iter().take_while(|message| access.topic(message) == topic).count();
                let (now, later) = rest.split_at(same);
                if !partitions.contains_key(topic) {
                    let number = access.destination.partition;
                    let opened = cluster.partition_client(topic, number, UnknownTopicHandling::Error).await;
                    partitions.insert(topic.to_owned(), opened.map_err(|e| failure(&e))?);
                }
                let Some(partition) = partitions.get(topic) else { return Ok(()) };
                partition.produce(records(now), Compression::NoCompression).await.map_err(|e| failure(&e))?;
                acknowledged += now.len();
                rest = later;
            }
            Ok(())
        });
        if let Err(Failure::Unsendable(_)) = result {
            // Which of them it was is found out by sending them one at a time.
            let left = messages.get(acknowledged..).unwrap_or_default();
            if left.len() > 1 {
                let first = self.send(left.get(..1).unwrap_or_default());
                return Sent { acknowledged: acknowledged + first.acknowledged, failure: first.failure };
            }
        }
        Sent { acknowledged, failure: result.err() }
    }
}

fn records(messages: &[Arc<Message>]) -> Vec<Record> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now =
        i64::try_from(now.as_millis()).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
    let record = |message: &Arc<Message>| Record {
        key: Some(message.id.clone().into_bytes()),
        value: Some(message.payload.clone()),
        headers: BTreeMap::from([("id".to_owned(), message.id.clone().into_bytes())]),
        timestamp: now,
    };
    messages.iter().map(record).collect()
}

fn failure(error: &Error) -> Failure {
    match error {
        Error::ServerError { protocol_error, .. } => match protocol_error {
            ProtocolError::MessageTooLarge
            | ProtocolError::RecordListTooLarge
            | ProtocolError::InvalidRecord => Failure::Unsendable(error.to_string()),
            // A cluster that creates topics by itself has it a little later.
            ProtocolError::UnknownTopicOrPartition => {
                Failure::Lost("it has no such topic or partition: create it".to_owned())
            }
            ProtocolError::TopicAuthorizationFailed | ProtocolError::ClusterAuthorizationFailed => {
                Failure::Denied("it does not allow the user to write to the topic".to_owned())
            }
            _ => Failure::Lost(protocol_error.to_string()),
        },
        e => of_text(explain(e)),
    }
}

/// What the library says only in the text of what it tried again.
fn of_text(failure: Failure) -> Failure {
    let Failure::Lost(said) = failure else { return failure };
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if has(&["UnsupportedSaslMechanism", "unsupported sasl mechanism"]) {
        Failure::Denied(
            "it does not take a login of this kind: write ?sasl=plain, ?sasl=scram-sha-256 or ?sasl=scram-sha-512 after the \
             topic, whichever its listener has"
                .to_owned(),
        )
    } else if has(&["SaslAuthenticationFailed", "Sasl session error"]) {
        Failure::Denied("it refuses the login".to_owned())
    } else if has(&["invalid peer certificate", "received fatal alert"]) {
        Failure::Denied(said)
    } else {
        Failure::Lost(said)
    }
}
