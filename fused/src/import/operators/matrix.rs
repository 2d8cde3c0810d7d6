//! Products of matrices.

use super::super::call::{Call, Made};
use crate::graph::{Binary, Refusal, ValueId};

/// MatMul. A vector is a matrix of one row on the left, of one column on the right.
pub fn multiply(call: &mut Call<'_>) -> Made {
    let (mut a, mut b) = (call.input(0)?, call.input(1)?);
    call.builder.floats(a)?;
    let builder = &mut *call.builder;
    let (rank_a, rank_b) = (builder.rank(a), builder.rank(b));
    if let [inner] = *builder.dims(a) {
        a = builder.reshape(a, &[1, inner])?;
    }
    if let [inner] = *builder.dims(b) {
        b = builder.reshape(b, &[inner, 1])?;
    }
    let made = builder.multiply(a, b)?;
    let rank = builder.rank(made);
    let vectors = [(rank_a == 1).then_some(rank - 2), (rank_b == 1).then_some(rank - 1)];
    Ok(vec![builder.without(made, &vectors.into_iter().flatten().collect::<Vec<_>>())?])
}

/// Gemm: `alpha * a * b + beta * c`.
pub fn gemm(call: &mut Call<'_>) -> Made {
    let (mut a, mut b) = (call.input(0)?, call.input(1)?);
    call.builder.floats(a)?;
    if call.builder.rank(a) != 2 || call.builder.rank(b) != 2 {
        return Err(Refusal::invalid("its inputs are no matrices"));
    }
    if call.flag("transA", false) {
        a = call.builder.transpose(a, &[1, 0])?;
    }
    if call.flag("transB", false) {
        b = call.builder.transpose(b, &[1, 0])?;
    }
    // Where b is a constant, the factor is in it.
    b = scaled(call, b, "alpha")?;
    let mut made = call.builder.multiply(a, b)?;
    if let Some(c) = call.optional(2) {
        let c = scaled(call, c, "beta")?;
        made = call.builder.binary(Binary::Add, made, c)?;
    }
    Ok(vec![made])
}

/// A value times an attribute.
fn scaled(call: &mut Call<'_>, x: ValueId, name: &str) -> Result<ValueId, Refusal> {
    let factor = call.float(name, 1.0);
    if factor == 1.0 { Ok(x) } else { call.builder.with_number(Binary::Multiply, x, factor.into()) }
}
