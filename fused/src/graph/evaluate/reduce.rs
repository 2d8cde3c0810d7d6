//! One number of many, and numbers whose sum is 1.

use super::super::number::real_length;
use super::super::shape::broadcast_strides;
use super::super::{Binary, ReduceKind};
use super::{Operand, Walk};

/// `kind` of the elements along `axes`, which are 1 in `dims`.
pub fn reduce(x: Operand<'_>, kind: ReduceKind, axes: &[usize], dims: &[usize]) -> Vec<f64> {
    let start = match kind {
        ReduceKind::Sum | ReduceKind::Mean | ReduceKind::L2 => 0.0,
        ReduceKind::Maximum => f64::NEG_INFINITY,
        ReduceKind::Minimum => f64::INFINITY,
    };
    let mut made = vec![start; dims.iter().product()];
    let strides = broadcast_strides(dims, x.dims);
    for (value, place) in x.elements.numbers().into_iter().zip(Walk::new(x.dims, &strides, 0)) {
        let number = &mut made[place];
        *number = match kind {
            ReduceKind::Sum | ReduceKind::Mean => *number + value,
            ReduceKind::L2 => *number + value * value,
            ReduceKind::Maximum => number.max(value),
            ReduceKind::Minimum => number.min(value),
        };
    }
    let count = real_length(axes.iter().map(|axis| x.dims[*axis]).product());
    for number in &mut made {
        match kind {
            ReduceKind::Mean => *number /= count,
            ReduceKind::L2 => *number = number.sqrt(),
            ReduceKind::Sum | ReduceKind::Maximum | ReduceKind::Minimum => (),
        }
    }
    made
}

/// `(x - mean) / sqrt(variance + epsilon)` over `axes`, times a factor and plus a number, each of its element.
pub fn normalize(
    x: Operand<'_>,
    [factor, added]: [Option<Operand<'_>>; 2],
    axes: &[usize],
    epsilon: f32,
) -> Vec<f64> {
    let dims = x.dims.iter().enumerate();
    let cells: Vec<usize> = dims.map(|(axis, dim)| if axes.contains(&axis) { 1 } else { *dim }).collect();
    let count = real_length(axes.iter().map(|axis| x.dims[*axis]).product());
    let places = || Walk::new(x.dims, &broadcast_strides(&cells, x.dims), 0).collect::<Vec<_>>();
    let mut values = x.elements.numbers();
    let mean = reduce(x, ReduceKind::Mean, axes, &cells);
    let mut variance = vec![0.0; mean.len()];
    for (value, cell) in values.iter_mut().zip(places()) {
        *value -= mean[cell];
        variance[cell] += *value * *value / count;
    }
    values
        .iter_mut()
        .zip(places())
        .for_each(|(value, cell)| *value /= (variance[cell] + f64::from(epsilon)).sqrt());
    for (operand, function) in [(factor, Binary::Multiply), (added, Binary::Add)] {
        let Some(operand) = operand else { continue };
        let numbers = operand.elements.numbers();
        let strides = broadcast_strides(operand.dims, x.dims);
        for (value, place) in values.iter_mut().zip(Walk::new(x.dims, &strides, 0)) {
            *value = if function == Binary::Add { *value + numbers[place] } else { *value * numbers[place] };
        }
    }
    values
}

/// The elements along an axis, for each place of the other axes: `(first, length, step)`, in the order of the output.
pub(super) fn rows(dims: &[usize], axis: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let step: usize = dims[axis + 1..].iter().product();
    let (length, outer) = (dims[axis], dims[..axis].iter().product());
    (0..outer).flat_map(move |i: usize| (0..step).map(move |j| (i * length * step + j, length, step)))
}

/// The index of the first one of the largest elements along an axis.
pub fn arg_max(x: Operand<'_>, axis: usize) -> Vec<f64> {
    let values = x.elements.numbers();
    let largest = |(first, length, step): (usize, usize, usize)| {
        let at = |i: usize| values[first + i * step];
        (1..length).fold(0, |best, i| if at(i) > at(best) { i } else { best })
    };
    rows(x.dims, axis).map(largest).map(real_length).collect()
}

/// `e^x / sum of e^x` along an axis.
pub fn softmax(x: Operand<'_>, axis: usize) -> Vec<f64> {
    let mut values = x.elements.numbers();
    for (first, length, step) in rows(x.dims, axis) {
        let places = || (0..length).map(|i| first + i * step);
        let most = places().map(|place| values[place]).fold(f64::NEG_INFINITY, f64::max);
        places().for_each(|place| values[place] = (values[place] - most).exp());
        let sum: f64 = places().map(|place| values[place]).sum();
        places().for_each(|place| values[place] /= sum);
    }
    values
}
