use super::*;

const LONG: Duration = Duration::from_secs(60);

/// A number whose hundreds say what it fits.
#[derive(Debug, PartialEq, Eq)]
struct Number(u32);

impl Batchable for Number {
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

/// The next batch, as where nothing is known of the GPU.
fn all(queue: &Batcher<Number>) -> Option<Vec<Number>> {
    queue.take(None, |frames| frames)
}

#[test]
fn while_the_model_is_busy_only_a_full_batch_goes_and_then_what_is_there() {
    let queue = batcher(4, 2, Duration::ZERO);
    let a = queue.join(Some(8));
    let start = Instant::now();
    let busy = Some(start + LONG);
    for n in 0..3 {
        queue.submit_at(start, a, 0, Number(n));
    }
    // All three are overdue, more than the minimum, and the element sends nothing more.
    assert!(matches!(queue.lock().due(&queue.rules, start, busy), Due::At(until) if Some(until) == busy));
    queue.hurry(a);
    assert!(matches!(queue.lock().due(&queue.rules, start + LONG, busy), Due::Now(0)));
    queue.submit_at(start, a, 0, Number(3));
    assert_eq!(numbers(queue.take(busy, |frames| frames)), [0, 1, 2, 3]);
}

#[test]
fn what_is_due_while_the_model_is_busy_goes_when_it_is_not_however_far_its_deadline_is() {
    let start = Instant::now();
    let busy = Some(start + Duration::from_millis(1));
    let at_the_end = |due: Due| matches!(due, Due::At(until) if Some(until) == busy);
    // Enough frames for the minimum.
    let queue = batcher(4, 2, LONG);
    let a = queue.join(Some(8));
    for n in 0..2 {
        queue.submit_at(start, a, 0, Number(n));
    }
    assert!(at_the_end(queue.lock().due(&queue.rules, start, busy)));
    assert_eq!(numbers(queue.take(busy, |frames| frames)), [0, 1]);
    // This element sends nothing more, the other may.
    let queue = batcher(4, 0, LONG);
    let [a, _b] = [queue.join(Some(8)), queue.join(Some(8))];
    queue.submit_at(start, a, 0, Number(0));
    queue.hurry(a);
    assert!(at_the_end(queue.lock().due(&queue.rules, start, busy)));
    assert_eq!(numbers(queue.take(busy, |frames| frames)), [0]);
}

#[test]
fn a_batch_that_is_complete_is_not_split_where_the_rest_would_wait_for_its_deadline() {
    let queue = batcher(4, 0, LONG);
    let elements = [(); 3].map(|()| queue.join(Some(1)));
    for (n, element) in (0..).zip(elements) {
        queue.submit(element, 0, Number(n));
    }
    assert_eq!(numbers(queue.take(None, |_| 2)), [0, 1, 2]);
}

#[test]
fn of_the_frames_that_fit_as_many_go_as_are_best_run_at_once() {
    let queue = batcher(8, 0, Duration::ZERO);
    let a = queue.join(Some(16));
    for n in [0, 1, 100, 2, 3, 4] {
        queue.submit(a, 0, Number(n));
    }
    let asked = std::cell::Cell::new(0);
    let even = |frames: usize| {
        asked.set(frames);
        frames / 2 * 2
    };
    assert_eq!((numbers(queue.take(None, even)), asked.get()), (vec![0, 1, 2, 3], 5));
    assert_eq!(numbers(queue.take(None, |_| 0)), [100], "at least one goes");
    assert_eq!(numbers(queue.take(None, |_| 9)), [4]);
}

#[test]
fn a_full_batch_goes_at_once_and_in_the_order_of_arrival() {
    let queue = batcher(3, 0, LONG);
    let [a, b] = [queue.join(Some(8)), queue.join(Some(8))];
    for n in 0..7 {
        queue.submit(if n % 2 == 0 { a } else { b }, 0, Number(n));
    }
    assert_eq!(numbers(all(&queue)), [0, 1, 2]);
    assert_eq!(numbers(all(&queue)), [3, 4, 5]);
    queue.hurry(a);
    assert_eq!(numbers(all(&queue)), [6]);
}

#[test]
fn a_partial_batch_goes_at_the_deadline_of_its_oldest_frame() {
    let queue = batcher(4, 0, Duration::from_millis(60));
    let a = queue.join(Some(8));
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    queue.submit_at(at(0), a, 0, Number(0));
    queue.submit_at(at(30), a, 0, Number(1));
    assert!(queue.take_at(at(59)).is_none());
    assert!(matches!(queue.lock().due(&queue.rules, at(59), None), Due::At(deadline) if deadline == at(60)));
    assert_eq!(numbers(queue.take_at(at(60))), [0, 1]);
    // A thread that waits for the batch is woken at that time, or later.
    queue.submit(a, 0, Number(2));
    assert_eq!(numbers(all(&queue)), [2]);
    assert!(start.elapsed() >= Duration::from_millis(60));
}

#[test]
fn without_a_timeout_nothing_waits_and_enough_frames_do_not_either() {
    let queue = batcher(4, 0, Duration::ZERO);
    let a = queue.join(Some(8));
    queue.submit(a, 0, Number(0));
    assert_eq!(numbers(all(&queue)), [0]);
    let queue = batcher(4, 2, LONG);
    let a = queue.join(Some(8));
    (0..3).for_each(|n| queue.submit(a, 0, Number(n)));
    assert_eq!(numbers(all(&queue)), [0, 1, 2]);
}

#[test]
fn nobody_waits_for_more_frames_than_there_can_be() {
    let queue = batcher(8, 0, LONG);
    let [a, b] = [queue.join(Some(2)), queue.join(Some(3))];
    (0..2).for_each(|n| queue.submit(a, 0, Number(n)));
    (2..5).for_each(|n| queue.submit(b, 0, Number(n)));
    assert_eq!(numbers(all(&queue)), [0, 2, 1, 3, 4]);
    // At the end of a stream what it has sent goes at once, with whatever else is there.
    queue.submit(a, 0, Number(5));
    queue.submit(b, 0, Number(6));
    queue.hurry(b);
    assert_eq!(numbers(all(&queue)), [5, 6]);
    // No batch waits for an element that has left, either.
    queue.submit(a, 0, Number(7));
    queue.submit(b, 0, Number(8));
    queue.leave(b);
    assert_eq!(numbers(all(&queue)), [7, 8]);
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
    assert_eq!(numbers(all(&queue)), [102, 101]);
    assert_eq!(numbers(all(&queue)), [1, 2]);
    assert_eq!(queue.take_back(a), Some(Number(3)));
    assert_eq!(queue.take_back(a), None);
}

#[test]
fn a_batch_that_is_due_does_not_wait_for_one_that_is_not() {
    let queue = batcher(2, 0, LONG);
    let [a, b] = [queue.join(Some(8)), queue.join(Some(8))];
    for n in [1, 101, 201, 202, 102] {
        queue.submit(a, 0, Number(n));
    }
    assert_eq!(numbers(all(&queue)), [101, 102]);
    assert_eq!(numbers(all(&queue)), [201, 202]);
    queue.submit(b, 0, Number(301));
    queue.hurry(b);
    assert_eq!(numbers(all(&queue)), [301]);
}

#[test]
fn batches_shrink_when_memory_is_short_and_grow_again() {
    let queue = batcher(12, 1, LONG);
    let a = queue.join(Some(64));
    (0..20).for_each(|n| queue.submit(a, 0, Number(n)));
    assert_eq!(all(&queue).unwrap().len(), 12);
    assert_eq!((queue.step_down(12), queue.step_down(6), queue.size()), (Some(6), Some(3), 3));
    assert_eq!(all(&queue).unwrap().len(), 3);
    assert_eq!(queue.step_down(1), None);
    assert_eq!([(); 3].map(|()| queue.step_up()), [Some(6), Some(12), None]);
}

#[test]
fn a_stopped_queue_lets_go_of_everything() {
    let queue = batcher(4, 0, LONG);
    let a = queue.join(Some(8));
    queue.submit(a, 0, Number(1));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| all(&queue));
        queue.stop();
        assert!(waiting.join().unwrap().is_none());
    });
}

