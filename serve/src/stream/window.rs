//! How many frames of live streams may be in a part of their lines at a time.
//!
//! A line can hold frames in queues and in flight in trtinfer. If it is slow, each of them waits for all before it, so the
//! frames in the line, over those that come out of it in a second, are its latency (Little's law). Their number is therefore
//! lowered when frames come out late and raised by one when they come out early, as TCP does with its window. Some lines give
//! nothing before they have several frames (clips, batches): if nothing comes out while a frame waits, more are let in.
//!
//! Each stream has a window for its line. Streams of one instance of trtinfer share another one, from before their lines to
//! the end of their trtinfers: there a frame waits for those of all streams, so one frame of each may be too many. Who waits
//! longest gets the next place, and keeps it until one of its frames has taken it: which one is chosen when the place is there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::unpoisoned::lock;

/// A frame that waits looks this often whether its pad still runs.
const LOOK: Duration = Duration::from_millis(50);
/// For this long at least, nothing comes out of a part that has too few frames.
const PATIENCE: Duration = Duration::from_secs(1);
/// Frames that come out below this part of `max-latency` are early: more may be inside.
const EARLY: f64 = 0.4;
/// What the latency is brought to, as a part of `max-latency`.
const AIM: f64 = 0.6;

/// The windows of the instances of trtinfer, by their names.
static OF_INSTANCES: Mutex<BTreeMap<String, Weak<Window>>> = Mutex::new(BTreeMap::new());

/// The frames in a part of the lines of live streams.
#[derive(Debug, Default)]
struct Window(Mutex<Inside>);

#[derive(Debug)]
struct Inside {
    /// The frames inside, in the order in which they came.
    frames: VecDeque<Frame>,
    /// The streams that have a place for their next frame.
    reserved: Vec<u64>,
    /// The streams that wait for a place; who waits longest is first.
    waiting: VecDeque<(u64, Thread)>,
    /// How many places there are.
    most: usize,
    /// How many frames are needed before any comes out.
    least: usize,
    /// The number of frames that had come when `most` was lowered last: those come out late still.
    lowered: u64,
    /// How many frames have come, and have gone.
    came: u64,
    gone: u64,
    /// How late the last frame was when it left.
    lag: Duration,
    /// How many streams there have been.
    streams: u64,
}

/// A frame inside.
#[derive(Debug)]
struct Frame {
    stream: u64,
    number: u64,
    /// When it was due, in running time of its stream, in ns.
    due: u64,
}

