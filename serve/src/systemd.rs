//! Reports to systemd: that the service is ready, alive, reloading or stopping. Without systemd, these functions do nothing.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;

use crate::log;

/// Reports that the service runs.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Reports that the configuration is read again; [`ready`] ends that.
pub fn reloading() {
    let now = clock_gettime(ClockId::Monotonic);
    let microseconds = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
    tell(&[NotifyState::Reloading, NotifyState::MonotonicUsec(microseconds)]);
}

/// Reports that the service ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Reports the service's state in one line.
pub fn status(text: &str) {
    tell(&[NotifyState::Status(text)]);
}

/// Reports that the service is alive.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// How often [`alive`] must be called at least, if systemd's watchdog is on.
pub fn watchdog() -> Option<Duration> {
    let mut microseconds = 0;
    sd_notify::watchdog_enabled(false, &mut microseconds).then(|| Duration::from_micros(microseconds) / 3)
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(false, states) {
        log::warning(format_args!("the service's state cannot be reported to systemd: {e}"));
    }
}
