//! A simulated clock and simulated threads, for tests: of the threads of a world only one runs at a time, a seed decides which, and
//! the clock moves only when all of them wait. So one seed is one run, the same each time, and an hour takes no time.
//!
//! What is simulated reaches the clock, starts threads and waits through `threads` and `monitor` alone. Each simulated thread is a
//! thread of the system that holds the world's baton or waits for it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// No simulated run needs as many turns; one that takes them goes in circles.
const MOST_TURNS: u64 = 300_000;
/// How long a thread waits for a lock that another one holds while it is in a call that takes time.
const LOCKED: Duration = Duration::from_millis(1);

thread_local! {
    /// The world that this thread belongs to, and which one of its threads it is.
    static OWN: RefCell<Option<(Arc<World>, usize)>> = const { RefCell::new(None) };
}

#[derive(Debug)]
pub(crate) struct World {
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    now: Duration,
    random: fastrand::Rng,
    tasks: Vec<Task>,
    turns: u64,
    /// Why the run cannot go on.
    stuck: Option<String>,
}

#[derive(Debug)]
struct Task {
    baton: Arc<Baton>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ready,
    /// For a notification of the monitor at this address, and until that time.
    Waiting {
        on: Option<usize>,
        until: Option<Duration>,
    },
    Over,
}

#[derive(Debug, Default)]
struct Baton {
    is_here: Mutex<bool>,
    passed: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Baton {
    fn pass(&self) {
        *locked(&self.is_here) = true;
        self.passed.notify_one();
    }

    fn take(&self) {
        let mut is_here = locked(&self.is_here);
        while !*is_here {
            is_here = self.passed.wait(is_here).unwrap_or_else(PoisonError::into_inner);
        }
        *is_here = false;
    }
}

impl State {
    /// Chooses the thread that runs next.
    fn choose(&mut self) -> usize {
        self.turns += 1;
        if self.turns > MOST_TURNS {
            let now = self.now;
            self.stuck.get_or_insert_with(|| format!("no end after {MOST_TURNS} turns and {now:?}"));
        }
        loop {
            let due = |task: &Task| match task.phase {
                Phase::Ready => true,
                Phase::Waiting { until, .. } => until.is_some_and(|until| until <= self.now),
                Phase::Over => false,
            };
            let ready: Vec<usize> = (0..self.tasks.len()).filter(|task| due(&self.tasks[*task])).collect();
            if self.stuck.is_none() && !ready.is_empty() {
                let next = ready[self.random.usize(..ready.len())];
                self.tasks[next].phase = Phase::Ready;
                return next;
            }
            let times = self.tasks.iter().filter_map(|task| match task.phase {
                Phase::Waiting { until, .. } => until,
                _ => None,
            });
            match times.min().filter(|_| self.stuck.is_none()) {
                Some(time) => self.now = time,
                None => {
                    let phases: Vec<_> = self.tasks.iter().map(|task| task.phase).collect();
                    self.stuck.get_or_insert_with(|| format!("all threads wait forever: {phases:?}"));
                    // The first thread fails with it.
                    return 0;
                }
            }
        }
    }
}

impl World {
    /// Runs `work` as the first thread of a new world, and then what its threads still do. Returns what it returns and the time
    /// that has passed.
    pub fn run<T>(seed: u64, work: impl FnOnce() -> T) -> (T, Duration) {
        let state = State {
            now: Duration::ZERO,
            random: fastrand::Rng::with_seed(seed),
            tasks: vec![Task { baton: Arc::default(), phase: Phase::Ready }],
            turns: 0,
            stuck: None,
        };
        let world = Arc::new(Self { begun: Instant::now(), state: Mutex::new(state) });
        OWN.set(Some((Arc::clone(&world), 0)));
        fastrand::seed(seed);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let result = work();
            while locked(&world.state).tasks[1..].iter().any(|task| task.phase != Phase::Over) {
                world.turn(0, Phase::Waiting { on: None, until: None });
            }
            result
        }));
        OWN.set(None);
        let now = locked(&world.state).now;
        (result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), now)
    }

    /// Lets others run, until it is this thread's turn again.
    fn turn(&self, own: usize, phase: Phase) {
        let (next, baton, mine) = {
            let mut state = locked(&self.state);
            state.tasks[own].phase = phase;
            let next = state.choose();
            (next, Arc::clone(&state.tasks[next].baton), Arc::clone(&state.tasks[own].baton))
        };
        if next != own {
            baton.pass();
            if phase == Phase::Over {
                return;
            }
            mine.take();
        }
        let stuck = locked(&self.state).stuck.clone();
        if let Some(stuck) = stuck.filter(|_| own == 0 && !std::thread::panicking()) {
            panic!("{stuck}");
        }
    }
}

fn own() -> Option<(Arc<World>, usize)> {
    OWN.with_borrow(Clone::clone)
}

pub(crate) fn is_simulated() -> bool {
    OWN.with_borrow(Option::is_some)
}

