//! The functions of single elements: computed in float64, rounded to float32.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use crate::graph::{Binary, Unary};

/// A function of one number.
pub fn unary(function: Unary, x: f32) -> f32 {
    let x = f64::from(x);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let y = match function {
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
        Unary::LeakyRelu { slope } if x <= 0.0 => f64::from(slope) * x,
        Unary::Elu { alpha } if x <= 0.0 => f64::from(alpha) * x.exp_m1(),
        Unary::LeakyRelu { .. } | Unary::Elu { .. } => x,
        Unary::Softplus => softplus(x),
        Unary::Silu => x * sigmoid(x),
        Unary::Mish => x * softplus(x).tanh(),
        Unary::Gelu => x / 2.0 * (1.0 + erf(x * FRAC_1_SQRT_2)),
        Unary::GeluTanh => x / 2.0 * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh()),
        Unary::HardSigmoid { slope, offset } => (f64::from(slope) * x + f64::from(offset)).clamp(0.0, 1.0),
        Unary::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Unary::Clip { low, high } => x.min(f64::from(high)).max(f64::from(low)),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round_ties_even(),
        Unary::Truncate => x.trunc(),
        Unary::Sign if x == 0.0 => 0.0,
        Unary::Sign => x.signum(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Not => truth(x == 0.0),
    };
    y as f32
}

/// A function of two numbers.
pub fn binary(function: Binary, a: f32, b: f32) -> f32 {
    let (a, b) = (f64::from(a), f64::from(b));
    let y = match function {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Power => a.powf(b),
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::PRelu if a > 0.0 => a,
        Binary::PRelu => a * b,
        Binary::Greater => truth(a > b),
        Binary::GreaterOrEqual => truth(a >= b),
        Binary::Less => truth(a < b),
        Binary::LessOrEqual => truth(a <= b),
        Binary::Equal => truth(a == b),
        Binary::And => truth(a != 0.0 && b != 0.0),
        Binary::Or => truth(a != 0.0 || b != 0.0),
    };
    y as f32
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The error function: its series (Abramowitz and Stegun, 7.1.6: all terms positive) up to 6, and 1 from there on, where float64 has
/// no number between.
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > sum.abs() * 1e-17 {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}