impl Default for Inside {
    fn default() -> Self {
        Self {
            frames: VecDeque::new(),
            reserved: Vec::new(),
            waiting: VecDeque::new(),
            most: usize::MAX,
            least: 1,
            lowered: 0,
            came: 0,
            gone: 0,
            lag: Duration::ZERO,
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
}

impl Share {
    /// A window for the line of a stream alone; `latency` is `max-latency` in ns.
    pub fn of_line(latency: u64) -> Self {
        Self::new(Arc::default(), latency)
    }

    /// A share of the window of an instance of trtinfer.
    pub fn of_instance(name: &str, latency: u64) -> Self {
        let mut windows = lock(&OF_INSTANCES);
        windows.retain(|_, window| window.strong_count() > 0);
        let window = windows.get(name).and_then(Weak::upgrade).unwrap_or_default();
        windows.insert(name.to_owned(), Arc::downgrade(&window));
        Self::new(window, latency)
    }

    fn new(window: Arc<Window>, latency: u64) -> Self {
        let stream = {
            let mut inside = lock(&window.0);
            inside.streams += 1;
            inside.streams
        };
        Self { window, stream, latency }
    }

    /// Waits until the stream has a place for its next frame, or `runs` is false. Returns whether it had to wait, for this frame
    /// or for one before it that has not entered.
    pub fn wait(&self, runs: impl Fn() -> bool) -> bool {
        let (mut since, mut gone) = (Instant::now(), None);
        loop {
            let mut inside = lock(&self.window.0);
            if inside.reserved.contains(&self.stream) {
                return true;
            }
            let has_waited = gone.is_some();
            if inside.admit(self.stream) {
                return has_waited;
            }
            if !runs() {
                inside.waiting.retain(|(stream, _)| *stream != self.stream);
                inside.wake();
                return has_waited;
            }
            if inside.waiting.iter().all(|(stream, _)| *stream != self.stream) {
                inside.waiting.push_back((self.stream, thread::current()));
            }
            if gone != Some(inside.gone) {
                (since, gone) = (Instant::now(), Some(inside.gone));
            } else if since.elapsed() >= PATIENCE.max(4 * inside.lag) {
                inside.widen();
            }
            drop(inside);
            thread::park_timeout(LOOK);
        }
    }

    /// A frame enters, which was due at this running time (ns); where that is not known, it is not counted.
    pub fn enter(&self, due: Option<u64>) {
        let mut inside = lock(&self.window.0);
        inside.reserved.retain(|stream| *stream != self.stream);
        match due {
            Some(due) => {
                inside.came += 1;
                let number = inside.came;
                inside.frames.push_back(Frame { stream: self.stream, number, due });
            }
            None => inside.wake(),
        }
    }

    /// The stream's frame of this running time (ns), which is this late (ns), leaves; so have all before it, or they were dropped.
    pub fn leave(&self, due: u64, lag: u64) {
        let mut inside = lock(&self.window.0);
        let (before, was_full) = (inside.len(), inside.is_full());
        let newest = inside.remove(|frame| frame.stream == self.stream && frame.due <= due);
        inside.gone += 1;
        inside.lag = Duration::from_nanos(lag);
        if !inside.waiting.is_empty() {
            // Frames come out without another one.
            inside.least = 1;
        }
        let part = lag as f64 / self.latency as f64;
        if part > 1.0 && newest.is_some_and(|number| number > inside.lowered) {
            // Rounded down, of a positive number that is smaller than `before`.
            let fitting = (before.min(inside.most) as f64 * AIM / part) as usize;
            inside.most = fitting.max(inside.least);
            inside.lowered = inside.came;
        } else if part < EARLY && was_full {
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

    /// The stream was flushed: none of its frames is inside.
    pub fn flush(&self) {
        let mut inside = lock(&self.window.0);
        inside.reserved.retain(|stream| *stream != self.stream);
        inside.remove(|frame| frame.stream == self.stream);
        inside.wake();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Inside {
    fn len(&self) -> usize {
        self.frames.len() + self.reserved.len()
    }

    fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    /// Gives a stream a place if there is one and no other stream waits longer.
    fn admit(&mut self, stream: u64) -> bool {
        let is_next = self.waiting.front().is_none_or(|(first, _)| *first == stream);
        if self.is_full() || !is_next {
            return false;
        }
        self.waiting.pop_front();
        self.reserved.push(stream);
        self.wake();
        true
    }

    /// Wakes who waits longest if there is a place.
    fn wake(&self) {
        if !self.is_full()
            && let Some((_, thread)) = self.waiting.front()
        {
            thread.unpark();
        }
    }

    /// Nothing comes out with the frames that are inside.
    fn widen(&mut self) {
        self.least = self.len().saturating_mul(2).max(1);
        self.most = self.most.max(self.least);
    }

    /// Removes frames; returns the number of the newest one.
    fn remove(&mut self, gone: impl Fn(&Frame) -> bool) -> Option<u64> {
        let newest = self.frames.iter().rev().find(|frame| gone(frame)).map(|frame| frame.number);
        self.frames.retain(|frame| !gone(frame));
        newest
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn places(share: &Share, most: usize) {
        lock(&share.window.0).most = most;
    }

    fn is_full(share: &Share) -> bool {
        lock(&share.window.0).is_full()
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
                share.enter(Some(now));
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
                    share.enter(Some(due));
                    line.push_back((camera, due));
                }
            }
        }
        lags
    }

    /// Whether a stream that waits gets a place now.
    fn comes_in(share: &Share) -> bool {
        let mut inside = lock(&share.window.0);
        if inside.waiting.iter().all(|(stream, _)| *stream != share.stream) {
            inside.waiting.push_back((share.stream, thread::current()));
        }
        inside.admit(share.stream)
    }

    #[test]
    fn eight_cameras_of_one_slow_network_are_not_eight_runs_late() {
        let shares = [(); 8].map(|()| Share::of_instance("eight cameras", SECOND));
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
            share.wait(|| true);
            share.enter(Some(frame));
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
        (1..=2).for_each(|due| share.enter(Some(due)));
        let runs = AtomicBool::new(false);
        assert!(!share.wait(|| runs.load(Ordering::Relaxed)), "it does not run");
        assert!(lock(&share.window.0).waiting.is_empty());
        share.leave(2, 0);
        assert!(lock(&share.window.0).frames.is_empty(), "the first was dropped by the line");
        share.flush();
        assert!(!share.wait(|| true));
    }

    #[test]
    fn a_place_is_kept_for_the_next_frame_and_is_free_when_the_stream_has_gone() {
        let [first, second] = [(); 2].map(|()| Share::of_instance("two cameras", SECOND));
        places(&first, 1);
        first.enter(Some(1));
        thread::scope(|scope| {
            let waits = scope.spawn(|| second.wait(|| true));
            while lock(&first.window.0).waiting.is_empty() {
                thread::yield_now();
            }
            first.are_past(1);
            assert!(waits.join().unwrap(), "it had to wait");
        });
        assert!(
            second.wait(|| true),
            "the frame was not taken: the place is the next one's, which has waited too"
        );
        assert!(is_full(&first));
        second.enter(None);
        assert!(!is_full(&first), "a frame without a time is not counted");
        assert!(!second.wait(|| true));
        drop(second);
        assert!(!first.wait(|| true), "nobody is there");
    }
}
