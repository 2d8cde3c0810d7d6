//! What is kept in the folder `state` for the next process: changes by the API, and which sources have ended this one. A file that
//! cannot be written is tried again until it is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use cudainfer_files::Lock;

use super::state_lock::lock_state;
use crate::config::{Config, Kept, Restart, SourceConfig, Stuck};
use crate::log;
use crate::stream::backoff;
use crate::unpoisoned::lock;

/// A file of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StateFile {
    /// Changes by the API.
    Changes,
    /// The sources that have ended the process.
    Stuck,
}

/// The files that could not be written the last time, each with a sentence.
#[derive(Debug, Default)]
struct Unwritten {
    files: BTreeMap<StateFile, String>,
    /// Whether a thread is trying them again.
    tried_again: bool,
}

/// The contents of the files. Without a folder, they end with the process.
#[derive(Debug)]
pub(super) struct StateFiles {
    folder: Option<PathBuf>,
    /// Two services would overwrite each other's changes.
    _lock: Option<Lock>,
    /// Changes by the API.
    pub kept: Mutex<Kept>,
    /// Sources that have ended earlier processes.
    pub stuck: Mutex<Stuck>,
    unwritten: Mutex<Unwritten>,
    /// How long the attempts wait to write a file.
    waits: Mutex<Restart>,
}

impl StateFiles {
    /// Takes the folder of a configuration for this service alone, and reads its files.
    ///
    /// # Errors
    /// A sentence: another service has the folder, or the changes cannot be read. A list of sources that cannot be read is left
    /// aside, with a warning.
    pub fn open(config: &Config) -> Result<Self, String> {
        let folder = config.server.state.as_deref();
        let state_lock = folder.map(lock_state).transpose()?;
        let kept = folder.map_or_else(|| Ok(Kept::default()), Kept::load)?;
        let stuck = folder.map_or_else(|| Ok(Stuck::default()), Stuck::load);
        let stuck = stuck.unwrap_or_else(|sentence| {
            log::warning(sentence);
            Stuck::default()
        });
        Ok(Self {
            folder: folder.map(PathBuf::from),
            _lock: state_lock,
            kept: Mutex::new(kept),
            stuck: Mutex::new(stuck),
            unwritten: Mutex::default(),
            waits: Mutex::new(config.restart.clone()),
        })
    }

    /// Sets other waits between the attempts to write a file, for those that begin from now on.
    pub fn set_waits(&self, waits: &Restart) {
        lock(&self.waits).clone_from(waits);
    }

    /// Whether changes are kept across restarts: there is a folder for them, and the last ones could be written there.
    pub fn keeps(&self) -> bool {
        self.folder.is_some() && !lock(&self.unwritten).files.contains_key(&StateFile::Changes)
    }

    /// What cannot be written, and why.
    pub fn error(&self) -> Option<String> {
        let sentences: Vec<String> = lock(&self.unwritten).files.values().cloned().collect();
        (!sentences.is_empty()).then(|| sentences.join(". "))
    }

    /// Writes all changes by the API; [`Self::keeps`] returns whether that has worked.
    pub fn save_changes(self: &Arc<Self>) {
        let Some(folder) = &self.folder else { return };
        // Locked until the result is noted, so that the result of an earlier write does not hide this one's.
        let kept = lock(&self.kept);
        self.note_written(StateFile::Changes, kept.save(folder));
    }

    /// Notes, for the next process, which sources end this one.
    pub fn note_stuck(self: &Arc<Self>, sources: &[SourceConfig]) {
        let mut stuck = lock(&self.stuck);
        // A source may have several pipelines that do not stop; the last one has its present keys.
        let last: BTreeMap<&str, &SourceConfig> =
            sources.iter().map(|source| (source.name.as_str(), source)).collect();
        last.values().for_each(|source| stuck.note(source));
        self.save_stuck(&stuck);
    }

    /// Forgets that a source has ended earlier processes.
    pub fn forget_stuck(self: &Arc<Self>, name: &str) {
        let mut stuck = lock(&self.stuck);
        if stuck.forget(name) {
            self.save_stuck(&stuck);
        }
    }

    /// Writes the files that could not be written the last time. Returns whether all are written.
    pub fn save_unwritten(self: &Arc<Self>) -> bool {
        let files: Vec<StateFile> = lock(&self.unwritten).files.keys().copied().collect();
        for file in files {
            match file {
                StateFile::Changes => self.save_changes(),
                StateFile::Stuck => self.save_stuck(&lock(&self.stuck)),
            }
        }
        lock(&self.unwritten).files.is_empty()
    }

    fn save_stuck(self: &Arc<Self>, stuck: &Stuck) {
        let Some(folder) = &self.folder else { return };
        self.note_written(StateFile::Stuck, stuck.save(folder));
    }

    fn note_written(self: &Arc<Self>, file: StateFile, written: Result<(), String>) {
        let what = match file {
            StateFile::Changes => "what the API has changed",
            StateFile::Stuck => "the list of sources that have ended the service",
        };
        let mut unwritten = lock(&self.unwritten);
        let Err(sentence) = written else {
            if unwritten.files.remove(&file).is_some() {
                log::info(format_args!("{what} is written, and kept at the next start"));
            }
            return;
        };
        if unwritten.files.insert(file, sentence.clone()).is_none() {
            log::warning(format_args!(
                "{what} would be lost by a restart: {sentence}. It is tried again until it is written"
            ));
        }
        if !std::mem::replace(&mut unwritten.tried_again, true) {
            let (files, waits) = (Arc::downgrade(self), lock(&self.waits).clone());
            let spawned =
                std::thread::Builder::new().name("state".into()).spawn(move || try_again(&files, &waits));
            if let Err(e) = spawned {
                unwritten.tried_again = false;
                log::warning(format_args!("no thread tries that again before the next change: {e}"));
            }
        }
    }
}

/// Tries until all is written, or the service ends.
fn try_again(files: &Weak<StateFiles>, waits: &Restart) {
    for attempt in 0.. {
        std::thread::sleep(backoff::wait(waits, attempt, fastrand::f64()));
        let Some(files) = files.upgrade() else { return };
        files.save_unwritten();
        let mut unwritten = lock(&files.unwritten);
        if unwritten.files.is_empty() {
            unwritten.tried_again = false;
            return;
        }
    }
}
