//! The thread that writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::entry::Entry;
use super::live::{Announcer, LiveEvent};
use super::prune;
use super::queue::{HistoryQueue, Tally};
use super::store::{self, StoreError};
use super::write::{Recent, write};
use crate::log;
use crate::retention::Room;

/// Entries that are written together.
const BATCH: usize = 1024;
/// How often losses are logged, and a database that cannot be opened is tried again.
const AGAIN: Duration = Duration::from_secs(60);
/// The longest time without looking for losses.
const BEAT: Duration = Duration::from_secs(1);

/// Writes entries into the database.
pub(super) struct Writer {
    file: PathBuf,
    most_bytes: u64,
    room: Room,
    tally: Arc<Tally>,
    announcer: Announcer,
    connection: Option<Connection>,
    recent: Recent,
    /// When a database that cannot be opened was last tried.
    tried: Instant,
    /// When losses were last logged, and how many there were.
    logged: Option<Instant>,
    known: u64,
}

impl Writer {
    /// Opens the database. One that is damaged is set aside; what the system refuses is tried again.
    ///
    /// # Errors
    /// A sentence: it is of a newer version.
    pub fn open(file: &Path, most_bytes: u64, room: Room, queue: &HistoryQueue) -> Result<Self, String> {
        let connection = match open(file, most_bytes) {
            Ok(connection) => Some(connection),
            Err(NotOpened { newer: true, sentence }) => return Err(sentence),
            Err(NotOpened { sentence, .. }) => {
                log::warning(format_args!("no history is kept, which is tried again: {sentence}"));
                None
            }
        };
        Ok(Self {
            file: file.to_owned(),
            most_bytes,
            room,
            tally: Arc::clone(&queue.tally),
            announcer: queue.announcer.clone(),
            connection,
            recent: Recent::default(),
            tried: Instant::now(),
            logged: None,
            known: 0,
        })
    }

    /// Writes until nobody notes anything any more.
    pub fn work(mut self, waiting: &Receiver<Entry>) {
        if let Some(Err(error)) = self.connection.as_ref().map(store::check) {
            self.mend(error);
        }
        loop {
            match waiting.recv_timeout(BEAT) {
                Ok(first) => {
                    let batch: Vec<Entry> =
                        std::iter::once(first).chain(waiting.try_iter().take(BATCH - 1)).collect();
                    self.write(&batch);
                }
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.log_losses();
        }
        if let Some(connection) = self.connection.take() {
            // The database's log would be emptied at the next start otherwise.
            let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        }
    }

    fn write(&mut self, batch: &[Entry]) {
        if !self.room.is_there() {
            self.tally.lost(batch.len(), &self.room.sentence());
            return;
        }
        // A second time into a new database, if the first one turns out to be damaged.
        for _ in 0..2 {
            self.open_again();
            let Some(connection) = &self.connection else {
                self.tally.lost(batch.len(), "the database cannot be opened");
                return;
            };
            let written = prune::prune(connection, self.most_bytes)
                .and_then(|bytes| Ok((bytes, write(connection, &mut self.recent, batch)?)))
                .map_err(StoreError::from);
            match written {
                Ok((bytes, events)) => {
                    // A reader who sees that they are written finds that they are announced.
                    events.into_iter().for_each(|event: LiveEvent| self.announcer.announce(event));
                    self.tally.written(batch.len(), bytes);
                    return;
                }
                Err(error @ StoreError::Damaged(_)) => self.mend(error),
                Err(StoreError::Other(error)) => {
                    self.tally.lost(batch.len(), &error.to_string());
                    return;
                }
                Err(StoreError::Newer(_)) => return,
            }
        }
        self.tally.lost(batch.len(), "the database is damaged");
    }

    /// Sets a damaged database aside, and begins a new one.
    fn mend(&mut self, error: StoreError) {
        let StoreError::Damaged(why) = error else { return };
        self.connection = None;
        self.recent = Recent::default();
        let opened = store::set_aside(&self.file, &why)
            .and_then(|()| open(&self.file, self.most_bytes).map_err(|not| not.sentence));
        match opened {
            Ok(connection) => self.connection = Some(connection),
            Err(why) => {
                self.tried = Instant::now();
                log::warning(format_args!("no history is kept, which is tried again: {why}"));
            }
        }
    }

    fn open_again(&mut self) {
        if self.connection.is_none() && self.tried.elapsed() >= AGAIN {
            self.tried = Instant::now();
            self.connection = open(&self.file, self.most_bytes).ok();
        }
    }

    fn log_losses(&mut self) {
        let status = self.tally.status();
        if status.lost == self.known || self.logged.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        log::warning(format_args!(
            "the history has lost {} entries, {} since the start: {}",
            status.lost - self.known,
            status.lost,
            status.last_error.unwrap_or_default()
        ));
        (self.known, self.logged) = (status.lost, Some(Instant::now()));
    }
}

/// Why a database was not opened.
struct NotOpened {
    /// Whether it is of a newer version.
    newer: bool,
    sentence: String,
}

/// Opens the database, or a new one in place of one that is damaged.
fn open(file: &Path, most_bytes: u64) -> Result<Connection, NotOpened> {
    let failed = |error: StoreError| match error {
        StoreError::Newer(version) => NotOpened {
            newer: true,
            sentence: format!(
                "the history '{}' is of version {version}, and this cudainfer-serve knows {}: it stays as it is. Use a newer \
                 cudainfer-serve, or move the file away",
                file.display(),
                store::VERSION
            ),
        },
        StoreError::Damaged(why) => other(format!("'{}' is damaged: {why}", file.display())),
        StoreError::Other(error) => other(format!("'{}' cannot be used: {error}", file.display())),
    };
    match store::open(file, most_bytes) {
        Err(StoreError::Damaged(why)) => {
            store::set_aside(file, &why).map_err(other)?;
            store::open(file, most_bytes).map_err(failed)
        }
        opened => opened.map_err(failed),
    }
}

fn other(sentence: String) -> NotOpened {
    NotOpened { newer: false, sentence }
}
