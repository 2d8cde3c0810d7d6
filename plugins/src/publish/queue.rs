//! The queue of records and the thread that writes them to their destination. Frames wait only if the queue is full.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use cudainfer_kernels::device::Counter;
use gst::glib;

use super::sink::Sink;
use crate::sync::lock;

/// Records that are written at once.
const BATCH: usize = 64;
/// How long the thread waits before it opens again a destination that is not there.
const REOPEN: Duration = Duration::from_millis(20);
/// How long a thread that has been told to end is waited for: longer than any call of a sink should take.
const END: Duration = Duration::from_secs(1);

/// What happens to a record when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPublishLeaky")]
pub enum Leaky {
    /// The frame waits with it.
    #[default]
    #[enum_value(name = "Lose nothing: frames wait until there is room", nick = "no")]
    No,
    /// It is dropped.
    #[enum_value(name = "Drop the new record", nick = "upstream")]
    Upstream,
    /// It takes the place of the oldest.
    #[enum_value(name = "Drop the oldest record that waits", nick = "downstream")]
    Downstream,
}

/// What became of the records.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Records that the destination has accepted.
    pub written: Counter,
    /// Records that could not be written.
    pub failed: Counter,
    /// Records that were dropped because the queue was full.
    pub dropped: Counter,
}

impl Tally {
    pub fn reset(&self) {
        [&self.written, &self.failed, &self.dropped].into_iter().for_each(Counter::reset);
    }
}

/// How waiting for the destination ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// It has accepted everything.
    Done,
    /// So many records are left, of which it has accepted none for as long as one waits for it.
    Stalled(usize),
    /// By a flush, or by a failure that has been posted.
    Interrupted,
}

/// Records that wait for a sink, and the thread that writes them there, all in the order in which they came.
#[derive(Debug)]
pub(crate) struct Queue {
    shared: Arc<Shared>,
    size: usize,
    leaky: Leaky,
    thread: ThreadId,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    tally: Arc<Tally>,
    /// How long a destination may accept nothing before it is no longer waited for.
    patience: Duration,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// Records that the thread has taken out and that have not been accepted.
    taken: usize,
    /// When the destination last had nothing to accept, or accepted something.
    moved: Instant,
    flushing: bool,
    /// No more records come.
    closing: bool,
    /// What is left is not written any more.
    abandoned: bool,
    /// The sink has failed, and this has been posted.
    failed: bool,
    /// The thread does nothing any more.
    ended: bool,
}

impl State {
    fn left(&self) -> usize {
        self.waiting.len() + self.taken
    }
}

