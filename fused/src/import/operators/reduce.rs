//! One number of many, and numbers whose sum is 1.

use super::super::call::{Call, Made};
use crate::graph::{Binary, ReduceKind, Refusal, Unary, ValueId, shape};

/// ReduceSum, ReduceMean, ... Axes are an attribute up to version 17, up to 12 of ReduceSum.
pub fn reduce(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let operator = call.node.operator.as_str();
    let axes = call.axes(1, if operator == "ReduceSum" { 12 } else { 17 })?.unwrap_or_default();
    let all = axes.is_empty() && !call.flag("noop_with_empty_axes", false);
    let axes =
        if all { (0..call.builder.rank(x)).collect() } else { shape::axes(&axes, call.builder.rank(x))? };
    let keep = call.flag("keepdims", true);
    let builder = &mut *call.builder;
    let made = match operator {
        "ReduceSum" => builder.reduce(ReduceKind::Sum, x, &axes, keep)?,
        "ReduceMean" => builder.reduce(ReduceKind::Mean, x, &axes, keep)?,
        "ReduceMax" => builder.reduce(ReduceKind::Maximum, x, &axes, keep)?,
        "ReduceMin" => builder.reduce(ReduceKind::Minimum, x, &axes, keep)?,
        "ReduceL2" => builder.reduce(ReduceKind::L2, x, &axes, keep)?,
        "ReduceL1" => {
            let sizes = builder.unary(Unary::Abs, x)?;
            builder.reduce(ReduceKind::Sum, sizes, &axes, keep)?
        }
        "ReduceSumSquare" => {
            let squares = builder.binary(Binary::Multiply, x, x)?;
            builder.reduce(ReduceKind::Sum, squares, &axes, keep)?
        }
        "ReduceLogSum" => {
            let sum = builder.reduce(ReduceKind::Sum, x, &axes, keep)?;
            builder.unary(Unary::Log, sum)?
        }
        "ReduceLogSumExp" => {
            let log = log_of_sum(call, x, &axes)?;
            if keep { log } else { call.builder.without(log, &axes)? }
        }
        _ => product(call, x, &axes, keep)?,
    };
    Ok(vec![made])
}

/// The logarithm of the sum of `e^x`: of differences from the largest one, as the others may be infinite.
fn log_of_sum(call: &mut Call<'_>, x: ValueId, axes: &[usize]) -> Result<ValueId, Refusal> {
    let builder = &mut *call.builder;
    let most = builder.reduce(ReduceKind::Maximum, x, axes, true)?;
    let differences = builder.binary(Binary::Subtract, x, most)?;
    let powers = builder.unary(Unary::Exp, differences)?;
    let sum = builder.reduce(ReduceKind::Sum, powers, axes, true)?;
    let log = builder.unary(Unary::Log, sum)?;
    builder.binary(Binary::Add, log, most)
}

/// Of a few numbers, as dimensions are.
fn product(call: &mut Call<'_>, x: ValueId, axes: &[usize], keep: bool) -> Result<ValueId, Refusal> {
    const MOST: usize = 64;
    let mut made = x;
    for axis in axes {
        let length = call.builder.dims(x)[*axis];
        if !(1..=MOST).contains(&length) {
            return Err(Refusal::unsupported(format!("it multiplies {length} numbers")));
        }
        let parts = (0..length).map(|at| call.builder.slice_axis(made, *axis, at, 1, 1));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        made = call.builder.chain(Binary::Multiply, &parts)?;
    }
    if keep { Ok(made) } else { call.builder.without(made, axes) }
}

/// ArgMax and ArgMin.
pub fn index(call: &mut Call<'_>) -> Made {
    if call.flag("select_last_index", false) {
        return Err(Refusal::unsupported("select_last_index is set"));
    }
    let mut x = call.input(0)?;
    let axis = call.axis(0, call.builder.rank(x))?;
    let keep = call.flag("keepdims", true);
    if call.node.operator == "ArgMin" {
        x = call.builder.unary(Unary::Negate, x)?;
    }
    Ok(vec![call.builder.arg_max(x, axis, keep)?])
}

/// Softmax and LogSoftmax; before version 13 along all axes from one on.
pub fn softmax(call: &mut Call<'_>) -> Made {
    let mut x = call.input(0)?;
    call.builder.floats(x)?;
    let dims = call.dims(0)?;
    let mut axis = call.axis(if call.opset < 13 { 1 } else { -1 }, dims.len())?;
    if call.opset < 13 {
        let (outer, inner) = dims.split_at(axis);
        x = call.builder.reshape(x, &[outer.iter().product(), inner.iter().product()])?;
        axis = 1;
    }
    let made = if call.node.operator == "LogSoftmax" {
        let log = log_of_sum(call, x, &[axis])?;
        call.builder.binary(Binary::Subtract, x, log)?
    } else {
        call.builder.softmax(x, axis)?
    };
    Ok(vec![call.builder.reshape(made, &dims)?])
}
