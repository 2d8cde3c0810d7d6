//! The clock and the threads of a delivery: the system's. Only the simulation (world) has others, under which the same code runs.

use std::io;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// The time.
pub(crate) fn now() -> Instant {
    #[cfg(test)]
    if let Some(now) = crate::world::now() {
        return now;
    }
    Instant::now()
}

/// How long ago that was.
pub(crate) fn since(time: Instant) -> Duration {
    now().saturating_duration_since(time)
}

/// Starts a thread. Nobody joins it, because a call of the system may never return: what it shares with others tells them how far
/// it is.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<ThreadId> {
    #[cfg(test)]
    let work = crate::world::task(work);
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
    Ok(started.thread().id())
}
