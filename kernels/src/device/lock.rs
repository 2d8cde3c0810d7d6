//! Locks that stay usable after a panic in another thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic while it was locked: nothing here leaves what it guards half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
