//! Cases for readers that open files themselves.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Files in memory: on a disk, most of a case's time would be the file's.
const IN_MEMORY: &str = "/dev/shm";

/// A file that has the bytes of one case after another, alone in a folder.
#[derive(Debug)]
pub struct CaseFile {
    folder: TempDir,
    file: PathBuf,
}

impl CaseFile {
    /// The file's name is that by which the reader finds it.
    ///
    /// # Panics
    /// There can be no folder for it.
    pub fn new(name: &str) -> Self {
        let folder =
            if Path::new(IN_MEMORY).is_dir() { tempfile::tempdir_in(IN_MEMORY) } else { tempfile::tempdir() };
        let folder = folder.unwrap_or_else(|e| panic!("there can be no folder for cases: {e}"));
        let file = folder.path().join(name);
        Self { folder, file }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of the file, which now has these bytes.
    ///
    /// # Panics
    /// They cannot be written.
    pub fn with(&self, bytes: &[u8]) -> &Path {
        std::fs::write(&self.file, bytes).unwrap_or_else(|e| panic!("a case cannot be written: {e}"));
        &self.file
    }
}
