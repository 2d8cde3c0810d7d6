//! What systemd is told: that the service is ready, alive, reloading or stopping. Without systemd nobody is told anything.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;

use crate::log;

/// The service runs.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Its configuration is read again; [`ready`] ends that.
pub fn reloading() {
    let now = clock_gettime(ClockId::Monotonic);
    let microseconds = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
    tell(&[NotifyState::Reloading, NotifyState::MonotonicUsec(microseconds)]);
}

/// It ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// One line on how it is.
pub fn status(text: &str) {
    tell(&[NotifyState::Status(text)]);
}

/// It is alive.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// How often [`alive`] is to be said at least, where systemd waits for it.
pub fn watchdog() -> Option<Duration> {
    let mut microseconds = 0;
    sd_notify::watchdog_enabled(false, &mut microseconds).then(|| Duration::from_micros(microseconds) / 3)
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(false, states) {
        log::warning(format_args!("systemd cannot be told how the service is: {e}"));
    }
}
