//! The messages that wait, bounded in number and in bytes: how long a message is depends on how many objects other elements have
//! put on the frame.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Message;

/// Bytes of the messages that wait, at most.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// Messages in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    messages: VecDeque<Arc<Message>>,
    bytes: usize,
}

fn bytes(message: &Message) -> usize {
    message.topic.len() + message.id.len() + message.payload.len()
}

impl Waiting {
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether the message fits in with those that wait, of which there may be `size`. The first always does.
    pub fn has_room(&self, message: &Message, size: usize) -> bool {
        let fits = self.bytes.saturating_add(bytes(message)) <= MOST_BYTES;
        self.is_empty() || (fits && self.len() < size)
    }

    pub fn push(&mut self, message: Arc<Message>) {
        self.bytes += bytes(&message);
        self.messages.push_back(message);
    }

    /// Drops the oldest.
    pub fn drop_oldest(&mut self) {
        if let Some(message) = self.messages.pop_front() {
            self.bytes -= bytes(&message);
        }
    }

    /// Moves up to `count` of the oldest to `batch`; returns how many.
    pub fn take(&mut self, count: usize, batch: &mut Vec<Arc<Message>>) -> usize {
        let count = count.min(self.len());
        for message in self.messages.drain(..count) {
            self.bytes -= bytes(&message);
            batch.push(message);
        }
        count
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_wait_take_bounded_memory_and_the_first_always_fits() {
        let message =
            |length| Arc::new(Message { topic: String::new(), id: String::new(), payload: vec![0; length] });
        let mut waiting = Waiting::default();
        assert!(waiting.has_room(&message(MOST_BYTES + 1), 1));
        waiting.push(message(MOST_BYTES / 2));
        assert!(waiting.has_room(&message(MOST_BYTES / 2), 2) && !waiting.has_room(&message(1), 1));
        waiting.push(message(MOST_BYTES / 2));
        assert!(!waiting.has_room(&message(1), 9));
        waiting.drop_oldest();
        assert!(waiting.has_room(&message(1), 9));
        let mut batch = Vec::new();
        assert_eq!((waiting.take(9, &mut batch), batch.len(), waiting.bytes), (1, 1, 0));
    }
}
