//! Files that are not complete yet.

use std::path::{Path, PathBuf};

/// What a file that is not complete yet is called behind its name.
pub const UNFINISHED: &str = ".part";

/// Where a file is until it is complete.
pub fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}
