//! Whether a pipeline stands still.

use std::time::{Duration, Instant};

/// The longest step of time that counts at once. A process that was stopped and goes on has not stood still meanwhile.
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// What shows that a pipeline works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its frames.
    pub frames: u64,
    /// Steps of models that are being made ready, of whichever pipeline: all of them wait for that.
    pub steps: u64,
}

/// The time in which no frame came.
#[derive(Debug)]
pub struct Stall {
    limit: Duration,
    seen: Seen,
    still: Duration,
    last: Instant,
}

impl Stall {
    /// Begins now.
    pub fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, seen: Seen::default(), still: Duration::ZERO, last: now }
    }

    /// How long no frame has come, if that is too long.
    pub fn check(&mut self, seen: Seen, now: Instant) -> Option<Duration> {
        let step = now.saturating_duration_since(self.last).min(LONGEST_STEP);
        self.last = now;
        if seen == self.seen {
            self.still += step;
        } else {
            self.seen = seen;
            self.still = Duration::ZERO;
        }
        (self.still >= self.limit).then_some(self.still)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_frames_counts_and_time_in_which_the_process_was_stopped_does_not() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let frames = |frames: u64| Seen { frames, steps: 0 };
        let mut stall = Stall::new(Duration::from_secs(2), start);
        assert_eq!(stall.check(frames(1), at(900)), None);
        assert_eq!(stall.check(frames(1), at(1800)), None);
        assert_eq!(stall.check(frames(2), at(2700)), None, "a frame came");
        assert_eq!(stall.check(frames(2), at(100_000)), None, "the process was stopped");
        assert_eq!(stall.check(frames(2), at(100_900)), None);
        let model = Seen { frames: 2, steps: 1 };
        assert_eq!(stall.check(model, at(101_800)), None, "a model is being made ready");
        assert_eq!(stall.check(model, at(102_700)), None);
        assert_eq!(stall.check(model, at(103_600)), None);
        assert_eq!(stall.check(model, at(104_000)), Some(Duration::from_millis(2200)));
    }
}
