//! A state that threads share, and wait for changes of.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::threads::now;

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
        #[cfg(test)]
        crate::world::before_lock(|| self.state.try_lock().is_ok());
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Wakes all threads that wait.
    pub fn notify(&self) {
        #[cfg(test)]
        crate::world::notify(&raw const *self);
        self.changed.notify_all();
    }

    /// Waits for a change, or for `most`.
    pub fn wait<'a>(&'a self, state: MutexGuard<'a, S>, most: Option<Duration>) -> MutexGuard<'a, S> {
        #[cfg(test)]
        if crate::world::is_simulated() {
            drop(state);
            crate::world::wait(&raw const *self, most);
            return self.state.lock().unwrap_or_else(|e| e.into_inner());
        }
        match most {
            None => self.changed.wait(state).unwrap_or_else(|e| e.into_inner()),
            Some(most) => self.changed.wait_timeout(state, most).unwrap_or_else(|e| e.into_inner()).0,
        }
    }

    /// Waits for as long as `holds` is true of the state, but not for longer than `most`.
    pub fn wait_while<'a>(
        &'a self,
        mut state: MutexGuard<'a, S>,
        most: Duration,
        holds: impl Fn(&S) -> bool,
    ) -> MutexGuard<'a, S> {
        let until = now().checked_add(most);
        while holds(&state) {
            let left = until.map(|until| until.saturating_duration_since(now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            state = self.wait(state, left);
        }
        state
    }
}
