//! Whether a pipeline stands still.

use std::time::{Duration, Instant};

/// The longest step of time that counts at once. A process that was stopped and goes on has not stood still meanwhile.
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// The time in which no frame came.
#[derive(Debug)]
pub struct Stall {
    limit: Duration,
    frames: u64,
    still: Duration,
    last: Instant,
}

impl Stall {
    /// Begins now.
    pub fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, frames: 0, still: Duration::ZERO, last: now }
    }

    /// Something else than frames shows that the pipeline works: a model is being made ready.
    pub fn busy(&mut self) {
        self.still = Duration::ZERO;
    }

    /// How long no frame has come, if that is too long.
    pub fn check(&mut self, frames: u64, now: Instant) -> Option<Duration> {
        let step = now.saturating_duration_since(self.last).min(LONGEST_STEP);
        self.last = now;
        if frames == self.frames {
            self.still += step;
        } else {
            self.frames = frames;
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
        let mut stall = Stall::new(Duration::from_secs(2), start);
        assert_eq!(stall.check(1, at(900)), None);
        assert_eq!(stall.check(1, at(1800)), None);
        assert_eq!(stall.check(2, at(2700)), None, "a frame came");
        assert_eq!(stall.check(2, at(100_000)), None, "the process was stopped");
        assert_eq!(stall.check(2, at(100_900)), None);
        stall.busy();
        assert_eq!(stall.check(2, at(101_800)), None);
        assert_eq!(stall.check(2, at(102_700)), None);
        assert_eq!(stall.check(2, at(103_700)), Some(Duration::from_millis(2800)));
    }
}
