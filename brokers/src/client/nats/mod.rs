//! NATS. Where the subject has a stream, JetStream stores and acknowledges each message, and drops those it has got before by
//! their id. Where it has none, the server has got the messages when it has answered what was sent after them.
//!
//! The protocol: <https://docs.nats.io/reference/reference-protocols/nats-protocol>. It is spoken here, because async-nats (0.51) holds
//! whatever a server sends, and connects again by itself without a wait where a server lets it in and breaks the protocol then.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::contract::{Access, Client, Failure, Sent, TIMEOUT};
use super::wire::{Wire, failure};
use crate::Message;

mod operation;

use operation::Operation;

/// The header by which JetStream knows a message that it has got before.
const ID: &str = "Nats-Msg-Id";
/// The error of JetStream for a message that is larger than the stream takes.
const TOO_LARGE: u64 = 10_054;
/// How long what has come is read while there is nothing to send.
const IDLE: Duration = Duration::from_millis(10);
/// Operations that are read then.
const MOST_OPERATIONS: usize = 100;

pub(super) struct Nats {
    wire: Wire,
    /// What came and has not been understood yet.
    bytes: Vec<u8>,
    max_payload: usize,
    /// Where acknowledgements arrive, each under a number of its own.
    inbox: String,
    next: u64,
    /// Whether subjects have a stream, as far as they have been used.
    streams: HashMap<String, bool>,
    access: Access,
}

impl Nats {
    pub fn connect(access: &Access) -> Result<Self, Failure> {
        let lost = |e: io::Error| failure(&e);
        let inbox = format!("_INBOX.{}.", access.name);
        let mut nats = Self {
            wire: Wire::connect(access).map_err(lost)?,
            bytes: Vec::new(),
            max_payload: 0,
            inbox,
            next: 0,
            streams: HashMap::new(),
            access: access.clone(),
        };
        let Operation::Info(info) = nats.operation()? else {
            return Err(Failure::Lost("it does not begin as a NATS server does".to_owned()));
        };
        nats.heed(&info);
        if access.tls.is_none() && info["tls_required"] == json!(true) {
            return Err(Failure::Denied("it takes encrypted connections only: write natss".to_owned()));
        }
        // Nobody may have put something before what is encrypted.
        nats.bytes.clear();
        nats.wire.encrypt(access).map_err(lost)?;
        let mut hello = json!({
            "verbose": false, "pedantic": false, "tls_required": access.tls.is_some(), "name": access.name, "lang": "rust",
            "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "echo": true, "headers": true, "no_responders": true,
        });
        if let Some(login) = &access.credentials {
            hello["user"] = json!(login.user);
            hello["pass"] = json!(login.password);
        }
        let subscribe = format!("SUB {}* 1\r\n", nats.inbox);
        nats.wire.write_all(format!("CONNECT {hello}\r\n{subscribe}PING\r\n").as_bytes()).map_err(lost)?;
        nats.until_pong()?;
        Ok(nats)
    }

    fn heed(&mut self, info: &Value) {
        if let Some(most) = info["max_payload"].as_u64() {
            self.max_payload = usize::try_from(most).unwrap_or(usize::MAX);
        }
    }

    /// Waits until the server has answered a PING, and so has got what was sent before it.
    fn until_pong(&mut self) -> Result<(), Failure> {
        while !matches!(self.next_operation()?, Operation::Pong) {}
        Ok(())
    }

    /// The next operation, when those that concern only the connection are done.
    fn next_operation(&mut self) -> Result<Operation, Failure> {
        let operation = self.operation()?;
        match &operation {
            Operation::Ping => self.wire.write_all(b"PONG\r\n").map_err(|e| failure(&e))?,
            Operation::Info(info) => {
                let info = info.clone();
                self.heed(&info);
            }
            _ => (),
        }
        Ok(operation)
    }

