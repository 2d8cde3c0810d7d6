//! A broker that a URI names.

use std::io;
use std::time::Duration;

use cudainfer_brokers::Delivery;

use super::{CALL_LIMIT_MS, Sink};
use crate::publish::Message;

/// Accepts messages that the broker has acknowledged, or that its spool has stored.
#[derive(Debug)]
pub(crate) struct BrokerSink {
    delivery: Delivery,
}

impl BrokerSink {
    pub fn new(delivery: Delivery) -> Self {
        Self { delivery }
    }
}

impl Sink for BrokerSink {
    /// The delivery's own thread connects.
    fn open(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn write(&mut self, messages: &[Message]) -> io::Result<usize> {
        self.delivery.offer(messages, Duration::from_millis(CALL_LIMIT_MS.unsigned_abs()))
    }
}
