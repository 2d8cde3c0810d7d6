//! How many frames of a live stream may be in its line at a time.
//!
//! A line can hold frames in queues and in flight in trtinfer. If it is slow, each of them waits for all before it, so the
//! frames in the line, over those that come out of it in a second, are its latency (Little's law). Their number is therefore
//! lowered when frames come out late and raised by one when they come out early, as TCP does with its window. Some lines give
//! nothing before they have several frames (clips, batches): if nothing comes out while a frame waits, more are let in.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::unpoisoned::lock;

/// A frame that waits looks this often whether its pad still runs.
const LOOK: Duration = Duration::from_millis(50);
/// For this long at least, nothing comes out of a line that has too few frames.
const PATIENCE: Duration = Duration::from_secs(1);
/// Frames that come out below this part of `max-latency` are early: more may be in the line.
const EARLY: f64 = 0.6;
/// What the latency is brought to, as a part of `max-latency`.
const AIM: f64 = 0.8;

/// The frames in the line of a live stream.
#[derive(Debug)]
pub(super) struct Window {
    /// `max-latency`, in ns.
    latency: u64,
    inside: Mutex<Inside>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inside {
    /// The running times of the frames in the line, in ns, oldest first.
    times: VecDeque<u64>,
    /// How many may be there.
    most: usize,
    /// How many the line needs before it gives any.
    least: usize,
    /// The newest frame in the line when `most` was lowered last: the frames up to it still come out late.
    lowered: u64,
    /// How many have come out.
    out: u64,
    /// Whether a frame waits.
    waits: bool,
    /// For how long the last frame was in the line or before it.
    lag: Duration,
}

impl Default for Inside {
    fn default() -> Self {
        Self {
            times: VecDeque::new(),
            most: usize::MAX,
            least: 1,
            lowered: 0,
            out: 0,
            waits: false,
            lag: Duration::ZERO,
        }
    }
}

impl Window {
    /// The window of a run; `latency` is in ns.
    pub fn new(latency: u64) -> Self {
        Self { latency, inside: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until another frame may enter the line, or `runs` is false. Returns whether it had to wait.
    pub fn wait(&self, runs: impl Fn() -> bool) -> bool {
        let mut inside = lock(&self.inside);
        let (mut since, mut out) = (Instant::now(), inside.out);
        let mut waited = false;
        while inside.is_full() && runs() {
            (inside.waits, waited) = (true, true);
            // A poisoned lock: as in `lock`.
            inside = match self.changed.wait_timeout(inside, LOOK) {
                Ok((inside, _)) => inside,
                Err(poisoned) => poisoned.into_inner().0,
            };
            if out != inside.out {
                (since, out) = (Instant::now(), inside.out);
            } else if since.elapsed() >= PATIENCE.max(4 * inside.lag) {
                inside.widen();
            }
        }
        inside.waits = false;
        waited
    }

    /// A frame of this running time (ns) enters the line.
    pub fn enter(&self, time: u64) {
        lock(&self.inside).times.push_back(time);
    }

    /// The frame of this running time (ns), which is this late (ns), has come out of the line; so have all before it, or the
    /// line has dropped them.
    pub fn leave(&self, time: u64, lag: u64) {
        lock(&self.inside).leave(time, lag, self.latency);
        self.changed.notify_all();
    }

    /// The line was emptied by a flush.
    pub fn flush(&self) {
        let mut inside = lock(&self.inside);
        *inside = Inside { most: inside.most, least: inside.least, ..Inside::default() };
        self.changed.notify_all();
    }
}

impl Inside {
    fn is_full(&self) -> bool {
        self.times.len() >= self.most
    }

    /// The line gives nothing with the frames that it has.
    fn widen(&mut self) {
        self.least = self.times.len().saturating_mul(2).max(1);
        self.most = self.most.max(self.least);
    }

    fn leave(&mut self, time: u64, lag: u64, latency: u64) {
        let (before, full) = (self.times.len(), self.is_full());
        while self.times.front().is_some_and(|first| *first <= time) {
            self.times.pop_front();
        }
        self.out += 1;
        self.lag = Duration::from_nanos(lag);
        if self.waits {
            // It gives frames without having got another.
            self.least = 1;
        }
        let part = lag as f64 / latency as f64;
        if part > 1.0 && time > self.lowered {
            // Rounded down, of a positive number that is smaller than `before`.
            let fitting = (before.min(self.most) as f64 * AIM / part) as usize;
            self.most = fitting.max(self.least);
            self.lowered = self.times.back().copied().unwrap_or(time);
        } else if part < EARLY && full {
            self.most += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A line that holds as many frames as it gets and takes a fifth of a second for each, of a camera with ten frames a second.
    /// Returns the lag (s) of each frame that comes out in 60 s, on a clock of its own.
    fn slow_line(window: &Window) -> Vec<f64> {
        let (mut line, mut lags): (VecDeque<u64>, Vec<f64>) = (VecDeque::new(), Vec::new());
        let mut done = 0;
        for frame in 0..600 {
            let now = frame * SECOND / 10;
            while let Some(first) = line.front().copied()
                && done.max(first) + SECOND / 5 <= now
            {
                done = done.max(first) + SECOND / 5;
                line.pop_front();
                window.leave(first, done - first);
                lags.push((done - first) as f64 / SECOND as f64);
            }
            // A frame that finds the line full is dropped, as the queue would.
            if !lock(&window.inside).is_full() && line.len() < 30 {
                window.enter(now);
                line.push_back(now);
            }
        }
        lags
    }

    #[test]
    fn the_lag_of_a_line_that_holds_thirty_frames_comes_below_max_latency() {
        let window = Window::new(SECOND);
        let lags = slow_line(&window);
        assert!(lags.iter().copied().fold(0.0, f64::max) > 2.0, "it was late at first: {lags:?}");
        let settled = &lags[lags.len() / 2..];
        assert!(settled.iter().all(|lag| *lag <= 1.0), "{settled:?}");
        // 5 a second: the line is never idle.
        assert!(lags.len() >= 295, "{}", lags.len());
    }

    #[test]
    fn a_line_that_gives_nothing_before_it_has_eight_frames_gets_eight() {
        let window = Arc::new(Window::new(SECOND));
        *lock(&window.inside) = Inside { most: 1, ..Inside::default() };
        // The line gives the oldest when the eighth comes; the frames are always late.
        let mut line = VecDeque::new();
        for frame in 0..40 {
            window.wait(|| true);
            window.enter(frame);
            line.push_back(frame);
            if line.len() == 8 {
                window.leave(line.pop_front().unwrap(), 2 * SECOND);
            }
        }
        assert!(lock(&window.inside).least >= 8);
    }

    #[test]
    fn a_wait_ends_with_the_pad_and_what_a_line_drops_is_not_inside() {
        let window = Arc::new(Window::new(SECOND));
        lock(&window.inside).most = 2;
        (1..=2).for_each(|time| window.enter(time));
        let runs = AtomicBool::new(false);
        assert!(!window.wait(|| runs.load(Ordering::Relaxed)), "it does not run");
        window.leave(2, 0);
        assert!(lock(&window.inside).times.is_empty(), "the first was dropped by the line");
        window.flush();
        assert!(!window.wait(|| true));
    }
}
