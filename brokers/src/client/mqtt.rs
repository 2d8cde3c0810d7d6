//! MQTT 3.1.1 with quality of service 1: the broker acknowledges each message.

use std::sync::Arc;
use std::time::Duration;

use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, Event, EventLoop, MqttOptions, Outgoing, Packet, QoS,
    TlsConfiguration, Transport,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::contract::{Access, Client, Failure, Sent, TIMEOUT, explain};
use super::runtime::OwnRuntime;
use crate::Message;

/// Messages on their way at once: more than are sent together.
const IN_FLIGHT: u16 = 256;
/// The most that the protocol allows.
const LONGEST_SENT: usize = 268_435_455;
/// A broker has only acknowledgements for us, of some bytes.
const LONGEST_RECEIVED: usize = 1 << 16;
const KEEP_ALIVE: Duration = Duration::from_secs(30);

pub(super) struct Mqtt {
    client: AsyncClient,
    events: UnboundedReceiver<Result<Seen, Failure>>,
    runtime: OwnRuntime,
    access: Access,
}

/// What matters of the connection's events.
enum Seen {
    Connected,
    /// A message was sent with this number.
    Sent(u16),
    /// The message of this number has arrived.
    Acknowledged(u16),
}

impl Mqtt {
    pub fn connect(access: &Access) -> Result<Self, Failure> {
        let runtime = OwnRuntime::start()?;
        let (client, events) = runtime.wait(async {
            let (client, connection) = AsyncClient::new(options(access), usize::from(IN_FLIGHT));
            let (tell, mut events) = unbounded_channel();
            tokio::spawn(drive(connection, tell));
            match events.recv().await {
                Some(Ok(_)) => Ok((client, events)),
                Some(Err(failure)) => Err(failure),
                None => Err(Failure::Lost("the connection ended".to_owned())),
            }
        })?;
        Ok(Self { client, events, runtime, access: access.clone() })
    }
}

impl Client for Mqtt {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        let Self { client, events, runtime, access } = self;
        let mut acknowledged = 0;
        let result = runtime.wait(async {
            for message in messages {
                let topic = access.topic(message);
                let sent = client.publish(topic, QoS::AtLeastOnce, false, message.payload.clone()).await;
                sent.map_err(|_| Failure::Lost("the connection ended".to_owned()))?;
            }
            // Whether they have arrived, by their numbers in the order in which they were sent.
            let mut flying: Vec<(u16, bool)> = Vec::with_capacity(messages.len());
            while acknowledged < messages.len() {
                match events.recv().await {
                    Some(Ok(Seen::Sent(number))) => flying.push((number, false)),
                    Some(Ok(Seen::Acknowledged(number))) => {
                        let first = flying.iter_mut().find(|(sent, arrived)| *sent == number && !arrived);
                        first.into_iter().for_each(|(_, arrived)| *arrived = true);
                        acknowledged = flying.iter().take_while(|(_, arrived)| *arrived).count();
                    }
                    Some(Ok(Seen::Connected)) => (),
                    Some(Err(failure)) => return Err(failure),
                    None => return Err(Failure::Lost("the connection ended".to_owned())),
                }
            }
            Ok(())
        });
        Sent { acknowledged, failure: result.err() }
    }
}

fn options(access: &Access) -> MqttOptions {
    let destination = &access.destination;
    let mut options = MqttOptions::new(access.name.as_str(), destination.host.as_str(), destination.port);
    options.set_keep_alive(KEEP_ALIVE).set_clean_session(true).set_inflight(IN_FLIGHT);
    options.set_max_packet_size(LONGEST_RECEIVED, LONGEST_SENT);
    if let Some(tls) = &access.tls {
        options.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(tls.config.clone())));
    }
    if let Some(login) = &access.credentials {
        options.set_credentials(login.user.as_str(), login.password.as_str());
    }
    options
}

/// Keeps the connection going until it ends or nobody listens.
async fn drive(mut connection: EventLoop, tell: tokio::sync::mpsc::UnboundedSender<Result<Seen, Failure>>) {
    let mut options = connection.network_options();
    connection.set_network_options(options.set_connection_timeout(TIMEOUT.as_secs()).clone());
    loop {
        let seen = match connection.poll().await {
            Ok(Event::Incoming(Packet::ConnAck(_))) => Ok(Seen::Connected),
            Ok(Event::Incoming(Packet::PubAck(ack))) => Ok(Seen::Acknowledged(ack.pkid)),
            Ok(Event::Outgoing(Outgoing::Publish(number))) => Ok(Seen::Sent(number)),
            Ok(_) => continue,
            Err(e) => Err(failure(&e)),
        };
        let ended = seen.is_err();
        if tell.send(seen).is_err() || ended {
            return;
        }
    }
}

fn failure(error: &ConnectionError) -> Failure {
    match error {
        ConnectionError::ConnectionRefused(code) => {
            let denied = match code {
                ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized => {
                    "it refuses the login"
                }
                ConnectReturnCode::RefusedProtocolVersion => "it does not speak MQTT 3.1.1",
                ConnectReturnCode::BadClientId => "it refuses the client's name",
                ConnectReturnCode::Success | ConnectReturnCode::ServiceUnavailable => {
                    return Failure::Lost("it is not available".to_owned());
                }
            };
            Failure::Denied(denied.to_owned())
        }
        e => explain(e),
    }
}
