//! Sources of maps that read several elements, or other ones: resized, padded, pooled tensors.

use super::{index, places};
use crate::graph::{Coordinates, PadMode, PoolKind, ResizeMode, Rounding, Sampling, Window};

/// For each place along an axis, which old samples make the new one, and by which weights.
pub(super) type Table = Vec<Vec<(usize, f32)>>;

/// The tables of all axes. Coordinates are computed in float32, as ONNX Runtime does: whether a sample is the nearest one may depend on
/// the last bit.
pub(super) fn resized(
    mode: ResizeMode,
    coordinates: Coordinates,
    scales: &[f32],
    old: &[usize],
    new: &[usize],
) -> Vec<Table> {
    let axes = 0..old.len();
    axes.map(|axis| {
        (0..new[axis])
            .map(|x| {
                if scales[axis] == 1.0 && old[axis] == new[axis] {
                    return vec![(x, 1.0)];
                }
                samples(mode, coordinate(coordinates, x, scales[axis], old[axis], new[axis]), old[axis])
            })
            .collect()
    })
    .collect()
}

/// Where the new sample `x` lies among the old ones.
fn coordinate(coordinates: Coordinates, x: usize, scale: f32, old: usize, new: usize) -> f32 {
    let at = x as f32;
    match coordinates {
        Coordinates::PytorchHalfPixel | Coordinates::AlignCorners if new == 1 => 0.0,
        Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (at + 0.5) / scale - 0.5,
        Coordinates::Asymmetric => at / scale,
        Coordinates::AlignCorners => at * (old - 1) as f32 / (new - 1) as f32,
    }
}

/// Which of `count` samples make the one at `at`, and by which weights. Those outside are the outermost ones.
fn samples(mode: ResizeMode, at: f32, count: usize) -> Vec<(usize, f32)> {
    let last = count - 1;
    // Negative numbers become 0 (Rust's `as`).
    let inside = |at: f32| (at as usize).min(last);
    match mode {
        ResizeMode::Nearest(rounding) => {
            let nearest = match rounding {
                Rounding::PreferFloor => (at - 0.5).ceil(),
                Rounding::PreferCeil => at.round(),
                Rounding::Floor => at.floor(),
                Rounding::Ceil => at.ceil(),
            };
            vec![(inside(nearest), 1.0)]
        }
        ResizeMode::Linear => {
            let at = at.clamp(0.0, last as f32);
            let part = at - at.floor();
            vec![(inside(at), 1.0 - part), (inside(at + 1.0), part)]
        }
        ResizeMode::Cubic { a } => {
            let part = at - at.floor();
            let near = |t: f32| ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0;
            let far = |t: f32| ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a;
            let weights = [far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)];
            (-1_i8..3).map(|step| inside(at.floor() + f32::from(step))).zip(weights).collect()
        }
    }
}

/// The new sample at a place: all combinations of the axes' samples.
pub(super) fn mix(tables: &[Table], tensor: &[f32], dims: &[usize], at: &[usize]) -> f32 {
    let samples: Vec<&Vec<(usize, f32)>> = tables.iter().zip(at).map(|(table, at)| &table[*at]).collect();
    let counts: Vec<usize> = samples.iter().map(|samples| samples.len()).collect();
    let mut sum = 0.0;
    for choice in places(&counts) {
        let chosen: Vec<(usize, f32)> =
            samples.iter().zip(&choice).map(|(samples, choice)| samples[*choice]).collect();
        let from: Vec<usize> = chosen.iter().map(|(from, _)| *from).collect();
        let weight: f64 = chosen.iter().map(|(_, weight)| f64::from(*weight)).product();
        sum += weight * f64::from(tensor[index(dims, &from)]);
    }
    sum as f32
}

/// The element at a place of the padded tensor.
pub(super) fn padded(mode: PadMode, before: &[isize], tensor: &[f32], dims: &[usize], at: &[usize]) -> f32 {
    let mut from = Vec::new();
    for ((at, before), dim) in at.iter().zip(before).zip(dims) {
        let (cell, last) = (at.cast_signed() - before, dim.cast_signed() - 1);
        let inside = match mode {
            PadMode::Constant(value) if cell < 0 || cell > last => return value,
            PadMode::Constant(_) => cell,
            PadMode::Edge => cell.clamp(0, last),
            // It is there and back again over 2 * last cells.
            PadMode::Reflect if last == 0 => 0,
            PadMode::Reflect => last - (last - cell.rem_euclid(2 * last)).abs(),
        };
        from.push(inside.unsigned_abs());
    }
    tensor[index(dims, &from)]
}

/// Which of `length` elements an index means: negative ones count from the end, those outside mean the nearest.
pub(super) fn chosen(index: f32, length: usize) -> usize {
    let length = length as f32;
    let index = if index < 0.0 { index + length } else { index };
    index.clamp(0.0, length - 1.0) as usize
}

/// An image at a place between its pixels, for the map's place `at`.
pub(super) fn sampled(
    how: Sampling,
    tensor: &[f32],
    dims: &[usize],
    at: &[usize],
    (x, y): (f32, f32),
) -> f32 {
    let columns = how.pixels(x, dims[3]);
    let of_row = |row: usize| {
        let pixel = |(column, weight): &(Option<usize>, f32)| {
            let pixel = |column| f64::from(tensor[index(dims, &[at[0], at[1], row, column])]);
            f64::from(*weight) * column.map_or(0.0, pixel)
        };
        columns.iter().map(pixel).sum::<f64>()
    };
    let rows = how.pixels(y, dims[2]).into_iter();
    rows.map(|(row, weight)| f64::from(weight) * row.map_or(0.0, of_row)).sum::<f64>() as f32
}

/// A number of the window at a place. An average that counts the padding counts the cells up to `begin` before the first and `end` after
/// the last one; windows that reach still farther (ONNX's `ceil_mode`) have fewer.
pub(super) fn pooled(kind: PoolKind, window: &Window, tensor: &[f32], dims: &[usize], at: &[usize]) -> f32 {
    let (mut largest, mut sum, mut count, mut padding) = (f32::NEG_INFINITY, 0.0, 0.0, 0.0);
    for r in 0..window.kernel[0] {
        for s in 0..window.kernel[1] {
            match (window.cell(0, at[2], r, dims[2]), window.cell(1, at[3], s, dims[3])) {
                (Some(y), Some(x)) => {
                    let cell = tensor[index(dims, &[at[0], at[1], y, x])];
                    largest = largest.max(cell);
                    sum += f64::from(cell);
                    count += 1.0;
                }
                _ if window.is_padding(0, at[2], r, dims[2]) && window.is_padding(1, at[3], s, dims[3]) => {
                    padding += 1.0;
                }
                _ => {}
            }
        }
    }
    match kind {
        PoolKind::Maximum => largest,
        PoolKind::Average { count_padding: true } => (sum / (count + padding)) as f32,
        PoolKind::Average { count_padding: false } => (sum / count) as f32,
    }
}
