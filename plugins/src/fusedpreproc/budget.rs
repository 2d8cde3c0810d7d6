//! How many frames the model sees where `max-load` says how busy it may be.

use std::time::{Duration, Instant};

/// The interval changes this often at most: so long takes it until the model's load shows the last change.
const STEP: Duration = Duration::from_millis(2000);
/// More frames are seen again only if the load then stays below this share of the wanted one, so that the interval does not go up and down.
const MARGIN: f64 = 0.9;
/// By this factor more frames are left out where the model has no time left, because its load then does not say how much is missing; and by it
/// more are seen at a time, because the next frames may be fuller.
const STRIDE: f64 = 1.5;
/// From this load on it has none left.
const FULL: f64 = 0.97;

/// A stream's interval.
#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Frames for each that the model sees; none before the first choice.
    period: Option<u64>,
    chosen: Option<Instant>,
}

/// What a choice has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Frames between two that the model sees.
    pub interval: u64,
    /// It was another one before.
    pub changed: bool,
    /// No more frames may be left out, and the model is busier than it may be.
    pub exhausted: bool,
}

impl Budget {
    /// Whether the interval may change, for which the model's load must be known.
    pub fn is_due(&self, now: Instant) -> bool {
        self.chosen.is_none_or(|chosen| now.saturating_duration_since(chosen) >= STEP)
    }

    /// The interval for the next frame: at least `least`, and at most such that the model sees a frame a second of `rate` frames. `load` is
    /// the share of time in which the model works, from 0 to 1, where that is known and the interval may change.
    pub fn choose(
        &mut self,
        now: Instant,
        most_load: f64,
        least: u64,
        rate: f64,
        load: Option<f64>,
    ) -> Chosen {
        let least = least.saturating_add(1);
        let most = (rate.ceil() as u64).max(least);
        let before = self.period.unwrap_or(least).clamp(least, most);
        let mut period = before;
        if let Some(load) = load {
            self.chosen = Some(now);
            let needed = |load: f64| (before as f64 * load).ceil() as u64;
            let wanted = if load >= FULL {
                needed(STRIDE * (load / most_load).max(1.0))
            } else if load > most_load {
                needed(load / most_load)
            } else {
                needed(load / (MARGIN * most_load)).clamp((before as f64 / STRIDE) as u64, before)
            };
            period = wanted.clamp(least, most);
        }
        self.period = Some(period);
        Chosen {
            interval: period - 1,
            changed: period != before,
            exhausted: period >= most && load.is_some_and(|load| load > most_load),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval after a minute of `rate` frames a second, where the model could see `able` of them, and those of the last ten seconds.
    fn settled(rate: f64, able: f64, most_load: f64, least: u64) -> (u64, usize, bool) {
        let (mut budget, start) = (Budget::default(), Instant::now());
        let (mut interval, mut changes, mut exhausted) = (least, 0, false);
        for frame in 0..(60.0 * rate) as u64 {
            let seconds = frame as f64 / rate;
            let load = (rate / (interval as f64 + 1.0) / able).min(1.0);
            let now = start + Duration::from_secs_f64(seconds);
            let load = budget.is_due(now).then_some(load);
            let chosen = budget.choose(now, most_load, least, rate, load);
            interval = chosen.interval;
            if seconds > 50.0 {
                changes += usize::from(chosen.changed);
                exhausted |= chosen.exhausted;
            }
        }
        (interval, changes, exhausted)
    }

    #[test]
    fn the_interval_is_the_least_that_keeps_the_model_within_its_load() {
        for (rate, able, most_load, least, wanted) in [
            (30.0, 100.0, 0.8, 0, 0),
            (30.0, 30.0, 0.8, 0, 1),
            (30.0, 10.0, 0.8, 0, 3),
            (30.0, 4.0, 0.5, 0, 14),
            (25.0, 100.0, 0.8, 4, 4),
        ] {
            let (interval, changes, exhausted) = settled(rate, able, most_load, least);
            let load = rate / (interval as f64 + 1.0) / able;
            assert!(load <= most_load + 1e-9, "{able}: {interval} loads {load}");
            assert!((wanted..=wanted + wanted / 4).contains(&interval), "{able}: {interval}, not {wanted}");
            assert_eq!((changes, exhausted), (0, false), "{able}");
        }
    }

    #[test]
    fn a_model_that_is_too_slow_for_a_frame_a_second_is_said() {
        assert_eq!(settled(30.0, 0.5, 0.8, 0), (29, 0, true));
    }

    #[test]
    fn frames_come_back_when_there_is_time_again() {
        let (mut budget, start) = (Budget::default(), Instant::now());
        let mut at = |seconds: u64, load: f64| {
            let now = start + Duration::from_secs(seconds);
            let load = budget.is_due(now).then_some(load);
            budget.choose(now, 0.8, 0, 30.0, load).interval
        };
        let intervals = [at(0, 1.0), at(2, 1.0), at(4, 0.2), at(6, 0.2), at(8, 0.2), at(10, 0.2)];
        assert_eq!(intervals, [1, 3, 1, 0, 0, 0]);
        assert_eq!(at(11, 1.0), 0, "not so soon");
    }
}
