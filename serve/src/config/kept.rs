//! Changes by the API, which are kept across restarts in STATE/streams.json.

use std::collections::BTreeMap;
use std::path::Path;

use cudainfer_files::{Folder, Readers};
use serde::{Deserialize, Serialize};

use super::SourceConfig;

const FILE: &str = "streams.json";

/// Bytes that a file of the folder may have.
pub(super) const MOST: u64 = 16 * 1024 * 1024;

/// The differences from the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kept {
    /// Sources that the file does not have.
    pub added: BTreeMap<String, SourceConfig>,
    /// Sources of the file that were changed.
    pub patched: BTreeMap<String, Patched>,
    /// Sources of the file that were removed, as they were there.
    pub removed: BTreeMap<String, SourceConfig>,
    /// Models that took the place of those of the pipelines' descriptions, by `PIPELINE/ELEMENT`.
    pub models: BTreeMap<String, ChangedModel>,
}

/// A source of the file that was changed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Patched {
    /// The source as it was in the file when it was changed.
    pub file: SourceConfig,
    /// The source as it is now.
    pub now: SourceConfig,
}

/// A model that took another one's place.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ChangedModel {
    /// The model in the pipeline's description.
    pub line: String,
    /// The model in use.
    pub now: String,
}

impl Kept {
    /// Reads what was kept; nothing where there is no file yet.
    ///
    /// # Errors
    /// A sentence.
    pub fn load(state: &Path) -> Result<Self, String> {
        let path = state.join(FILE);
        let text = match Folder::open(state, Readers::Owner).and_then(|folder| folder.text(FILE, MOST)) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(format!("'{}' cannot be read: {e}", path.display())),
        };
        serde_json::from_str(&text).map_err(|e| {
            format!(
                "'{}' is not what this service writes there: {e}. Correct it, or move it away to begin with the configuration alone",
                path.display()
            )
        })
    }

    /// Writes the file, so that at any time either the old or the new one is there as a whole.
    ///
    /// # Errors
    /// A sentence.
    pub fn save(&self, state: &Path) -> Result<(), String> {
        let path = state.join(FILE);
        let write = || {
            let mut text = serde_json::to_vec_pretty(self)?;
            text.push(b'\n');
            Folder::open(state, Readers::Owner)?.write(FILE, &text)
        };
        write().map_err(|e| format!("'{}' cannot be written: {e}", path.display()))
    }

    /// The sources that run, made of those in the file and the changes. Forgets each change that no longer fits the file, and
    /// returns a sentence about it.
    pub fn apply(&mut self, file: &[SourceConfig]) -> (Vec<SourceConfig>, Vec<String>) {
        let mut sentences = Vec::new();
        let in_file = |name: &String| file.iter().find(|source| source.name == *name);
        self.added.retain(|name, _| {
            let keeps = in_file(name).is_none();
            if !keeps {
                sentences.push(format!(
                    "the configuration has a source '{name}' now, which replaces the one that was added"
                ));
            }
            keeps
        });
        self.patched.retain(|name, patched| {
            let source = in_file(name);
            if source != Some(&patched.file) {
                let what = if source.is_some() { "has changed" } else { "is gone" };
                sentences.push(format!(
                    "source '{name}' {what} in the configuration, so its changes by the API are forgotten"
                ));
            }
            source == Some(&patched.file)
        });
        self.removed.retain(|name, removed| {
            let source = in_file(name);
            if source.is_some_and(|source| source != removed) {
                sentences.push(format!(
                    "source '{name}' has changed in the configuration, so it is no longer removed"
                ));
            }
            source == Some(removed)
        });
        let from_file = file.iter().filter(|source| !self.removed.contains_key(&source.name));
        let now =
            from_file.map(|source| self.patched.get(&source.name).map_or(source, |patched| &patched.now));
        (now.chain(self.added.values()).cloned().collect(), sentences)
    }

    /// Notes that a source is like this now; `file` is the source in the configuration, if it has one.
    pub fn put(&mut self, now: &SourceConfig, file: Option<&SourceConfig>) {
        let name = &now.name;
        self.added.remove(name);
        self.patched.remove(name);
        self.removed.remove(name);
        match file {
            None => drop(self.added.insert(name.clone(), now.clone())),
            Some(file) if file == now => (),
            Some(file) => {
                drop(self.patched.insert(name.clone(), Patched { file: file.clone(), now: now.clone() }));
            }
        }
    }

    /// Notes that a source is gone.
    pub fn remove(&mut self, name: &str, file: Option<&SourceConfig>) {
        self.added.remove(name);
        self.patched.remove(name);
        if let Some(file) = file {
            self.removed.insert(name.to_owned(), file.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, uri: &str) -> SourceConfig {
        SourceConfig { name: name.into(), uri: uri.into(), ..SourceConfig::default() }
    }

    #[test]
    fn changes_are_kept_until_the_file_says_something_else() {
        let file = [source("a", "test://a"), source("b", "test://b"), source("c", "test://c")];
        let mut kept = Kept::default();
        kept.put(&source("x", "test://x"), None);
        kept.put(&source("a", "test://changed"), Some(&file[0]));
        kept.remove("b", Some(&file[1]));
        let folder = tempfile::tempdir().unwrap();
        kept.save(&folder.path().join("new")).unwrap();
        let mut kept = Kept::load(&folder.path().join("new")).unwrap();
        let (now, forgotten) = kept.apply(&file);
        let now: Vec<_> = now.iter().map(|source| (source.name.as_str(), source.uri.whole())).collect();
        assert_eq!(now, [("a", "test://changed"), ("c", "test://c"), ("x", "test://x")]);
        assert!(forgotten.is_empty(), "{forgotten:?}");
        let other = [source("a", "test://2"), source("b", "test://2"), source("x", "test://2")];
        let (now, forgotten) = kept.apply(&other);
        assert_eq!(now, other);
        assert_eq!(forgotten.len(), 3, "{forgotten:?}");
        assert_eq!(kept, Kept::default());
        kept.put(&file[0], Some(&file[0]));
        assert_eq!(kept, Kept::default(), "a change back is none");
    }

    #[test]
    fn a_damaged_file_is_an_error_and_none_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Kept::load(folder.path()).unwrap(), Kept::default());
        std::fs::write(folder.path().join("streams.json"), "{\"added\": 3}").unwrap();
        assert!(Kept::load(folder.path()).unwrap_err().contains("move it away"));
    }
}
