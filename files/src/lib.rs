//! The one place that opens files, so that neither a FIFO, a link nor another user's file takes anybody by surprise.
//!
//! | file | use |
//! |---|---|
//! | one that a user names and that is read: a model, labels, zones | [`open()`], [`text`]; [`open_unlinked`] and [`text_unlinked`] where a link would be a surprise |
//! | those that the program writes for itself: a spool, its state | [`Folder`]: opens, writes as a whole, removes, and locks what lies directly in one folder |
//! | one that was searched for and is about to be run: a library | [`trusted`]: where a path leads to, if nobody else could have put it there |
//!
//! Whom we trust is this process's user and root ([`trust`](trusted)), and in a [`Folder`] also its owner: what lies there is his
//! on network and FAT file systems, whichever user has written it.

mod folder;
mod lock;
mod named;
mod trust;

pub use folder::{Access, Folder, Readers};
pub use lock::{Lock, LockError};
pub use named::{LARGEST_TEXT, open, open_unlinked, text, text_unlinked};
pub use trust::trusted;
