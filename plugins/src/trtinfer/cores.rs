//! The machine's cores, shared by all models that run on the CPU: several streams together do not run more threads than there are
//! cores.

use std::sync::{Condvar, Mutex};

use crate::sync::lock;

/// How many there are.
pub(super) fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

static BUSY: Cores = Cores { busy: Mutex::new(0), changed: Condvar::new() };

struct Cores {
    busy: Mutex<usize>,
    changed: Condvar,
}

/// Some cores, until this is dropped.
#[must_use = "the cores are free again when this is dropped"]
pub(super) struct Taken {
    cores: &'static Cores,
    count: usize,
}

/// Waits for so many cores; all of them are enough for more.
pub(super) fn take(wanted: usize) -> Taken {
    BUSY.take(wanted, count())
}

impl Cores {
    fn take(&'static self, wanted: usize, all: usize) -> Taken {
        let count = wanted.clamp(1, all);
        let mut busy = lock(&self.busy);
        while *busy + count > all {
            busy = self.changed.wait(busy).unwrap_or_else(|e| e.into_inner());
        }
        *busy += count;
        Taken { cores: self, count }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        *lock(&self.cores.busy) -= self.count;
        self.cores.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_cores_are_taken_than_there_are() {
        static FOUR: Cores = Cores { busy: Mutex::new(0), changed: Condvar::new() };
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for wanted in [1, 2, 3, 4, 9, 2, 1, 3] {
                let (now, most) = (&now, &most);
                scope.spawn(move || {
                    for _ in 0..20 {
                        let taken = FOUR.take(wanted, 4);
                        most.fetch_max(
                            now.fetch_add(taken.count, Ordering::SeqCst) + taken.count,
                            Ordering::SeqCst,
                        );
                        std::thread::sleep(Duration::from_micros(200));
                        now.fetch_sub(taken.count, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(*lock(&FOUR.busy), 0);
        assert!((3..=4).contains(&most.into_inner()));
    }
}
