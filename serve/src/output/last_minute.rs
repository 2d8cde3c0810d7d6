//! How many of something there were within the last minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What was counted, until it is a minute old.
#[derive(Debug, Default)]
pub struct LastMinute(VecDeque<Instant>);

impl LastMinute {
    /// How many more there may be now, if `most` may be within a minute.
    pub fn room(&mut self, most: usize) -> usize {
        while self.0.front().is_some_and(|at| at.elapsed() > Duration::from_secs(60)) {
            self.0.pop_front();
        }
        most.saturating_sub(self.0.len())
    }

    /// There are as many more.
    pub fn count(&mut self, more: usize) {
        self.0.extend(std::iter::repeat_n(Instant::now(), more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_is_not_counted_yet() {
        let mut minute = LastMinute::default();
        assert_eq!(minute.room(3), 3);
        minute.count(2);
        assert_eq!((minute.room(3), minute.room(1)), (1, 0));
    }
}
