//! Pooling.

use super::super::call::{Call, Made};
use super::convolution::{with_rows, without_rows};
use super::window;
use crate::graph::{PadMode, PoolKind, ReduceKind, Refusal, Window};

/// MaxPool. The places of the largest elements are not made.
pub fn maximum(call: &mut Call<'_>) -> Made {
    if call.is_read(1) {
        return Err(Refusal::unsupported("its output Indices is read"));
    }
    pool(call, PoolKind::Maximum)
}

/// AveragePool.
pub fn average(call: &mut Call<'_>) -> Made {
    let count_padding = call.flag("count_include_pad", false);
    pool(call, PoolKind::Average { count_padding })
}

fn pool(call: &mut Call<'_>, kind: PoolKind) -> Made {
    let axes = call.dims(0)?.len().saturating_sub(2);
    let attributes = window::read(call, axes, None)?;
    let mut x = with_rows(call, 0)?;
    let image = [call.builder.dims(x)[2], call.builder.dims(x)[3]];
    let mut window = attributes.over(image);
    let (mut kind, own) = (kind, window);
    if call.flag("ceil_mode", false) {
        window = ceiled(window, image);
    }
    if kind == (PoolKind::Average { count_padding: true }) && window != own {
        // Cells of the padding count, those of a window that goes beyond it do not.
        let pads = |[rows, columns]: [isize; 2]| [0, 0, rows, columns];
        x = call.builder.pad(x, &pads(own.begin), &pads(own.end), PadMode::Constant(0.0))?;
        let end = [0, 1].map(|axis| window.end[axis] - own.end[axis]);
        window = Window { begin: [0, 0], end, ..window };
        kind = PoolKind::Average { count_padding: false };
    }
    let pooled = call.builder.pool(x, kind, window)?;
    Ok(vec![without_rows(call, pooled, axes)?])
}

/// With an end so far out that the last output is there as well, if its window begins in the image or in the padding before it.
fn ceiled(mut window: Window, image: [usize; 2]) -> Window {
    for (axis, length) in image.into_iter().enumerate() {
        let (length, stride) = (length.cast_signed(), window.strides[axis].cast_signed());
        let extent = window.extent(axis).cast_signed();
        let room = (length + window.begin[axis] + window.end[axis] - extent).max(0);
        let mut last = (room + stride - 1).div_euclid(stride);
        if last * stride >= length + window.begin[axis] {
            last -= 1;
        }
        let end = last * stride + extent - length - window.begin[axis];
        window.end[axis] = window.end[axis].max(end);
    }
    window
}

/// GlobalMaxPool and GlobalAveragePool.
pub fn global(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let axes: Vec<usize> = (2..call.builder.rank(x)).collect();
    let kind = if call.node.operator == "GlobalMaxPool" { ReduceKind::Maximum } else { ReduceKind::Mean };
    Ok(vec![call.builder.reduce(kind, x, &axes, true)?])
}
