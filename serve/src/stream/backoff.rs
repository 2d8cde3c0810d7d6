//! How long a stream waits before it is started again.

use std::time::Duration;

use crate::config::Restart;

/// The wait before start number `attempt` after a failure, from 0: doubles from `first` to `longest`; `chance`, from 0 to 1,
/// spreads it by `jitter` to both sides, so that the cameras of one switch do not all come back at once.
pub(crate) fn wait(limits: &Restart, attempt: u32, chance: f64) -> Duration {
    let doubled = limits.first * 2f64.powi(i32::try_from(attempt.min(60)).unwrap_or(60));
    let spread = 1.0 + limits.jitter * (2.0 * chance - 1.0);
    Duration::try_from_secs_f64(doubled.min(limits.longest) * spread).unwrap_or(Duration::from_secs(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread() {
        let limits = Restart { first: 1.0, longest: 10.0, jitter: 0.2, ..Restart::default() };
        let seconds: Vec<f64> = (0..6).map(|attempt| wait(&limits, attempt, 0.5).as_secs_f64()).collect();
        assert_eq!(seconds, [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]);
        assert_eq!(wait(&limits, 1, 0.0), Duration::from_secs_f64(1.6));
        assert_eq!(wait(&limits, 1, 1.0), Duration::from_secs_f64(2.4));
        assert_eq!(wait(&limits, u32::MAX, 0.5), Duration::from_secs(10));
    }
}
