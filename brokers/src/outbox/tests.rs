use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::Count;

/// As long as no test should wait for anything.
const LONG: Duration = Duration::from_secs(20);

/// A destination that accepts that many records, as the test says, one number a call.
struct Scripted {
    calls: Receiver<io::Result<usize>>,
    seen: Arc<Mutex<Vec<u8>>>,
    closed: Option<bool>,
}

impl Sink for Scripted {
    fn open(&mut self) -> io::Result<bool> {
        Ok(self.closed != Some(true))
    }

    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        match self.calls.try_recv() {
            Ok(count) => {
                let count = count?.min(messages.len());
                self.seen.lock().unwrap().extend(messages[..count].iter().map(|message| message.payload[0]));
                Ok(Written::accepted(count))
            }
            Err(_) => Ok(Written::later(Duration::from_millis(1))),
        }
    }
}

/// A destination that cannot be opened.
struct Absent;

impl Sink for Absent {
    fn open(&mut self) -> io::Result<bool> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn write(&mut self, _: &[Arc<Message>]) -> io::Result<Written> {
        Ok(Written::default())
    }
}

/// A destination that waits until it is offered that many records, of which it loses the first.
struct Gathering(usize);

impl Sink for Gathering {
    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        if messages.len() < self.0 {
            return Ok(Written::later(Duration::from_millis(1)));
        }
        Ok(Written { lost: 1, ..Written::accepted(messages.len()) })
    }

    fn gathers_messages(&self) -> bool {
        true
    }
}

fn message(number: u8) -> Arc<Message> {
    Arc::new(Message { topic: String::new(), id: number.to_string(), payload: vec![number] })
}

fn capacity(messages: usize, when_full: WhenFull) -> Capacity {
    Capacity { messages, when_full }
}

struct Set {
    outbox: Arc<Outbox>,
    tell: Sender<io::Result<usize>>,
    seen: Arc<Mutex<Vec<u8>>>,
    counts: Arc<Counts>,
    failure: Receiver<io::Error>,
}

fn set(size: usize, when_full: WhenFull, patience: Duration) -> Set {
    set_up(size, when_full, patience, None)
}

fn set_up(size: usize, when_full: WhenFull, patience: Duration, closed: Option<bool>) -> Set {
    let ((tell, calls), (fail, failure)) = (channel(), channel());
    let (seen, counts) = (Arc::default(), Arc::default());
    let sink = Scripted { calls, seen: Arc::clone(&seen), closed };
    let outbox = Outbox::start(Box::new(sink), capacity(size, when_full), patience, &counts, move |e| {
        fail.send(e).unwrap()
    });
    Set { outbox: Arc::new(outbox.unwrap()), tell, seen, counts, failure }
}

impl Set {
    /// Waits until the thread has taken the first record out and holds it.
    fn hold_first(&self) {
        assert_eq!(self.outbox.push(message(0)), Ok(false));
        let mut state = self.outbox.shared.state.lock();
        while state.taken == 0 {
            state = self.outbox.shared.state.wait(state, Some(LONG));
        }
    }

    fn counts(&self) -> [u64; 3] {
        [&self.counts.written, &self.counts.failed, &self.counts.dropped].map(Count::get)
    }

    fn seen(&self) -> Vec<u8> {
        self.seen.lock().unwrap().clone()
    }
}

#[test]
fn records_keep_their_order_however_few_are_accepted_at_once() {
    let set = set(1000, WhenFull::Wait, LONG);
    for count in [0, 1, 0, 5, 2] {
        set.tell.send(Ok(count)).unwrap();
    }
    for record in 0..200 {
        assert_eq!(set.outbox.push(message(record)), Ok(false));
    }
    for _ in 0..200 {
        set.tell.send(Ok(7)).unwrap();
    }
    assert_eq!(set.outbox.drain(), Drained::Done);
    assert_eq!(set.seen(), (0..200).collect::<Vec<_>>());
    assert_eq!(set.outbox.close(), 0);
    assert_eq!(set.counts(), [200, 0, 0]);
}

