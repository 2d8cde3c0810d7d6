//! Locks that outlive a panic: an element whose thread panicked posts an error, and its properties still answer.
//!
//! Modules that take their locks from here, and not from std, can be compiled with other ones: tests/interleavings tries every
//! order of their threads.

pub use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks a mutex, poisoned or not.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Waits for a condition variable with a lock that was taken by [`lock`].
pub fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    changed.wait(guard).unwrap_or_else(|e| e.into_inner())
}
