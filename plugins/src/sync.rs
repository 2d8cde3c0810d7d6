//! Locks that outlive a panic: an element whose thread panicked posts an error, and its properties still answer.

use std::sync::{Mutex, MutexGuard};

/// Locks a mutex, poisoned or not.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
