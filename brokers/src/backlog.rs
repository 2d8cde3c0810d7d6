//! What waits for the broker: in memory, or in the spool.

use std::collections::VecDeque;
use std::io;

use crate::Message;
use crate::spool::Spool;

/// Messages that are not acknowledged, in order.
#[derive(Debug)]
pub(crate) enum Backlog {
    /// Those that have been offered; whoever offers them keeps them, too.
    Memory(VecDeque<Message>),
    /// All that have been accepted.
    Disk(Box<Spool>),
}

impl Backlog {
    /// How many there are.
    pub fn waiting(&self) -> u64 {
        match self {
            Self::Memory(messages) => u64::try_from(messages.len()).unwrap_or(u64::MAX),
            Self::Disk(spool) => spool.waiting(),
        }
    }

    /// Messages that damage of the spool has taken, as far as is known.
    pub fn lost(&self) -> u64 {
        match self {
            Self::Memory(_) => 0,
            Self::Disk(spool) => spool.lost(),
        }
    }

    /// What the user should know of what was found at the start, a sentence each.
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Memory(_) => &[],
            Self::Disk(spool) => spool.warnings(),
        }
    }

    /// The first of them, at most `most` and about `most_bytes`, but one if there is one.
    ///
    /// # Errors
    /// The spool cannot be read.
    pub fn first(&mut self, most: usize, most_bytes: usize) -> io::Result<Vec<Message>> {
        match self {
            Self::Memory(messages) => {
                let mut bytes = 0;
                let fits = messages.iter().take(most).take_while(|message| {
                    let first = bytes == 0;
                    bytes += message.payload.len();
                    first || bytes <= most_bytes
                });
                Ok(fits.cloned().collect())
            }
            Self::Disk(spool) => spool.first(most, most_bytes),
        }
    }

    /// The first `count` are done with.
    ///
    /// # Errors
    /// The spool cannot be written.
    pub fn acknowledge(&mut self, count: usize) -> io::Result<()> {
        match self {
            Self::Memory(messages) => {
                messages.drain(..count.min(messages.len()));
                Ok(())
            }
            Self::Disk(spool) => spool.acknowledge(count),
        }
    }
}
