//! Where to note what must be written. Nobody waits: what the queue has no room for is counted.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::entry::Entry;
use super::live::{Announcer, LiveEvents};
use super::queue::{HistoryQueue, HistoryStatus, Tally};
use super::writer::Writer;
use crate::log;
use crate::unpoisoned::lock;

/// How long the end may take: a disk may hang.
const END: Duration = Duration::from_secs(5);

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

    /// A number that no run of a pipeline and no event has yet.
    pub(super) fn next_number(&self) -> i64 {
        self.tally.next_number()
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
