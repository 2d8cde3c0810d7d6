//! Which source pixels make a resized pixel on one axis, and with what weight. Positions are computed in integers.

use super::Interpolation;
use super::filters::{Filter, ONE};
use super::placement::Axis;

/// For each filled tensor pixel of an axis a run of consecutive source pixels and their weights, which sum to 1 (those of
/// a filter up to rounding). Source pixels of weight 0 are left out (except a filter's), so that they are not even read.
#[derive(Debug, Default)]
pub(super) struct Taps {
    /// First source pixel of each run.
    start: Vec<usize>,
    /// Where each run's weights begin; one more entry than there are runs.
    offset: Vec<usize>,
    weights: Vec<f32>,
}

impl Taps {
    /// The taps of every filled tensor pixel of `axis`.
    pub fn new(axis: &Axis, interpolation: Interpolation) -> Self {
        let mut taps = Self { offset: vec![0], ..Self::default() };
        for i in 0..axis.len {
            let v = (axis.crop + i) as u64;
            match interpolation {
                Interpolation::Nearest => taps.nearest(axis, v),
                Interpolation::Bilinear => taps.bilinear(axis, v),
                Interpolation::Area => taps.area(axis, v),
                Interpolation::PilBilinear => taps.filtered(axis, axis.crop + i, Filter::Triangle),
                Interpolation::PilBicubic => taps.filtered(axis, axis.crop + i, Filter::Cubic),
            }
            taps.offset.push(taps.weights.len());
        }
        for start in &mut taps.start {
            *start += axis.origin;
        }
        taps
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// The first source pixel of run `i`, and the weights of it and its successors.
    pub fn run(&self, i: usize) -> (usize, &[f32]) {
        (self.start[i], &self.weights[self.offset[i]..self.offset[i + 1]])
    }

    /// Every run, as [`Taps::run`].
    pub fn runs(&self) -> impl Iterator<Item = (usize, &[f32])> {
        (0..self.len()).map(|i| self.run(i))
    }

    /// Length of the longest run.
    pub fn longest(&self) -> usize {
        self.runs().map(|(_, weights)| weights.len()).max().unwrap_or(0)
    }

    /// Sum of the runs' lengths.
    pub fn total(&self) -> usize {
        self.weights.len()
    }

    /// The source pixels that any run reads, ascending.
    pub fn sources(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.runs().flat_map(|(first, w)| first..first + w.len()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// `floor((v + 0.5) * frame / resized)`.
    fn nearest(&mut self, axis: &Axis, v: u64) {
        let at = (2 * v + 1) * axis.frame as u64 / (2 * axis.resized as u64);
        self.start.push(to_index(at).min(axis.frame - 1));
        self.weights.push(1.0);
    }

    /// The two neighbours of `(v + 0.5) * frame / resized - 0.5`, clamped to the frame.
    fn bilinear(&mut self, axis: &Axis, v: u64) {
        let (frame, unit) = (axis.frame as u64, 2 * axis.resized as u64);
        let at = ((2 * v + 1) * frame).saturating_sub(axis.resized as u64);
        let (first, rest) = (to_index(at / unit), at % unit);
        self.start.push(first.min(axis.frame - 1));
        if rest == 0 || first + 1 >= axis.frame {
            self.weights.push(1.0);
        } else {
            let w = rest as f64 / unit as f64;
            self.weights.extend([(1.0 - w) as f32, w as f32]);
        }
    }

    /// The pixels under `[v, v + 1) * frame / resized`, by coverage.
    fn area(&mut self, axis: &Axis, v: u64) {
        // In units of 1 / resized pixel, the footprint is `frame` long and a source pixel `resized`.
        let (frame, pixel) = (axis.frame as u64, axis.resized as u64);
        let (begin, end) = (v * frame, (v + 1) * frame);
        let (first, last) = (begin / pixel, (end - 1) / pixel);
        self.start.push(to_index(first));
        self.weights.extend((first..=last).map(|p| {
            let covered = end.min((p + 1) * pixel) - begin.max(p * pixel);
            (covered as f64 / frame as f64) as f32
        }));
    }

    /// The pixels under a filter. Dividing by a power of two loses nothing.
    fn filtered(&mut self, axis: &Axis, v: usize, filter: Filter) {
        let (first, weights) = filter.weights(axis, v);
        self.start.push(first);
        self.weights.extend(weights.map(|weight| weight / ONE));
    }
}

/// A position that is known to lie in a frame.
fn to_index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