impl Queue {
    /// Opens `sink` and starts its thread. `size` records may wait; `on_failure` is called in the thread, without locks, when
    /// the sink has failed for good.
    ///
    /// # Errors
    /// Why the sink cannot be opened, or there is no thread.
    pub fn start(
        mut sink: Box<dyn Sink>,
        (size, leaky): (usize, Leaky),
        patience: Duration,
        tally: &Arc<Tally>,
        on_failure: impl FnOnce(io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let open = sink.open()?;
        let state = State {
            waiting: VecDeque::new(),
            taken: 0,
            moved: Instant::now(),
            flushing: false,
            closing: false,
            abandoned: false,
            failed: false,
            ended: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            tally: Arc::clone(tally),
            patience,
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("publish".to_owned()).spawn(move || {
            let result = own.write(&mut *sink, open);
            // Before the end is announced: whoever starts again opens the same destination.
            drop(sink);
            own.end(result, on_failure);
        })?;
        // Not joined but waited for by `ended`: a call of the system may never return.
        let thread = thread.thread().id();
        Ok(Self { shared, size: size.max(1), leaky, thread })
    }

    /// Takes a record in. Returns whether one was dropped for it, or it itself.
    ///
    /// # Errors
    /// `Flushing`, where that begins while the queue is full; `Error`, where the sink has failed. Then the record has not been
    /// taken in.
    pub fn push(&self, record: Vec<u8>) -> Result<bool, gst::FlowError> {
        let Shared { tally, .. } = &*self.shared;
        let mut state = lock(&self.shared.state);
        let mut dropped = false;
        loop {
            if state.failed || state.closing {
                tally.failed.add(1);
                return Err(gst::FlowError::Error);
            }
            if state.waiting.len() < self.size {
                break;
            }
            match self.leaky {
                Leaky::No if state.flushing => return Err(gst::FlowError::Flushing),
                Leaky::No => state = self.shared.wait(state, None),
                Leaky::Upstream => {
                    tally.dropped.add(1);
                    return Ok(true);
                }
                Leaky::Downstream => {
                    state.waiting.pop_front();
                    tally.dropped.add(1);
                    dropped = true;
                }
            }
        }
        if state.left() == 0 {
            state.moved = Instant::now();
        }
        state.waiting.push_back(record);
        self.shared.changed.notify_all();
        Ok(dropped)
    }

    /// Whoever waits for room, or for the end, returns at once while this is set. What has been taken in stays.
    pub fn set_flushing(&self, flushing: bool) {
        lock(&self.shared.state).flushing = flushing;
        self.shared.changed.notify_all();
    }

    /// Waits until all records are accepted.
    pub fn drain(&self) -> Drained {
        let mut state = lock(&self.shared.state);
        loop {
            if state.failed || state.flushing || state.ended {
                return if state.left() == 0 && !state.failed { Drained::Done } else { Drained::Interrupted };
            }
            if state.left() == 0 {
                return Drained::Done;
            }
            let Some(patience) = self.shared.patience.checked_sub(state.moved.elapsed()) else {
                return Drained::Stalled(state.left());
            };
            state = self.shared.wait(state, Some(patience));
        }
    }

    /// Writes what is left, for no longer than the destination may take to accept something, and ends the thread. Returns how many
    /// records are lost.
    pub fn close(&self) -> usize {
        let Shared { patience, tally, .. } = &*self.shared;
        let begun = Instant::now();
        let mut state = lock(&self.shared.state);
        state.closing = true;
        self.shared.changed.notify_all();
        // A handler of its message may stop the element in the sink's own thread, which then cannot wait for itself.
        let own = std::thread::current().id() == self.thread;
        while !state.ended && !state.failed && !own {
            let waited =
                begun.elapsed().max(if state.left() > 0 { state.moved.elapsed() } else { Duration::ZERO });
            let Some(left) = patience.checked_sub(waited).filter(|left| !left.is_zero()) else { break };
            state = self.shared.wait(state, Some(left));
        }
        state.abandoned = true;
        self.shared.changed.notify_all();
        let told = Instant::now();
        while !state.ended && !own {
            let Some(left) = END.checked_sub(told.elapsed()).filter(|left| !left.is_zero()) else { break };
            state = self.shared.wait(state, Some(left));
        }
        // Where the thread still is in a call, its records may yet arrive; nobody would know.
        let lost = state.left();
        state.waiting.clear();
        state.taken = 0;
        tally.failed.add_size(lost);
        lost
    }
}

impl Drop for Queue {
    /// Without [`Queue::close`], the thread ends with the call that it is in.
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        (state.closing, state.abandoned) = (true, true);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// Waits for a change, or for `most`.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Option<Duration>) -> MutexGuard<'a, State> {
        match most {
            None => self.changed.wait(state).unwrap_or_else(|e| e.into_inner()),
            Some(most) => self.changed.wait_timeout(state, most).unwrap_or_else(|e| e.into_inner()).0,
        }
    }

    /// The thread: opens the sink, if it is not, and writes until everything is written and no more comes, or nothing is to be
    /// written any more.
    fn write(&self, sink: &mut dyn Sink, mut open: bool) -> io::Result<()> {
        while !open {
            let state = lock(&self.state);
            if state.abandoned || (state.closing && state.left() == 0) {
                return Ok(());
            }
            drop(self.wait(state, Some(REOPEN)));
            open = sink.open()?;
        }
        let mut batch = Vec::new();
        while self.take(&mut batch) {
            let mut rest = batch.as_slice();
            while !rest.is_empty() {
                let accepted = sink.write(rest)?;
                rest = rest.get(accepted..).unwrap_or_default();
                if !self.accepted(accepted) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Waits for records and takes some out. Returns whether there are any to be written.
    fn take(&self, batch: &mut Vec<Vec<u8>>) -> bool {
        batch.clear();
        let mut state = lock(&self.state);
        while state.waiting.is_empty() && !state.closing && !state.abandoned {
            state = self.wait(state, None);
        }
        if state.abandoned {
            return false;
        }
        let count = state.waiting.len().min(BATCH);
        batch.extend(state.waiting.drain(..count));
        state.taken = count;
        self.changed.notify_all();
        count > 0
    }

    /// Records have been accepted, or none. Returns whether to go on.
    fn accepted(&self, count: usize) -> bool {
        let mut state = lock(&self.state);
        // None, if nobody has waited for them and they have been counted as lost.
        let count = count.min(state.taken);
        if count > 0 {
            state.taken -= count;
            state.moved = Instant::now();
            self.tally.written.add_size(count);
            self.changed.notify_all();
        }
        !state.abandoned
    }

    fn end(&self, result: io::Result<()>, on_failure: impl FnOnce(io::Error)) {
        let failed = result.is_err();
        if let Err(e) = result {
            // First, and without the lock: it posts the error, which must come before the flow that ends with it.
            on_failure(e);
        }
        let mut state = lock(&self.state);
        if failed {
            state.failed = true;
            self.tally.failed.add_size(state.left());
            state.waiting.clear();
            state.taken = 0;
        }
        state.ended = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// As long as no test should wait for anything.
    const LONG: Duration = Duration::from_secs(20);

    /// A destination that accepts so many records, as the test says, one number a call.
    struct Told {
        calls: Receiver<io::Result<usize>>,
        seen: Arc<Mutex<Vec<Vec<u8>>>>,
        closed: Option<bool>,
    }

    impl Sink for Told {
        fn open(&mut self) -> io::Result<bool> {
            Ok(self.closed != Some(true))
        }

        fn write(&mut self, records: &[Vec<u8>]) -> io::Result<usize> {
            match self.calls.try_recv() {
                Ok(count) => {
                    let count = count?.min(records.len());
                    lock(&self.seen).extend(records[..count].iter().cloned());
                    Ok(count)
                }
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    Ok(0)
                }
            }
        }
    }

    struct Set {
        queue: Arc<Queue>,
        tell: Sender<io::Result<usize>>,
        seen: Arc<Mutex<Vec<Vec<u8>>>>,
        tally: Arc<Tally>,
        failure: Receiver<io::Error>,
    }

    fn set(size: usize, leaky: Leaky, patience: Duration) -> Set {
        set_up(size, leaky, patience, None)
    }

    fn set_up(size: usize, leaky: Leaky, patience: Duration, closed: Option<bool>) -> Set {
        let ((tell, calls), (fail, failure)) = (channel(), channel());
        let (seen, tally) = (Arc::default(), Arc::default());
        let sink = Told { calls, seen: Arc::clone(&seen), closed };
        let queue =
            Queue::start(Box::new(sink), (size, leaky), patience, &tally, move |e| fail.send(e).unwrap());
        Set { queue: Arc::new(queue.unwrap()), tell, seen, tally, failure }
    }

    impl Set {
        /// Waits until the thread has taken the first record out and holds it.
        fn hold_first(&self) {
            assert_eq!(self.queue.push(vec![0]), Ok(false));
            let mut state = lock(&self.queue.shared.state);
            while state.taken == 0 {
                state = self.queue.shared.wait(state, Some(LONG));
            }
        }

        fn counts(&self) -> [u64; 3] {
            [&self.tally.written, &self.tally.failed, &self.tally.dropped].map(Counter::get)
        }

        fn seen(&self) -> Vec<u8> {
            lock(&self.seen).iter().map(|record| record[0]).collect()
        }
    }

    #[test]
    fn records_keep_their_order_however_few_are_accepted_at_once() {
        let set = set(1000, Leaky::No, LONG);
        for count in [0, 1, 0, 5, 2] {
            set.tell.send(Ok(count)).unwrap();
        }
        for record in 0..200 {
            assert_eq!(set.queue.push(vec![record]), Ok(false));
        }
        for _ in 0..200 {
            set.tell.send(Ok(7)).unwrap();
        }
        assert_eq!(set.queue.drain(), Drained::Done);
        assert_eq!(set.seen(), (0..200).collect::<Vec<_>>());
        assert_eq!(set.queue.close(), 0);
        assert_eq!(set.counts(), [200, 0, 0]);
    }

    #[test]
    fn a_full_queue_waits_and_loses_nothing_unless_told_to() {
        for (leaky, written, dropped) in [
            (Leaky::Upstream, vec![0, 1, 2], 3),
            (Leaky::Downstream, vec![0, 4, 5], 3),
            (Leaky::No, vec![0, 1, 2, 3, 4, 5], 0),
        ] {
            let set = set(2, leaky, LONG);
            set.hold_first();
            let queue = Arc::clone(&set.queue);
            let pushing =
                std::thread::spawn(move || (1..=5).filter(|n| queue.push(vec![*n]).unwrap()).count());
            if leaky == Leaky::No {
                let mut state = lock(&set.queue.shared.state);
                while state.waiting.len() < 2 {
                    state = set.queue.shared.wait(state, Some(LONG));
                }
                drop(state);
                assert!(!pushing.is_finished(), "three records have no room");
            } else {
                while !pushing.is_finished() {
                    std::thread::yield_now();
                }
            }
            for _ in 0..10 {
                set.tell.send(Ok(10)).unwrap();
            }
            assert_eq!(pushing.join().unwrap(), dropped);
            assert_eq!(set.queue.drain(), Drained::Done);
            assert_eq!(set.seen(), written, "{leaky:?}");
            assert_eq!(set.counts(), [written.len() as u64, 0, dropped as u64]);
        }
    }

    #[test]
    fn a_flush_ends_waiting_and_drops_nothing_that_was_taken_in() {
        let set = set(1, Leaky::No, LONG);
        set.hold_first();
        assert_eq!(set.queue.push(vec![1]), Ok(false));
        let queue = Arc::clone(&set.queue);
        let pushing = std::thread::spawn(move || queue.push(vec![2]));
        set.queue.set_flushing(true);
        assert_eq!(pushing.join().unwrap(), Err(gst::FlowError::Flushing));
        assert_eq!(set.queue.drain(), Drained::Interrupted);
        set.queue.set_flushing(false);
        for _ in 0..3 {
            set.tell.send(Ok(1)).unwrap();
        }
        assert_eq!(set.queue.drain(), Drained::Done);
        assert_eq!(set.queue.push(vec![3]), Ok(false));
        assert_eq!(set.queue.close(), 0, "what is left is written");
        assert_eq!(set.seen(), [0, 1, 3]);
    }

    #[test]
    fn a_destination_that_accepts_nothing_is_given_up_and_what_is_lost_is_counted() {
        // One that is there, and one that never comes.
        for closed in [None, Some(true)] {
            let set = set_up(10, Leaky::No, Duration::from_millis(30), closed);
            for record in 0..3 {
                set.queue.push(vec![record]).unwrap();
            }
            assert_eq!(set.queue.drain(), Drained::Stalled(3));
            assert_eq!(set.queue.close(), 3);
            assert_eq!(set.counts(), [0, 3, 0]);
            assert!(lock(&set.queue.shared.state).ended, "the thread is gone");
        }
        let set = set_up(10, Leaky::No, LONG, Some(true));
        assert_eq!((set.queue.drain(), set.queue.close()), (Drained::Done, 0), "nothing to wait for");
    }

    #[test]
    fn a_failure_is_told_before_anybody_is_refused_and_counts_all_that_is_lost() {
        let set = set(10, Leaky::No, LONG);
        for record in 0..3 {
            set.queue.push(vec![record]).unwrap();
        }
        set.tell.send(Ok(1)).unwrap();
        set.tell.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
        assert_eq!(set.queue.drain(), Drained::Interrupted);
        assert_eq!(set.failure.try_recv().unwrap().kind(), io::ErrorKind::StorageFull);
        assert_eq!(set.queue.push(vec![3]), Err(gst::FlowError::Error));
        assert_eq!(set.queue.close(), 0, "they have been counted");
        assert_eq!(set.counts(), [1, 3, 0]);
    }

    #[test]
    fn a_sink_that_cannot_be_opened_is_refused() {
        assert!(
            Queue::start(
                Box::new(crate::publish::sink::FileSink::new(std::path::Path::new("/nowhere/x"))),
                (1, Leaky::No),
                LONG,
                &Arc::default(),
                |_| (),
            )
            .is_err()
        );
    }

    #[test]
    fn the_thread_itself_can_close_the_queue() {
        let queue: Arc<Mutex<Option<Arc<Queue>>>> = Arc::default();
        let (tell, calls) = channel();
        let (closed, wait) = channel();
        let own = Arc::clone(&queue);
        let sink = Told { calls, seen: Arc::default(), closed: None };
        let started = Queue::start(Box::new(sink), (9, Leaky::No), LONG, &Arc::default(), move |_| {
            let queue = lock(&own).take().unwrap();
            closed.send(queue.close()).unwrap();
        });
        let started = Arc::new(started.unwrap());
        *lock(&queue) = Some(Arc::clone(&started));
        started.push(vec![0]).unwrap();
        tell.send(Err(io::ErrorKind::Other.into())).unwrap();
        assert_eq!(wait.recv_timeout(Duration::from_secs(5)), Ok(1));
    }
}
