//! Elements by index, the best ones of many, and images at places between pixels.

use super::super::number::{integer, signed};
use super::super::shape::broadcast_strides;
use super::super::{Elements, Sampling};
use super::reduce::rows;
use super::{Operand, Walk};
use crate::plan::dense_strides;

/// The elements of `x` that indices say, along an axis.
pub fn gather(x: Operand<'_>, indices: Operand<'_>, axis: usize, dims: &[usize]) -> Elements {
    let (mut dense, of_indices) = (dense_strides(x.dims), broadcast_strides(indices.dims, dims));
    let (along, length) = (std::mem::take(&mut dense[axis]).unsigned_abs(), signed(x.dims[axis]));
    let places = Walk::new(dims, &dense, 0).zip(Walk::new(dims, &of_indices, 0));
    let inside = |index: f64| {
        let index = integer(index);
        let index = if index < 0 { index.saturating_add(length) } else { index };
        usize::try_from(index.clamp(0, length - 1)).unwrap_or(0)
    };
    x.elements.pick(places.map(|(place, at)| place + inside(indices.elements.number(at)) * along))
}

/// The indices of the best elements along an axis, as many as `dims` has.
pub fn top(x: Operand<'_>, axis: usize, largest: bool, dims: &[usize]) -> Elements {
    let numbers = x.elements.numbers();
    let step: usize = dims[axis + 1..].iter().product();
    let mut made = vec![0; dims.iter().product()];
    for (row, (first, length, _)) in rows(x.dims, axis).enumerate() {
        let row_of: Vec<f64> = (0..length).map(|at| numbers[first + at * step]).collect();
        let to = row / step * step * dims[axis] + row % step;
        for (rank, index) in best(&row_of, largest).into_iter().take(dims[axis]).enumerate() {
            made[to + rank * step] = signed(index);
        }
    }
    Elements::Integers(made)
}

/// The indices of numbers, the best first; of equal ones the first one first, NaN last.
pub(crate) fn best(numbers: &[f64], largest: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (numbers[*a], numbers[*b]);
        let better = if largest { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
        better.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    });
    order
}

/// An image at places.
pub fn sample(image: Operand<'_>, places: Operand<'_>, how: Sampling, dims: &[usize]) -> Vec<f64> {
    let (numbers, at) = (image.elements.numbers(), places.elements.numbers());
    let ([channels, rows, columns], [p, q]) =
        ([1, 2, 3].map(|axis| image.dims[axis]), [2, 3].map(|axis| dims[axis]));
    let mut made = Vec::with_capacity(dims.iter().product());
    for plane in 0..dims[0] * channels {
        let pixels = &numbers[plane * rows * columns..][..rows * columns];
        for place in 0..p * q {
            let from = (plane / channels * p * q + place) * 2;
            let [x, y] = [at[from], at[from + 1]].map(super::super::number::float);
            let (x, y) = (how.pixels(x, columns), how.pixels(y, rows));
            let of_row = |row: usize| {
                let pixel = |(column, weight): &(Option<usize>, f32)| {
                    f64::from(*weight) * column.map_or(0.0, |column| pixels[row * columns + column])
                };
                x.iter().map(pixel).sum::<f64>()
            };
            made.push(y.iter().map(|(row, weight)| f64::from(*weight) * row.map_or(0.0, of_row)).sum());
        }
    }
    made
}
