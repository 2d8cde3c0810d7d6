//! Functions of single elements.

use std::cmp::Ordering;

use cudainfer_kernels::tensor::TensorType;

use super::super::number::{float, integer, is_float, real, wrapped};
use super::super::shape::broadcast_strides;
use super::super::{Binary, Elements, Quantization, Unary};
use super::erf::erf;
use super::{Operand, Walk};

/// A function of each element.
pub fn unary(function: Unary, x: Operand<'_>, ty: TensorType) -> Elements {
    if let Elements::Integers(values) = x.elements
        && let Some(function) = whole(function)
    {
        return Elements::Integers(values.iter().map(|value| wrapped(function(*value), ty)).collect());
    }
    let numbers: Vec<f64> =
        x.elements.numbers().into_iter().map(|value| of_number(function, value)).collect();
    Elements::of_numbers(&numbers, ty)
}

/// The functions that give integers of integers, in int64: float64 does not hold all of them.
fn whole(function: Unary) -> Option<fn(i64) -> i64> {
    Some(match function {
        Unary::Abs => i64::wrapping_abs,
        Unary::Negate => i64::wrapping_neg,
        Unary::Relu => |x| x.max(0),
        Unary::Sign => i64::signum,
        Unary::Not => |x| i64::from(x == 0),
        Unary::Floor | Unary::Ceil | Unary::Round | Unary::Truncate => |x| x,
        _ => return None,
    })
}

/// A function of a number.
pub fn of_number(function: Unary, x: f64) -> f64 {
    match function {
        Unary::Abs => x.abs(),
        Unary::Negate => -x,
        Unary::Exp => x.exp(),
        Unary::Log => x.ln(),
        Unary::Sqrt => x.sqrt(),
        Unary::Reciprocal => 1.0 / x,
        Unary::Erf => erf(x),
        Unary::Sigmoid => sigmoid(x),
        Unary::Tanh => x.tanh(),
        Unary::Relu => x.max(0.0),
        Unary::LeakyRelu { slope } => {
            if x > 0.0 {
                x
            } else {
                f64::from(slope) * x
            }
        }
        Unary::Elu { alpha } => {
            if x > 0.0 {
                x
            } else {
                f64::from(alpha) * x.exp_m1()
            }
        }
        Unary::Softplus => softplus(x),
        Unary::Silu => x * sigmoid(x),
        Unary::Mish => x * softplus(x).tanh(),
        Unary::Gelu => x / 2.0 * (1.0 + erf(x / std::f64::consts::SQRT_2)),
        Unary::GeluTanh => {
            let inner = std::f64::consts::FRAC_2_PI.sqrt() * (x + 0.044_715 * x.powi(3));
            x / 2.0 * (1.0 + inner.tanh())
        }
        Unary::HardSigmoid { slope, offset } => (f64::from(slope) * x + f64::from(offset)).clamp(0.0, 1.0),
        Unary::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Unary::Clip { low, high } => x.min(high.into()).max(low.into()),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round_ties_even(),
        Unary::Truncate => x.trunc(),
        Unary::Sign => {
            if x == 0.0 {
                x
            } else {
                x.signum()
            }
        }
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Not => f64::from(u8::from(x == 0.0)),
        Unary::Quantize(by) => quantized(by, x),
        Unary::Dequantize(by) => (x - f64::from(by.zero)) * f64::from(by.scale),
    }
}

/// The quotient is rounded to float32 first, as ONNX Runtime and the kernels do: which integer is the nearest depends on it.
fn quantized(by: Quantization, x: f64) -> f64 {
    let quotient = f64::from(float(x / f64::from(by.scale)));
    let [low, high] = by.bounds().map(f64::from);
    (quotient.round_ties_even() + f64::from(by.zero)).max(low).min(high)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    // e^x of large numbers is infinite.
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// A function of two tensors, element by element.
pub fn binary(function: Binary, a: Operand<'_>, b: Operand<'_>, ty: TensorType, dims: &[usize]) -> Elements {
    let strides = [a, b].map(|operand| broadcast_strides(operand.dims, dims));
    let places = Walk::new(dims, &strides[0], 0).zip(Walk::new(dims, &strides[1], 0));
    if let (Elements::Integers(a), Elements::Integers(b)) = (a.elements, b.elements)
        && !is_float(ty)
    {
        let each = |(i, j): (usize, usize)| wrapped(of_integers(function, a[i], b[j]), ty);
        return Elements::Integers(places.map(each).collect());
    }
    let each = |(i, j)| of_numbers(function, a.elements.number(i), b.elements.number(j));
    Elements::of_numbers(&places.map(each).collect::<Vec<_>>(), ty)
}

/// A function of two numbers.
pub fn of_numbers(function: Binary, a: f64, b: f64) -> f64 {
    match function {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Power => a.powf(b),
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::PRelu => {
            if a > 0.0 {
                a
            } else {
                a * b
            }
        }
        Binary::And => f64::from(u8::from(a != 0.0 && b != 0.0)),
        Binary::Or => f64::from(u8::from(a != 0.0 || b != 0.0)),
        comparison => f64::from(u8::from(compares(comparison, a.partial_cmp(&b)))),
    }
}

/// A function of two integers.
fn of_integers(function: Binary, a: i64, b: i64) -> i64 {
    match function {
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide => a.checked_div(b).unwrap_or(0),
        Binary::Power => integer(real(a).powf(real(b))),
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::PRelu => {
            if a > 0 {
                a
            } else {
                a.wrapping_mul(b)
            }
        }
        Binary::And => i64::from(a != 0 && b != 0),
        Binary::Or => i64::from(a != 0 || b != 0),
        comparison => i64::from(compares(comparison, Some(a.cmp(&b)))),
    }
}

/// Whether a comparison holds, of numbers in this order: none where one is no number.
fn compares(comparison: Binary, order: Option<Ordering>) -> bool {
    match comparison {
        Binary::Greater => order.is_some_and(Ordering::is_gt),
        Binary::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        Binary::Less => order.is_some_and(Ordering::is_lt),
        Binary::LessOrEqual => order.is_some_and(Ordering::is_le),
        _ => order.is_some_and(Ordering::is_eq),
    }
}
