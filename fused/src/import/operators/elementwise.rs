//! Arithmetic of single elements.

use super::super::call::{Call, Made};
use super::super::types;
use super::{Reader, extremum};
use crate::graph::number::is_float;
use crate::graph::{Binary, Refusal, Unary};

/// The function that reads an operator, if it is one of these.
pub fn reader(operator: &str) -> Option<Reader> {
    Some(match operator {
        "Abs" => |call| unary(call, Unary::Abs),
        "Neg" => |call| unary(call, Unary::Negate),
        "Exp" => |call| unary(call, Unary::Exp),
        "Log" => |call| unary(call, Unary::Log),
        "Sqrt" => |call| unary(call, Unary::Sqrt),
        "Reciprocal" => |call| unary(call, Unary::Reciprocal),
        "Erf" => |call| unary(call, Unary::Erf),
        "Floor" => |call| unary(call, Unary::Floor),
        "Ceil" => |call| unary(call, Unary::Ceil),
        "Round" => |call| unary(call, Unary::Round),
        "Sign" => |call| unary(call, Unary::Sign),
        "Sin" => |call| unary(call, Unary::Sin),
        "Cos" => |call| unary(call, Unary::Cos),
        "Add" => |call| binary(call, Binary::Add),
        "Sub" => |call| binary(call, Binary::Subtract),
        "Mul" => |call| binary(call, Binary::Multiply),
        "Div" => |call| binary(call, Binary::Divide),
        "PRelu" => |call| binary(call, Binary::PRelu),
        "Pow" => power,
        "Mod" => remainder,
        "Max" => |call| extremum::extremum(call, Binary::Maximum),
        "Min" => |call| extremum::extremum(call, Binary::Minimum),
        "Clip" => extremum::clip,
        "Sum" => sum,
        "Mean" => mean,
        "Identity" => identity,
        "Dropout" => dropout,
        "Cast" => cast,
        "CastLike" => cast_like,
        "Where" => select,
        _ => return None,
    })
}

/// A function of each element.
pub fn unary(call: &mut Call<'_>, function: Unary) -> Made {
    let x = call.input(0)?;
    Ok(vec![call.builder.unary(function, x)?])
}

/// A function of two tensors.
pub fn binary(call: &mut Call<'_>, function: Binary) -> Made {
    let (a, b) = (call.input(0)?, call.input(1)?);
    Ok(vec![call.builder.binary(function, a, b)?])
}

/// The exponent may have another type than the base.
fn power(call: &mut Call<'_>) -> Made {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let b = call.builder.cast(b, call.builder.ty(a))?;
    if call.builder.elements(b).and_then(crate::graph::Elements::uniform) == Some(2.0)
        && call.builder.dims(b).iter().all(|dim| *dim == 1)
        && call.builder.rank(b) <= call.builder.rank(a)
    {
        return Ok(vec![call.builder.binary(Binary::Multiply, a, a)?]);
    }
    Ok(vec![call.builder.binary(Binary::Power, a, b)?])
}

/// `a - b * floor(a / b)`, or cut off towards 0 with `fmod`.
fn remainder(call: &mut Call<'_>) -> Made {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let is_known = [a, b].iter().all(|id| call.builder.elements(*id).is_some());
    // A quotient of floats that is rounded may be the next whole number; of integers up to 2^24 it is not.
    if !is_known && is_float(call.builder.ty(a)) {
        return Err(Refusal::unsupported("its inputs are floats, and no constants"));
    }
    let quotient = call.builder.binary(Binary::Divide, a, b)?;
    let is_floored = !call.flag("fmod", false);
    let builder = &mut *call.builder;
    let whole = builder.unary(Unary::Truncate, quotient)?;
    let product = builder.binary(Binary::Multiply, whole, b)?;
    let rest = builder.binary(Binary::Subtract, a, product)?;
    if !is_floored || is_float(builder.ty(a)) {
        return Ok(vec![rest]);
    }
    // The sign of a rest that is not 0 is that of the divisor.
    let zero = builder.scalar(0.0, rest);
    let both = builder.binary(Binary::Multiply, rest, b)?;
    let differs = builder.binary(Binary::Less, both, zero)?;
    let raised = builder.binary(Binary::Add, rest, b)?;
    Ok(vec![builder.select(differs, raised, rest)?])
}

fn sum(call: &mut Call<'_>) -> Made {
    let all = call.all()?;
    Ok(vec![call.builder.chain(Binary::Add, &all)?])
}

fn mean(call: &mut Call<'_>) -> Made {
    let all = call.all()?;
    let sum = call.builder.chain(Binary::Add, &all)?;
    let count = crate::graph::number::real_length(all.len());
    Ok(vec![call.builder.with_number(Binary::Divide, sum, count)?])
}

fn identity(call: &mut Call<'_>) -> Made {
    Ok(vec![call.input(0)?])
}

/// In inference it changes nothing. The mask is not made.
fn dropout(call: &mut Call<'_>) -> Made {
    if call.constant(2)?.is_some_and(|training| training.number(0) != 0.0) {
        return Err(Refusal::unsupported("it is in training"));
    }
    identity(call)
}

fn cast(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let onnx = i32::try_from(call.int("to", 0)).unwrap_or_default();
    let is_known = call.builder.elements(x).is_some();
    let ty = if is_known { types::constant_type(onnx) } else { types::tensor_type(onnx) };
    let ty = ty.ok_or_else(|| Refusal::unsupported(format!("it casts to {}", types::name(onnx))))?;
    Ok(vec![call.builder.cast(x, ty)?])
}

fn cast_like(call: &mut Call<'_>) -> Made {
    let (x, like) = (call.input(0)?, call.input(1)?);
    Ok(vec![call.builder.cast(x, call.builder.ty(like))?])
}

fn select(call: &mut Call<'_>) -> Made {
    let (condition, yes, no) = (call.input(0)?, call.input(1)?, call.input(2)?);
    Ok(vec![call.builder.select(condition, yes, no)?])
}
