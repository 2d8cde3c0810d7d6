//! Sums so far.

use super::super::call::{Call, Made};
use crate::graph::number::{integer, is_float};
use crate::graph::{Elements, Refusal, shape};
use cudainfer_kernels::tensor::TensorType;

/// CumSum: the product with a matrix that has 1 where a number is added.
pub fn running_sum(call: &mut Call<'_>) -> Made {
    /// The most numbers that are added up: the matrix has their square.
    const MOST: usize = 2048;
    let (x, dims) = (call.input(0)?, call.dims(0)?);
    let axis = call.number(1)?.map(integer).ok_or_else(|| Refusal::invalid("it has no axis"))?;
    let axis = shape::axis(axis, dims.len())?;
    let length = dims[axis];
    if length > MOST {
        return Err(Refusal::unsupported(format!("it adds up {length} numbers")));
    }
    let (is_exclusive, is_reverse) = (call.flag("exclusive", false), call.flag("reverse", false));
    let is_added = |at: usize| {
        let (from, to) = if is_reverse { (at % length, at / length) } else { (at / length, at % length) };
        from < to || from == to && !is_exclusive
    };
    let builder = &mut *call.builder;
    let ones = (0..length * length).map(|at| if is_added(at) { 1.0 } else { 0.0 }).collect();
    let ty = builder.ty(x);
    let float = if is_float(ty) { ty } else { TensorType::Float32 };
    let matrix = builder.constant(float, &[length, length], Elements::Floats(ones));
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.swap(axis, dims.len() - 1);
    let x = builder.cast(x, float)?;
    let x = builder.transpose(x, &order)?;
    let turned = builder.dims(x).to_vec();
    let rows = builder.reshape(x, &[shape::elements(&dims)? / length.max(1), length])?;
    let sums = builder.multiply(rows, matrix)?;
    let sums = builder.reshape(sums, &turned)?;
    let sums = builder.transpose(sums, &order)?;
    Ok(vec![builder.cast(sums, ty)?])
}
