//! Why nothing was imported.

use std::io;
use std::path::PathBuf;

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be read.
    #[error("{}: it cannot be read: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is too large for a configuration, or is no regular file.
    #[error("{}: expected a regular file of at most 1 MB", file.display())]
    NotAConfiguration {
        /// The file.
        file: PathBuf,
    },
    /// A line does not have the file's format.
    #[error("{}:{line}: {sentence}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        sentence: String,
    },
    /// The file is none of deepstream-app's.
    #[error(
        "{}: it has neither a source nor a [primary-gie]. Expected deepstream-app's configuration, with groups as [source0] and \
         [primary-gie]; nvinfer's own files are read through it",
        file.display()
    )]
    NotDeepStream {
        /// The file.
        file: PathBuf,
    },
    /// A file that would be written is there already.
    #[error("{}: it exists already. Remove it, or name another file after the first one", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// A file cannot be written.
    #[error("{}: it cannot be written: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
