//! The queue of what must be written. Nobody waits for it: what it has no room for is counted.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::live::{Announcer, LiveEvents};
use super::writer::Writer;
use crate::log;
use crate::unpoisoned::lock;

/// Entries that may wait.
const WAITING: usize = 4096;
/// How long the end may take: a disk may hang.
const END: Duration = Duration::from_secs(5);

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
    runs: AtomicI64,
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
            // No run of an earlier process has the same number.
            runs: AtomicI64::new(super::milliseconds().saturating_mul(1000)),
        });
        Self { entries, waiting, tally, announcer: Announcer::new() }
    }
}

/// Where to note what must be written.
#[derive(Debug)]
pub(crate) struct Notes {
    entries: Mutex<Option<SyncSender<Entry>>>,
    tally: Arc<Tally>,
    announcer: Announcer,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Notes {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn start(queue: HistoryQueue, writer: Writer) -> std::io::Result<Self> {
        let HistoryQueue { entries, waiting, tally, announcer } = queue;
        let thread = std::thread::Builder::new().name("history".to_owned());
        let thread = thread.spawn(move || writer.work(&waiting))?;
        Ok(Self { entries: Mutex::new(Some(entries)), tally, announcer, thread: Mutex::new(Some(thread)) })
    }

    /// Has something written. Never waits.
    pub(super) fn note(&self, entry: Entry) {
        let Some(entries) = lock(&self.entries).clone() else { return };
        if entries.try_send(entry).is_err() {
            self.tally.lost(1, "the disk is slower than the events");
        }
    }

    /// A number that no run of a pipeline has yet.
    pub(super) fn next_run(&self) -> i64 {
        self.tally.runs.fetch_add(1, Ordering::Relaxed)
    }

    /// The events from now on; none when this has ended.
    pub(super) fn live(&self) -> Option<LiveEvents> {
        self.announcer.listen()
    }

    pub(super) fn status(&self) -> HistoryStatus {
        self.tally.status()
    }

    /// Writes what waits, for no longer than a while.
    pub(super) fn close(&self) {
        *lock(&self.entries) = None;
        let Some(thread) = lock(&self.thread).take() else { return };
        let until = Instant::now() + END;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        if thread.is_finished() {
            let _ = thread.join();
        } else {
            log::warning("the end of the history was not written: its disk is too slow");
        }
        self.announcer.end();
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.close();
    }
}
