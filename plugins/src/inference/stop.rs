//! Ending work in another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// Ends work in another thread soon, whatever it does at the moment.
#[derive(Default)]
pub struct Stop {
    set: AtomicBool,
    /// Ends the run that is under way.
    interrupt: Mutex<Option<Arc<dyn Interrupt>>>,
}

/// What ends a session's runs from another thread.
pub trait Interrupt: Send + Sync {
    /// Ends the run that is under way, or the next one, with an error.
    fn interrupt(&self);

    /// Takes back an interruption that has met no run: the next run is not ended.
    fn withdraw(&self);
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Stop {
    /// The work must end.
    pub fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        self.interrupt();
    }

    /// Whether the work must end.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }

    /// Does work that `interrupt` ends, and that no other thread does with the same session meanwhile; `None`, if the work must
    /// end before it has begun. The session's next run is not ended for this work, however late the interruption came.
    pub fn during<T>(&self, interrupt: Option<Arc<dyn Interrupt>>, work: impl FnOnce() -> T) -> Option<T> {
        if self.is_set() {
            return None;
        }
        let Some(interrupt) = interrupt else { return Some(work()) };
        *lock(&self.interrupt) = Some(Arc::clone(&interrupt));
        // Also where the work panics.
        let _guard = DuringGuard { stop: self, interrupt };
        // A thread that has set it since the first look may have found nothing to interrupt.
        if self.is_set() {
            return None;
        }
        Some(work())
    }

    /// Ends the current work, if there is any.
    pub fn interrupt(&self) {
        if let Some(interrupt) = &*lock(&self.interrupt) {
            interrupt.interrupt();
        }
    }
}

/// Work that can be interrupted until this is dropped.
struct DuringGuard<'a> {
    stop: &'a Stop,
    interrupt: Arc<dyn Interrupt>,
}

impl Drop for DuringGuard<'_> {
    fn drop(&mut self) {
        lock(&self.stop.interrupt).take();
        self.interrupt.withdraw();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Whether the next run is going to be ended.
    #[derive(Default)]
    struct NextRun(AtomicBool);

    impl Interrupt for NextRun {
        fn interrupt(&self) {
            self.0.store(true, Ordering::SeqCst);
        }

        fn withdraw(&self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }

    #[test]
    fn work_is_interrupted_while_it_lasts_and_the_next_run_is_not() {
        let (stop, next) = (Stop::default(), Arc::new(NextRun::default()));
        let is_interrupted = || next.0.load(Ordering::SeqCst);
        let seen = stop.during(Some(next.clone()), || {
            stop.interrupt();
            is_interrupted()
        });
        assert_eq!((seen, is_interrupted()), (Some(true), false));
        stop.interrupt();
        assert!(!is_interrupted());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            stop.during(Some(next.clone()), || {
                stop.interrupt();
                panic!("on purpose")
            })
        }));
        assert!(panicked.is_err() && !is_interrupted());
        stop.interrupt();
        assert!(!is_interrupted());
        // The run is over when the work must end, and nothing else of the work begins.
        assert_eq!(stop.during(Some(next.clone()), || stop.set()), Some(()));
        assert!(!is_interrupted());
        assert_eq!(stop.during(Some(next.clone()), || ()), None);
        assert_eq!(stop.during(None, || ()), None);
    }
}
