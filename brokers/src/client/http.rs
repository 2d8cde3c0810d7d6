//! A webhook: messages are posted as a JSON array, or each by itself, and any status from 200 to 299 acknowledges them.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};

use super::contract::{Access, Client, Failure, Sent, TIMEOUT};
use super::poster::{self, Poster};
use crate::{Message, https};

/// Bytes of an answer's body, which nobody reads.
const LONGEST_BODY: u64 = 1 << 16;

pub(super) struct Http {
    poster: Poster,
    access: Access,
    authorization: Option<String>,
}

impl Http {
    /// Nothing is connected until something is posted.
    pub fn new(access: &Access) -> Result<Self, Failure> {
        let tls = access.tls.as_ref().map(https::config).transpose();
        let tls = tls.map_err(|e| Failure::Denied(e.to_string()))?;
        let bearer = access.alone.as_ref().and_then(|alone| alone.token.as_ref());
        let bearer = bearer.map(|token| format!("Bearer {token}"));
        let login = access.credentials.as_ref();
        let authorization = bearer.or(login.map(|login| {
            format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", login.user, login.password)))
        }));
        Ok(Self { poster: Poster::new(tls, TIMEOUT), access: access.clone(), authorization })
    }

    /// Posts messages. Returns the status.
    fn post(&self, messages: &[Arc<Message>]) -> Result<u16, Failure> {
        let body = match messages {
            [one] if self.access.alone.is_some() => one.payload.clone(),
            messages => array(messages),
        };
        let authorization = self.authorization.as_deref();
        let mut answer = self
            .poster
            .send(&self.access.destination.url, authorization, &body)
            .map_err(|e| poster::failure(&e))?;
        // Read to its end, the connection can be used again.
        let _ = answer.body_mut().with_config().limit(LONGEST_BODY).read_to_vec();
        Ok(answer.status().as_u16())
    }
}

/// A JSON array of messages.
fn array(messages: &[Arc<Message>]) -> Vec<u8> {
    let mut body = vec![b'['];
    for (place, message) in messages.iter().enumerate() {
        body.extend(if place > 0 { &b","[..] } else { &b""[..] });
        body.extend(&message.payload);
    }
    body.push(b']');
    body
}

impl Client for Http {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        let status = match self.post(messages) {
            Ok(200..=299) => return Sent::all(messages),
            Ok(status) => status,
            Err(failure) => return Sent::up_to(0, failure),
        };
        let said = format!("it answers with the status {status}");
        match status {
            400 | 413 | 415 | 422 if messages.len() > 1 => {
                // Which of them it was is found out by posting them one at a time.
                self.send(messages.get(..1).unwrap_or_default())
            }
            400 | 413 | 415 | 422 => Sent::up_to(0, Failure::Unsendable(said)),
            300..=399 | 401 | 403 | 404 | 405 | 407 | 410 => Sent::up_to(0, Failure::Denied(said)),
            _ => Sent::up_to(0, Failure::Lost(said)),
        }
    }
}
