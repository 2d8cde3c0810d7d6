//! Types, numbers and functions in CUDA C++.

use cudainfer_kernels::tensor::TensorType;

use crate::graph::{Binary, Quantization, Unary};

/// The type of elements.
pub(super) fn c_type(ty: TensorType) -> &'static str {
    match ty {
        TensorType::Float32 => "float",
        TensorType::Float16 => "float16",
        TensorType::UInt8 => "unsigned char",
        TensorType::Int8 => "signed char",
        TensorType::Int32 => "int",
        TensorType::Int64 => "long long",
        TensorType::Bool => "boolean",
    }
}

/// A literal that is exactly this number.
pub(super) fn literal(number: f32) -> String {
    if number.is_finite() {
        format!("{number:e}f")
    } else {
        format!("__int_as_float(0x{:08x})", number.to_bits())
    }
}

/// A function of one number, of the expression `x`.
pub(super) fn unary(function: Unary, x: &str) -> String {
    let call = |name: &str| format!("{name}({x})");
    let with = |name: &str, numbers: &[f32]| {
        let numbers: Vec<String> = numbers.iter().map(|number| literal(*number)).collect();
        format!("{name}({x}, {})", numbers.join(", "))
    };
    match function {
        Unary::Abs => call("fabsf"),
        Unary::Negate => call("-"),
        Unary::Exp => call("expf"),
        Unary::Log => call("logf"),
        Unary::Sqrt => call("sqrtf"),
        Unary::Reciprocal => format!("(1.f / ({x}))"),
        Unary::Erf => call("erff"),
        Unary::Sigmoid => call("sigmoid"),
        Unary::Tanh => call("tanhf"),
        Unary::Relu => call("relu"),
        Unary::LeakyRelu { slope } => with("leaky_relu", &[slope]),
        Unary::Elu { alpha } => with("elu", &[alpha]),
        Unary::Softplus => call("softplus"),
        Unary::Silu => call("silu"),
        Unary::Mish => call("mish"),
        Unary::Gelu => call("gelu"),
        Unary::GeluTanh => call("gelu_tanh"),
        Unary::HardSigmoid { slope, offset } => with("hard_sigmoid", &[slope, offset]),
        Unary::HardSwish => call("hard_swish"),
        Unary::Clip { low, high } => with("clip", &[low, high]),
        Unary::Floor => call("floorf"),
        Unary::Ceil => call("ceilf"),
        Unary::Round => call("rintf"),
        Unary::Truncate => call("truncf"),
        Unary::Sign => call("sign"),
        Unary::Sin => call("sinf"),
        Unary::Cos => call("cosf"),
        Unary::Not => format!("truth({x} == 0.f)"),
        Unary::Quantize(by) => quantize("quantize", by, x),
        Unary::Dequantize(by) => with("dequantize", &[by.scale, by.zero.into()]),
    }
}

/// The integer of 8 bits that stands for a number, by the function `name` of cuda/function.cuh.
pub(super) fn quantize(name: &str, by: Quantization, x: &str) -> String {
    let ([low, high], zero) = (by.bounds().map(f32::from), f32::from(by.zero));
    // What is far from 0 and from infinity neither vanishes nor overflows on its way.
    let numbers = if (1e-20..1e20).contains(&by.scale) {
        let [least, most] = [low, high].map(|end| (end - zero) * by.scale);
        vec![by.scale, 1.0 / by.scale, zero, least, most]
    } else {
        vec![by.scale, zero, low, high]
    };
    let numbers: Vec<String> = numbers.into_iter().map(literal).collect();
    format!("{name}({x}, {})", numbers.join(", "))
}

/// A function of two numbers, of the expressions `a` and `b`.
pub(super) fn binary(function: Binary, a: &str, b: &str) -> String {
    let call = |name: &str| format!("{name}({a}, {b})");
    let infix = |operator: &str| format!("({a} {operator} {b})");
    let holds = |operator: &str| format!("truth({a} {operator} {b})");
    match function {
        Binary::Add => infix("+"),
        Binary::Subtract => infix("-"),
        Binary::Multiply => infix("*"),
        Binary::Divide => infix("/"),
        Binary::Power => call("powf"),
        Binary::Maximum => call("fmaxf"),
        Binary::Minimum => call("fminf"),
        Binary::PRelu => call("prelu"),
        Binary::Greater => holds(">"),
        Binary::GreaterOrEqual => holds(">="),
        Binary::Less => holds("<"),
        Binary::LessOrEqual => holds("<="),
        Binary::Equal => holds("=="),
        Binary::And => format!("truth({a} != 0.f && {b} != 0.f)"),
        Binary::Or => format!("truth({a} != 0.f || {b} != 0.f)"),
    }
}
