//! What happened, and how the streams and the process were: kept in a small database in the folder `state`, for the
//! page's timeline and charts.
//!
//! [`StreamHistory`] takes what a stream reports and never waits: a thread of its own writes ([`writer`]), what its queue has no
//! room for is counted, and requests read by connections of their own ([`read`]). The JSON records remain the source: this is
//! bounded, and may lose its oldest part or, on a full disk, its newest.

mod entry;
mod event;
mod gpu;
mod live;
mod note;
mod prune;
mod queue;
mod read;
mod sampler;
mod store;
mod stream;
mod write;
mod writer;
mod zone_events;

use std::path::PathBuf;
use std::sync::Arc;

pub use entry::{EventMark, ZoneEvent};
pub use event::Event;
pub use live::{LiveEvent, LiveEvents};
use note::Notes;
use queue::HistoryQueue;
pub use queue::HistoryStatus;
pub use read::{EventFilter, Events, Reader, STEPS, Series, SeriesFilter};
pub(crate) use sampler::{Sampler, StreamCounts};
pub use stream::{Counted, NotedEvent, PipelineRun, StreamHistory};
use writer::Writer;

use crate::config::ServerSettings;
use crate::retention::Room;

/// Why there is no history to read; a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHistory {
    /// The configuration, or the database, has none.
    Off(String),
    /// It cannot be read now.
    Failed(String),
}

/// The history of all streams. Clones are the same one.
#[derive(Clone, Debug)]
pub struct History {
    /// Why there is none, or what takes the notes and where they are.
    kept: Result<Kept, String>,
}

#[derive(Clone, Debug)]
struct Kept {
    notes: Arc<Notes>,
    file: PathBuf,
}

impl Default for History {
    fn default() -> Self {
        Self { kept: Err("there is no history without a folder for it: set state in [server]".to_owned()) }
    }
}

impl History {
    /// Opens the history of a configuration, in the folder `state` that this process has locked, and starts the thread that writes.
    /// Whatever is wrong with it is logged, and the streams run without a history.
    pub fn start(server: &ServerSettings, room: Option<&Room>) -> Self {
        let Some((state, room)) = server.state.as_deref().zip(room) else { return Self::default() };
        if !server.history {
            let why = "there is no history: history = false in [server]. Set it to true, or leave it out";
            return Self { kept: Err(why.to_owned()) };
        }
        let started = store::path_in(state).and_then(|file| {
            let queue = HistoryQueue::new();
            let writer = Writer::open(&file, server.history_size.0, room.clone(), &queue)?;
            let notes = Notes::start(queue, writer)
                .map_err(|e| format!("there is no thread for the history: {e}"))?;
            Ok(Kept { notes: Arc::new(notes), file })
        });
        if let Err(why) = &started {
            crate::log::warning(format_args!("no history is kept: {why}"));
        }
        Self { kept: started }
    }

    /// Whether there is one.
    pub fn is_kept(&self) -> bool {
        self.kept.is_ok()
    }

    /// What a stream reports to.
    pub fn of(&self, stream: &str) -> StreamHistory {
        StreamHistory::new(stream, self.notes().cloned())
    }

    /// Notes a recording of a stream's earlier run, which an earlier process has begun: as [`StreamHistory::recording`].
    pub(crate) fn restored(
        &self,
        stream: &str,
        run: PipelineRun,
        file: String,
        pts: [u64; 2],
        time: [i64; 2],
    ) {
        if let Some(notes) = self.notes() {
            notes.note(stream::recorded(&stream.into(), run, file, pts, time));
        }
    }

    /// A connection for one request.
    ///
    /// # Errors
    /// There is no history, or it cannot be opened.
    pub fn reader(&self) -> Result<Reader, NoHistory> {
        let kept = self.kept.as_ref().map_err(|why| NoHistory::Off(why.clone()))?;
        Reader::open(&kept.file).map_err(NoHistory::Failed)
    }

    /// The events from now on.
    ///
    /// # Errors
    /// There is no history, or the service is ending.
    pub fn live(&self) -> Result<LiveEvents, NoHistory> {
        let kept = self.kept.as_ref().map_err(|why| NoHistory::Off(why.clone()))?;
        kept.notes.live().ok_or_else(|| NoHistory::Failed("the service is stopping".to_owned()))
    }

    /// How it is; none without one.
    pub fn status(&self) -> Option<HistoryStatus> {
        Some(self.notes()?.status())
    }

    /// Writes what waits, and ends: live events, too.
    pub fn close(&self) {
        if let Some(notes) = self.notes() {
            notes.close();
        }
    }

    pub(crate) fn notes(&self) -> Option<&Arc<Notes>> {
        self.kept.as_ref().ok().map(|kept| &kept.notes)
    }
}

#[cfg(test)]
mod tests;
