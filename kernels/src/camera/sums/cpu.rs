//! The sums on the CPU: rows first, as vectors over their bytes, then columns.

use multiversion::multiversion;

use super::{Channel, Coverage, ROUND, SumPlan};
use crate::frame::Frame;

/// Adds up frames of one format in host memory.
#[derive(Debug)]
pub(in crate::camera) struct CpuSums {
    plan: SumPlan,
    columns: Vec<Coverage>,
    /// The sum of rows of samples that are covered whole.
    whole: Vec<u16>,
    /// The weighted sum of all rows, and zeros for two pixels more.
    sums: Vec<u32>,
    /// One channel of these.
    channel: Vec<u32>,
    /// The sums of a row of the picture, of one channel.
    totals: Vec<u32>,
    /// A row of the picture.
    out: Vec<f32>,
}

impl CpuSums {
    pub fn new(plan: SumPlan) -> Self {
        let bytes = plan.row_bytes();
        Self {
            columns: (0..plan.width).map(|at| plan.x.coverage(at)).collect(),
            whole: vec![0; bytes],
            sums: vec![0; bytes + 2 * plan.group],
            channel: if plan.group == 1 { vec![] } else { vec![0; plan.format.width + 2] },
            totals: vec![0; plan.width as usize],
            out: vec![0.0; plan.width as usize],
            plan,
        }
    }

    /// The picture of a frame, whose size was checked.
    pub fn run(&mut self, frame: &Frame<'_>, pixels: &mut [u8]) {
        let Self { plan, columns, whole, sums, channel, totals, out } = self;
        let bytes = whole.len();
        let range = (plan.low, plan.high - plan.low);
        for (y, pixels) in (0..plan.height).zip(pixels.chunks_exact_mut(columns.len())) {
            let Coverage { first, head, tails: [tail, last] } = plan.y.coverage(y);
            let unit = plan.y.unit;
            let row = |offset: u32| frame.row(0, (first + offset) as usize).get(..bytes).unwrap_or_default();
            whole.fill(0);
            let ends = [(0, head), (plan.y.ratio, tail), (plan.y.ratio + 1, last)];
            for offset in
                (1..plan.y.ratio).chain(ends.into_iter().filter(|end| end.1 == unit).map(|end| end.0))
            {
                add(row(offset), range, whole);
            }
            scale(whole, unit, sums);
            for (offset, weight) in ends.into_iter().filter(|end| end.1 != unit && end.1 != 0) {
                add_weighted(row(offset), range, weight, sums);
            }
            out.fill(0.0);
            for Channel { offset, factor } in &plan.channels {
                let sums = if plan.group == 1 {
                    &*sums
                } else {
                    pick(sums, plan.group, *offset, channel);
                    &*channel
                };
                across(plan.x.ratio, plan.x.unit, sums, columns, totals);
                add_level(totals, *factor, out);
            }
            round(out, pixels);
        }
    }
}

/// A sample in its range, whose lower end is 0.
#[inline(always)]
fn limited(sample: u8, (low, span): (u8, u8)) -> u8 {
    sample.saturating_sub(low).min(span)
}

#[multiversion(targets("x86_64+avx2"))]
fn add(row: &[u8], range: (u8, u8), whole: &mut [u16]) {
    for (sum, sample) in whole.iter_mut().zip(row) {
        *sum += u16::from(limited(*sample, range));
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn scale(whole: &[u16], unit: u32, sums: &mut [u32]) {
    for (sum, whole) in sums.iter_mut().zip(whole) {
        *sum = unit * u32::from(*whole);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add_weighted(row: &[u8], range: (u8, u8), weight: u32, sums: &mut [u32]) {
    for (sum, sample) in sums.iter_mut().zip(row) {
        *sum += weight * u32::from(limited(*sample, range));
    }
}

/// One channel of pixels of `group` samples.
fn pick(sums: &[u32], group: usize, offset: usize, channel: &mut [u32]) {
    for (sum, pixel) in channel.iter_mut().zip(sums.chunks_exact(group)) {
        *sum = pixel.get(offset).copied().unwrap_or_default();
    }
}

/// Fills `totals` with the pixels' sums. Ratios that occur have loops of a fixed length.
fn across(ratio: u32, unit: u32, sums: &[u32], columns: &[Coverage], totals: &mut [u32]) {
    macro_rules! by_ratio {
        ($($ratio:literal)*) => {
            match (ratio, unit) {
                $(($ratio, 1) => whole::<$ratio>(sums, totals),)*
                $(($ratio, _) => parts::<{ $ratio + 2 }>(unit, sums, columns, totals),)*
                _ => {
                    let taps = ratio as usize + 2;
                    for (out, column) in totals.iter_mut().zip(columns) {
                        let from = sums.get(column.first as usize..).unwrap_or_default();
                        *out = total(unit, from.get(..taps).unwrap_or_default(), column);
                    }
                }
            }
        };
    }
    by_ratio!(1 2 3 4 5 6 7 8 9 10 11 12 14 15 16 20 21);
}

/// Pixels that cover whole columns.
#[multiversion(targets("x86_64+avx2"))]
fn whole<const RATIO: usize>(sums: &[u32], totals: &mut [u32]) {
    for (total, columns) in totals.iter_mut().zip(sums.as_chunks::<RATIO>().0) {
        *total = columns.iter().sum();
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn parts<const TAPS: usize>(unit: u32, sums: &[u32], columns: &[Coverage], totals: &mut [u32]) {
    for (out, column) in totals.iter_mut().zip(columns) {
        let from = sums.get(column.first as usize..).and_then(|from| from.first_chunk::<TAPS>());
        if let Some(from) = from {
            *out = total(unit, from, column);
        }
    }
}

/// Adds each pixel's part of its gray level.
#[multiversion(targets("x86_64+avx2"))]
fn add_level(totals: &[u32], factor: f32, out: &mut [f32]) {
    for (out, total) in out.iter_mut().zip(totals) {
        *out += *total as f32 * factor;
    }
}

/// The weighted sum of the columns that a pixel covers, from the first on.
#[inline(always)]
fn total(unit: u32, from: &[u32], column: &Coverage) -> u32 {
    let [first, inner @ .., tail, last] = from else { return 0 };
    let whole: u32 = inner.iter().sum();
    column.head * first + unit * whole + column.tails[0] * tail + column.tails[1] * last
}

#[multiversion(targets("x86_64+avx2"))]
fn round(row: &[f32], pixels: &mut [u8]) {
    for (pixel, v) in pixels.iter_mut().zip(row) {
        *pixel = (v.min(255.0) + ROUND).to_bits() as u8;
    }
}
