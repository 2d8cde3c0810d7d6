//! NATS. Where the subject has a stream, JetStream stores and acknowledges each message, and drops those it has got before by
//! their id. Where it has none, the server has got the messages when it has answered what was sent behind them.

use std::collections::HashMap;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::{Client as Connection, ConnectErrorKind, ConnectOptions, HeaderMap};
use futures_util::StreamExt;
use rustls::ClientConfig;

use super::runtime::OwnRuntime;
use super::{Access, Client, Failure, Sent, TIMEOUT, explain};
use crate::Message;

/// The header by which JetStream knows a message that it has got before.
const ID: &str = "Nats-Msg-Id";

pub(super) struct Nats {
    connection: Connection,
    jetstream: Context,
    /// Whether subjects have a stream, as far as they have been used.
    streams: HashMap<String, bool>,
    runtime: OwnRuntime,
    access: Access,
}

impl Nats {
    pub fn connect(access: &Access) -> Result<Self, Failure> {
        let runtime = OwnRuntime::start()?;
        let destination = &access.destination;
        let mut options =
            ConnectOptions::new().name(&access.name).connection_timeout(TIMEOUT).max_reconnects(1);
        if let Some(login) = &access.credentials {
            options = options.user_and_password(login.user.clone(), login.password.clone());
        }
        if let Some(tls) = &access.tls {
            options = options.require_tls(true).tls_client_config(ClientConfig::clone(&tls.config));
        }
        // Servers behind a load balancer announce addresses that clients cannot reach.
        let options = options.ignore_discovered_servers();
        let (connection, jetstream) = runtime.wait(async {
            let connection = options.connect(destination.address()).await.map_err(|e| match e.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    Failure::Denied("it refuses the login".to_owned())
                }
                _ => explain(&e),
            })?;
            // Starts a task of its own.
            let mut jetstream = async_nats::jetstream::new(connection.clone());
            jetstream.set_timeout(TIMEOUT);
            Ok((connection, jetstream))
        })?;
        Ok(Self { connection, jetstream, streams: HashMap::new(), runtime, access: access.clone() })
    }
}

impl Client for Nats {
    fn send(&mut self, messages: &[Message]) -> Sent {
        let Self { connection, jetstream, streams, runtime, access } = self;
        let mut acknowledged = 0;
        let result = runtime.wait(async {
            let mut rest = messages;
            while let Some(first) = rest.first() {
                let stored = streams.get(access.topic(first)).copied();
                // Alone, where it is not known yet whether the subject has a stream.
                let same =
                    rest.iter().take_while(|message| streams.get(access.topic(message)).copied() == stored);
                let (now, later) = rest.split_at(if stored.is_none() { 1 } else { same.count() });
                if stored == Some(false) {
                    plain(connection, access, now).await?;
                    acknowledged += now.len();
                    rest = later;
                } else if store(jetstream, access, now, &mut acknowledged).await? {
                    streams.insert(access.topic(first).to_owned(), true);
                    rest = later;
                } else if stored.is_none() {
                    streams.insert(access.topic(first).to_owned(), false);
                } else {
                    return Err(Failure::Lost("the subject has no stream any more".to_owned()));
                }
            }
            Ok(())
        });
        Sent { acknowledged, failure: result.err() }
    }
}

fn headers(message: &Message) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ID, message.id.as_str());
    headers
}

/// Stores messages in their streams. Returns false where there is none.
async fn store(
    jetstream: &Context,
    access: &Access,
    messages: &[Message],
    acknowledged: &mut usize,
) -> Result<bool, Failure> {
    let mut flying = Vec::with_capacity(messages.len());
    let failure = |e: async_nats::jetstream::context::PublishError| match e.kind() {
        PublishErrorKind::MaxPayloadExceeded => Failure::Unsendable(e.to_string()),
        _ => explain(&e),
    };
    for message in messages {
        let topic = access.topic(message).to_owned();
        let sent =
            jetstream.publish_with_headers(topic, headers(message), message.payload.clone().into()).await;
        match sent {
            Ok(sent) => flying.push(sent),
            // Those before it may still be acknowledged.
            Err(e) if flying.is_empty() => return Err(failure(e)),
            Err(_) => break,
        }
    }
    let whole = flying.len() == messages.len();
    for sent in flying {
        match sent.await {
            Ok(_) => *acknowledged += 1,
            Err(e) if e.kind() == PublishErrorKind::StreamNotFound => return Ok(false),
            Err(e) => return Err(failure(e)),
        }
    }
    if whole { Ok(true) } else { Err(Failure::Lost("not all messages could be sent".to_owned())) }
}

/// Hands messages to the server, which has no stream for them.
async fn plain(connection: &Connection, access: &Access, messages: &[Message]) -> Result<(), Failure> {
    let inbox = connection.new_inbox();
    let mut echo = connection.subscribe(inbox.clone()).await.map_err(|e| explain(&e))?;
    for message in messages {
        let topic = access.topic(message).to_owned();
        let sent = connection.publish_with_headers(topic, headers(message), message.payload.clone().into());
        sent.await.map_err(|e| match e.kind() {
            async_nats::client::PublishErrorKind::MaxPayloadExceeded => Failure::Unsendable(e.to_string()),
            _ => explain(&e),
        })?;
    }
    // The server serves a connection in order.
    connection.publish(inbox, Vec::new().into()).await.map_err(|e| explain(&e))?;
    echo.next().await.map(drop).ok_or_else(|| Failure::Lost("the connection ended".to_owned()))
}
