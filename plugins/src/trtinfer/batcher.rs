//! The queue in front of a model: frames of all the elements that share it wait here until a batch is due.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// When a batch is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Frames of a batch, at most; at least 1.
    pub size: usize,
    /// Frames that are enough for a batch whenever the model is free; 0 leaves it to `timeout`.
    pub min: usize,
    /// How long a frame waits for more. Without any, a batch is what is there when the model is free.
    pub timeout: Duration,
    /// Frames under way that keep the model busy, of all elements together.
    pub in_flight: usize,
}

/// Something that is inferred in batches.
pub(super) trait Job {
    /// Whether both can be in one batch.
    fn fits(&self, other: &Self) -> bool;
}

/// Names an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Client(u64);

#[derive(Debug)]
struct Waiting<J> {
    job: J,
    client: Client,
    priority: i32,
    deadline: Instant,
}

#[derive(Debug)]
struct Inner<J> {
    /// By priority, the oldest first.
    waiting: VecDeque<Waiting<J>>,
    /// How many frames each element may have here and on their way.
    clients: HashMap<Client, Seat>,
    next: u64,
    /// `rules.size`, or less while memory is short.
    size: usize,
    stopped: bool,
}

#[derive(Debug, Default)]
struct Seat {
    /// Frames that the element has under way at most, if it says so.
    limit: Option<usize>,
    /// It sends nothing more for now, so that nobody needs to wait for it.
    done: bool,
}

/// The queue. Every method may be called from any thread.
#[derive(Debug)]
pub(super) struct Batcher<J> {
    rules: Rules,
    inner: Mutex<Inner<J>>,
    changed: Condvar,
}

