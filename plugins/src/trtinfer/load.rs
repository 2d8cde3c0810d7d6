//! How busy a model is: the share of the last second or so in which it ran.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::sync::lock;

/// The time that a share is of.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts how long the runs of an instance took.
#[derive(Debug)]
pub(super) struct Load {
    cost: Cost,
    windows: Mutex<Windows>,
}

/// How long a run keeps the model busy.
#[derive(Debug)]
pub(super) enum Cost {
    /// As long as the host was in it, where this many can run at a time.
    OnHost(usize),
    /// A GPU: the host only enqueues. A run of a whole batch, of this many images, takes as many nanoseconds as were measured.
    OnGpu(Arc<AtomicU64>, usize),
}

#[derive(Debug)]
struct Windows {
    /// When the window began that is counted.
    began: Instant,
    busy: Duration,
    /// The share of the last window that was whole.
    last: Option<f64>,
}

impl Load {
    /// From now on.
    pub fn new(cost: Cost, now: Instant) -> Self {
        let windows = Windows { began: now, busy: Duration::ZERO, last: None };
        Self { cost, windows: Mutex::new(windows) }
    }

    /// A run of this many images has ended now, in which the host was for this long.
    pub fn add(&self, took: Duration, images: usize, now: Instant) {
        let busy = match &self.cost {
            Cost::OnHost(parallel) => took.div_f64((*parallel).max(1) as f64),
            Cost::OnGpu(run, batch) => {
                let run = Duration::from_nanos(run.load(Ordering::Relaxed));
                run.mul_f64(images as f64 / (*batch).max(1) as f64)
            }
        };
        let mut windows = lock(&self.windows);
        windows.turn(now);
        windows.busy += busy;
    }

    /// The share, from 0 to 1; none before the first window has ended.
    pub fn share(&self, now: Instant) -> Option<f64> {
        let mut windows = lock(&self.windows);
        windows.turn(now);
        windows.last
    }
}

impl Windows {
    /// Begins a new window if the last one is over.
    fn turn(&mut self, now: Instant) {
        let length = now.saturating_duration_since(self.began);
        if length >= WINDOW {
            let share = self.busy.as_secs_f64() / length.as_secs_f64();
            *self = Self { began: now, busy: Duration::ZERO, last: Some(share.min(1.0)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_last_second_of_all_that_can_run() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let load = Load::new(Cost::OnHost(2), start);
        assert_eq!(load.share(at(10)), None);
        load.add(Duration::from_millis(300), 1, at(500));
        load.add(Duration::from_millis(300), 4, at(900));
        assert_eq!(load.share(at(999)), None);
        assert_eq!(load.share(at(1000)), Some(0.3));
        assert_eq!(load.share(at(1500)), Some(0.3));
        load.add(Duration::from_millis(3000), 1, at(1900));
        assert_eq!(load.share(at(2000)), Some(1.0));
        assert_eq!(load.share(at(4000)), Some(0.0));
    }

    #[test]
    fn on_a_gpu_a_run_costs_what_was_measured_however_soon_the_host_returns() {
        let start = Instant::now();
        let load = Load::new(Cost::OnGpu(Arc::new(AtomicU64::new(400_000_000)), 4), start);
        load.add(Duration::from_micros(5), 4, start);
        load.add(Duration::from_micros(5), 1, start);
        assert_eq!(load.share(start + WINDOW), Some(0.5));
    }
}