#[test]
fn a_full_queue_waits_and_loses_nothing_unless_it_is_leaky() {
    for (when_full, written, dropped) in [
        (WhenFull::DropNewest, vec![0, 1, 2], 3),
        (WhenFull::DropOldest, vec![0, 4, 5], 3),
        (WhenFull::Wait, vec![0, 1, 2, 3, 4, 5], 0),
    ] {
        let set = set(2, when_full, LONG);
        set.hold_first();
        let outbox = Arc::clone(&set.outbox);
        let pushing =
            std::thread::spawn(move || (1..=5).filter(|n| outbox.push(message(*n)).unwrap()).count());
        if when_full == WhenFull::Wait {
            let mut state = set.outbox.shared.state.lock();
            while state.waiting.len() < 2 {
                state = set.outbox.shared.state.wait(state, Some(LONG));
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
        assert_eq!(set.outbox.drain(), Drained::Done);
        assert_eq!(set.seen(), written, "{when_full:?}");
        assert_eq!(set.counts(), [written.len() as u64, 0, dropped as u64]);
    }
}

#[test]
fn a_flush_ends_waiting_and_drops_nothing_that_was_taken_in() {
    let set = set(1, WhenFull::Wait, LONG);
    set.hold_first();
    assert_eq!(set.outbox.push(message(1)), Ok(false));
    let outbox = Arc::clone(&set.outbox);
    let pushing = std::thread::spawn(move || outbox.push(message(2)));
    set.outbox.set_flushing(true);
    assert_eq!(pushing.join().unwrap(), Err(PushError::Flushing));
    assert_eq!(set.outbox.drain(), Drained::Interrupted);
    set.outbox.set_flushing(false);
    for _ in 0..3 {
        set.tell.send(Ok(1)).unwrap();
    }
    assert_eq!(set.outbox.drain(), Drained::Done);
    assert_eq!(set.outbox.push(message(3)), Ok(false));
    assert_eq!(set.outbox.close(), 0, "what is left is written");
    assert_eq!(set.seen(), [0, 1, 3]);
}

#[test]
fn a_destination_that_accepts_nothing_is_given_up_and_what_is_lost_is_counted() {
    // One that is there, and one that never comes.
    for closed in [None, Some(true)] {
        let set = set_up(10, WhenFull::Wait, Duration::from_millis(30), closed);
        for record in 0..3 {
            set.outbox.push(message(record)).unwrap();
        }
        assert_eq!(set.outbox.drain(), Drained::Stalled(3));
        assert_eq!(set.outbox.close(), 3);
        assert_eq!(set.counts(), [0, 3, 0]);
        assert!(set.outbox.shared.state.lock().has_ended(), "the thread is gone");
    }
    let set = set_up(10, WhenFull::Wait, LONG, Some(true));
    assert_eq!((set.outbox.drain(), set.outbox.close()), (Drained::Done, 0), "nothing to wait for");
}

#[test]
fn a_failure_is_reported_before_anybody_is_refused_and_counts_all_that_is_lost() {
    let set = set(10, WhenFull::Wait, LONG);
    for record in 0..3 {
        set.outbox.push(message(record)).unwrap();
    }
    set.tell.send(Ok(1)).unwrap();
    set.tell.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
    assert_eq!(set.outbox.drain(), Drained::Interrupted);
    assert_eq!(set.failure.try_recv().unwrap().kind(), io::ErrorKind::StorageFull);
    assert_eq!(set.outbox.push(message(3)), Err(PushError::Closed));
    assert_eq!(set.outbox.close(), 0, "they have been counted");
    assert_eq!(set.counts(), [1, 3, 0]);
}

#[test]
fn a_sink_that_cannot_be_opened_is_refused() {
    assert!(
        Outbox::start(Box::new(Absent), capacity(1, WhenFull::Wait), LONG, &Arc::default(), |_| ()).is_err()
    );
}

#[test]
fn the_thread_itself_can_close_the_outbox() {
    let outbox: Arc<Mutex<Option<Arc<Outbox>>>> = Arc::default();
    let (tell, calls) = channel();
    let (closed, wait) = channel();
    let own = Arc::clone(&outbox);
    let sink = Scripted { calls, seen: Arc::default(), closed: None };
    let capacity = capacity(9, WhenFull::Wait);
    let started = Outbox::start(Box::new(sink), capacity, LONG, &Arc::default(), move |_| {
        let outbox = own.lock().unwrap().take().unwrap();
        closed.send(outbox.close()).unwrap();
    });
    let started = Arc::new(started.unwrap());
    *outbox.lock().unwrap() = Some(Arc::clone(&started));
    started.push(message(0)).unwrap();
    tell.send(Err(io::ErrorKind::Other.into())).unwrap();
    assert_eq!(wait.recv_timeout(Duration::from_secs(5)), Ok(1));
}

#[test]
fn a_destination_that_gathers_messages_is_offered_those_that_come_and_says_which_are_lost() {
    let counts = Arc::new(Counts::default());
    let capacity = capacity(1, WhenFull::Wait);
    let outbox = Outbox::start(Box::new(Gathering(50)), capacity, LONG, &counts, |_| ()).unwrap();
    for record in 0..50 {
        assert_eq!(outbox.push(message(record)), Ok(false), "there is room, because they are taken out");
    }
    assert_eq!(outbox.drain(), Drained::Done);
    assert_eq!(outbox.close(), 0);
    assert_eq!([&counts.written, &counts.failed, &counts.waiting].map(Count::get), [49, 1, 0]);
}

/// A destination that keeps something alive, and fails the third time.
struct Idle(Sender<()>, u8);

impl Sink for Idle {
    fn write(&mut self, _: &[Arc<Message>]) -> io::Result<Written> {
        Ok(Written::default())
    }

    fn idle(&mut self) -> io::Result<Option<Duration>> {
        self.0.send(()).unwrap();
        self.1 += 1;
        if self.1 == 3 { Err(io::ErrorKind::NotConnected.into()) } else { Ok(Some(Duration::from_millis(1))) }
    }
}

#[test]
fn a_destination_without_messages_is_called_again_and_may_fail() {
    let ((tell, calls), (fail, failure)) = (channel(), channel());
    let sink = Box::new(Idle(tell, 0));
    let capacity = capacity(1, WhenFull::Wait);
    let outbox =
        Outbox::start(sink, capacity, LONG, &Arc::default(), move |e| fail.send(e).unwrap()).unwrap();
    assert_eq!(failure.recv_timeout(LONG).unwrap().kind(), io::ErrorKind::NotConnected);
    assert_eq!(calls.try_iter().count(), 3);
    // Reported before it is known to others: with nothing to write they would find nothing wrong until then.
    let state = &outbox.shared.state;
    drop(state.wait_while(state.lock(), LONG, |state| !state.has_ended()));
    assert_eq!(outbox.drain(), Drained::Interrupted);
    assert_eq!(outbox.push(message(0)), Err(PushError::Closed));
}

/// A destination that keeps something alive now and then, and counts how often it is asked to.
struct Alive(Arc<Count>);

impl Sink for Alive {
    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        Ok(Written::accepted(messages.len()))
    }

    fn idle(&mut self) -> io::Result<Option<Duration>> {
        self.0.add(1);
        Ok(Some(LONG))
    }
}

#[test]
fn while_messages_come_a_destination_is_not_called_for_want_of_them() {
    let calls = Arc::<Count>::default();
    let sink = Box::new(Alive(Arc::clone(&calls)));
    let outbox = Outbox::start(sink, capacity(9, WhenFull::Wait), LONG, &Arc::default(), |_| ()).unwrap();
    for number in 0..50 {
        outbox.push(message(number)).unwrap();
        // The outbox is empty before the next comes.
        assert_eq!(outbox.drain(), Drained::Done);
    }
    assert_eq!(outbox.close(), 0);
    assert!(calls.get() <= 1, "{} calls", calls.get());
}

/// A destination with an error in it.
struct Broken;

impl Sink for Broken {
    fn write(&mut self, _: &[Arc<Message>]) -> io::Result<Written> {
        panic!("on purpose");
    }
}

#[test]
fn a_destination_that_panics_has_failed_and_what_is_lost_is_counted() {
    let (counts, (fail, failure)) = (Arc::<Counts>::default(), channel());
    let capacity = capacity(9, WhenFull::Wait);
    let outbox =
        Outbox::start(Box::new(Broken), capacity, LONG, &counts, move |e| fail.send(e).unwrap()).unwrap();
    outbox.push(message(0)).unwrap();
    assert!(failure.recv_timeout(LONG).unwrap().to_string().contains("error in this program"));
    assert_eq!(outbox.drain(), Drained::Interrupted);
    assert_eq!((counts.failed.get(), counts.waiting.get()), (1, 0));
}
