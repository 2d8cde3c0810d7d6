//! A state that threads share, and wait for changes of.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A state with its lock. A thread that panics with the lock does not keep others from it.
#[derive(Debug)]
pub(crate) struct Monitor<S> {
    state: Mutex<S>,
    changed: Condvar,
}

impl<S> Monitor<S> {
    pub fn new(state: S) -> Self {
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Wakes all threads that wait.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits for a change, or for `most`.
    pub fn wait<'a>(&self, state: MutexGuard<'a, S>, most: Option<Duration>) -> MutexGuard<'a, S> {
        match most {
            None => self.changed.wait(state).unwrap_or_else(|e| e.into_inner()),
            Some(most) => self.changed.wait_timeout(state, most).unwrap_or_else(|e| e.into_inner()).0,
        }
    }

    /// Waits for as long as `holds` is true of the state, but not for longer than `most`.
    pub fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, S>,
        most: Duration,
        mut holds: impl FnMut(&S) -> bool,
    ) -> MutexGuard<'a, S> {
        let waited = self.changed.wait_timeout_while(state, most, |state| holds(state));
        waited.unwrap_or_else(|e| e.into_inner()).0
    }
}
