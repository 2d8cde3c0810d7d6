//! A configuration file in either of DeepStream's two formats, as groups of keys.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::ImportError;
use super::groups::{Group, Groups, Repeated};
use super::{keyfile, yaml};

/// The largest file that is read, in bytes. NVIDIA's samples have some thousand.
const LARGEST: u64 = 1 << 20;

/// A file that was read.
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) groups: Vec<Group>,
    pub(super) repeated: Vec<Repeated>,
}

impl Document {
    /// Reads a file: YAML if its name ends in `.yml` or `.yaml`, else a key file.
    ///
    /// # Errors
    /// It cannot be read, is too large, or does not have that format.
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let text = read(path)?;
        let is_yaml =
            path.extension().is_some_and(|e| e.eq_ignore_ascii_case("yml") || e.eq_ignore_ascii_case("yaml"));
        let parsed = if is_yaml { yaml::parse(&text) } else { keyfile::parse(&text) };
        let Groups { groups, repeated } = parsed.map_err(|(line, sentence)| ImportError::Syntax {
            file: path.to_owned(),
            line,
            sentence,
        })?;
        Ok(Self { path: path.to_owned(), groups, repeated })
    }

    /// The group of that name.
    pub(super) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.name == name)
    }

    /// A path that the file names: relative to the file's folder, as DeepStream takes it.
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        tidy(&folder.join(path))
    }
}

/// Reads a text of at most a megabyte.
///
/// # Errors
/// It cannot be read, is no regular file, is larger, or is not UTF-8.
pub(super) fn read(path: &Path) -> Result<String, ImportError> {
    let failed = |source| ImportError::Read { file: path.to_owned(), source };
    let about = fs::metadata(path).map_err(failed)?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(ImportError::NotAConfiguration { file: path.to_owned() });
    }
    fs::read_to_string(path).map_err(failed)
}

/// A path without `.`, and without `..` after a name.
pub(super) fn tidy(path: &Path) -> PathBuf {
    use std::path::Component::{CurDir, Normal, ParentDir};
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            CurDir => {}
            ParentDir if matches!(out.components().next_back(), Some(Normal(_))) => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}
