//! The time that passes from frame to frame, also if frames have no timestamps.

use super::FrameTime;

/// The assumed duration of a frame, in ns, if it is not known: only `patience` uses this.
const GUESS: u64 = 33_333_333;

/// Counts the time since the first frame. It never goes back: where the second of two frames is earlier than the first, the
/// time between them is the first one's duration.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    moment: Moment,
    /// The previous frame: its presentation time, given or calculated, and its duration.
    before: Option<FrameTime>,
}

/// A moment of a [`Clock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// Ns since the first frame.
    now: u64,
    /// The number of steps until now whose length was not known.
    guesses: u64,
    /// How often the time went back until now.
    returns: u64,
}

impl Clock {
    /// Takes in the next frame. `usual` is the duration of frames by their caps, in ns.
    pub fn advance(&mut self, frame: FrameTime, usual: Option<u64>) -> Moment {
        let duration = frame.duration.or(usual).filter(|d| *d > 0);
        let mut pts = frame.pts;
        if let Some(before) = self.before {
            let known = before.pts.zip(frame.pts);
            let later = known.and_then(|(a, b)| b.checked_sub(a));
            if known.is_some() && later.is_none() {
                self.moment.returns += 1;
            }
            let step = later.or(before.duration);
            if step.is_none() {
                self.moment.guesses += 1;
            }
            self.moment.now = self.moment.now.saturating_add(step.unwrap_or(GUESS));
            pts = pts.or(before.pts.zip(before.duration).map(|(pts, d)| pts.saturating_add(d)));
        }
        self.before = Some(FrameTime { pts, duration });
        self.moment
    }
}

impl Moment {
    /// How long ago `earlier` was, in ns, with assumed durations where they are not known.
    pub fn since(self, earlier: Self) -> u64 {
        self.now.saturating_sub(earlier.now)
    }

    /// How long ago `earlier` was, in ns; none where that is not known.
    pub fn known_since(self, earlier: Self) -> Option<u64> {
        (self.guesses == earlier.guesses).then(|| self.since(earlier))
    }

    /// How long ago `earlier` was, in seconds; none where that is not known or the stream went back in between, as after a seek.
    pub fn seconds_since(self, earlier: Self) -> Option<f64> {
        let ns = self.known_since(earlier).filter(|_| self.returns == earlier.returns)?;
        Some(std::time::Duration::from_nanos(ns).as_secs_f64())
    }
}
