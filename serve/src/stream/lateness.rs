//! How late the frames of a live stream come to the end of its line, and how many are dropped before it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::unpoisoned::lock;

/// Over this time it is judged whether the line is too slow.
const WINDOW: Duration = Duration::from_secs(10);
/// The log has the same warning once in this time.
const WARNED_AGAIN: Duration = Duration::from_secs(60);
/// At most this number of timestamps is remembered while no frame leaves the queue.
const MANY: usize = 64;
/// The part of the frames that a line may drop, by a hiccup of the machine, without a warning.
const ALLOWED: f64 = 0.02;

/// What a live stream has dropped, and how late it is.
#[derive(Debug, Default)]
pub(super) struct Lateness(Mutex<Counts>);

/// A run of the pipeline, which counts as long as no other has begun: one that does not stop may go on for a while.
#[derive(Clone, Debug)]
pub(super) struct Run {
    lateness: Arc<Lateness>,
    number: u64,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    /// The number of this run.
    run: u64,
    /// The timestamps of the frames that have come to the queue and have not left it; some of them it has dropped.
    came: VecDeque<Option<gst::ClockTime>>,
    /// Frames of this run that the queue has dropped.
    overrun: u64,
    /// Frames of this run that were too late when they left.
    late: u64,
    /// Frames that earlier runs have dropped.
    dropped: u64,
    /// Of the last frame at the end of the line, in ns: since it was due, and since it left the queue.
    lag: Option<u64>,
    line: u64,
    /// The largest lag since it was last asked for.
    peak: Option<u64>,
    /// The age of the last frame when it left the queue.
    age: u64,
}

impl Counts {
    /// Frames that were dropped.
    fn all_dropped(&self) -> u64 {
        self.dropped + self.overrun + self.late
    }

    /// Those of a queue in which nothing is, with what was dropped so far and the largest lag.
    fn emptied(&self) -> Self {
        Self { run: self.run, dropped: self.all_dropped(), peak: self.peak, ..Self::default() }
    }
}

impl Lateness {
    /// A run of the pipeline begins.
    pub fn begin(self: &Arc<Self>) -> Run {
        let mut counts = lock(&self.0);
        *counts = Counts { run: counts.run + 1, ..counts.emptied() };
        Run { lateness: Arc::clone(self), number: counts.run }
    }

    /// Frames that were dropped since the stream was added.
    pub fn dropped(&self) -> u64 {
        lock(&self.0).all_dropped()
    }

    /// The largest lag in seconds since this was last called.
    pub fn take_peak(&self) -> Option<f64> {
        lock(&self.0).peak.take().map(|lag| Duration::from_nanos(lag).as_secs_f64())
    }

    /// How late the last frame was at the end of the line, in seconds; none before the first one and where times are not known.
    pub fn lag(&self) -> Option<f64> {
        lock(&self.0).lag.map(|lag| Duration::from_nanos(lag).as_secs_f64())
    }
}

