//! A Redis stream: each message is an entry with the fields `id` and `record`.
//!
//! The library's own connection would hold whatever a server sends; only its commands and its parser are used.

use std::io::Write;
use std::sync::Arc;

use redis::{ErrorKind, Parser, RedisError, ServerErrorKind, Value};

use super::contract::{Access, Client, Failure, Sent, TIMEOUT, explain, timed_out};
use super::wire::{self, Wire};
use crate::Message;

pub(super) struct Redis {
    wire: Wire,
    /// Has what came after the last answer.
    parser: Parser,
    access: Access,
}

impl Redis {
    pub fn connect(access: &Access) -> Result<Self, Failure> {
        let wire = Wire::connect(access).and_then(|mut wire| {
            wire.encrypt(access)?;
            Ok(wire)
        });
        let wire = wire.map_err(|e| wire::failure(&e))?;
        let mut redis = Self { wire, parser: Parser::new(), access: access.clone() };
        if let Some(login) = &access.credentials {
            let auth = redis::cmd("AUTH").arg(&login.user).arg(&login.password).get_packed_command();
            redis.wire.write_all(&auth).map_err(|e| wire::failure(&e))?;
            redis.answer().map_err(|e| match e.code() {
                Some("WRONGPASS" | "NOAUTH" | "ERR") => Failure::Denied("it refuses the login".to_owned()),
                _ => failure(&e),
            })?;
        }
        Ok(redis)
    }

    /// The answer to the next command.
    fn answer(&mut self) -> Result<Value, RedisError> {
        loop {
            match self.parser.parse_value(&mut self.wire)?.extract_error()? {
                Value::Push { .. } => (),
                value => return Ok(value),
            }
        }
    }
}

impl Client for Redis {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        self.wire.begin(TIMEOUT);
        let mut commands = redis::pipe();
        for message in messages {
            let command = commands.cmd("XADD").arg(self.access.topic(message));
            if let Some(most) = self.access.destination.maxlen {
                command.arg("MAXLEN").arg("~").arg(most);
            }
            command.arg("*").arg("id").arg(&message.id).arg("record").arg(&message.payload);
        }
        if let Err(e) = self.wire.write_all(&commands.get_packed_pipeline()) {
            return Sent::up_to(0, wire::failure(&e));
        }
        for acknowledged in 0..messages.len() {
            match self.answer() {
                Ok(Value::BulkString(_) | Value::SimpleString(_)) => (),
                Ok(_) => {
                    let why = "it answers with something else than an entry's ID".to_owned();
                    return Sent::up_to(acknowledged, Failure::Lost(why));
                }
                Err(e) => return Sent::up_to(acknowledged, failure(&e)),
            }
        }
        Sent::all(messages)
    }
}

fn failure(error: &RedisError) -> Failure {
    let code = error.code().unwrap_or_default();
    match error.kind() {
        ErrorKind::AuthenticationFailed => Failure::Denied("it refuses the login".to_owned()),
        ErrorKind::Server(ServerErrorKind::NoPerm) => Failure::Denied(error.to_string()),
        _ if ["NOAUTH", "WRONGPASS", "WRONGTYPE", "NOPERM"].contains(&code) => {
            Failure::Denied(error.to_string())
        }
        _ if error.is_timeout() => timed_out(),
        _ => explain(error),
    }
}
