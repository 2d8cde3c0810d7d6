//! Operators that move elements without changing them.

use super::super::shape::broadcast_strides;
use super::super::{Elements, PadMode};
use super::{Operand, Walk};
use crate::plan::dense_strides;

/// Axes in another order.
pub fn transpose(x: Operand<'_>, order: &[usize], dims: &[usize]) -> Elements {
    let dense = dense_strides(x.dims);
    let strides: Vec<isize> = order.iter().map(|axis| dense[*axis]).collect();
    x.elements.pick(Walk::new(dims, &strides, 0))
}

/// Elements at even distances.
pub fn slice(x: Operand<'_>, starts: &[usize], steps: &[isize], dims: &[usize]) -> Elements {
    let dense = dense_strides(x.dims);
    let strides: Vec<isize> = dense.iter().zip(steps).map(|(stride, step)| stride * step).collect();
    let offset = dense.iter().zip(starts).map(|(stride, start)| stride * start.cast_signed()).sum();
    x.elements.pick(Walk::new(dims, &strides, offset))
}

/// The same elements along new dimensions.
pub fn expand(x: Operand<'_>, dims: &[usize]) -> Elements {
    x.elements.pick(Walk::new(dims, &broadcast_strides(x.dims, dims), 0))
}

/// Tensors one after another.
pub fn concat(operands: &[Operand<'_>], axis: usize, dims: &[usize]) -> Elements {
    let outer: usize = dims[..axis].iter().product();
    let mut joined = operands.first().map_or(Elements::Floats(Vec::new()), |first| first.elements.pick(0..0));
    for row in 0..outer {
        for operand in operands {
            let length: usize = operand.dims[axis..].iter().product();
            joined.extend(&operand.elements.pick(row * length..(row + 1) * length));
        }
    }
    joined
}

/// One of two elements.
pub fn select(condition: Operand<'_>, yes: Operand<'_>, no: Operand<'_>, dims: &[usize]) -> Elements {
    let [of_condition, of_yes, of_no] =
        [condition, yes, no].map(|operand| broadcast_strides(operand.dims, dims));
    let places = Walk::new(dims, &of_yes, 0).zip(Walk::new(dims, &of_no, 0));
    let mut both = yes.elements.clone();
    both.extend(no.elements);
    let first_no = yes.elements.len();
    let chosen = Walk::new(dims, &of_condition, 0).zip(places).map(|(condition_at, (yes_at, no_at))| {
        if condition.elements.number(condition_at) == 0.0 { first_no + no_at } else { yes_at }
    });
    both.pick(chosen)
}

/// With a border.
pub fn pad(x: Operand<'_>, before: &[isize], mode: PadMode, dims: &[usize]) -> Elements {
    let strides = dense_strides(x.dims);
    // For each axis, where each element of the output lies in the input.
    let sources: Vec<Vec<Option<isize>>> = (0..dims.len())
        .map(|axis| {
            let length = x.dims[axis].cast_signed();
            let source = |at: usize| inside(at.cast_signed() - before[axis], length, mode);
            (0..dims[axis]).map(|at| source(at).map(|source| source * strides[axis])).collect()
        })
        .collect();
    let own = dense_strides(dims);
    let places = (0..dims.iter().product()).map(|index: usize| {
        let offsets = sources.iter().zip(&own).map(|(source, stride)| {
            let at = index / stride.unsigned_abs() % source.len();
            source[at]
        });
        offsets.sum::<Option<isize>>().map(isize::cast_unsigned)
    });
    let outside = if let PadMode::Constant(value) = mode { value } else { 0.0 };
    x.elements.pick_or(places, outside)
}

/// Which element of a row of this length is at a place that may be outside of it.
fn inside(at: isize, length: isize, mode: PadMode) -> Option<isize> {
    let is_inside = (0..length).contains(&at);
    match mode {
        PadMode::Constant(_) => is_inside.then_some(at),
        PadMode::Edge => Some(at.clamp(0, length - 1)),
        PadMode::Reflect if length == 1 => Some(0),
        PadMode::Reflect => {
            let folded = at.rem_euclid(2 * (length - 1));
            Some(folded.min(2 * (length - 1) - folded))
        }
    }
}
