//! The machine's cores, shared by all models that run on the CPU, so that they do not run more threads together than there
//! are cores.

use std::collections::VecDeque;
use std::sync::LazyLock;

use crate::sync::{Condvar, Mutex, lock};

/// How many cores the machine has.
pub(super) fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

static ALL: LazyLock<Cores> = LazyLock::new(|| Cores::new(count()));

/// Waits for `wanted` cores, or for all of them where more are wanted. Requests are served in their order.
pub(super) fn take(wanted: usize) -> Taken<'static> {
    ALL.take(wanted)
}

/// The cores of a machine.
pub(super) struct Cores {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Some cores, until this is dropped.
#[must_use = "the cores are free again when this is dropped"]
pub(super) struct Taken<'a> {
    cores: &'a Cores,
    count: usize,
}

impl Cores {
    /// A machine with `all` cores, all of them free.
    pub fn new(all: usize) -> Self {
        Self { queue: Mutex::new(Queue::new(all)), changed: Condvar::new() }
    }

    /// Waits for `wanted` cores, or for all of them where more are wanted.
    pub fn take(&self, wanted: usize) -> Taken<'_> {
        let mut queue = lock(&self.queue);
        let request = queue.ask(wanted);
        loop {
            if let Some(count) = queue.serve(request) {
                // There may be enough left for the next one.
                self.changed.notify_all();
                return Taken { cores: self, count };
            }
            queue = self.changed.wait(queue).unwrap_or_else(|e| e.into_inner());
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        lock(&self.cores.queue).free += self.count;
        self.cores.changed.notify_all();
    }
}

/// Requests for cores. The first one holds up all later ones, even those that enough cores are free for: otherwise a request for
/// all cores would wait as long as there are requests for a few.
struct Queue {
    all: usize,
    free: usize,
    /// Requests so far.
    asked: u64,
    /// Each request's number, and the cores it wants.
    waiting: VecDeque<(u64, usize)>,
}

impl Queue {
    fn new(all: usize) -> Self {
        Self { all, free: all, asked: 0, waiting: VecDeque::new() }
    }

    /// Takes a place at the end, and returns its number.
    fn ask(&mut self, wanted: usize) -> u64 {
        self.asked += 1;
        self.waiting.push_back((self.asked, wanted.clamp(1, self.all)));
        self.asked
    }

    /// Gives the request its cores if it is the first one and they are free; returns how many they are.
    fn serve(&mut self, request: u64) -> Option<usize> {
        let (_, count) = self
            .waiting
            .front()
            .copied()
            .filter(|(first, count)| *first == request && *count <= self.free)?;
        self.waiting.pop_front();
        self.free -= count;
        Some(count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn who_wants_all_cores_is_served_before_those_that_ask_later_for_fewer() {
        let mut queue = Queue::new(4);
        let [one, all, narrow, two, wide] = [1, 9, 1, 2, 4].map(|wanted| queue.ask(wanted));
        assert_eq!(queue.serve(all), None, "it is not the first");
        assert_eq!(queue.serve(one), Some(1));
        // Three are free.
        assert_eq!([narrow, two, all].map(|request| queue.serve(request)), [None; 3]);
        queue.free += 1;
        assert_eq!((queue.serve(narrow), queue.serve(all)), (None, Some(4)));
        queue.free += 4;
        // These two are served together.
        assert_eq!([narrow, two, wide].map(|request| queue.serve(request)), [Some(1), Some(2), None]);
        queue.free += 3;
        assert_eq!((queue.serve(wide), queue.waiting.len(), queue.free), (Some(4), 0, 0));
    }

    #[test]
    fn threads_get_their_cores_in_the_order_in_which_they_asked() {
        let cores = Cores::new(4);
        let order = Mutex::new(Vec::new());
        let wanted = [4, 1, 3, 2, 4, 1];
        std::thread::scope(|scope| {
            let first = cores.take(1);
            for (number, wanted) in wanted.into_iter().enumerate() {
                let (cores, order) = (&cores, &order);
                scope.spawn(move || {
                    let taken = cores.take(wanted);
                    lock(order).push((number, taken.count));
                });
                // The next thread asks when this one waits.
                while lock(&cores.queue).waiting.len() <= number {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        // 1 and 3 have their cores together, as have 3 and 2, so that either may be recorded first.
        let mut order = order.into_inner().unwrap();
        assert_eq!(order[0], (0, 4));
        order[1..4].sort();
        assert_eq!(order, [(0, 4), (1, 1), (2, 3), (3, 2), (4, 4), (5, 1)]);
    }

    #[test]
    fn no_more_cores_are_taken_than_there_are() {
        let cores = Cores::new(4);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for wanted in [1, 2, 3, 4, 9, 2, 1, 3] {
                let (cores, now, most) = (&cores, &now, &most);
                scope.spawn(move || {
                    for _ in 0..20 {
                        let taken = cores.take(wanted);
                        let busy = now.fetch_add(taken.count, Ordering::SeqCst) + taken.count;
                        most.fetch_max(busy, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(taken.count, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(lock(&cores.queue).free, 4);
        // One thread had all of them.
        assert_eq!(most.into_inner(), 4);
    }
}
