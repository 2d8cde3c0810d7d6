//! A Unix socket, with one line for each message. Its reader acknowledges nothing: what the system has taken counts as arrived.

use std::io::{self, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use super::contract::{Client, Failure, Sent, TIMEOUT};
use crate::Message;

pub(super) struct Unix {
    stream: UnixStream,
    /// Bytes of the next message's line that have been written.
    begun: usize,
}

impl Unix {
    pub fn connect(path: &Path) -> Result<Self, Failure> {
        let connect = || {
            let stream = UnixStream::connect(path)?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            Ok(stream)
        };
        connect().map(|stream| Self { stream, begun: 0 }).map_err(|e: io::Error| Failure::Lost(e.to_string()))
    }
}

impl Client for Unix {
    fn send(&mut self, messages: &[Arc<Message>]) -> Sent {
        for (place, message) in messages.iter().enumerate() {
            let line = [&message.payload, &b"\n"[..]].concat();
            while let Some(rest) = line.get(self.begun..).filter(|rest| !rest.is_empty()) {
                match self.stream.write(rest) {
                    Ok(0) => return Sent::up_to(place, Failure::Lost("its reader has gone".to_owned())),
                    Ok(written) => self.begun += written,
                    Err(e) if e.kind() == ErrorKind::Interrupted => (),
                    // The reader is slow: the rest is tried again.
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {
                        return Sent { acknowledged: place, failure: None };
                    }
                    Err(e) => return Sent::up_to(place, Failure::Lost(e.to_string())),
                }
            }
            self.begun = 0;
        }
        Sent::all(messages)
    }
}
