//! The queue of what must be written, and what became of it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::live::Announcer;
use crate::time::milliseconds;
use crate::unpoisoned::lock;

/// Entries that may wait.
const WAITING: usize = 4096;

/// How the history is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryStatus {
    /// Bytes of the database.
    pub bytes: u64,
    /// Entries that were written since the start.
    pub written: u64,
    /// Entries that were lost since the start, because the disk was too slow, or had no room.
    pub lost: u64,
    /// Why the last one was lost.
    pub last_error: Option<String>,
}

/// What the writer shares with those who note something.
#[derive(Debug)]
pub(super) struct Tally {
    written: AtomicU64,
    lost: AtomicU64,
    bytes: AtomicU64,
    last_error: Mutex<Option<String>>,
    numbers: AtomicI64,
}

impl Tally {
    pub fn written(&self, count: usize, bytes: u64) {
        self.written.fetch_add(count as u64, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    pub fn lost(&self, count: usize, why: &str) {
        self.lost.fetch_add(count as u64, Ordering::Relaxed);
        let mut last = lock(&self.last_error);
        if last.as_deref() != Some(why) {
            *last = Some(why.to_owned());
        }
    }

    /// A number that no run of a pipeline and no event has yet.
    pub fn next_number(&self) -> i64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub fn status(&self) -> HistoryStatus {
        HistoryStatus {
            bytes: self.bytes.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            last_error: lock(&self.last_error).clone(),
        }
    }
}

/// The queue before its thread is started.
pub(super) struct HistoryQueue {
    pub entries: SyncSender<Entry>,
    pub waiting: Receiver<Entry>,
    pub tally: Arc<Tally>,
    pub announcer: Announcer,
}

impl HistoryQueue {
    pub fn new() -> Self {
        let (entries, waiting) = sync_channel(WAITING);
        let tally = Arc::new(Tally {
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            last_error: Mutex::default(),
            // Nothing of an earlier process has the same number.
            numbers: AtomicI64::new(milliseconds().saturating_mul(1000)),
        });
        Self { entries, waiting, tally, announcer: Announcer::new() }
    }
}
