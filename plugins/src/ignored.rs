//! How much of a frame's metadata of other elements was not read, which `stats` counts.

use std::cell::Cell;

thread_local! {
    /// For the frame that this thread works on.
    static IGNORED: Cell<usize> = const { Cell::new(0) };
}

/// Notes that `count` entries were not read. An element may read a frame more than once.
pub(crate) fn note(count: usize) {
    IGNORED.set(IGNORED.get().max(count));
}

/// How many were not read since the last call, in this thread.
pub(crate) fn take() -> usize {
    IGNORED.take()
}
