//! Records that are lost, and when to report them.

use std::time::{Duration, Instant};

/// How often losses are said.
const EVERY: Duration = Duration::from_secs(60);

/// What is lost.
#[derive(Debug, Default)]
pub(super) struct Losses {
    total: usize,
    /// Those that have been said.
    reported: usize,
    said: Option<Instant>,
}

impl Losses {
    /// Adds some. Returns what must be reported, if it is time: at once, then once in [`EVERY`].
    pub fn add(&mut self, count: usize, now: Instant) -> Option<String> {
        self.total += count;
        let due = self.said.is_none_or(|said| now.saturating_duration_since(said) >= EVERY);
        due.then(|| {
            self.said = Some(now);
            self.say()
        })
    }

    fn say(&mut self) -> String {
        let new = self.total - std::mem::replace(&mut self.reported, self.total);
        let records = if new == 1 { "record is" } else { "records are" };
        format!("{new} {records} lost, {} in all, which stats counts as failed", self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_said_at_once_and_then_once_a_minute() {
        let (mut losses, start) = (Losses::default(), Instant::now());
        let mut add = |count, seconds| losses.add(count, start + Duration::from_secs(seconds));
        assert_eq!(add(1, 0).unwrap(), "1 record is lost, 1 in all, which stats counts as failed");
        assert_eq!(add(5, 1), None);
        assert_eq!(add(5, 59), None);
        assert_eq!(add(2, 60).unwrap(), "12 records are lost, 13 in all, which stats counts as failed");
        assert_eq!(add(3, 119), None);
    }
}
