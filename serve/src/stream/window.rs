//! How many frames of live streams may be in a part of their lines at a time.
//!
//! A line can hold frames in queues and in flight in trtinfer. If it is slow, each of them waits for all before it, so the
//! frames in the line, over those that come out of it in a second, are its latency (Little's law). Their number is therefore
//! lowered when frames come out late and raised by one when they come out early, as TCP does with its window; a number that
//! was too many is not tried again for a while. Some lines give nothing before they have several frames (clips, batches): if
//! nothing comes out while a frame waits, more are let in.
//!
//! Each stream has a window for its line. Streams that use the same instances of trtinfer share another one, from before their
//! lines to the end of their trtinfers: there a frame waits for those of all streams, so one frame of each may be too many. Who
//! waits longest gets the next place, those of a higher priority first, and keeps it until one of its frames has taken it:
//! which one is chosen when the place is there. Frames of a stream that gives nothing any more hold no places.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::unpoisoned::lock;

/// A frame that waits looks this often whether its pad still runs.
const LOOK: Duration = Duration::from_millis(50);
/// If nothing comes out for four times as long as a frame is inside, but for this long at least and at most, there are too few frames.
const PATIENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// A frame that has been inside for four times as long as others, and for this long at least, comes out no more.
const STUCK: Duration = Duration::from_secs(3);
/// Frames that need less than this part of the time that they have are early: more may be inside.
const EARLY: f64 = 0.7;
/// What the time inside is brought to, as a part of what frames have.
const AIM: f64 = 0.6;
/// After this time, a number of frames that was too many may be tried again.
const AGAIN: Duration = Duration::from_secs(30);

/// The windows of the instances of trtinfer, by the names of those that a line uses.
static OF_INSTANCES: Mutex<BTreeMap<Vec<String>, Weak<Window>>> = Mutex::new(BTreeMap::new());

/// The frames in a part of the lines of live streams.
#[derive(Debug, Default)]
struct Window(Mutex<Inside>);

#[derive(Debug)]
struct Inside {
    /// The frames inside, in the order in which they came.
    frames: VecDeque<Frame>,
    /// The streams that have a place for their next frame.
    reserved: Vec<u64>,
    /// The streams that wait for a place, in the order in which they get one.
    waiting: VecDeque<Waiting>,
    /// How many places there are.
    most: usize,
    /// How many frames are needed before any comes out.
    least: usize,
    /// This many frames were too many, at that time.
    too_many: Option<(usize, Instant)>,
    /// The number of frames that had come when `most` was lowered last: those come out late still.
    lowered: u64,
    /// How many frames have come.
    came: u64,
    /// Changes when a frame comes out, and when more are let in because none does.
    moved: u64,
    /// For how long the last frame that came out was inside.
    took: Duration,
    /// How many streams there have been.
    streams: u64,
}

/// A frame inside.
#[derive(Clone, Copy, Debug)]
struct Frame {
    stream: u64,
    number: u64,
    /// When it was due, in running time of its stream, in ns.
    due: u64,
    /// How long after that it came, in ns.
    age: u64,
    came: Instant,
}

/// A stream that waits.
#[derive(Debug)]
struct Waiting {
    stream: u64,
    priority: i32,
    thread: Thread,
}

impl Default for Inside {
    fn default() -> Self {
        Self {
            frames: VecDeque::new(),
            reserved: Vec::new(),
            waiting: VecDeque::new(),
            most: usize::MAX,
            least: 1,
            too_many: None,
            lowered: 0,
            came: 0,
            moved: 0,
            took: Duration::ZERO,
            streams: 0,
        }
    }
}

/// A run of a stream, with its frames in a window.
#[derive(Debug)]
pub(super) struct Share {
    window: Arc<Window>,
    stream: u64,
    /// `max-latency`, in ns.
    latency: u64,
    /// Whether the run has ended, although its pipeline may not have stopped.
    is_closed: AtomicBool,
}

impl Share {
    /// A window for the line of a stream alone; `latency` is `max-latency` in ns.
    pub fn of_line(latency: u64) -> Self {
        Self::new(Arc::default(), latency)
    }

