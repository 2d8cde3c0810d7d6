//! Resampling a row.

use super::samples::Columns;
use super::taps::Taps;

/// The taps of the x axis over the columns that are read, in the form that their lengths allow.
#[derive(Debug)]
pub(super) enum Horizontal {
    /// One column each.
    Point(Vec<u32>),
    /// Two neighbouring columns each: the first, and the weight of the second.
    Linear(Vec<(u32, f32)>),
    /// Any number of neighbouring columns.
    Weighted(Taps, Vec<usize>),
}

impl Horizontal {
    /// Prepares `taps` for rows that hold `columns`, followed by one more float of any finite value.
    pub fn new(taps: Taps, columns: &Columns) -> Self {
        let longest = taps.runs().map(|(_, weights)| weights.len()).max().unwrap_or(0);
        // Runs are of consecutive columns, all of which are read: they stay consecutive.
        let firsts = taps.runs().map(|(first, _)| columns.position(first));
        // Lossless: positions are below MAX_SIDE.
        match longest {
            1 => Self::Point(firsts.map(|first| first as u32).collect()),
            2 => {
                let second = taps.runs().map(|(_, weights)| weights.get(1).copied().unwrap_or(0.0));
                Self::Linear(firsts.map(|first| first as u32).zip(second).collect())
            }
            _ => {
                let firsts = firsts.collect();
                Self::Weighted(taps, firsts)
            }
        }
    }

    /// Resamples `row` into `out`, which has one element a run.
    pub fn apply(&self, row: &[f32], out: &mut [f32]) {
        match self {
            Self::Point(points) => {
                for (value, at) in out.iter_mut().zip(points) {
                    *value = row[*at as usize];
                }
            }
            Self::Linear(pairs) => {
                for (value, (at, weight)) in out.iter_mut().zip(pairs) {
                    let at = *at as usize;
                    if let [a, b] = row[at..at + 2] {
                        *value = a + weight * (b - a);
                    }
                }
            }
            Self::Weighted(taps, firsts) => {
                for ((value, first), (_, weights)) in out.iter_mut().zip(firsts).zip(taps.runs()) {
                    *value = row[*first..].iter().zip(weights).map(|(v, w)| v * w).sum();
                }
            }
        }
    }
}
