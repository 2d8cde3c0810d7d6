//! Threads that wait for the GPU.
//!
//! At first a thread polls without a pause, because short work is over before it could fall asleep. Then it sleeps: for a while by itself where no other one
//! waits, and else until one thread that polls for all wakes it. Of 64 streams, nearly all wait at any time, and if each polled for itself, that would
//! take more of the processor than their frames do. (An event that wakes a thread by itself would cost 2 us on the device each time.)

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::{DeviceError, lock};

/// Where this many others wait, none polls without a pause: the GPU has enough to do, and the processor as well.
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

type Outcome = Result<(), DeviceError>;

/// Waits until `work` is done, for `limit` at most.
///
/// # Errors
/// Those of the work; [`DeviceError::Busy`] where it takes longer.
pub(super) fn wait_until_done<W: Work + 'static>(work: &Arc<W>, limit: Option<Duration>) -> Outcome {
    let (started, others) = (Instant::now(), WAITERS.fetch_add(1, Ordering::Relaxed));
    let _leaves = Leaves;
    let awake = awake(others);
    loop {
        if let Some(outcome) = look(&**work, started, limit) {
            return outcome;
        }
        if started.elapsed() < awake {
            continue;
        }
        if others > 0
            && let Some(outcome) = POLLER.sleep(Arc::<W>::clone(work), started, limit)
        {
            return outcome;
        }
        thread::sleep(PAUSE);
    }
}

/// How long a thread polls without a pause, by how many others wait.
fn awake(others: usize) -> Duration {
    match others {
        0 => Duration::from_micros(300),
        1..MANY => Duration::from_micros(100),
        _ => Duration::ZERO,
    }
}

/// What came of work that has been waited for since then, if anything.
fn look(work: &dyn Work, started: Instant, limit: Option<Duration>) -> Option<Outcome> {
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
static WAITERS: AtomicUsize = AtomicUsize::new(0);

/// At its end, one of them does not any more.
struct Leaves;

impl Drop for Leaves {
    fn drop(&mut self) {
        WAITERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread that sleeps until there is an outcome.
struct Sleeper {
    thread: Thread,
    outcome: OnceLock<Outcome>,
}

/// What it sleeps for, which the thread that polls has.
struct Watched {
    work: Arc<dyn Work>,
    started: Instant,
    limit: Option<Duration>,
    sleeper: Arc<Sleeper>,
}

impl Watched {
    /// Wakes the sleeper if it is over; else there it is again.
    fn wake_if_over(self) -> Option<Self> {
        let Some(outcome) = look(&*self.work, self.started, self.limit) else { return Some(self) };
        let Self { work, sleeper, .. } = self;
        // Whoever wakes owns the work alone, and destroys what belongs to it in its own thread.
        drop(work);
        // Nobody else sets it.
        let _ = sleeper.outcome.set(outcome);
        sleeper.thread.unpark();
        None
    }
}

static POLLER: Poller = Poller { new: Mutex::new(Vec::new()), came: Condvar::new(), runs: OnceLock::new() };

/// The thread that polls for those that sleep, on all GPUs. It lives as long as the process, and sleeps itself where nobody waits.
struct Poller {
    /// What it has not seen yet.
    new: Mutex<Vec<Watched>>,
    came: Condvar,
    runs: OnceLock<bool>,
}

impl Poller {
    /// Sleeps until there is an outcome; nothing at once where the system has no thread that polls.
    fn sleep(
        &'static self,
        work: Arc<dyn Work>,
        started: Instant,
        limit: Option<Duration>,
    ) -> Option<Outcome> {
        let start = || thread::Builder::new().name("cuda-wait".into()).spawn(|| self.poll()).is_ok();
        if !*self.runs.get_or_init(start) {
            return None;
        }
        let sleeper = Arc::new(Sleeper { thread: thread::current(), outcome: OnceLock::new() });
        lock(&self.new).push(Watched { work, started, limit, sleeper: Arc::clone(&sleeper) });
        self.came.notify_one();
        loop {
            if let Some(outcome) = sleeper.outcome.get() {
                return Some(outcome.clone());
            }
            thread::park();
        }
    }

    fn poll(&self) {
        let mut all: Vec<Watched> = Vec::new();
        loop {
            let mut new = lock(&self.new);
            while all.is_empty() && new.is_empty() {
                new = self.came.wait(new).unwrap_or_else(PoisonError::into_inner);
            }
            all.append(&mut new);
            drop(new);
            all = all.into_iter().filter_map(Watched::wake_if_over).collect();
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

    /// Longer than any of these takes: a test that goes wrong must end.
    const LIMIT: Duration = Duration::from_secs(60);

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
    fn a_thread_stays_awake_longer_the_fewer_others_wait() {
        let [alone, few, many] = [0, MANY - 1, MANY].map(awake);
        assert!(alone > few && few > many && many.is_zero() && awake(1) == few && awake(1000) == many);
    }

    #[test]
    fn what_is_done_is_not_waited_for() {
        let work = Arc::new(Set { is_done: true.into(), ..Set::default() });
        assert_eq!(wait_until_done(&work, None), Ok(()));
        assert_eq!(*lock(&work.asked), HashSet::from([thread::current().id()]));
    }

    #[test]
    fn work_that_hangs_is_an_error_for_whoever_is_awake_and_for_whoever_sleeps() {
        let never = Arc::new(Set::default());
        let awake = wait_until_done(&never, Some(Duration::ZERO));
        assert!(matches!(awake, Err(DeviceError::Busy { .. })));
        let asleep = POLLER.sleep(Arc::<Set>::clone(&never), Instant::now(), Some(Duration::from_millis(5)));
        assert!(matches!(asleep, Some(Err(DeviceError::Busy { .. }))));
        assert_eq!(lock(&never.asked).len(), 2, "this thread, and the one that polls");
    }

    #[test]
    fn one_thread_polls_for_all_that_sleep_and_wakes_each_when_its_work_is_over() {
        let works: Vec<_> = (0..40).map(|n| Arc::new(Set { fails: n % 2 == 1, ..Set::default() })).collect();
        let asked = |work: &Arc<Set>| lock(&work.asked).clone();
        thread::scope(|scope| {
            let sleep =
                |work: &Arc<Set>| POLLER.sleep(Arc::<Set>::clone(work), Instant::now(), Some(LIMIT)).unwrap();
            let threads: Vec<_> = works.iter().map(|work| scope.spawn(move || sleep(work))).collect();
            let started = Instant::now();
            while started.elapsed() < LIMIT && works.iter().any(|work| asked(work).is_empty()) {
                thread::yield_now();
            }
            let pollers: HashSet<ThreadId> = works.iter().flat_map(asked).collect();
            assert_eq!(pollers.len(), 1);
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