impl Run {
    fn counts(&self) -> Option<MutexGuard<'_, Counts>> {
        Some(lock(&self.lateness.0)).filter(|counts| counts.run == self.number)
    }

    /// A frame with this timestamp comes to the queue, which holds up to `most` others.
    pub fn comes(&self, pts: Option<gst::ClockTime>, most: usize) {
        let Some(mut counts) = self.counts() else { return };
        counts.came.push_back(pts);
        // Beside the others in the queue there are this one, and one that may have left it and waits for its place.
        if counts.came.len() > MANY.max(most + 2) {
            let dropped = 1..counts.came.len() - most - 1;
            counts.overrun += dropped.len() as u64;
            counts.came.drain(dropped);
        }
    }

    /// A frame with this timestamp and of this age (ns) leaves the queue; `newer` is whether others still wait there. Returns
    /// whether it goes on: it does not if a newer one waits and it would be older than `most` at the end of the line, or had to
    /// wait until the line took another.
    pub fn leaves(
        &self,
        pts: Option<gst::ClockTime>,
        age: Option<u64>,
        newer: bool,
        waited: bool,
        most: u64,
    ) -> bool {
        let Some(mut counts) = self.counts() else { return true };
        // Those before it were dropped.
        let before = counts.came.iter().position(|came| *came == pts).unwrap_or(0);
        counts.overrun += before as u64;
        let gone = counts.came.len().min(before + 1);
        counts.came.drain(..gone);
        let Some(age) = age else { return true };
        counts.age = age;
        let late = newer && (waited || age.saturating_add(counts.line) > most);
        counts.late += u64::from(late);
        !late
    }

    /// The queue was emptied by a flush: what waited in it was not dropped for want of time.
    pub fn flush(&self) {
        let Some(mut counts) = self.counts() else { return };
        *counts = Counts { lag: counts.lag, ..counts.emptied() };
    }

    /// A frame of this age (ns) has come to the end of the line.
    pub fn ends(&self, age: Option<u64>) {
        let Some(mut counts) = self.counts() else { return };
        counts.lag = age;
        counts.peak = counts.peak.max(age);
        counts.line = age.unwrap_or_default().saturating_sub(counts.age);
    }
}

/// Judges from time to time whether a live stream's line is too slow.
#[derive(Debug)]
pub(super) struct Watch {
    since: Instant,
    /// Frames that had come to the end of the line, and that were dropped before it, at that time.
    before: [u64; 2],
    warned: Option<Instant>,
}

impl Watch {
    pub fn new(now: Instant) -> Self {
        Self { since: now, before: [0, 0], warned: None }
    }