#[test]
fn who_loses_its_oldest_frame_keeps_its_turns_and_their_deadlines() {
    let queue = batcher(4, 0, Duration::from_millis(40));
    let [a, b] = [queue.join(Some(8)), queue.join(Some(8))];
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    for (ms, client, n) in [(0, a, 0), (1, b, 10), (2, a, 1), (3, b, 11), (4, b, 12)] {
        if n == 12 {
            assert_eq!(queue.take_oldest_back(b), Some(Number(10)));
        }
        queue.submit_at(at(ms), client, 0, Number(n));
    }
    assert_eq!(queue.take_oldest_back(a), Some(Number(0)));
    queue.submit_at(at(39), a, 0, Number(2));
    queue.step_down(6);
    // Full, each in its turn.
    assert_eq!(numbers(queue.take_at(at(39))), [1, 11, 2]);
    // The last turn is that of 3 ms.
    assert!(queue.take_at(at(42)).is_none());
    assert_eq!(numbers(queue.take_at(at(43))), [12]);
    // A flush takes the turn back together with the frame.
    queue.submit_at(at(50), a, 0, Number(3));
    queue.take_oldest_back(a);
    assert_eq!(queue.take_back(a), None);
    queue.submit_at(at(60), a, 0, Number(4));
    assert!(queue.take_at(at(99)).is_none());
    assert_eq!(numbers(queue.take_at(at(100))), [4]);
}

