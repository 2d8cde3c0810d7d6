//! What became of the events that should be described.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::log;
use crate::unpoisoned::lock;

/// How often the same kind of trouble is logged.
const AGAIN: Duration = Duration::from_secs(60);

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribeCounts {
    /// Requests that were sent.
    pub requests: u64,
    /// Events that were described.
    pub answered: u64,
    /// Events that were not: there was no answer, or none with words.
    pub failed: u64,
    /// Events for which there was no room, or that were waiting when the service ended.
    pub dropped: u64,
    /// Events that had no picture.
    pub without_picture: u64,
    /// Events that wait for a picture, for their turn or for an answer.
    pub waiting: u64,
}

/// The counts while they are made.
#[derive(Debug, Default)]
pub struct Tally {
    pub requests: AtomicU64,
    pub answered: AtomicU64,
    pub in_flight: AtomicU64,
    pub failed: Trouble,
    pub dropped: Trouble,
    pub without_picture: AtomicU64,
}

impl Tally {
    /// The counts, with as many that wait for a picture or for their turn.
    pub fn counts(&self, waiting: usize) -> DescribeCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DescribeCounts {
            requests: of(&self.requests),
            answered: of(&self.answered),
            failed: of(&self.failed.count),
            dropped: of(&self.dropped.count),
            without_picture: of(&self.without_picture),
            waiting: of(&self.in_flight) + u64::try_from(waiting).unwrap_or(u64::MAX),
        }
    }
}

/// Something that goes wrong again and again.
#[derive(Debug, Default)]
pub struct Trouble {
    count: AtomicU64,
    logged: Mutex<Logged>,
}

#[derive(Debug, Default)]
struct Logged {
    at: Option<Instant>,
    count: u64,
    why: String,
}

impl Trouble {
    /// Counts it once more. [`Self::log`] says it.
    pub fn add(&self, why: &str) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut logged = lock(&self.logged);
        if logged.why != why {
            why.clone_into(&mut logged.why);
        }
    }

    /// Logs what has been counted since the last time, if that was a while ago.
    pub fn log(&self) {
        let count = self.count.load(Ordering::Relaxed);
        let mut logged = lock(&self.logged);
        if count == logged.count || logged.at.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        let (new, why) = (count - logged.count, logged.why.clone());
        (logged.at, logged.count) = (Some(Instant::now()), count);
        drop(logged);
        log::warning(format_args!(
            "[describe] events without words: {new}, {count} since the start. The last one: {why}"
        ));
    }
}
