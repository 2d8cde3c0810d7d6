//! What became of the messages.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that the threads of the delivery write and anybody reads.
#[derive(Debug, Default)]
pub struct Counts {
    /// Messages that the destination, or the spool, has accepted.
    pub written: Count,
    /// Messages that could not be written.
    pub failed: Count,
    /// Messages that were dropped because there was no room for them.
    pub dropped: Count,
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
    /// Messages that wait in memory to be accepted, or in the spool for the broker.
    pub waiting: Count,
    /// Messages that were lost because the spool was damaged, as far as is known.
    pub damaged: Count,
}

impl Counts {
    /// All, each with its name.
    pub fn all(&self) -> [(&'static str, &Count); 10] {
        let Self {
            written,
            failed,
            dropped,
            spooled,
            sent,
            acknowledged,
            refused,
            reconnects,
            waiting,
            damaged,
        } = self;
        [
            ("written", written),
            ("failed", failed),
            ("dropped", dropped),
            ("spooled", spooled),
            ("sent", sent),
            ("acknowledged", acknowledged),
            ("refused", refused),
            ("reconnects", reconnects),
            ("waiting", waiting),
            ("damaged", damaged),
        ]
    }

    /// Sets all to 0.
    pub fn reset(&self) {
        self.all().into_iter().for_each(|(_, count)| count.set(0));
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

    /// Adds to it.
    pub fn add(&self, more: usize) {
        self.0.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, less: usize) {
        self.replace(u64::try_from(less).unwrap_or(u64::MAX), 0);
    }

    /// Puts `new` in the place of `old`, a part of it.
    pub(crate) fn replace(&self, old: u64, new: u64) {
        let changed = |count: u64| Some(count.saturating_add(new).saturating_sub(old));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
    }

    pub(crate) fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }
}