    fn operation(&mut self) -> Result<Operation, Failure> {
        let mut chunk = [0; 4096];
        loop {
            if let Some((operation, taken)) = operation::first(&self.bytes)? {
                self.bytes.drain(..taken);
                return Ok(operation);
            }
            match self.wire.read(&mut chunk) {
                Ok(0) => return Err(Failure::Lost("the connection ended".to_owned())),
                Ok(read) => self.bytes.extend(chunk.iter().take(read)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => (),
                Err(e) => return Err(failure(&e)),
            }
        }
    }

    /// Writes messages, the first with the number `reply` in the inbox for its acknowledgement, if there is one.
    fn publish(&mut self, messages: &[Arc<Message>], reply: Option<u64>) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        for (at, message) in (0..).zip(messages) {
            let head = format!("NATS/1.0\r\n{ID}: {}\r\n\r\n", message.id);
            let total = head.len() + message.payload.len();
            let reply = reply.map_or_else(String::new, |first| format!("{}{} ", self.inbox, first + at));
            let topic = self.access.topic(message);
            bytes.extend(format!("HPUB {topic} {reply}{} {total}\r\n{head}", head.len()).as_bytes());
            bytes.extend(&message.payload);
            bytes.extend(b"\r\n");
        }
        self.wire.write_all(&bytes).map_err(|e| failure(&e))
    }

    /// Stores messages in their streams. Returns false where there is none.
    fn store(&mut self, messages: &[Arc<Message>], acknowledged: &mut usize) -> Result<bool, Failure> {
        let (first, before) = (self.next, *acknowledged);
        self.next += u64::try_from(messages.len()).unwrap_or(u64::MAX);
        self.publish(messages, Some(first))?;
        let mut arrived = vec![false; messages.len()];
        while *acknowledged < before + messages.len() {
            let Operation::Message { subject, status, payload } = self.next_operation()? else { continue };
            let number = subject.strip_prefix(&self.inbox).and_then(|number| number.parse::<u64>().ok());
            let at = number.and_then(|number| usize::try_from(number.checked_sub(first)?).ok());
            // One of an earlier batch comes late.
            let Some(arrived_one) = at.and_then(|at| arrived.get_mut(at)) else { continue };
            match answer(status.as_deref(), &payload) {
                Ok(stored) if !stored => return Ok(false),
                Ok(_) => *arrived_one = true,
                // Only the first that is not acknowledged can be refused: the others are sent again.
                Err(why) if at == Some(*acknowledged - before) => return Err(why),
                Err(_) => return Err(Failure::Lost("it has not stored all messages".to_owned())),
            }
            *acknowledged = before + arrived.iter().take_while(|arrived| **arrived).count();
        }
        Ok(true)
    }

    fn send_all(&mut self, messages: &[Arc<Message>], acknowledged: &mut usize) -> Result<(), Failure> {
        let mut rest = messages;
        while let Some(first) = rest.first() {
            let topic = self.access.topic(first).to_owned();
            let stored = self.streams.get(&topic).copied();
            if first.id.contains(['\r', '\n']) {
                return Err(Failure::Unsendable("its id has an end of a line".to_owned()));
            }
            // Alone, where it is not known yet whether the subject has a stream.
            let streams = &self.streams;
            let same = rest.iter().take_while(|message| {
                self.fits(message)
                    && !message.id.contains(['\r', '\n'])
                    && streams.get(self.access.topic(message)).copied() == stored
            });
            let count = if stored.is_none() { same.count().min(1) } else { same.count() };
            if count == 0 {
                let most = self.max_payload;
                return Err(Failure::Unsendable(format!("it takes messages of {most} bytes at most")));
            }
            let (now, later) = rest.split_at(count);
            if stored == Some(false) {
                self.publish(now, None)?;
                self.wire.write_all(b"PING\r\n").map_err(|e| failure(&e))?;
                self.until_pong()?;
                *acknowledged += now.len();
                rest = later;
            } else if self.store(now, acknowledged)? {
                self.access.note_stored(&topic);
                self.streams.insert(topic, true);
                rest = later;
            } else if stored.is_none() && !self.access.has_stored(&topic) {
                self.streams.insert(topic, false);
            } else {
                // As after a full disk, for which the server ends JetStream: published without it, messages would be kept nowhere.
                return Err(Failure::Lost("the subject has no stream any more".to_owned()));
            }
        }
        Ok(())
    }

    /// Whether the server takes a message of this size, with its header.
    fn fits(&self, message: &Message) -> bool {
        message.payload.len() + message.id.len() + ID.len() + 20 <= self.max_payload
    }
}