    /// A share of the window of the instances of trtinfer that have these names.
    pub fn of_instances(names: &[String], latency: u64) -> Self {
        let mut windows = lock(&OF_INSTANCES);
        windows.retain(|_, window| window.strong_count() > 0);
        let window = windows.get(names).and_then(Weak::upgrade).unwrap_or_default();
        windows.insert(names.to_owned(), Arc::downgrade(&window));
        Self::new(window, latency)
    }

    fn new(window: Arc<Window>, latency: u64) -> Self {
        let stream = {
            let mut inside = lock(&window.0);
            inside.streams += 1;
            inside.streams
        };
        Self { window, stream, latency, is_closed: AtomicBool::new(false) }
    }

    /// Waits until the stream has a place for its next frame; streams of a higher `priority` go first. Returns whether it had to
    /// wait, for this frame or for one before it that has not entered; `None`, without a place, as soon as `runs` is false or the run has
    /// ended.
    pub fn wait(&self, priority: i32, runs: impl Fn() -> bool) -> Option<bool> {
        let (mut since, mut moved) = (Instant::now(), None);
        loop {
            let mut inside = lock(&self.window.0);
            if !runs() || self.is_closed.load(Ordering::Relaxed) {
                inside.give_back(self.stream);
                return None;
            }
            if inside.reserved.contains(&self.stream) {
                return Some(true);
            }
            if inside.admit(self.stream) {
                return Some(moved.is_some());
            }
            inside.line_up(self.stream, priority);
            let [least, most] = PATIENCE;
            if moved != Some(inside.moved) {
                (since, moved) = (Instant::now(), Some(inside.moved));
            } else if since.elapsed() >= (4 * inside.took).clamp(least, most) {
                inside.widen();
            }
            drop(inside);
            thread::park_timeout(LOOK);
        }
    }

    /// A frame enters, which was due at this running time and has this age (ns); where that is not known, it is not counted.
    pub fn enter(&self, times: Option<(u64, u64)>) {
        let mut inside = lock(&self.window.0);
        inside.reserved.retain(|stream| *stream != self.stream);
        match times.filter(|_| !self.is_closed.load(Ordering::Relaxed)) {
            Some((due, age)) => {
                inside.came += 1;
                let number = inside.came;
                inside.frames.push_back(Frame {
                    stream: self.stream,
                    number,
                    due,
                    age,
                    came: Instant::now(),
                });
            }
            None => inside.wake(),
        }
    }

    /// The stream's frame of this running time, which has this age (ns), leaves; so have all before it, or they were dropped.
    pub fn leave(&self, due: u64, age: u64) {
        let mut inside = lock(&self.window.0);
        let before = inside.len();
        let was_full = before >= inside.most;
        let Some(frame) = inside.remove(|frame| frame.stream == self.stream && frame.due <= due) else {
            return inside.wake();
        };
        let took = age.saturating_sub(frame.age);
        inside.moved += 1;
        inside.took = Duration::from_nanos(took);
        if !inside.waiting.is_empty() {
            // Frames come out without another one.
            inside.least = inside.least.min(before.max(1));
        }
        // What was lost before cannot be made up for here.
        let time = self.latency.saturating_sub(frame.age).max(self.latency / 2);
        let part = took as f64 / time as f64;
        if part > 1.0 && frame.number > inside.lowered {
            let inside = &mut *inside;
            // Rounded down, of a positive number that is smaller than `before`.
            let fitting = (before.min(inside.most) as f64 * AIM / part) as usize;
            inside.too_many = Some((before, Instant::now()));
            inside.most = fitting.max(inside.least);
            inside.lowered = inside.came;
        } else if part < EARLY && was_full && !inside.was_too_many(inside.most + 1) {
            inside.most += 1;
        }
        inside.wake();
    }

    /// The stream's frames up to this running time (ns) are not inside: they have gone another way.
    pub fn are_past(&self, due: u64) {
        let mut inside = lock(&self.window.0);
        inside.remove(|frame| frame.stream == self.stream && frame.due <= due);
        inside.wake();
    }

    /// Gives back a place that no frame has taken.
    pub fn give_back(&self) {
        lock(&self.window.0).give_back(self.stream);
    }

