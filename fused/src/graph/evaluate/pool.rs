//! One number of a window.

use super::super::number::real_length;
use super::super::{PoolKind, Window};
use super::Operand;
use super::convolution::{four, pairs};

/// `[N, C, H, W]` to `[N, C, P, Q]`.
pub fn pool(x: Operand<'_>, kind: PoolKind, window: &Window, dims: &[usize]) -> Vec<f64> {
    let [_, _, rows, columns] = four(x.dims);
    let [batch, channels, out_rows, out_columns] = four(dims);
    let pixels = x.elements.numbers();
    let mut made = Vec::with_capacity(dims.iter().product());
    for plane in pixels.chunks((rows * columns).max(1)).take(batch * channels) {
        for (p, q) in pairs(out_rows, out_columns) {
            let down = taps(window, 0, p, rows);
            let across = taps(window, 1, q, columns);
            let met = || down.iter().flat_map(|y| across.iter().map(move |x| plane[y * columns + x]));
            made.push(match kind {
                PoolKind::Maximum => met().fold(f64::NEG_INFINITY, f64::max),
                PoolKind::Average { count_padding: true } => {
                    met().sum::<f64>() / real_length(window.kernel[0] * window.kernel[1])
                }
                PoolKind::Average { count_padding: false } => {
                    met().sum::<f64>() / real_length(down.len() * across.len())
                }
            });
        }
    }
    made
}

/// The cells of a row of this length that the window of an output meets.
fn taps(window: &Window, axis: usize, output: usize, length: usize) -> Vec<usize> {
    let first = (output * window.strides[axis]).cast_signed() - window.begin[axis];
    let all = (0..window.kernel[axis]).map(|tap| first + (tap * window.dilations[axis]).cast_signed());
    all.filter_map(|cell| usize::try_from(cell).ok().filter(|cell| *cell < length)).collect()
}
