//! Destinations of records.

use std::io;

use super::Message;

mod broker;
mod file;

pub(crate) use broker::BrokerSink;
pub use file::{DiskFull, Flush};
pub(crate) use file::{FileCounts, FileOptions, FileSink, Layout, Limits, STDOUT};

/// A destination of records.
///
/// The queue calls it from one thread, with all records in the order of their frames, so those of each source are in order,
/// too. A record stays with the queue until it has been accepted and is offered again until then: a destination that
/// acknowledges what it gets accepts a record when the acknowledgement is there, and so gets each at least once. What is
/// accepted needs no flush. A destination that must be closed does that in `Drop`.
///
/// No call takes longer than [`CALL_LIMIT_MS`], so that the queue can be stopped at any time.
pub(crate) trait Sink: Send {
    /// Opens the destination. Returns false where it is not there yet, as a FIFO without a reader: it is asked again a
    /// little later.
    ///
    /// # Errors
    /// Why it cannot be opened, however long one waits.
    fn open(&mut self) -> io::Result<bool>;

    /// Writes messages. Returns how many of them, from the first, have been accepted: none where the destination is busy. The
    /// others are offered again, from the first that has not been accepted on.
    ///
    /// # Errors
    /// Why it can write no more.
    fn write(&mut self, messages: &[Message]) -> io::Result<usize>;

    /// Of the messages that the last [`Sink::write`] has accepted, those that are lost, of which the destination warns itself.
    fn lost(&self) -> usize {
        0
    }

    /// Whether it leaves messages to be offered again so that more come, and are written with them.
    fn gathers_records(&self) -> bool {
        false
    }
}

/// How long a call may take, in ms.
pub(crate) const CALL_LIMIT_MS: i64 = 100;