    /// The run has ended: its frames have no places any more.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.flush();
    }

    /// The stream was flushed: none of its frames is inside.
    pub fn flush(&self) {
        let mut inside = lock(&self.window.0);
        inside.remove(|frame| frame.stream == self.stream);
        inside.give_back(self.stream);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Inside {
    /// The frames inside that may yet come out, and the places that wait for one.
    fn len(&self) -> usize {
        let (now, stuck) = (Instant::now(), STUCK.max(4 * self.took));
        let comes_out = |frame: &&Frame| now.duration_since(frame.came) < stuck;
        self.frames.iter().filter(comes_out).count() + self.reserved.len()
    }

    fn is_full(&self) -> bool {
        self.most != usize::MAX && self.len() >= self.most
    }

    /// Whether frames came out late not long ago when there were as many.
    fn was_too_many(&self, count: usize) -> bool {
        self.too_many.is_some_and(|(many, at)| count >= many && at.elapsed() < AGAIN)
    }

    /// Has a stream wait, if it does not: after those of its priority.
    fn line_up(&mut self, stream: u64, priority: i32) {
        if self.waiting.iter().all(|waiting| waiting.stream != stream) {
            let place = self.waiting.iter().position(|waiting| waiting.priority < priority);
            let waiting = Waiting { stream, priority, thread: thread::current() };
            self.waiting.insert(place.unwrap_or(self.waiting.len()), waiting);
        }
    }

    /// Gives a stream a place if there is one and no other stream comes before it.
    fn admit(&mut self, stream: u64) -> bool {
        let is_next = self.waiting.front().is_none_or(|first| first.stream == stream);
        if self.is_full() || !is_next {
            return false;
        }
        self.waiting.pop_front();
        self.reserved.push(stream);
        self.wake();
        true
    }

    fn give_back(&mut self, stream: u64) {
        self.reserved.retain(|other| *other != stream);
        self.waiting.retain(|waiting| waiting.stream != stream);
        self.wake();
    }

    /// Wakes the stream that gets the next place, if there is one.
    fn wake(&self) {
        if !self.is_full()
            && let Some(first) = self.waiting.front()
        {
            first.thread.unpark();
        }
    }

    /// Nothing comes out with the frames that are inside.
    fn widen(&mut self) {
        self.least = self.len().saturating_mul(2).max(1);
        self.most = self.most.max(self.least);
        self.moved += 1;
        self.wake();
    }

    /// Removes frames; returns the newest one.
    fn remove(&mut self, gone: impl Fn(&Frame) -> bool) -> Option<Frame> {
        let newest = self.frames.iter().rfind(|frame| gone(frame)).copied();
        self.frames.retain(|frame| !gone(frame));
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn places(share: &Share, most: usize) {
        lock(&share.window.0).most = most;
    }

    fn is_full(share: &Share) -> bool {
        lock(&share.window.0).is_full()
    }

    fn count(share: &Share) -> usize {
        lock(&share.window.0).len()
    }

    /// A line that holds as many frames as it gets and takes a fifth of a second for each, of a camera with ten frames a second.
    /// Returns the lag (s) of each frame that comes out in 60 s, on a clock of its own.
    fn slow_line(share: &Share) -> Vec<f64> {
        let (mut line, mut lags): (VecDeque<u64>, Vec<f64>) = (VecDeque::new(), Vec::new());
        let mut done = 0;
        for frame in 0..600 {
            let now = frame * SECOND / 10;
            while let Some(first) = line.front().copied()
                && done.max(first) + SECOND / 5 <= now
            {
                done = done.max(first) + SECOND / 5;
                line.pop_front();
                share.leave(first, done - first);
                lags.push((done - first) as f64 / SECOND as f64);
            }
            // A frame that finds the line full is dropped, as the queue would.
            if !is_full(share) && line.len() < 30 {
                share.enter(Some((now, 0)));
                line.push_back(now);
            }
        }
        lags
    }

    #[test]
    fn the_lag_of_a_line_that_holds_thirty_frames_comes_below_max_latency() {
        let share = Share::of_line(SECOND);
        let lags = slow_line(&share);
        assert!(lags.iter().copied().fold(0.0, f64::max) > 2.0, "it was late at first: {lags:?}");
        let settled = &lags[lags.len() / 2..];
        assert!(settled.iter().all(|lag| *lag <= 1.0), "{settled:?}");
        // 5 a second: the line is never idle.
        assert!(lags.len() >= 295, "{}", lags.len());
    }

    /// Eight cameras with five frames a second, and one network that takes 0.3 s for a frame, in their turns. Returns the lags
    /// (s) of the frames of each camera in the second half of 120 s, on a clock of their own.
    fn one_network(shares: &[Share; 8]) -> [Vec<f64>; 8] {
        let mut lags = <[Vec<f64>; 8]>::default();
        let mut line: VecDeque<(usize, u64)> = VecDeque::new();
        let mut done = 0;
        for step in 0..12_000 {
            let now = step * SECOND / 100;
            while let Some((camera, due)) = line.front().copied()
                && done.max(due) + SECOND * 3 / 10 <= now
            {
                done = now;
                line.pop_front();
                shares[camera].leave(due, now - due);
                if now > 60 * SECOND {
                    lags[camera].push((now - due) as f64 / SECOND as f64);
                }
            }
            // The newest frame of each camera waits before the line; a line takes three frames of each.
            let due = now - now % (SECOND / 5);
            for (camera, share) in shares.iter().enumerate() {
                let inside = line.iter().filter(|(other, _)| *other == camera);
                let is_new = inside.clone().all(|(_, other)| *other < due);
                if inside.count() < 3 && is_new && comes_in(share) {
                    share.enter(Some((due, now - due)));
                    line.push_back((camera, due));
                }
            }
        }
        lags
    }

    /// Whether a stream that waits gets a place now.
    fn comes_in(share: &Share) -> bool {
        let mut inside = lock(&share.window.0);
        inside.line_up(share.stream, 0);
        inside.admit(share.stream)
    }

    #[test]
    fn eight_cameras_of_one_slow_network_are_not_eight_runs_late() {
        let shares = [(); 8].map(|()| Share::of_instances(&["eight cameras".into()], SECOND));
        let lags = one_network(&shares);
        assert!(lags.iter().flatten().all(|lag| *lag <= 1.0), "{lags:?}");
        // 3.3 a second: the network is never idle, and each camera has its share.
        let counts = lags.each_ref().map(Vec::len);
        assert!(counts.iter().sum::<usize>() >= 195, "{counts:?}");
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 2, "{counts:?}");
        // Each with a window of its own, none of them may wait less than for the seven others.
        let alone = [(); 8].map(|()| Share::of_line(SECOND));
        assert!(one_network(&alone).iter().flatten().any(|lag| *lag > 2.0));
    }

    #[test]
    fn a_line_that_gives_nothing_before_it_has_eight_frames_gets_eight() {
        let share = Share::of_line(SECOND);
        places(&share, 1);
        // The line gives the oldest when the eighth comes; the frames are always late.
        let mut line = VecDeque::new();
        for frame in 0..40 {
            share.wait(0, || true);
            share.enter(Some((frame, 0)));
            line.push_back(frame);
            if line.len() == 8 {
                share.leave(line.pop_front().unwrap(), 2 * SECOND);
            }
        }
        assert!(lock(&share.window.0).least >= 8);
    }

    #[test]
    fn a_wait_ends_with_the_pad_and_what_a_line_drops_is_not_inside() {
        let share = Share::of_line(SECOND);
        places(&share, 2);
        (1..=2).for_each(|due| share.enter(Some((due, 0))));
        assert_eq!(share.wait(0, || false), None, "it does not run");
        assert!(lock(&share.window.0).waiting.is_empty());
        share.leave(2, 0);
        assert!(lock(&share.window.0).frames.is_empty(), "the first was dropped by the line");
        share.flush();
        assert_eq!(share.wait(0, || true), Some(false));
        assert_eq!(share.wait(0, || false), None);
        assert_eq!(share.wait(0, || true), Some(false), "the place was given back");
    }

    /// `next` waits while `first` has the only place; then it is given back.
    fn waits_for(first: &Share, next: &Share) -> Option<bool> {
        thread::scope(|scope| {
            let waits = scope.spawn(|| next.wait(0, || true));
            while lock(&first.window.0).waiting.is_empty() {
                thread::yield_now();
            }
            first.flush();
            waits.join().unwrap()
        })
    }

    #[test]
    fn a_place_is_kept_for_the_next_frame_and_is_free_when_the_stream_has_gone() {
        let [first, second] = [(); 2].map(|()| Share::of_instances(&["two cameras".into()], SECOND));
        places(&first, 1);
        first.enter(Some((1, 0)));
        assert_eq!(waits_for(&first, &second), Some(true), "it had to wait");
        let kept = second.wait(0, || true);
        assert_eq!(
            kept,
            Some(true),
            "the frame was not taken: the place is the next one's, which has waited too"
        );
        assert!(is_full(&first));
        second.enter(None);
        assert!(!is_full(&first), "a frame without a time is not counted");
        assert_eq!(second.wait(0, || true), Some(false));
        drop(second);
        assert_eq!(first.wait(0, || true), Some(false), "nobody is there");
        first.close();
        first.enter(Some((2, 0)));
        assert_eq!(count(&first), 0, "its pipeline does not stop");
        assert_eq!(first.wait(0, || true), None);
    }

    #[test]
    fn a_higher_priority_goes_first_and_equals_in_their_order() {
        let share = Share::of_line(SECOND);
        let mut inside = lock(&share.window.0);
        for (stream, priority) in [(1, 0), (2, 0), (3, 5), (4, 0), (5, 5), (1, 9)] {
            inside.line_up(stream, priority);
        }
        assert_eq!(inside.waiting.iter().map(|waiting| waiting.stream).collect::<Vec<_>>(), [3, 5, 1, 2, 4]);
        inside.waiting.clear();
    }

    #[test]
    fn what_comes_out_no_more_holds_no_place() {
        let [stuck, other] = [(); 2].map(|()| Share::of_instances(&["a stuck camera".into()], SECOND));
        places(&stuck, 2);
        (1..=2).for_each(|due| stuck.enter(Some((due, 0))));
        assert!(is_full(&other));
        lock(&stuck.window.0).frames.iter_mut().for_each(|frame| frame.came -= 3 * STUCK);
        assert!(!is_full(&other));
        other.enter(Some((1, 0)));
        assert_eq!(count(&stuck), 1);
        // Others are not late because of it: `most` is lowered by those that come out.
        other.leave(1, 2 * SECOND);
        assert_eq!(lock(&stuck.window.0).most, 1);
        assert!(!is_full(&other));
    }

    #[test]
    fn what_was_late_before_it_came_does_not_lower_the_places() {
        let share = Share::of_line(SECOND);
        places(&share, 4);
        // It came 3 s late, and took 0.4 s.
        (1..=4).for_each(|due| share.enter(Some((due, 3 * SECOND))));
        share.leave(1, 3 * SECOND + SECOND * 4 / 10);
        assert_eq!(lock(&share.window.0).most, 4);
        share.leave(2, 3 * SECOND + SECOND * 6 / 10);
        assert_eq!(
            lock(&share.window.0).most,
            1,
            "of 3 frames inside, half of one fits into the half of max-latency that it has"
        );
    }

    #[test]
    fn four_workers_get_their_four_frames_again_after_one_hiccup() {
        let share = Share::of_line(SECOND);
        places(&share, 1);
        let mut now = 0;
        for _ in 0..20 {
            // Each frame takes 0.4 s, however many of four are inside.
            let count = lock(&share.window.0).most.min(4) as u64;
            (0..count).for_each(|frame| share.enter(Some((now + frame, 0))));
            (0..count).for_each(|frame| share.leave(now + frame, SECOND * 4 / 10));
            now += SECOND;
        }
        assert!(lock(&share.window.0).most >= 4, "{:?}", lock(&share.window.0));
        // A number that was too many is not tried again soon.
        lock(&share.window.0).too_many = Some((5, Instant::now()));
        places(&share, 4);
        (0..4).for_each(|frame| share.enter(Some((now + frame, 0))));
        share.leave(now, SECOND / 10);
        assert_eq!(lock(&share.window.0).most, 4);
    }
}
