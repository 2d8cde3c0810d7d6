//! Functions that follow a layer.

use super::super::call::{Call, Made};
use super::Reader;
use super::elementwise::unary;
use crate::graph::{Binary, Refusal, Unary};

/// The function that reads an operator, if it is one of these.
pub fn reader(operator: &str) -> Option<Reader> {
    Some(match operator {
        "Relu" => |call| unary(call, Unary::Relu),
        "Sigmoid" => |call| unary(call, Unary::Sigmoid),
        "Tanh" => |call| unary(call, Unary::Tanh),
        "Softplus" => |call| unary(call, Unary::Softplus),
        "Mish" => |call| unary(call, Unary::Mish),
        "HardSwish" => |call| unary(call, Unary::HardSwish),
        "LeakyRelu" => |call| unary(call, Unary::LeakyRelu { slope: call.float("alpha", 0.01) }),
        "Elu" => |call| unary(call, Unary::Elu { alpha: call.float("alpha", 1.0) }),
        "HardSigmoid" => hard_sigmoid,
        "Softsign" => softsign,
        "Selu" => selu,
        "Celu" => celu,
        "ThresholdedRelu" => thresholded,
        "Shrink" => shrink,
        "Gelu" => gelu,
        "Swish" => |call| swish(call, "alpha", 1.0),
        _ => return None,
    })
}

fn hard_sigmoid(call: &mut Call<'_>) -> Made {
    let (slope, offset) = (call.float("alpha", 0.2), call.float("beta", 0.5));
    unary(call, Unary::HardSigmoid { slope, offset })
}

/// `x / (1 + |x|)`.
fn softsign(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let builder = &mut *call.builder;
    let size = builder.unary(Unary::Abs, x)?;
    let divisor = builder.with_number(Binary::Add, size, 1.0)?;
    Ok(vec![builder.binary(Binary::Divide, x, divisor)?])
}

/// `gamma * elu(x)`.
fn selu(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let (alpha, gamma) = (call.float("alpha", 1.673_263_2), call.float("gamma", 1.050_701));
    let elu = call.builder.unary(Unary::Elu { alpha }, x)?;
    Ok(vec![call.builder.with_number(Binary::Multiply, elu, gamma.into())?])
}

/// `x` if positive, else `alpha * (e^(x / alpha) - 1)`: `alpha * elu(x / alpha)`.
fn celu(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let alpha = f64::from(call.float("alpha", 1.0));
    let builder = &mut *call.builder;
    let inner = builder.with_number(Binary::Divide, x, alpha)?;
    let elu = builder.unary(Unary::Elu { alpha: 1.0 }, inner)?;
    Ok(vec![builder.with_number(Binary::Multiply, elu, alpha)?])
}

/// `x` if larger than `alpha`, else 0.
fn thresholded(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let alpha = call.float("alpha", 1.0);
    let builder = &mut *call.builder;
    let is_larger = builder.with_number(Binary::Greater, x, alpha.into())?;
    let zero = builder.scalar(0.0, x);
    Ok(vec![builder.select(is_larger, x, zero)?])
}

/// `x + bias` below `-lambd`, `x - bias` above `lambd`, else 0.
fn shrink(call: &mut Call<'_>) -> Made {
    let x = call.input(0)?;
    let (bias, limit) = (f64::from(call.float("bias", 0.0)), f64::from(call.float("lambd", 0.5)));
    let builder = &mut *call.builder;
    let is_above = builder.with_number(Binary::Greater, x, limit)?;
    let is_below = builder.with_number(Binary::Less, x, -limit)?;
    let lowered = builder.with_number(Binary::Subtract, x, bias)?;
    let raised = builder.with_number(Binary::Add, x, bias)?;
    let zero = builder.scalar(0.0, x);
    let rest = builder.select(is_below, raised, zero)?;
    Ok(vec![builder.select(is_above, lowered, rest)?])
}

fn gelu(call: &mut Call<'_>) -> Made {
    match call.text("approximate", "none") {
        "none" => unary(call, Unary::Gelu),
        "tanh" => unary(call, Unary::GeluTanh),
        other => Err(Refusal::invalid(format!("its approximation is '{other}'"))),
    }
}

/// ONNX Runtime's Gelu.
pub fn gelu_by_erf(call: &mut Call<'_>) -> Made {
    unary(call, Unary::Gelu)
}

/// ONNX Runtime's FastGelu, which may add a bias first.
pub fn fast_gelu(call: &mut Call<'_>) -> Made {
    let mut x = call.input(0)?;
    if let Some(bias) = call.optional(1) {
        x = call.builder.binary(Binary::Add, x, bias)?;
    }
    Ok(vec![call.builder.unary(Unary::GeluTanh, x)?])
}

/// ONNX Runtime's QuickGelu.
pub fn quick_gelu(call: &mut Call<'_>) -> Made {
    swish(call, "alpha", 1.702)
}

/// `x * sigmoid(alpha * x)`.
fn swish(call: &mut Call<'_>, name: &str, missing: f32) -> Made {
    let x = call.input(0)?;
    let alpha = call.float(name, missing);
    if alpha == 1.0 {
        return unary(call, Unary::Silu);
    }
    let builder = &mut *call.builder;
    let scaled = builder.with_number(Binary::Multiply, x, alpha.into())?;
    let gate = builder.unary(Unary::Sigmoid, scaled)?;
    Ok(vec![builder.binary(Binary::Multiply, x, gate)?])
}
