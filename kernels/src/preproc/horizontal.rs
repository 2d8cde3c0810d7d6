//! Resampling a row.

use multiversion::multiversion;

use super::samples::Columns;
use super::taps::Taps;

/// The taps of the x axis over the columns that are read, in the form that their lengths allow.
#[derive(Debug)]
pub(super) enum Horizontal {
    /// One column each.
    One(Vec<u32>),
    /// At most two neighbouring columns each: bilinear, or area at scales up to 1.
    Two(Vec<Four<2>>),
    /// At most three: area at scales up to 2, or 3 exactly.
    Three(Vec<Four<3>>),
    /// At most four: area at scales up to 3, or 4 exactly.
    Four(Vec<Four<4>>),
    /// Any number, and the position of each run's first column.
    Many(Taps, Vec<u32>),
}

/// Four successive output pixels of up to `K` columns each, laid out for vector instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Four<const K: usize> {
    first: [u32; 4],
    /// The weights of the four pixels' first columns, of their second ones, and so on.
    weights: [[f32; 4]; K],
}

impl Horizontal {
    /// How many floats of any finite value must follow a row's columns in memory; they get the weight 0.
    pub const SLACK: usize = 3;

    /// Prepares `taps` for rows that hold `columns` and then [`Self::SLACK`].
    pub fn new(taps: Taps, columns: &Columns) -> Self {
        // Runs are of consecutive columns, all of which are read: they stay consecutive.
        // Lossless: positions are below MAX_SIDE.
        let firsts: Vec<u32> = taps.runs().map(|(first, _)| columns.position(first) as u32).collect();
        match taps.runs().map(|(_, weights)| weights.len()).max() {
            Some(1) => Self::One(firsts),
            Some(2) => Self::Two(fours(&taps, &firsts)),
            Some(3) => Self::Three(fours(&taps, &firsts)),
            Some(4) => Self::Four(fours(&taps, &firsts)),
            _ => Self::Many(taps, firsts),
        }
    }

    /// Resamples `row` into `out`, which has one element a run.
    pub fn apply(&self, row: &[f32], out: &mut [f32]) {
        apply(self, row, out);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn apply(horizontal: &Horizontal, row: &[f32], out: &mut [f32]) {
    match horizontal {
        Horizontal::One(firsts) => {
            for (value, at) in out.iter_mut().zip(firsts) {
                *value = row[*at as usize];
            }
        }
        Horizontal::Two(fours) => sweep(fours, row, out),
        Horizontal::Three(fours) => sweep(fours, row, out),
        Horizontal::Four(fours) => sweep(fours, row, out),
        Horizontal::Many(taps, firsts) => {
            for ((value, first), (_, weights)) in out.iter_mut().zip(firsts).zip(taps.runs()) {
                *value = row[*first as usize..].iter().zip(weights).map(|(v, w)| v * w).sum();
            }
        }
    }
}

fn fours<const K: usize>(taps: &Taps, firsts: &[u32]) -> Vec<Four<K>> {
    let mut fours = vec![Four { first: [0; 4], weights: [[0.0; 4]; K] }; firsts.len().div_ceil(4)];
    for (i, (first, (_, weights))) in firsts.iter().zip(taps.runs()).enumerate() {
        let four = &mut fours[i / 4];
        four.first[i % 4] = *first;
        for (k, weight) in weights.iter().enumerate() {
            four.weights[k][i % 4] = *weight;
        }
    }
    fours
}

#[inline(always)]
fn sweep<const K: usize>(fours: &[Four<K>], row: &[f32], out: &mut [f32]) {
    let (whole, rest) = out.as_chunks_mut::<4>();
    let mut fours = fours.iter();
    for (values, four) in whole.iter_mut().zip(&mut fours) {
        *values = four.apply(row);
    }
    if let Some(four) = fours.next() {
        rest.copy_from_slice(&four.apply(row)[..rest.len()]);
    }
}

impl<const K: usize> Four<K> {
    #[inline(always)]
    fn apply(&self, row: &[f32]) -> [f32; 4] {
        let mut picked = [[0.0; 4]; K];
        for (lane, at) in self.first.iter().enumerate() {
            let at = *at as usize;
            for (k, v) in row[at..at + K].iter().enumerate() {
                picked[k][lane] = *v;
            }
        }
        let mut sum = [0.0; 4];
        for (weights, picked) in self.weights.iter().zip(&picked) {
            for lane in 0..4 {
                sum[lane] += weights[lane] * picked[lane];
            }
        }
        sum
    }
}