impl Client for Nats {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        self.wire.begin(TIMEOUT);
        let mut acknowledged = 0;
        let result = self.send_all(messages, &mut acknowledged);
        Sent { acknowledged, failure: result.err() }
    }

    /// The server asks now and then whether this is still there.
    fn idle(&mut self) {
        for _ in 0..MOST_OPERATIONS {
            self.wire.begin(IDLE);
            match self.operation() {
                Ok(Operation::Ping) => {
                    self.wire.begin(TIMEOUT);
                    // Where it cannot be written, the next message finds that out.
                    let _ = self.wire.write_all(b"PONG\r\n");
                }
                Ok(_) => (),
                Err(_) => break,
            }
        }
    }
}

/// Whether a stream has stored a message; false where there is none.
fn answer(status: Option<&str>, payload: &[u8]) -> Result<bool, Failure> {
    if status == Some("503") {
        return Ok(false);
    }
    let answer: Value = serde_json::from_slice(payload).unwrap_or_default();
    let error = &answer["error"];
    if error["err_code"].as_u64() == Some(TOO_LARGE) {
        return Err(Failure::Unsendable("the stream takes no message of this size".to_owned()));
    }
    // An answer with an error has a number, too, which is 0.
    if error.is_null() && answer["seq"].is_u64() {
        return Ok(true);
    }
    let why =
        error["description"].as_str().unwrap_or("it answers with something else than an acknowledgement");
    Err(Failure::Lost(format!("the stream has not stored a message: {why}")))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::uri::Destination;

    #[test]
    fn a_server_that_asks_while_nothing_is_sent_gets_an_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("nats://{}/x", listener.local_addr().unwrap());
        let done = Arc::new(AtomicBool::new(false));
        let answered = Arc::clone(&done);
        let client = std::thread::spawn(move || {
            let destination = Arc::new(Destination::parse(&uri).unwrap());
            let access = Access {
                destination,
                tls: None,
                credentials: None,
                alone: None,
                name: "me".into(),
                stored: Default::default(),
            };
            let mut nats = Nats::connect(&access).map_err(|e| format!("{e:?}")).unwrap();
            while !answered.load(Ordering::Relaxed) {
                nats.idle();
            }
        });
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(b"INFO {\"max_payload\":1024}\r\n").unwrap();
        let until = |server: &mut std::net::TcpStream, what: &[u8]| {
            let (mut said, mut byte) = (Vec::new(), [0]);
            while !said.ends_with(what) {
                server.read_exact(&mut byte).unwrap();
                said.push(byte[0]);
            }
            said
        };
        let hello = String::from_utf8(until(&mut server, b"PING\r\n")).unwrap();
        assert!(hello.starts_with("CONNECT {") && hello.contains("SUB _INBOX.me.* 1\r\n"), "{hello}");
        server.write_all(b"PONG\r\nPI").unwrap();
        server.write_all(b"NG\r\n").unwrap();
        until(&mut server, b"PONG\r\n");
        done.store(true, Ordering::Relaxed);
        client.join().unwrap();
    }

    #[test]
    fn what_a_stream_answers_is_understood() {
        let json = |text: &str| answer(None, text.as_bytes());
        assert_eq!(json("{\"stream\":\"S\",\"seq\":7,\"duplicate\":true}"), Ok(true));
        assert_eq!(answer(Some("503"), b""), Ok(false));
        let large = json("{\"error\":{\"code\":400,\"err_code\":10054,\"description\":\"too large\"}}");
        assert!(matches!(large, Err(Failure::Unsendable(_))));
        let full = json("{\"error\":{\"err_code\":10077,\"description\":\"maximum messages exceeded\"}}");
        assert!(matches!(full, Err(Failure::Lost(why)) if why.contains("maximum messages exceeded")));
        let disk = json(
            "{\"error\":{\"code\":503,\"err_code\":10023,\"description\":\"insufficient resources\"},\"stream\":\"S\",\"seq\":0}",
        );
        assert!(matches!(disk, Err(Failure::Lost(why)) if why.contains("insufficient resources")));
        assert!(matches!(json("nonsense"), Err(Failure::Lost(_))));
        assert!(matches!(operation::refusal("Authorization Violation"), Failure::Denied(_)));
        assert!(matches!(operation::refusal("Stale Connection"), Failure::Lost(_)));
    }

    #[test]
    fn fuzz_nats_answer() {
        // A value of JSON takes 32 bytes where the text has two, in a vector that grows by doubling.
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "nats_answer").with_ratio(100).run(
            |bytes| {
                let _ = answer(None, bytes);
                operation::refusal(&String::from_utf8_lossy(bytes));
            },
        );
    }
}