impl<J: Job> Batcher<J> {
    /// An empty queue.
    pub fn new(rules: Rules) -> Self {
        let inner = Inner {
            waiting: VecDeque::new(),
            clients: HashMap::new(),
            next: 0,
            size: rules.size,
            stopped: false,
        };
        Self { rules, inner: Mutex::new(inner), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<J>> {
        lock(&self.inner)
    }

    /// The rules it was made with.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// An element joins that has at most `limit` frames under way, or its share of what keeps the model busy.
    pub fn join(&self, limit: Option<usize>) -> Client {
        let mut inner = self.lock();
        inner.next += 1;
        let client = Client(inner.next);
        inner.clients.insert(client, Seat { limit, done: false });
        client
    }

    /// Frames that the element may have under way at most, with as many elements as there are now.
    pub fn limit(&self, client: Client) -> usize {
        let inner = self.lock();
        let set = inner.clients.get(&client).and_then(|seat| seat.limit);
        set.unwrap_or_else(|| inner.share(&self.rules))
    }

    /// An element leaves. Its frames that wait go at once.
    pub fn leave(&self, client: Client) {
        self.lock().clients.remove(&client);
        self.changed.notify_all();
    }

    /// A frame comes in.
    pub fn submit(&self, client: Client, priority: i32, job: J) {
        let mut inner = self.lock();
        let waiting = Waiting { job, client, priority, deadline: Instant::now() + self.rules.timeout };
        let place = inner.waiting.partition_point(|other| other.priority >= priority);
        inner.waiting.insert(place, waiting);
        if let Some(seat) = inner.clients.get_mut(&client) {
            seat.done = false;
        }
        self.changed.notify_all();
    }

    /// The element sends nothing more until what it has sent is done: nobody waits for more of it.
    pub fn hurry(&self, client: Client) {
        if let Some(seat) = self.lock().clients.get_mut(&client) {
            seat.done = true;
        }
        self.changed.notify_all();
    }

    /// Takes back the oldest frame of an element that still waits.
    pub fn take_back(&self, client: Client) -> Option<J> {
        let mut inner = self.lock();
        let index = inner.waiting.iter().position(|waiting| waiting.client == client)?;
        inner.waiting.remove(index).map(|waiting| waiting.job)
    }

    /// The next batch, once it is due, of frames that fit each other; `None` when the queue has been stopped.
    pub fn take(&self) -> Option<Vec<J>> {
        let mut inner = self.lock();
        loop {
            if inner.stopped {
                return None;
            }
            let now = Instant::now();
            match inner.due(&self.rules, now) {
                Due::Now(first) => return Some(inner.batch(first)),
                Due::At(deadline) => {
                    let left = deadline.saturating_duration_since(now);
                    inner = self.changed.wait_timeout(inner, left).unwrap_or_else(|e| e.into_inner()).0;
                }
                Due::Never => inner = self.changed.wait(inner).unwrap_or_else(|e| e.into_inner()),
            }
        }
    }

    /// Makes batches half as large as one that did not fit in memory; returns how large they are now, or nothing if that
    /// was a single frame.
    pub fn step_down(&self, failed: usize) -> Option<usize> {
        let mut inner = self.lock();
        (failed > 1).then(|| {
            inner.size = inner.size.min(failed / 2).max(1);
            inner.size
        })
    }

    /// Makes batches twice as large again; returns how large they are now, or nothing if they had their size.
    pub fn step_up(&self) -> Option<usize> {
        let mut inner = self.lock();
        (inner.size < self.rules.size).then(|| {
            inner.size = self.rules.size.min(2 * inner.size);
            inner.size
        })
    }

    /// How large batches are at most for now.
    pub fn size(&self) -> usize {
        self.lock().size
    }

    /// Drops what waits and lets every waiting thread go, for good.
    pub fn stop(&self) {
        let mut inner = self.lock();
        inner.stopped = true;
        let left = std::mem::take(&mut inner.waiting);
        self.changed.notify_all();
        drop(inner);
        drop(left);
    }
}

enum Due {
    /// The batch of the frame at this place.
    Now(usize),
    At(Instant),
    Never,
}

/// Frames that an element may have under way, however many share the model: one that is inferred and one that comes.
const LEAST: usize = 2;

impl<J: Job> Inner<J> {
    fn share(&self, rules: &Rules) -> usize {
        rules.in_flight.div_ceil(self.clients.len().max(1)).max(LEAST)
    }

    fn due(&self, rules: &Rules, now: Instant) -> Due {
        // More than all elements together may have under way will not come.
        let more = self.clients.iter().map(|(client, seat)| {
            if seat.done {
                self.waiting.iter().filter(|w| w.client == *client).count()
            } else {
                seat.limit.unwrap_or_else(|| self.share(rules))
            }
        });
        let enough = self.size.min(more.sum::<usize>().max(1));
        let done = |waiting: &Waiting<J>| self.clients.get(&waiting.client).is_none_or(|seat| seat.done);
        // Frames that do not fit the first make batches of their own, which do not wait for its.
        let firsts = self.waiting.iter().enumerate().filter(|(index, first)| {
            self.waiting.iter().take(*index).all(|before| !first.job.fits(&before.job))
        });
        for (index, first) in firsts {
            let batch = || self.waiting.iter().filter(|other| other.job.fits(&first.job));
            let count = batch().take(self.size).count();
            let due = count >= enough || rules.min > 0 && count >= rules.min;
            if due || batch().any(|waiting| waiting.deadline <= now || done(waiting)) {
                return Due::Now(index);
            }
        }
        self.waiting.iter().map(|waiting| waiting.deadline).min().map_or(Due::Never, Due::At)
    }

    /// The frame at this place and those behind it that fit it.
    fn batch(&mut self, first: usize) -> Vec<J> {
        let mut batch: Vec<J> = Vec::with_capacity(self.size.min(self.waiting.len()));
        let mut index = first;
        while batch.len() < self.size && index < self.waiting.len() {
            let fits = batch.first().is_none_or(|first| self.waiting[index].job.fits(first));
            match if fits { self.waiting.remove(index) } else { None } {
                Some(waiting) => batch.push(waiting.job),
                None => index += 1,
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A number whose hundreds say what it fits.
    #[derive(Debug, PartialEq, Eq)]
    struct Number(u32);

    impl Job for Number {
        fn fits(&self, other: &Self) -> bool {
            self.0 / 100 == other.0 / 100
        }
    }

    fn batcher(size: usize, min: usize, timeout: Duration) -> Batcher<Number> {
        Batcher::new(Rules { size, min, timeout, in_flight: 3 * size })
    }

    fn numbers(batch: Option<Vec<Number>>) -> Vec<u32> {
        batch.unwrap().into_iter().map(|Number(n)| n).collect()
    }

    #[test]
    fn a_full_batch_goes_at_once_and_in_the_order_of_arrival() {
        let queue = batcher(3, 0, LONG);
        let [a, b] = [queue.join(Some(8)), queue.join(Some(8))];
        for n in 0..7 {
            queue.submit(if n % 2 == 0 { a } else { b }, 0, Number(n));
        }
        assert_eq!(numbers(queue.take()), [0, 1, 2]);
        assert_eq!(numbers(queue.take()), [3, 4, 5]);
        queue.hurry(a);
        assert_eq!(numbers(queue.take()), [6]);
    }

    #[test]
    fn a_partial_batch_goes_at_the_deadline_of_its_oldest_frame() {
        let queue = batcher(4, 0, Duration::from_millis(60));
        let a = queue.join(Some(8));
        let start = Instant::now();
        queue.submit(a, 0, Number(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                queue.submit(a, 0, Number(1));
            });
            assert_eq!(numbers(queue.take()), [0, 1]);
        });
        let took = start.elapsed();
        assert!((Duration::from_millis(60)..Duration::from_millis(88)).contains(&took), "{took:?}");
    }

    #[test]
    fn without_a_timeout_nothing_waits_and_enough_frames_do_not_either() {
        let queue = batcher(4, 0, Duration::ZERO);
        let a = queue.join(Some(8));
        queue.submit(a, 0, Number(0));
        assert_eq!(numbers(queue.take()), [0]);
        let queue = batcher(4, 2, LONG);
        let a = queue.join(Some(8));
        (0..3).for_each(|n| queue.submit(a, 0, Number(n)));
        assert_eq!(numbers(queue.take()), [0, 1, 2]);
    }

    #[test]
    fn nobody_waits_for_more_frames_than_there_can_be() {
        let queue = batcher(8, 0, LONG);
        let [a, b] = [queue.join(Some(2)), queue.join(Some(3))];
        (0..2).for_each(|n| queue.submit(a, 0, Number(n)));
        (2..5).for_each(|n| queue.submit(b, 0, Number(n)));
        assert_eq!(numbers(queue.take()), [0, 1, 2, 3, 4]);
        // At the end of a stream what it has sent goes at once, with whatever else is there.
        queue.submit(a, 0, Number(5));
        queue.submit(b, 0, Number(6));
        queue.hurry(b);
        assert_eq!(numbers(queue.take()), [5, 6]);
        // Who leaves is not waited for either.
        queue.submit(a, 0, Number(7));
        queue.submit(b, 0, Number(8));
        queue.leave(b);
        assert_eq!(numbers(queue.take()), [7, 8]);
    }

    #[test]
    fn elements_share_what_keeps_the_model_busy() {
        let queue = batcher(8, 0, LONG);
        let first = queue.join(None);
        assert_eq!(queue.limit(first), 24);
        let others = [(); 3].map(|()| queue.join(None));
        assert_eq!((queue.limit(first), queue.limit(queue.join(Some(7)))), (6, 7));
        others.iter().for_each(|other| queue.leave(*other));
        assert_eq!(queue.limit(first), 12);
        let many: Vec<_> = (0..60).map(|_| queue.join(None)).collect();
        assert_eq!(queue.limit(many[59]), LEAST);
    }

    #[test]
    fn a_batch_is_of_frames_that_fit_each_other_and_priority_comes_first() {
        let queue = batcher(2, 1, LONG);
        let a = queue.join(Some(8));
        for (priority, n) in [(0, 1), (0, 101), (0, 2), (5, 102), (0, 3)] {
            queue.submit(a, priority, Number(n));
        }
        assert_eq!(numbers(queue.take()), [102, 101]);
        assert_eq!(numbers(queue.take()), [1, 2]);
        assert_eq!(queue.take_back(a), Some(Number(3)));
        assert_eq!(queue.take_back(a), None);
    }

    #[test]
    fn a_batch_that_is_due_does_not_wait_behind_one_that_is_not() {
        let queue = batcher(2, 0, LONG);
        let [a, b] = [queue.join(Some(8)), queue.join(Some(8))];
        for n in [1, 101, 201, 202, 102] {
            queue.submit(a, 0, Number(n));
        }
        assert_eq!(numbers(queue.take()), [101, 102]);
        assert_eq!(numbers(queue.take()), [201, 202]);
        queue.submit(b, 0, Number(301));
        queue.hurry(b);
        assert_eq!(numbers(queue.take()), [301]);
    }

    #[test]
    fn batches_shrink_when_memory_is_short_and_grow_again() {
        let queue = batcher(12, 1, LONG);
        let a = queue.join(Some(64));
        (0..20).for_each(|n| queue.submit(a, 0, Number(n)));
        assert_eq!(queue.take().unwrap().len(), 12);
        assert_eq!((queue.step_down(12), queue.step_down(6), queue.size()), (Some(6), Some(3), 3));
        assert_eq!(queue.take().unwrap().len(), 3);
        assert_eq!(queue.step_down(1), None);
        assert_eq!([(); 3].map(|()| queue.step_up()), [Some(6), Some(12), None]);
    }

    #[test]
    fn a_stopped_queue_lets_go_of_everything() {
        let queue = batcher(4, 0, LONG);
        let a = queue.join(Some(8));
        queue.submit(a, 0, Number(1));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.take());
            std::thread::sleep(Duration::from_millis(20));
            queue.stop();
            assert!(waiting.join().unwrap().is_none());
        });
    }
}
