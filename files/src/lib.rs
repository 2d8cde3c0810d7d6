//! The one place that opens files, so that neither a FIFO, a link nor another user's file takes anybody by surprise.
//!
//! | file | use |
//! |---|---|
//! | named by a user: a model, labels, zones | [`open()`], [`text`]; [`open_unlinked`], [`text_unlinked`] to refuse links |
//! | written by the program for itself: a spool | [`Folder`]: opens, writes as a whole and removes files; locks the folder |
//! | searched for, to be run: a library | [`trusted`]: where a path leads to, if nobody else could have put it there |
//!
//! This process's user and root are trusted ([`trust`](trusted)), and in a [`Folder`] also its owner: on network and FAT file
//! systems all files belong to him, whichever user has written them.

#![forbid(unsafe_code)]

use std::io;

mod folder;
mod lock;
mod named;
mod trust;

pub use folder::{Access, Folder, Readers};
pub use lock::{Lock, LockError};
pub use named::{LARGEST_TEXT, open, open_unlinked, text, text_unlinked};
pub use trust::trusted;

/// Whether there is no room for what is written, on the disk, in a quota or by a limit of the process.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
