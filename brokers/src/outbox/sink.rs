//! Where an outbox brings its messages.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::Message;

/// A destination of messages.
///
/// The outbox calls it from one thread, with all messages in the order in which they came. A message stays with the outbox until
/// it has been accepted and is offered again until then: a destination that acknowledges what it gets accepts a message when the
/// acknowledgement is there, and so gets each at least once. What is accepted needs no flush. A destination that must be closed
/// does that in `Drop`.
///
/// A call that takes longer than [`CALL_LIMIT`] delays the end of the outbox, which waits a second for it and then leaves it
/// alone.
pub trait Sink: Send {
    /// Opens the destination. Returns false where it is not there yet, as a FIFO without a reader: it is asked again a
    /// little later.
    ///
    /// # Errors
    /// Why it cannot be opened, however long one waits.
    fn open(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    /// Writes messages. Those that are not accepted are offered again, from the first of them on.
    ///
    /// # Errors
    /// Why it can write no more.
    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written>;

    /// Does what can be done while there is nothing to write, as keeping a connection alive. Called when the destination has
    /// been opened and again when the time that it returns has passed; never again where that is `None`.
    ///
    /// # Errors
    /// Why it can write no more.
    fn idle(&mut self) -> io::Result<Option<Duration>> {
        Ok(None)
    }

    /// Whether it leaves messages to be offered again so that more come, and are written with them.
    fn gathers_messages(&self) -> bool {
        false
    }
}

/// How long a call of a [`Sink`] should take at most.
pub const CALL_LIMIT: Duration = Duration::from_millis(100);

/// What became of messages that a [`Sink`] was offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How many of them, from the first, need not be offered again.
    pub accepted: usize,
    /// How many of those are lost, of which the destination warns itself.
    pub lost: usize,
    /// How long nothing need be offered again, where none was accepted.
    pub again_in: Duration,
}

impl Written {
    /// The first `count` are accepted.
    pub fn accepted(count: usize) -> Self {
        Self { accepted: count, ..Self::default() }
    }

    /// None is accepted, and none will be for that long.
    pub fn later(again_in: Duration) -> Self {
        Self { again_in, ..Self::default() }
    }
}
