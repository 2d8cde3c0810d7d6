//! Sources whose pipelines did not stop and so ended the process, noted for the next process in STATE/stuck.json.

use std::collections::BTreeMap;
use std::path::Path;

use cudainfer_files::{Folder, Readers};
use serde::{Deserialize, Serialize};

use super::SourceConfig;
use super::kept::MOST;

const FILE: &str = "stuck.json";

/// A source that has ended the process this often, without frames for `steady` seconds in between, is not started by itself any
/// more. Once is no reason: its file may have hung for a while, as in a network folder.
const ENDS: u32 = 2;

/// The sources, by name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Stuck(BTreeMap<String, StuckSource>);

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct StuckSource {
    /// The source when it ended the process: one that was changed since is started.
    source: SourceConfig,
    /// How often it has ended the process.
    ends: u32,
}

impl Stuck {
    /// Reads what is noted; nothing where there is no file.
    ///
    /// # Errors
    /// A sentence. The service starts all the same.
    pub fn load(state: &Path) -> Result<Self, String> {
        let read = || match Folder::open(state, Readers::Owner)?.text(FILE, MOST) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            text => Ok::<_, std::io::Error>(serde_json::from_str(&text?)?),
        };
        read().map_err(|e| format!("'{}' cannot be read, and is left aside: {e}", state.join(FILE).display()))
    }

    /// Writes the list.
    ///
    /// # Errors
    /// A sentence.
    pub fn save(&self, state: &Path) -> Result<(), String> {
        let write = || Folder::open(state, Readers::Owner)?.write(FILE, &serde_json::to_vec_pretty(self)?);
        write().map_err(|e| format!("'{}' cannot be written: {e}", state.join(FILE).display()))
    }

    /// Notes that the process ends because of a source.
    pub fn note(&mut self, source: &SourceConfig) {
        let before =
            self.0.get(&source.name).filter(|entry| entry.source == *source).map_or(0, |entry| entry.ends);
        let entry = StuckSource { source: source.clone(), ends: before.saturating_add(1) };
        self.0.insert(source.name.clone(), entry);
    }

    /// Forgets a source, because it gives frames, is gone, or must be tried again. Returns whether it was noted.
    pub fn forget(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    /// Why a source must not be started, if it must not.
    pub fn refusal(&self, source: &SourceConfig) -> Option<String> {
        let entry = self.0.get(&source.name).filter(|entry| entry.source == *source && entry.ends >= ENDS)?;
        Some(format!(
            "its pipelines did not stop and have ended the service {} times (exit code 71), so it is not started by itself: change it, or \
             restart it to try it once more",
            entry.ends
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_ends_the_process_again_is_held_until_it_changes_or_is_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let source = SourceConfig {
            name: "a".into(),
            uri: "rtsp://u:secret@camera/1".into(),
            ..SourceConfig::default()
        };
        for times in 0..2 {
            let mut stuck = Stuck::load(state.path()).unwrap();
            assert_eq!(stuck.refusal(&source), None, "{times}");
            stuck.note(&source);
            stuck.save(state.path()).unwrap();
        }
        let mut stuck = Stuck::load(state.path()).unwrap();
        assert!(stuck.refusal(&source).unwrap().contains("2 times"));
        let other = SourceConfig { uri: "rtsp://camera/2".into(), ..source.clone() };
        assert_eq!(stuck.refusal(&other), None);
        assert!(stuck.forget("a") && !stuck.forget("a"));
        assert_eq!(stuck.refusal(&source), None);
        std::fs::write(state.path().join(FILE), "{").unwrap();
        assert!(Stuck::load(state.path()).unwrap_err().contains("left aside"));
    }
}
