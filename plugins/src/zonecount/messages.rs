//! The limit on the rate of messages.

use std::time::{Duration, Instant};

/// Lets this many messages a second through, by the wall clock, because a bus is read in real time.
#[derive(Debug, Default)]
pub(super) struct Budget {
    since: Option<Instant>,
    spent: u32,
    /// Messages that were left out since one was posted.
    dropped: u64,
}

impl Budget {
    /// Whether a message may be posted now, of `most` a second (0: any number); if so, how many were left out before it.
    pub fn spend(&mut self, most: u32, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(1)) {
            (self.since, self.spent) = (Some(now), 0);
        }
        if most > 0 && self.spent >= most {
            self.dropped += 1;
            return None;
        }
        self.spent = self.spent.saturating_add(1);
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_messages_are_let_through_in_a_second_and_the_next_says_how_many_were_not() {
        let start = Instant::now();
        let mut budget = Budget::default();
        let mut at = |ms, most| budget.spend(most, start + Duration::from_millis(ms));
        assert_eq!([at(0, 2), at(1, 2), at(2, 2), at(999, 2)], [Some(0), Some(0), None, None]);
        assert_eq!([at(1000, 2), at(1001, 2), at(1002, 2)], [Some(2), Some(0), None]);
        assert_eq!([at(1003, 0), at(1003, 0)], [Some(1), Some(0)], "any number");
    }
}
