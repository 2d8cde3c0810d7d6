//! Histograms with fixed bounds: a sample costs two additions to atomic numbers and waits for nobody.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gst::glib;

use crate::time::nanoseconds;

/// Bounds of times, in nanoseconds: from 0.1 ms to 10 s.
const TIMES: &[u64] = &[
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Bounds of batches, in frames.
const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128];

/// What is sampled.
#[derive(Debug)]
enum Unit {
    /// Nanoseconds, which are shown as seconds.
    Time,
    /// Frames.
    Size,
}

/// How often a value lay between which bounds.
#[derive(Debug)]
pub(crate) struct Histogram {
    unit: Unit,
    bounds: &'static [u64],
    /// For each bound the samples up to it and above the previous one; last those above all.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// An empty histogram of times.
    pub fn of_times() -> Self {
        Self::new(Unit::Time, TIMES)
    }

    /// An empty histogram of numbers of frames.
    pub fn of_sizes() -> Self {
        Self::new(Unit::Size, SIZES)
    }

    fn new(unit: Unit, bounds: &'static [u64]) -> Self {
        let counts = std::iter::repeat_with(AtomicU64::default).take(bounds.len() + 1).collect();
        Self { unit, bounds, counts, sum: AtomicU64::new(0) }
    }

    /// A sample: nanoseconds or frames.
    pub fn add(&self, value: u64) {
        let place = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// A sample of time.
    pub fn add_time(&self, time: Duration) {
        self.add(nanoseconds(time));
    }

    /// Empties it.
    pub fn reset(&self) {
        self.counts.iter().chain([&self.sum]).for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// Its present content; a sample that comes meanwhile may be in one number and not yet in the other.
    pub fn snapshot(&self) -> Snapshot {
        // Divided, not multiplied by 1e-9, so that a decimal fraction comes out as one: 0.0001, not 0.00010000000000000002.
        let unit = match self.unit {
            Unit::Time => 1e9,
            Unit::Size => 1.0,
        };
        Snapshot {
            bounds: self.bounds.iter().map(|bound| *bound as f64 / unit).collect(),
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed) as f64 / unit,
        }
    }
}

/// A histogram at one time, as the field of a property `stats` and as `/metrics` show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// In seconds or frames, growing.
    pub bounds: Vec<f64>,
    /// One more than there are bounds: the last has what lies above all of them.
    pub counts: Vec<u64>,
    /// The sum of all samples, in seconds or frames.
    pub sum: f64,
}

impl Snapshot {
    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the content of another one with the same bounds.
    pub fn add(&mut self, other: &Self) {
        if self.bounds.is_empty() {
            *self = other.clone();
        } else if self.bounds == other.bounds {
            self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
            self.sum += other.sum;
        }
    }

    /// As a field of `stats`.
    pub fn to_structure(&self) -> gst::Structure {
        gst::Structure::builder("histogram")
            .field("bounds", gst::Array::new(self.bounds.iter().copied()))
            .field("counts", gst::Array::new(self.counts.iter().copied()))
            .field("sum", self.sum)
            .build()
    }

    /// The histogram in a field of `stats`; `None` where the field is none.
    pub fn of(structure: &gst::StructureRef) -> Option<Self> {
        fn list<T: for<'a> glib::value::FromValue<'a>>(
            structure: &gst::StructureRef,
            field: &str,
        ) -> Option<Vec<T>> {
            let array = structure.get::<gst::Array>(field).ok()?;
            array.iter().map(|value| value.get().ok()).collect()
        }
        let (bounds, counts) = (list(structure, "bounds")?, list(structure, "counts")?);
        let sum = structure.get::<f64>("sum").ok()?;
        Some(Self { bounds, counts, sum }).filter(|all| all.counts.len() == all.bounds.len() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_at_the_first_bound_that_is_not_below_it() {
        let sizes = Histogram::of_sizes();
        [1, 2, 3, 4, 5, 128, 129].into_iter().for_each(|size| sizes.add(size));
        let shown = sizes.snapshot();
        assert_eq!(shown.bounds, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!(shown.counts, [1, 1, 2, 1, 0, 0, 0, 1, 1]);
        assert_eq!((shown.count(), shown.sum), (7, 272.0));
        sizes.reset();
        assert_eq!((sizes.snapshot().count(), sizes.snapshot().sum), (0, 0.0));
    }

    #[test]
    fn times_are_shown_in_seconds_without_noise_in_the_last_digits() {
        let times = Histogram::of_times();
        times.add_time(Duration::from_micros(300));
        let shown = times.snapshot();
        assert_eq!(
            shown.bounds.iter().map(f64::to_string).take(4).collect::<Vec<_>>(),
            ["0.0001", "0.00025", "0.0005", "0.001"]
        );
        assert_eq!((shown.counts[2], shown.count()), (1, 1));
        assert!((shown.sum - 0.0003).abs() < 1e-12, "{}", shown.sum);
    }

    #[test]
    fn what_goes_into_stats_comes_out_again_and_what_is_none_does_not() {
        gst::init().unwrap();
        let sizes = Histogram::of_sizes();
        [1, 8, 8].into_iter().for_each(|size| sizes.add(size));
        let shown = sizes.snapshot();
        assert_eq!(Snapshot::of(&shown.to_structure()), Some(shown.clone()));
        assert_eq!(Snapshot::of(&gst::Structure::new_empty("histogram")), None);
        let mut twice = shown.clone();
        twice.add(&shown);
        assert_eq!((twice.count(), twice.sum), (6, 34.0));
    }
}