/// The simulated time, in a simulated thread.
pub(crate) fn now() -> Option<Instant> {
    own().map(|(world, _)| world.begun + locked(&world.state).now)
}

/// The time since the world began.
pub(crate) fn passed() -> Duration {
    own().map_or(Duration::ZERO, |(world, _)| locked(&world.state).now)
}

/// Waits, as a call of the system does.
pub(crate) fn sleep(time: Duration) {
    if let Some((world, own)) = own() {
        let until = locked(&world.state).now.checked_add(time);
        world.turn(own, Phase::Waiting { on: None, until });
    }
}

/// Waits for a notification of the monitor at this address, which may also come without one.
pub(crate) fn wait<M>(on: *const M, most: Option<Duration>) {
    if let Some((world, own)) = own() {
        let mut state = locked(&world.state);
        let spurious = state.random.u8(..) < 8;
        let until = most.and_then(|most| state.now.checked_add(most));
        drop(state);
        let phase = Phase::Waiting { on: Some(on.addr()), until };
        world.turn(own, if spurious { Phase::Ready } else { phase });
    }
}

pub(crate) fn notify<M>(on: *const M) {
    if let Some((world, _)) = own() {
        for task in &mut locked(&world.state).tasks {
            if matches!(task.phase, Phase::Waiting { on: Some(waits), .. } if waits == on.addr()) {
                task.phase = Phase::Ready;
            }
        }
    }
}

/// Others may come first; the thread that holds the lock comes first.
pub(crate) fn before_lock(is_free: impl Fn() -> bool) {
    if let Some((world, own)) = own() {
        // A thread that unwinds takes no turns: the run has failed.
        if std::thread::panicking() {
            return;
        }
        if locked(&world.state).random.bool() {
            world.turn(own, Phase::Ready);
        }
        while !is_free() {
            sleep(LOCKED);
        }
    }
}

/// The work of a thread that is about to be started; it belongs to the world of the thread that calls this.
pub(crate) fn task(work: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
    let added = own().map(|(world, _)| {
        let mut state = locked(&world.state);
        state.tasks.push(Task { baton: Arc::default(), phase: Phase::Ready });
        let (task, seed) = (state.tasks.len() - 1, state.random.u64(..));
        drop(state);
        (world, task, seed)
    });
    move || {
        let Some((world, task, seed)) = added else { return work() };
        let baton = Arc::clone(&locked(&world.state).tasks[task].baton);
        baton.take();
        OWN.set(Some((Arc::clone(&world), task)));
        fastrand::seed(seed);
        let result = catch_unwind(AssertUnwindSafe(work));
        if result.is_err() {
            locked(&world.state).stuck.get_or_insert_with(|| "a thread has panicked".to_owned());
        }
        {
            let mut state = locked(&world.state);
            state.tasks[task].phase = Phase::Over;
            // The first thread waits for the end of all others so.
            let all_over = state.tasks[1..].iter().all(|task| task.phase == Phase::Over);
            if all_over && state.tasks[0].phase == (Phase::Waiting { on: None, until: None }) {
                state.tasks[0].phase = Phase::Ready;
            }
        }
        world.turn(task, Phase::Over);
        OWN.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Monitor;
    use crate::threads;

    /// Two threads that take turns in a counter; what each of them saw.
    fn seen(seed: u64) -> (Vec<(u8, u64)>, Duration) {
        World::run(seed, || {
            let shared = Arc::new(Monitor::new((0u64, Vec::new())));
            for name in [1, 2] {
                let own = Arc::clone(&shared);
                threads::spawn("counter", move || {
                    for _ in 0..20 {
                        let mut state = own.lock();
                        state.0 += 1;
                        let number = state.0;
                        state.1.push((name, number));
                        own.notify();
                        drop(own.wait(state, Some(Duration::from_secs(600))));
                    }
                })
                .unwrap();
            }
            drop(shared.wait_while(shared.lock(), Duration::from_secs(86_400), |state| state.0 < 40));
            shared.lock().1.clone()
        })
    }

    #[test]
    fn a_seed_is_one_run_and_hours_take_no_time() {
        let begun = Instant::now();
        let runs: Vec<_> = (0..8).map(seen).collect();
        assert!((0..8).map(seen).eq(runs.iter().cloned()), "the same each time");
        assert!(runs.iter().any(|run| run.0 != runs[0].0), "and not the same for each seed");
        let simulated: Duration = runs.iter().map(|run| run.1).sum();
        assert!(simulated > begun.elapsed(), "{simulated:?}");
    }

    #[test]
    fn threads_that_wait_for_each_other_forever_are_found() {
        let stuck = catch_unwind(|| {
            World::run(1, || {
                let shared = Arc::new(Monitor::new(()));
                let own = Arc::clone(&shared);
                threads::spawn("waits", move || drop(own.wait(own.lock(), None))).unwrap();
                for _ in 0..20 {
                    drop(shared.wait(shared.lock(), None));
                }
            })
        });
        let text = *stuck.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("wait forever"), "{text}");
    }
}
