//! Writing the files in the folder `state`. A file that cannot be written is tried again until it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::Fleet;
use super::streams::Inner;
use crate::config::{Restart, Stuck};
use crate::log;
use crate::stream::backoff;
use crate::unpoisoned::lock;

/// A file of the folder `state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Saved {
    /// Changes by the API.
    Changes,
    /// The sources that have ended the process.
    Stuck,
}

/// The files that could not be written the last time, each with a sentence.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    files: BTreeMap<Saved, String>,
    /// Whether a thread is trying them again.
    tried_again: bool,
}

impl Fleet {
    /// Whether changes are kept across restarts: there is a folder for them, and the last ones could be written there.
    pub fn keeps(&self) -> bool {
        self.config().server.state.is_some() && !lock(&self.0.unwritten).files.contains_key(&Saved::Changes)
    }

    /// What cannot be written in the folder `state`, and why.
    pub fn state_error(&self) -> Option<String> {
        let sentences: Vec<String> = lock(&self.0.unwritten).files.values().cloned().collect();
        (!sentences.is_empty()).then(|| sentences.join(". "))
    }
}

impl Inner {
    /// Writes all changes by the API; [`Fleet::keeps`] returns whether that has worked.
    pub fn save_changes(self: &Arc<Self>) {
        let Some(state) = lock(&self.config).server.state.clone() else { return };
        // Locked until the result is noted, so that the result of an earlier write does not hide this one's.
        let kept = lock(&self.kept);
        self.note_saved(Saved::Changes, kept.save(&state));
    }

    pub fn save_stuck(self: &Arc<Self>, stuck: &Stuck) {
        let Some(state) = lock(&self.config).server.state.clone() else { return };
        self.note_saved(Saved::Stuck, stuck.save(&state));
    }

    /// Writes the files that could not be written the last time. Returns whether all are written.
    pub fn save_unwritten(self: &Arc<Self>) -> bool {
        let files: Vec<Saved> = lock(&self.unwritten).files.keys().copied().collect();
        for file in files {
            match file {
                Saved::Changes => self.save_changes(),
                Saved::Stuck => self.save_stuck(&lock(&self.stuck)),
            }
        }
        lock(&self.unwritten).files.is_empty()
    }

    fn note_saved(self: &Arc<Self>, file: Saved, saved: Result<(), String>) {
        let what = match file {
            Saved::Changes => "what the API has changed",
            Saved::Stuck => "the list of sources that have ended the service",
        };
        let mut unwritten = lock(&self.unwritten);
        let Err(sentence) = saved else {
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
            let (fleet, limits) = (Arc::downgrade(self), lock(&self.config).restart.clone());
            let spawned =
                std::thread::Builder::new().name("state".into()).spawn(move || try_again(&fleet, &limits));
            if let Err(e) = spawned {
                unwritten.tried_again = false;
                log::warning(format_args!("no thread tries that again before the next change: {e}"));
            }
        }
    }
}

/// Tries until all is written, or the fleet is gone.
fn try_again(fleet: &Weak<Inner>, limits: &Restart) {
    for attempt in 0.. {
        std::thread::sleep(backoff::wait(limits, attempt, fastrand::f64()));
        let Some(fleet) = fleet.upgrade() else { return };
        fleet.save_unwritten();
        let mut unwritten = lock(&fleet.unwritten);
        if unwritten.files.is_empty() {
            unwritten.tried_again = false;
            return;
        }
    }
}
