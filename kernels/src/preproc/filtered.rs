//! Resampling with a filter, as Pillow does: rows first, then columns, each in integers and rounded to 8 bits.

use multiversion::multiversion;

use super::color::Color;
use super::filters::{HALF, ONE, to_byte};
use super::rows::Rows;
use super::samples::{Columns, Component};
use super::taps::Taps;
use crate::frame::Frame;

/// Runs of taps with integer weights.
#[derive(Debug)]
struct Runs {
    taps: Taps,
    /// The weights of all runs, one run after the other, in units of 2^-BITS.
    weights: Vec<i32>,
}

impl Runs {
    fn new(taps: Taps) -> Self {
        // Lossless: they are integers of at most 24 bits.
        let weights = taps.runs().flat_map(|(_, weights)| weights).map(|w| (w * ONE) as i32).collect();
        Self { taps, weights }
    }
}

/// Resamples with a filter.
#[derive(Debug)]
pub(super) struct Filtered {
    rows: Rows,
    channels: usize,
    across: Runs,
    /// For each run of `across` the position of its first column among those that are read.
    firsts: Vec<usize>,
    down: Runs,
    /// For each run of `down` where its weights begin.
    offsets: Vec<usize>,
    /// A row of 8-bit pixels before it is resampled.
    bytes: Vec<i32>,
    /// The last rows that were resampled, as many as a run of `down` needs at most: row `y` is at `y % len`.
    kept: Vec<Kept>,
    /// The sums of an output row.
    sums: Vec<i32>,
}

/// A row of 8-bit pixels, a plane a channel.
#[derive(Debug)]
struct Kept {
    y: Option<usize>,
    planes: Vec<Vec<i32>>,
}

impl Filtered {
    /// Reads rows that hold `components` in `color`.
    pub fn new(components: Vec<Component>, color: Color, across: Taps, down: Taps) -> Self {
        let columns = Columns::new(across.sources());
        let (read, width, channels) = (columns.len(), across.len(), color.channels());
        let firsts = across.runs().map(|(first, _)| columns.position(first)).collect();
        let mut end = 0;
        let offsets = down
            .runs()
            .map(|(_, weights)| {
                end += weights.len();
                end - weights.len()
            })
            .collect();
        let kept = || Kept { y: None, planes: vec![vec![0; width]; channels] };
        Self {
            kept: (0..down.longest().max(1)).map(|_| kept()).collect(),
            rows: Rows::new(components, columns, color, None, 0),
            channels,
            across: Runs::new(across),
            firsts,
            down: Runs::new(down),
            offsets,
            bytes: vec![0; read],
            sums: vec![0; width],
        }
    }

    /// Forgets the frame.
    pub fn reset(&mut self) {
        self.rows.reset();
        for kept in &mut self.kept {
            kept.y = None;
        }
    }

    /// Puts row `i` of the resized frame into `out`.
    pub fn resample(&mut self, frame: &Frame<'_>, i: usize, out: [&mut [f32]; 3]) {
        let (first, weights) = self.down.taps.run(i);
        let (rows, slots) = (weights.len(), self.kept.len());
        for y in first..first + rows {
            self.keep(frame, y);
        }
        let weights = &self.down.weights[self.offsets[i]..][..rows];
        for (c, out) in out.into_iter().enumerate().take(self.channels) {
            self.sums.fill(HALF);
            for (k, weight) in weights.iter().enumerate() {
                add(*weight, &self.kept[(first + k) % slots].planes[c], &mut self.sums);
            }
            finish(&self.sums, out);
        }
    }

    /// Resamples row `y`, unless it is still kept.
    fn keep(&mut self, frame: &Frame<'_>, y: usize) {
        let slots = self.kept.len();
        let kept = &mut self.kept[y % slots];
        if kept.y == Some(y) {
            return;
        }
        kept.y = Some(y);
        let row = self.rows.get(frame, y);
        for (plane, out) in row.iter().zip(&mut kept.planes) {
            round(plane, &mut self.bytes);
            across(&self.across, &self.firsts, &self.bytes, out);
        }
    }
}

/// To 8-bit pixels.
#[multiversion(targets("x86_64+avx2"))]
fn round(row: &[f32], out: &mut [i32]) {
    for (byte, v) in out.iter_mut().zip(row) {
        *byte = (v + 0.5) as i32;
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn across(runs: &Runs, firsts: &[usize], row: &[i32], out: &mut [i32]) {
    let mut weights = runs.weights.as_slice();
    for ((value, first), (_, run)) in out.iter_mut().zip(firsts).zip(runs.taps.runs()) {
        let (these, rest) = weights.split_at(run.len());
        weights = rest;
        let sum: i32 = row[*first..].iter().zip(these).map(|(v, w)| v * w).sum();
        *value = to_byte(sum + HALF);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add(weight: i32, row: &[i32], sums: &mut [i32]) {
    for (sum, v) in sums.iter_mut().zip(row) {
        *sum += weight * v;
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn finish(sums: &[i32], out: &mut [f32]) {
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = to_byte(*sum) as f32;
    }
}
