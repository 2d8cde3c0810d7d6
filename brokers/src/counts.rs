//! What became of the messages.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that the delivery's thread writes and anybody reads.
#[derive(Debug, Default)]
pub struct Counts {
    /// Messages that were written to the spool.
    pub spooled: Count,
    /// Messages that were sent, those sent again included.
    pub sent: Count,
    /// Messages that the broker has acknowledged.
    pub acknowledged: Count,
    /// Messages that the broker takes under no circumstances; they are dropped.
    pub refused: Count,
    /// Times that the connection was made again.
    pub reconnects: Count,
    /// Messages that wait for the broker in the spool, or in memory where there is none.
    pub waiting: Count,
    /// Messages that were lost because the spool was damaged, as far as is known.
    pub damaged: Count,
}

impl Counts {
    /// Sets all to 0.
    pub fn reset(&self) {
        let Self { spooled, sent, acknowledged, refused, reconnects, waiting, damaged } = self;
        [spooled, sent, acknowledged, refused, reconnects, waiting, damaged]
            .into_iter()
            .for_each(|count| count.set(0));
    }
}

/// A number that threads share.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, more: usize) {
        self.0.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }
}
