use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// As long as no test should wait for anything.
const LONG: Duration = Duration::from_secs(20);

/// A destination that accepts that many records, as the test says, one number a call.
struct Told {
    calls: Receiver<io::Result<usize>>,
    seen: Arc<Mutex<Vec<u8>>>,
    closed: Option<bool>,
}

impl Sink for Told {
    fn open(&mut self) -> io::Result<bool> {
        Ok(self.closed != Some(true))
    }

    fn write(&mut self, messages: &[Message]) -> io::Result<usize> {
        match self.calls.try_recv() {
            Ok(count) => {
                let count = count?.min(messages.len());
                lock(&self.seen).extend(messages[..count].iter().map(|message| message.payload[0]));
                Ok(count)
            }
            Err(_) => {
                std::thread::sleep(Duration::from_millis(1));
                Ok(0)
            }
        }
    }
}

/// A destination that cannot be opened.
struct Absent;

impl Sink for Absent {
    fn open(&mut self) -> io::Result<bool> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn write(&mut self, _: &[Message]) -> io::Result<usize> {
        Ok(0)
    }
}

/// A destination that waits until it is offered that many records, of which it loses the first.
struct Gathering(usize);

impl Sink for Gathering {
    fn open(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn write(&mut self, messages: &[Message]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_millis(1));
        Ok(if messages.len() < self.0 { 0 } else { messages.len() })
    }

    fn lost(&self) -> usize {
        1
    }

    fn gathers_records(&self) -> bool {
        true
    }
}

fn message(number: u8) -> Message {
    Message { topic: String::new(), id: number.to_string(), payload: vec![number] }
}

struct Set {
    queue: Arc<Queue>,
    tell: Sender<io::Result<usize>>,
    seen: Arc<Mutex<Vec<u8>>>,
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
    let queue = Queue::start(Box::new(sink), (size, leaky), patience, &tally, move |e| fail.send(e).unwrap());
    Set { queue: Arc::new(queue.unwrap()), tell, seen, tally, failure }
}

impl Set {
    /// Waits until the thread has taken the first record out and holds it.
    fn hold_first(&self) {
        assert_eq!(self.queue.push(message(0)), Ok(false));
        let mut state = lock(&self.queue.shared.state);
        while state.taken == 0 {
            state = self.queue.shared.wait(state, Some(LONG));
        }
    }

    fn counts(&self) -> [u64; 3] {
        [&self.tally.written, &self.tally.failed, &self.tally.dropped].map(Counter::get)
    }

    fn seen(&self) -> Vec<u8> {
        lock(&self.seen).clone()
    }
}

#[test]
fn records_keep_their_order_however_few_are_accepted_at_once() {
    let set = set(1000, Leaky::No, LONG);
    for count in [0, 1, 0, 5, 2] {
        set.tell.send(Ok(count)).unwrap();
    }
    for record in 0..200 {
        assert_eq!(set.queue.push(message(record)), Ok(false));
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
            std::thread::spawn(move || (1..=5).filter(|n| queue.push(message(*n)).unwrap()).count());
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
    assert_eq!(set.queue.push(message(1)), Ok(false));
    let queue = Arc::clone(&set.queue);
    let pushing = std::thread::spawn(move || queue.push(message(2)));
    set.queue.set_flushing(true);
    assert_eq!(pushing.join().unwrap(), Err(gst::FlowError::Flushing));
    assert_eq!(set.queue.drain(), Drained::Interrupted);
    set.queue.set_flushing(false);
    for _ in 0..3 {
        set.tell.send(Ok(1)).unwrap();
    }
    assert_eq!(set.queue.drain(), Drained::Done);
    assert_eq!(set.queue.push(message(3)), Ok(false));
    assert_eq!(set.queue.close(), 0, "what is left is written");
    assert_eq!(set.seen(), [0, 1, 3]);
}

#[test]
fn a_destination_that_accepts_nothing_is_given_up_and_what_is_lost_is_counted() {
    // One that is there, and one that never comes.
    for closed in [None, Some(true)] {
        let set = set_up(10, Leaky::No, Duration::from_millis(30), closed);
        for record in 0..3 {
            set.queue.push(message(record)).unwrap();
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
        set.queue.push(message(record)).unwrap();
    }
    set.tell.send(Ok(1)).unwrap();
    set.tell.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
    assert_eq!(set.queue.drain(), Drained::Interrupted);
    assert_eq!(set.failure.try_recv().unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!(set.queue.push(message(3)), Err(gst::FlowError::Error));
    assert_eq!(set.queue.close(), 0, "they have been counted");
    assert_eq!(set.counts(), [1, 3, 0]);
}

#[test]
fn a_sink_that_cannot_be_opened_is_refused() {
    assert!(Queue::start(Box::new(Absent), (1, Leaky::No), LONG, &Arc::default(), |_| (),).is_err());
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
    started.push(message(0)).unwrap();
    tell.send(Err(io::ErrorKind::Other.into())).unwrap();
    assert_eq!(wait.recv_timeout(Duration::from_secs(5)), Ok(1));
}

#[test]
fn a_destination_that_gathers_records_is_offered_those_that_come_and_says_which_are_lost() {
    let tally = Arc::new(Tally::default());
    let queue = Queue::start(Box::new(Gathering(50)), (1, Leaky::No), LONG, &tally, |_| ()).unwrap();
    for record in 0..50 {
        assert_eq!(queue.push(message(record)), Ok(false), "there is room, because they are taken out");
    }
    assert_eq!(queue.drain(), Drained::Done);
    assert_eq!(queue.close(), 0);
    // `lost` is asked after each call, but counts only with records that were accepted.
    assert_eq!([&tally.written, &tally.failed].map(Counter::get), [49, 1]);
}
