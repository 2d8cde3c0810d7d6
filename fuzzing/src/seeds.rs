//! The examples of a target: files that are committed.

use std::path::Path;

/// The contents of all files in a folder, in the order of their names.
///
/// # Panics
/// There are none, or they cannot be read.
pub fn read(folder: &Path) -> Vec<Vec<u8>> {
    let fail =
        |e: std::io::Error| -> ! { panic!("the examples in '{}' cannot be read: {e}", folder.display()) };
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| fail(e));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap_or_else(|e| fail(e)).path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are no examples in '{}'", folder.display());
    paths.iter().map(|path| std::fs::read(path).unwrap_or_else(|e| fail(e))).collect()
}
