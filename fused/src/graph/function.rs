//! Functions of single elements.

use cudainfer_kernels::tensor::TensorType;

/// A function of one number, computed in float32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    /// `|x|`.
    Abs,
    /// `-x`.
    Negate,
    /// `e^x`.
    Exp,
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
    /// `1 / x`.
    Reciprocal,
    /// The error function.
    Erf,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `max(x, 0)`.
    Relu,
    /// `x` if positive, else `slope * x`.
    LeakyRelu {
        /// ONNX's `alpha`.
        slope: f32,
    },
    /// `x` if positive, else `alpha * (e^x - 1)`.
    Elu {
        /// ONNX's `alpha`.
        alpha: f32,
    },
    /// `ln(1 + e^x)`.
    Softplus,
    /// `x * sigmoid(x)`.
    Silu,
    /// `x * tanh(softplus(x))`.
    Mish,
    /// `x / 2 * (1 + erf(x / sqrt(2)))`.
    Gelu,
    /// The same, by tanh: `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`.
    GeluTanh,
    /// `max(0, min(1, slope * x + offset))`.
    HardSigmoid {
        /// ONNX's `alpha`.
        slope: f32,
        /// ONNX's `beta`.
        offset: f32,
    },
    /// `x * max(0, min(1, x / 6 + 1 / 2))`.
    HardSwish,
    /// `max(low, min(high, x))`.
    Clip {
        /// The least.
        low: f32,
        /// The most.
        high: f32,
    },
    /// The integer below.
    Floor,
    /// The integer above.
    Ceil,
    /// The nearest integer, the even one of two.
    Round,
    /// The integer towards 0: what a cast to integers does.
    Truncate,
    /// -1, 0 or 1.
    Sign,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// 1 if `x` is 0, else 0.
    Not,
    /// The integer that stands for a number: the nearest to `x / scale + zero` that the type holds, the even one of two.
    Quantize(Quantization),
    /// The number that an integer stands for: `(x - zero) * scale`.
    Dequantize(Quantization),
}

/// How integers of 8 bits stand for numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// How far the numbers of neighbouring integers are apart; more than 0.
    pub scale: f32,
    /// The integer that stands for 0, which the type holds.
    pub zero: i16,
    /// Whether the integers are int8, rather than uint8.
    pub is_signed: bool,
}

impl Quantization {
    /// The type of the integers.
    pub fn ty(self) -> TensorType {
        if self.is_signed { TensorType::Int8 } else { TensorType::UInt8 }
    }

    /// The least and the largest integer.
    pub fn bounds(self) -> [i16; 2] {
        if self.is_signed { [-128, 127] } else { [0, 255] }
    }
}

/// A function of two numbers, computed in float32. Comparisons give 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `a + b`.
    Add,
    /// `a - b`.
    Subtract,
    /// `a * b`.
    Multiply,
    /// `a / b`; where the output is an integer, cut off towards 0.
    Divide,
    /// `a^b`.
    Power,
    /// The larger one.
    Maximum,
    /// The smaller one.
    Minimum,
    /// `a` if positive, else `a * b`.
    PRelu,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterOrEqual,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessOrEqual,
    /// `a == b`.
    Equal,
    /// Both are not 0.
    And,
    /// One is not 0.
    Or,
}

impl Binary {
    /// Whether its output is a boolean.
    pub fn is_question(self) -> bool {
        matches!(
            self,
            Self::Greater
                | Self::GreaterOrEqual
                | Self::Less
                | Self::LessOrEqual
                | Self::Equal
                | Self::And
                | Self::Or
        )
    }
}