    /// A warning with numbers, at most once a minute; `ended` are the frames at the end of the line since the stream was added,
    /// `most` is max-latency in seconds.
    pub fn see(&mut self, now: Instant, lateness: &Lateness, ended: u64, most: f64) -> Option<String> {
        let seconds = now.duration_since(self.since);
        if seconds < WINDOW {
            return None;
        }
        let counts = [ended, lateness.dropped()];
        let rate = |i: usize| counts[i].saturating_sub(self.before[i]) as f64 / seconds.as_secs_f64();
        let (ended, dropped) = (rate(0), rate(1));
        (self.since, self.before) = (now, counts);
        let lag = lateness.lag().unwrap_or_default();
        let too_slow = dropped > ALLOWED * (ended + dropped);
        let is_due = self.warned.is_none_or(|at| now.duration_since(at) >= WARNED_AGAIN);
        if !is_due || !(too_slow || (most > 0.0 && lag > most)) {
            return None;
        }
        self.warned = Some(now);
        let what = if too_slow {
            format!(
                "of {:.1} frames a second, {dropped:.1} are dropped before the line, because it is too slow for them",
                ended + dropped
            )
        } else {
            format!("the pipeline is too slow for {ended:.1} frames a second")
        };
        Some(format!(
            "{what}, and the last one came {lag:.1} s late to its end (max-latency is {most}). Set interval or max-load of fusedpreproc, \
             a smaller input, or, where the model takes several frames a run, a larger batch-size of trtinfer"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at_frame(number: u64) -> Option<gst::ClockTime> {
        Some(gst::ClockTime::from_mseconds(number))
    }

    #[test]
    fn frames_that_the_queue_drops_and_those_that_are_too_late_are_counted() {
        let lateness = Arc::<Lateness>::default();
        let run = lateness.begin();
        (0..10).for_each(|number| run.comes(at_frame(number), 3));
        assert!(
            run.leaves(at_frame(6), Some(0), true, false, SECOND),
            "six of ten were dropped by the queue"
        );
        assert_eq!(lateness.dropped(), 6);
        run.ends(Some(SECOND / 2));
        assert!(
            !run.leaves(at_frame(7), Some(SECOND * 6 / 10), true, false, SECOND),
            "it would be 1.1 s late"
        );
        assert_eq!(lateness.dropped(), 7);
        assert!(run.leaves(at_frame(8), Some(SECOND * 4 / 10), true, false, SECOND));
        assert!(
            run.leaves(at_frame(9), Some(SECOND * 9), false, true, SECOND),
            "the newest one goes on, however late"
        );
        assert_eq!((lateness.dropped(), lateness.lag()), (7, Some(0.5)));
        run.comes(at_frame(10), 3);
        assert!(
            !run.leaves(at_frame(10), Some(SECOND / 10), true, true, SECOND),
            "a newer one is there, and the line has room for one"
        );
        run.comes(at_frame(11), 3);
        run.flush();
        assert_eq!(lateness.dropped(), 8, "a flush drops nothing for want of time");
        let next = lateness.begin();
        assert_eq!((lateness.dropped(), lateness.lag()), (8, None), "another run goes on counting");
        // The one before has not stopped.
        (20..30).for_each(|number| run.comes(at_frame(number), 3));
        run.ends(Some(SECOND));
        assert!(run.leaves(at_frame(29), Some(SECOND * 9), true, true, SECOND));
        run.flush();
        let run = next;
        run.comes(None, 3);
        assert!(run.leaves(None, None, true, true, SECOND), "without a timestamp nothing is known");
        assert_eq!((lateness.dropped(), lateness.lag()), (8, None));
    }

    #[test]
    fn what_a_queue_drops_before_a_line_that_stands_still_is_counted_in_bounded_memory() {
        let lateness = Arc::<Lateness>::default();
        let run = lateness.begin();
        (0..10_000).for_each(|number| run.comes(at_frame(number), 3));
        assert!(lock(&lateness.0).came.len() <= MANY);
        // The first had left the queue before the line stood still; three are in the queue.
        assert!(run.leaves(at_frame(0), None, true, false, SECOND));
        assert!(run.leaves(at_frame(9_997), None, true, false, SECOND));
        assert_eq!(lateness.dropped(), 9_996);
        assert!(run.leaves(at_frame(9_998), None, true, false, SECOND));
        assert!(run.leaves(at_frame(9_999), None, false, false, SECOND));
        assert_eq!((lateness.dropped(), lock(&lateness.0).came.len()), (9_996, 0));
    }

    #[test]
    fn a_line_that_is_too_slow_is_reported_once_a_minute_with_numbers() {
        let (lateness, begin) = (Arc::<Lateness>::default(), Instant::now());
        let run = lateness.begin();
        let mut watch = Watch::new(begin);
        let at = |seconds| begin + Duration::from_secs(seconds);
        // 10 of 30 frames a second end.
        let work = |seconds: u64| {
            (0..30 * seconds).for_each(|i| {
                run.comes(at_frame(i), 3);
                if i % 3 == 2 {
                    assert!(run.leaves(at_frame(i), Some(0), false, false, SECOND));
                }
            })
        };
        work(10);
        assert_eq!(watch.see(at(9), &lateness, 90, 1.0), None, "too early to judge");
        run.ends(Some(SECOND / 2));
        let said = watch.see(at(10), &lateness, 100, 1.0).unwrap();
        assert!(said.starts_with("of 30.0 frames a second, ") && said.contains("0.5 s late"), "{said}");
        for seconds in (20..70).step_by(10) {
            work(10);
            assert_eq!(watch.see(at(seconds), &lateness, 10 * seconds, 1.0), None);
        }
        work(10);
        assert!(watch.see(at(70), &lateness, 700, 1.0).is_some(), "a minute later");
    }

    #[test]
    fn lag_alone_is_reported_too_and_a_line_that_keeps_up_is_not() {
        let (lateness, begin) = (Arc::<Lateness>::default(), Instant::now());
        let run = lateness.begin();
        let mut watch = Watch::new(begin);
        run.ends(Some(SECOND / 10));
        assert_eq!(watch.see(begin + WINDOW, &lateness, 250, 1.0), None);
        run.ends(Some(3 * SECOND));
        let said = watch.see(begin + 2 * WINDOW, &lateness, 500, 1.0).unwrap();
        assert!(
            said.contains("too slow for 25.0 frames a second, and the last one came 3.0 s late"),
            "{said}"
        );
    }
}
