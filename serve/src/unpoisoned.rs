//! Locks that stay usable after a panic in another thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic while it was locked: no code here leaves data half changed under a lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
