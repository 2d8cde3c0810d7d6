//! How long a stream waits before it is started again.

use std::time::Duration;

use crate::config::Restart;

/// The wait before start number `attempt` after a failure, from 0: doubles from `first`; `chance`, from 0 to 1, spreads it by
/// `jitter` to both sides, so that the cameras of one switch do not all come back at once. It is never longer than `longest`.
pub(crate) fn wait(limits: &Restart, attempt: u32, chance: f64) -> Duration {
    let doubled = limits.first * 2f64.powi(i32::try_from(attempt.min(60)).unwrap_or(60));
    let spread = 1.0 + limits.jitter * (2.0 * chance - 1.0);
    // The longest waits are spread as well, below the limit.
    let middle = doubled.min(limits.longest / (1.0 + limits.jitter));
    Duration::try_from_secs_f64(middle * spread).unwrap_or(Duration::from_secs(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread() {
        let limits = Restart { first: 1.0, longest: 10.0, jitter: 0.2, ..Restart::default() };
        let seconds: Vec<f64> = (0..6).map(|attempt| wait(&limits, attempt, 0.5).as_secs_f64()).collect();
        assert_eq!(seconds[..4], [1.0, 2.0, 4.0, 8.0]);
        assert!(seconds[4..].iter().all(|wait| (wait - 10.0 / 1.2).abs() < 1e-6), "{seconds:?}");
        assert_eq!(wait(&limits, 1, 0.0), Duration::from_secs_f64(1.6));
        assert_eq!(wait(&limits, 1, 1.0), Duration::from_secs_f64(2.4));
        for chance in [0.0, 0.3, 1.0] {
            let longest = wait(&limits, u32::MAX, chance);
            assert!(longest <= Duration::from_secs(10) && longest > Duration::from_secs(6), "{longest:?}");
        }
    }
}
