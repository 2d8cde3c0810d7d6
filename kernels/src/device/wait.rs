//! Threads that wait for the GPU.
//!
//! At first a thread polls without a pause, because short work is over before it could fall asleep. Then it sleeps, and one thread polls for all that do:
//! of 64 streams, nearly all wait at any time, and if each polled for itself, that would take more of the processor than their frames do. (An event that wakes a
//! thread by itself would cost 2 us on the device each time.)

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::{DeviceError, lock};

/// How long a thread polls without a pause, if no other one waits, and if others do.
const AWAKE: [Duration; 2] = [Duration::from_micros(300), Duration::from_micros(100)];
/// Where this many others wait, it does not: the GPU has enough to do, and the processor as well.
const MANY: usize = 4;
/// The pause between polls afterwards; the system adds some 50 us.
const PAUSE: Duration = Duration::from_micros(20);

/// What can be waited for.
pub(super) trait Work: Send + Sync {
    /// Whether it is done.
    ///
    /// # Errors
    /// It never will be.
    fn is_done(&self) -> Result<bool, DeviceError>;
}

/// Waits until `work` is done, for `limit` at most.
///
/// # Errors
/// Those of the work; [`DeviceError::Busy`] where it takes longer.
pub(super) fn wait_for<W: Work + 'static>(work: &Arc<W>, limit: Option<Duration>) -> Result<(), DeviceError> {
    let (started, waits) = (Instant::now(), Waits::begin());
    loop {
        if let Some(outcome) = look(&**work, started, limit) {
            return outcome;
        }
        if started.elapsed() >= waits.awake() {
            break;
        }
    }
    let thread = thread::current();
    let waiting =
        Arc::new(Waiting { work: Arc::<W>::clone(work), started, limit, thread, outcome: OnceLock::new() });
    if WATCHER.add(&waiting) {
        return waiting.sleep();
    }
    loop {
        if let Some(outcome) = look(&**work, started, limit) {
            return outcome;
        }
        thread::sleep(PAUSE);
    }
}

/// What came of work that has been waited for since then, if anything.
fn look(work: &dyn Work, started: Instant, limit: Option<Duration>) -> Option<Result<(), DeviceError>> {
    let waited = started.elapsed();
    match work.is_done() {
        Ok(true) => Some(Ok(())),
        Ok(false) if limit.is_some_and(|limit| waited > limit) => {
            Some(Err(DeviceError::Busy { seconds: waited.as_secs() }))
        }
        Ok(false) => None,
        Err(e) => Some(Err(e)),
    }
}

/// The threads that wait.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// One of them.
struct Waits {
    /// How many others did when it began.
    others: usize,
}

impl Waits {
    fn begin() -> Self {
        Self { others: WAITING.fetch_add(1, Ordering::Relaxed) }
    }

    /// How long it polls without a pause.
    fn awake(&self) -> Duration {
        match self.others {
            0 => AWAKE[0],
            1..MANY => AWAKE[1],
            _ => Duration::ZERO,
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread that sleeps until its work is done.
struct Waiting {
    work: Arc<dyn Work>,
    started: Instant,
    limit: Option<Duration>,
    thread: Thread,
    outcome: OnceLock<Result<(), DeviceError>>,
}

impl Waiting {
    /// Sleeps until it is over.
    fn sleep(&self) -> Result<(), DeviceError> {
        loop {
            if let Some(outcome) = self.outcome.get() {
                return outcome.clone();
            }
            thread::park();
        }
    }

    /// Wakes the thread if something came of its work.
    fn is_over(&self) -> bool {
        let Some(outcome) = look(&*self.work, self.started, self.limit) else { return false };
        // Only this thread sets it, once.
        let _ = self.outcome.set(outcome);
        self.thread.unpark();
        true
    }
}

static WATCHER: Watcher =
    Watcher { new: Mutex::new(Vec::new()), came: Condvar::new(), runs: OnceLock::new() };

/// The thread that polls for those that sleep. It lives as long as the process, and sleeps itself where nobody waits.
struct Watcher {
    /// Those that it has not seen yet.
    new: Mutex<Vec<Arc<Waiting>>>,
    came: Condvar,
    runs: OnceLock<bool>,
}

impl Watcher {
    /// Polls for a thread, too; false where the system has no thread that would.
    fn add(&'static self, waiting: &Arc<Waiting>) -> bool {
        let start = || thread::Builder::new().name("cuda-wait".into()).spawn(|| self.watch()).is_ok();
        let runs = *self.runs.get_or_init(start);
        if runs {
            lock(&self.new).push(Arc::clone(waiting));
            self.came.notify_one();
        }
        runs
    }

    fn watch(&self) {
        let mut all: Vec<Arc<Waiting>> = Vec::new();
        loop {
            let mut new = lock(&self.new);
            while all.is_empty() && new.is_empty() {
                new = self.came.wait(new).unwrap_or_else(PoisonError::into_inner);
            }
            all.append(&mut new);
            drop(new);
            all.retain(|waiting| !waiting.is_over());
            if !all.is_empty() {
                thread::sleep(PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::AtomicBool;
    use std::thread::ThreadId;

    use super::*;

    /// Is done once the test sets it.
    #[derive(Default)]
    struct Set {
        is_done: AtomicBool,
        fails: bool,
        /// The threads that have asked.
        asked: Mutex<HashSet<ThreadId>>,
    }

    impl Work for Set {
        fn is_done(&self) -> Result<bool, DeviceError> {
            lock(&self.asked).insert(thread::current().id());
            match self.is_done.load(Ordering::Relaxed) {
                true if self.fails => Err(DeviceError::NoDriver),
                is_done => Ok(is_done),
            }
        }
    }

    #[test]
    fn what_is_done_is_not_waited_for() {
        let work = Arc::new(Set { is_done: true.into(), ..Set::default() });
        assert_eq!(wait_for(&work, None), Ok(()));
        assert_eq!(*lock(&work.asked), HashSet::from([thread::current().id()]));
    }

    #[test]
    fn work_that_hangs_is_an_error_for_whoever_is_awake_and_for_whoever_sleeps() {
        for limit in [Duration::ZERO, 20 * AWAKE[0]] {
            let never = Arc::new(Set::default());
            assert_eq!(wait_for(&never, Some(limit)), Err(DeviceError::Busy { seconds: 0 }));
        }
    }

    #[test]
    fn one_thread_polls_for_all_that_sleep_and_wakes_each_when_its_work_is_over() {
        let works: Vec<_> = (0..40).map(|n| Arc::new(Set { fails: n % 2 == 1, ..Set::default() })).collect();
        let own = |work: &Arc<Set>| -> HashSet<ThreadId> { lock(&work.asked).clone() };
        thread::scope(|scope| {
            let threads: Vec<_> =
                works.iter().map(|work| scope.spawn(move || wait_for(work, None))).collect();
            let others = |index: usize| -> HashSet<ThreadId> {
                own(&works[index]).into_iter().filter(|id| *id != threads[index].thread().id()).collect()
            };
            while (0..works.len()).any(|index| others(index).is_empty()) {
                thread::yield_now();
            }
            let watchers: HashSet<ThreadId> = (0..works.len()).flat_map(others).collect();
            assert_eq!(watchers.len(), 1);
            // The last one first: none waits for another.
            for (work, thread) in works.iter().zip(threads).rev() {
                assert!(!thread.is_finished());
                work.is_done.store(true, Ordering::Relaxed);
                let expected = if work.fails { Err(DeviceError::NoDriver) } else { Ok(()) };
                assert_eq!(thread.join().unwrap(), expected);
            }
        });
    }
}
