//! Ending work in another thread.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sync::lock;

/// Ends work in another thread soon, whatever it is at.
#[derive(Default)]
pub struct Stop {
    set: AtomicBool,
    /// Ends the run that is under way.
    interrupt: Mutex<Option<Interrupt>>,
}

/// Ends a session's run, or the next one, with an error.
pub type Interrupt = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Stop {
    /// The work is to end.
    pub fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        self.interrupt();
    }

    /// Whether the work is to end.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }

    /// Does work that `interrupt` ends; `None`, if it is not to be done any more.
    pub fn during<T>(&self, interrupt: Option<Interrupt>, work: impl FnOnce() -> T) -> Option<T> {
        if self.is_set() {
            return None;
        }
        self.interrupts(interrupt);
        let done = work();
        self.interrupts(None);
        Some(done)
    }

    /// Ends what is under way, if anything is.
    pub fn interrupt(&self) {
        if let Some(interrupt) = &*lock(&self.interrupt) {
            interrupt();
        }
    }

    /// How what runs from now on is ended, if it can be.
    fn interrupts(&self, interrupt: Option<Interrupt>) {
        let mut current = lock(&self.interrupt);
        *current = interrupt;
        // It may have been set before.
        if let (true, Some(interrupt)) = (self.is_set(), &*current) {
            interrupt();
        }
    }
}