#[test]
fn who_sends_many_frames_at_once_has_one_turn_a_round_like_all_others() {
    let queue = batcher(3, 1, LONG);
    let [a, b, c] = [queue.join(Some(8)), queue.join(Some(8)), queue.join(Some(8))];
    (0..6).for_each(|n| queue.submit(a, 0, Number(n)));
    (10..12).for_each(|n| queue.submit(b, 0, Number(n)));
    assert_eq!(numbers(all(&queue)), [0, 10, 1]);
    // An element that starts to send now is in the current round, not in the first one.
    (20..23).for_each(|n| queue.submit(c, 0, Number(n)));
    assert_eq!(numbers(all(&queue)), [11, 20, 2]);
    assert_eq!(numbers(all(&queue)), [21, 3, 22]);
    assert_eq!(numbers(all(&queue)), [4, 5]);
}

/// A frame of a stream of which the model remembers something; all fit each other.
#[derive(Debug, PartialEq, Eq)]
struct OfStream(char, u32);

impl Batchable for OfStream {
    fn fits(&self, _: &Self) -> bool {
        true
    }

    fn stream(&self) -> Option<StreamKey> {
        Some(key(self.0))
    }
}

fn key(stream: char) -> StreamKey {
    StreamKey(u64::from(stream))
}

#[test]
fn frames_of_a_stream_of_which_something_is_remembered_go_one_after_the_other_and_in_order() {
    let queue = Batcher::new(Rules { size: 4, min: 0, timeout: Duration::ZERO, in_flight: 12 });
    let [a, b] = [queue.join(Some(8)), queue.join(Some(8))];
    let now = Instant::now();
    // The later frames of a stream may have a higher priority, which the user may set at any time.
    for (client, priority, frame) in
        [(a, 0, ('a', 0)), (a, 5, ('a', 1)), (a, 5, ('a', 2)), (b, 0, ('b', 0)), (b, 0, ('b', 1))]
    {
        queue.submit_at(now, client, priority, OfStream(frame.0, frame.1));
    }
    let frames = |batch: Option<Vec<OfStream>>| -> Vec<(char, u32)> {
        batch.into_iter().flatten().map(|OfStream(stream, number)| (stream, number)).collect()
    };
    assert_eq!(frames(queue.take_at(now)), [('a', 0), ('b', 0)]);
    assert_eq!(frames(queue.take_at(now)), [], "both streams have a frame in a run");
    queue.done(&[key('b')]);
    assert_eq!(frames(queue.take_at(now)), [('b', 1)]);
    queue.done(&[key('a')]);
    assert_eq!(frames(queue.take_at(now)), [('a', 1)]);
    assert_eq!(frames(queue.take_at(now)), []);
    queue.done(&[key('a'), key('b')]);
    // A frame that is dropped in favour of the next one leaves the order as it is.
    queue.submit_at(now, a, 0, OfStream('a', 3));
    assert_eq!(queue.take_oldest_back(a), Some(OfStream('a', 2)));
    queue.submit_at(now, a, 0, OfStream('a', 4));
    assert_eq!(frames(queue.take_at(now)), [('a', 3)]);
    queue.done(&[key('a')]);
    assert_eq!(frames(queue.take_at(now)), [('a', 4)]);
}

#[test]
fn a_batch_does_not_wait_for_more_frames_of_a_stream_that_can_have_only_one_in_it() {
    let queue = Batcher::new(Rules { size: 4, min: 0, timeout: LONG, in_flight: 12 });
    let [a, b] = [queue.join(Some(8)), queue.join(Some(8))];
    let now = Instant::now();
    queue.submit_at(now, a, 0, OfStream('a', 0));
    assert!(queue.take_at(now).is_none(), "the other element may send something");
    queue.submit_at(now, b, 0, OfStream('b', 0));
    assert_eq!(queue.take_at(now).unwrap().len(), 2);
    // Of an element whose streams take turns, as many are waited for as there were.
    queue.submit_at(now, a, 0, OfStream('c', 0));
    queue.done(&[key('a'), key('b'), key('c')]);
    for (client, stream) in [(a, 'a'), (b, 'b')] {
        queue.submit_at(now, client, 0, OfStream(stream, 1));
    }
    assert_eq!(queue.take_at(now).unwrap().len(), 3);
}
