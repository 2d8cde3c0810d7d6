//! Durations as numbers.

use std::time::Duration;

/// As counters and properties count time.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
