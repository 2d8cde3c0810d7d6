//! Integers that stand for floats: constants alone.

use super::super::call::{Call, Made};
use crate::graph::{Binary, Refusal, Unary, ValueId, shape};
use cudainfer_kernels::tensor::TensorType;

/// DequantizeLinear: `(x - zero point) * scale`.
pub fn dequantize(call: &mut Call<'_>) -> Made {
    let (x, scale, zero) = parts(call)?;
    let builder = &mut *call.builder;
    let mut numbers = builder.cast(x, TensorType::Float32)?;
    if let Some(zero) = zero {
        let zero = builder.cast(zero, TensorType::Float32)?;
        numbers = builder.binary(Binary::Subtract, numbers, zero)?;
    }
    let numbers = builder.cast(numbers, builder.ty(scale))?;
    Ok(vec![builder.binary(Binary::Multiply, numbers, scale)?])
}

/// QuantizeLinear: the nearest integer to `x / scale + zero point` that the type of the zero point (uint8 without one) holds.
pub fn quantize(call: &mut Call<'_>) -> Made {
    let (x, scale, zero) = parts(call)?;
    let builder = &mut *call.builder;
    let ty = zero.map_or(TensorType::UInt8, |zero| builder.ty(zero));
    let (low, high) = match ty {
        TensorType::UInt8 => (0.0, 255.0),
        TensorType::Int8 => (-128.0, 127.0),
        other => return Err(Refusal::unsupported(format!("its output is {other}"))),
    };
    let quotient = builder.binary(Binary::Divide, x, scale)?;
    let mut whole = builder.unary(Unary::Round, quotient)?;
    if let Some(zero) = zero {
        let zero = builder.cast(zero, builder.ty(whole))?;
        whole = builder.binary(Binary::Add, whole, zero)?;
    }
    let held = builder.unary(Unary::Clip { low, high }, whole)?;
    Ok(vec![builder.cast(held, ty)?])
}

/// The constants of either: the tensor, the scale and the zero point, which are broadcast along it.
fn parts(call: &mut Call<'_>) -> Result<(ValueId, ValueId, Option<ValueId>), Refusal> {
    let (x, scale, zero) = (call.input(0)?, call.input(1)?, call.optional(2));
    let all = [Some(x), Some(scale), zero];
    if all.iter().flatten().any(|id| call.builder.elements(*id).is_none()) {
        return Err(Refusal::unsupported("its inputs are no constants"));
    }
    if call.int("block_size", 0) != 0 {
        return Err(Refusal::unsupported("block_size is set"));
    }
    let rank = call.builder.rank(x);
    let axis = if rank == 0 { 0 } else { shape::axis(call.int("axis", 1), rank).unwrap_or(0) };
    let mut spread = |id: ValueId| match *call.builder.dims(id) {
        [] => Ok(id),
        [length] => {
            let mut dims = vec![1; rank - axis];
            if let Some(first) = dims.first_mut() {
                *first = length;
            }
            call.builder.reshape(id, &dims)
        }
        _ => Err(Refusal::unsupported("its scale has several dimensions")),
    };
    let scale = spread(scale)?;
    Ok((x, scale, zero.map(spread).transpose()?))
}
