//! The larger and the smaller one of numbers.

use super::super::call::{Call, Made};
use crate::graph::number::float;
use crate::graph::{Binary, Refusal, Unary};

/// Of many tensors.
pub fn extremum(call: &mut Call<'_>, function: Binary) -> Made {
    let all = call.all()?;
    Ok(vec![call.builder.chain(function, &all)?])
}

/// Between two numbers, each of which may be missing; attributes before version 11.
pub fn clip(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let bounds = if call.opset < 11 {
        ["min", "max"].map(|name| call.float_if_there(name).map(f64::from))
    } else {
        let is_known = |slot: usize| call.optional(slot).is_none_or(|id| call.builder.elements(id).is_some());
        if !(is_known(1) && is_known(2)) {
            return clip_by_tensors(call);
        }
        [call.number(1)?, call.number(2)?]
    };
    let builder = &mut *call.builder;
    let made = match bounds {
        [None, None] => x,
        [Some(0.0), None] => builder.unary(Unary::Relu, x)?,
        [Some(low), None] => builder.with_number(Binary::Maximum, x, low)?,
        [None, Some(high)] => builder.with_number(Binary::Minimum, x, high)?,
        [Some(low), Some(high)] => {
            // As in ONNX: where they are in the wrong order, it is `high`.
            let (low, high) = (float(low.min(high)), float(high));
            builder.unary(Unary::Clip { low, high }, x)?
        }
    };
    Ok(vec![made])
}

/// Bounds that the run itself calculates.
fn clip_by_tensors(call: &mut Call<'_>) -> Made {
    let mut x = call.input(0)?;
    for (slot, function) in [(1, Binary::Maximum), (2, Binary::Minimum)] {
        if let Some(bound) = call.optional(slot) {
            if call.builder.dims(bound).iter().any(|dim| *dim != 1) {
                return Err(Refusal::invalid(format!("input {slot} is not one number")));
            }
            let bound = call.builder.reshape(bound, &[])?;
            x = call.builder.binary(function, x, bound)?;
        }
    }
    Ok(vec![x])
}
