//! How long the parts of a start take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::time::nanoseconds;

/// Nanoseconds that the parts of a start took.
#[derive(Debug, Default)]
pub struct StartTimes {
    library: AtomicU64,
    session: AtomicU64,
    search: AtomicU64,
    warm_up: AtomicU64,
    graphs: AtomicU64,
    upgrade: AtomicU64,
}

/// A part of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartPart {
    /// Finding and opening the library that runs models.
    Library,
    /// Opening the sessions: the provider, the model and its weights.
    Session,
    /// Timing the variants of a session.
    Search,
    /// Runs that warm up, until frames come through.
    WarmUp,
    /// Capturing CUDA graphs, as a part of warming up.
    Graphs,
    /// Opening and warming up the faster variant, while another one serves.
    Upgrade,
}

impl StartTimes {
    fn of(&self, part: StartPart) -> &AtomicU64 {
        match part {
            StartPart::Library => &self.library,
            StartPart::Session => &self.session,
            StartPart::Search => &self.search,
            StartPart::WarmUp => &self.warm_up,
            StartPart::Graphs => &self.graphs,
            StartPart::Upgrade => &self.upgrade,
        }
    }

    /// Does `work`, which is that part.
    pub(super) fn time<T>(&self, part: StartPart, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        self.add(part, started.elapsed());
        done
    }

    pub(super) fn add(&self, part: StartPart, took: Duration) {
        self.of(part).fetch_add(nanoseconds(took), Ordering::Relaxed);
    }

    /// The parts' names in `stats`, and their nanoseconds.
    pub fn values(&self) -> [(&'static str, u64); 6] {
        [
            ("start-library-ns", StartPart::Library),
            ("start-session-ns", StartPart::Session),
            ("start-search-ns", StartPart::Search),
            ("start-warm-up-ns", StartPart::WarmUp),
            ("start-graphs-ns", StartPart::Graphs),
            ("start-upgrade-ns", StartPart::Upgrade),
        ]
        .map(|(name, part)| (name, self.of(part).load(Ordering::Relaxed)))
    }

    /// In words, for the log.
    pub(super) fn sentence(&self) -> String {
        let named = |(name, time): (&str, u64)| {
            let part = name.trim_start_matches("start-").trim_end_matches("-ns");
            format!("{part} {:.0} ms", Duration::from_nanos(time).as_secs_f64() * 1e3)
        };
        self.values().map(named).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_each_for_itself_and_are_shown_in_milliseconds() {
        let times = StartTimes::default();
        times.add(StartPart::WarmUp, Duration::from_millis(700));
        times.add(StartPart::WarmUp, Duration::from_millis(50));
        times.add(StartPart::Graphs, Duration::from_millis(20));
        assert_eq!(times.time(StartPart::Library, || 7), 7);
        let value = |wanted: &str| times.values().into_iter().find(|(name, _)| *name == wanted).unwrap().1;
        assert_eq!((value("start-warm-up-ns"), value("start-search-ns")), (750_000_000, 0));
        let sentence = times.sentence();
        assert!(
            sentence.contains("warm-up 750 ms, graphs 20 ms") && sentence.starts_with("library "),
            "{sentence}"
        );
    }
}
