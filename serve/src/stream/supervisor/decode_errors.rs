//! How often a stream's decoder has failed.

use std::collections::VecDeque;
use std::time::Duration;

/// The failures within this time count towards a restart.
const WINDOW: Duration = Duration::from_secs(60);

/// A decoder's failures.
#[derive(Debug, Default)]
pub(super) struct DecodeErrors {
    recent: VecDeque<Duration>,
    all: u64,
}

impl DecodeErrors {
    /// Counts a failure; returns how many there were within the last minute.
    pub(super) fn count(&mut self, now: Duration) -> u32 {
        self.all += 1;
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|at| now.saturating_sub(*at) > WINDOW) {
            self.recent.pop_front();
        }
        u32::try_from(self.recent.len()).unwrap_or(u32::MAX)
    }

    /// Begins the minute anew.
    pub(super) fn forget(&mut self) {
        self.recent.clear();
    }

    /// All failures since the stream was added.
    pub(super) fn all(&self) -> u64 {
        self.all
    }
}
