//! Convolutions.

use cudainfer_kernels::tensor::TensorType;

use super::super::number::float;
use super::super::{Elements, Window};
use super::Operand;

/// The places of a row that a tap meets: outputs, and the input of the first of them.
fn met(
    length: usize,
    outputs: usize,
    window: &Window,
    axis: usize,
    tap: usize,
) -> (std::ops::Range<usize>, usize) {
    let stride = window.strides[axis].cast_signed();
    let shift = (tap * window.dilations[axis]).cast_signed() - window.begin[axis];
    // 0 <= output * stride + shift < length
    let first = (-shift).max(0).cast_unsigned().div_ceil(window.strides[axis]).min(outputs);
    let last = length.cast_signed() - 1 - shift;
    let end = if last < 0 { 0 } else { (last / stride).cast_unsigned() + 1 };
    let end = end.min(outputs).max(first);
    (first..end, (first.cast_signed() * stride + shift).max(0).cast_unsigned())
}

/// `[N, C, H, W]`, `[K, C / groups, R, S]` and `[K]` to `[N, K, P, Q]`.
pub fn convolution(
    [image, weights]: [Operand<'_>; 2],
    bias: Option<Operand<'_>>,
    window: &Window,
    groups: usize,
    dims: &[usize],
) -> Vec<f64> {
    let (pixels, taps) = (image.elements.numbers(), weights.elements.numbers());
    let [_, channels, rows, columns] = four(image.dims);
    let [batch, outputs, out_rows, out_columns] = four(dims);
    let [_, of_group, taps_down, taps_across] = four(weights.dims);
    let mut sums = Vec::with_capacity(dims.iter().product());
    for (n, k) in pairs(batch, outputs) {
        let start = bias.map_or(0.0, |bias| bias.elements.number(k));
        let mut plane = vec![start; out_rows * out_columns];
        let first = k / (outputs / groups) * of_group;
        for c in 0..of_group {
            let source = &pixels[(n * channels + first + c) * rows * columns..][..rows * columns];
            for (r, s) in pairs(taps_down, taps_across) {
                let tap = taps[((k * of_group + c) * taps_down + r) * taps_across + s];
                let (down, mut y) = met(rows, out_rows, window, 0, r);
                let (across, x) = met(columns, out_columns, window, 1, s);
                for p in down {
                    let row = &mut plane[p * out_columns..][across.clone()];
                    let read = source.get(y * columns + x..).unwrap_or_default().iter();
                    for (sum, pixel) in row.iter_mut().zip(read.step_by(window.strides[1])) {
                        *sum += tap * pixel;
                    }
                    y += window.strides[0];
                }
            }
        }
        sums.extend(plane);
    }
    sums
}

/// Integers without what stands for 0.
pub fn shifted(integers: &Elements, zero: i16) -> Elements {
    Elements::of_numbers(
        &integers.numbers().into_iter().map(|integer| integer - f64::from(zero)).collect::<Vec<_>>(),
        TensorType::Int32,
    )
}

/// Sums of integers `[N, K, P, Q]` times `[K]`, plus `[K]`: each of the three is rounded to float32, as the kernels do. Which integers are
/// made of the results depends on it.
pub fn scaled(sums: &[f64], scales: Operand<'_>, bias: Option<Operand<'_>>, dims: &[usize]) -> Vec<f64> {
    let [_, outputs, rows, columns] = four(dims);
    let rounded = |number: f64| f64::from(float(number));
    let of_channel = |(plane, sums): (usize, &[f64])| {
        let scale = scales.elements.number(plane % outputs);
        let bias = bias.map(|bias| bias.elements.number(plane % outputs));
        let number = move |sum: &f64| {
            let product = rounded(rounded(*sum) * scale);
            bias.map_or(product, |bias| rounded(product + bias))
        };
        sums.iter().map(number).collect::<Vec<_>>()
    };
    sums.chunks((rows * columns).max(1)).enumerate().flat_map(of_channel).collect()
}

/// `[N, C, H, W]`, `[C, K / groups, R, S]` and `[K]` to `[N, K, P, Q]`: each cell is spread over where a convolution of the same window
/// would read.
pub fn transposed(
    [image, weights]: [Operand<'_>; 2],
    bias: Option<Operand<'_>>,
    window: &Window,
    groups: usize,
    dims: &[usize],
) -> Vec<f64> {
    let (pixels, taps) = (image.elements.numbers(), weights.elements.numbers());
    let [_, channels, rows, columns] = four(image.dims);
    let [batch, outputs, out_rows, out_columns] = four(dims);
    let [_, of_group, taps_down, taps_across] = four(weights.dims);
    let mut sums = Vec::with_capacity(dims.iter().product());
    for (n, k) in pairs(batch, outputs) {
        let start = bias.map_or(0.0, |bias| bias.elements.number(k));
        let mut plane = vec![start; out_rows * out_columns];
        let first = k / of_group * (channels / groups);
        for c in first..first + channels / groups {
            let source = &pixels[(n * channels + c) * rows * columns..][..rows * columns];
            for (r, s) in pairs(taps_down, taps_across) {
                let tap = taps[((c * of_group + k % of_group) * taps_down + r) * taps_across + s];
                let (down, mut y) = met(out_rows, rows, window, 0, r);
                let (across, x) = met(out_columns, columns, window, 1, s);
                for p in down {
                    let row = &source[p * columns..][across.clone()];
                    let written = plane.get_mut(y * out_columns + x..).unwrap_or_default().iter_mut();
                    for (pixel, sum) in row.iter().zip(written.step_by(window.strides[1])) {
                        *sum += tap * pixel;
                    }
                    y += window.strides[0];
                }
            }
        }
        sums.extend(plane);
    }
    sums
}

/// Four dimensions; 0 where there are fewer.
pub fn four(dims: &[usize]) -> [usize; 4] {
    let mut four = [0; 4];
    for (to, from) in four.iter_mut().zip(dims) {
        *to = *from;
    }
    four
}

/// All pairs of numbers below two.
pub fn pairs(one: usize, other: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..one).flat_map(move |i| (0..other).map(move |j| (i, j)))
}
