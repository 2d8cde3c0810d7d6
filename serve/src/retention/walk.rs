//! The files of a folder that is kept within limits.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    pub path: PathBuf,
    pub size: u64,
    pub changed: SystemTime,
}

/// All files below a folder. Links are not followed.
pub fn collect(folder: &Path, files: &mut Vec<KeptFile>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() {
            collect(&entry.path(), files);
        } else if about.is_file()
            && let Ok(changed) = about.modified()
        {
            files.push(KeptFile { path: entry.path(), size: about.len(), changed });
        }
    }
}
