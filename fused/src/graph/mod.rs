//! A network with all dimensions known, in few operators: what the passes work on.
//!
//! Dimensions and axes are ONNX's (images are `[N, C, H, W]`); where tensors lie in memory is decided later ([`crate::lower`]).

mod builder;
mod evaluate;
mod function;
pub(crate) mod number;
mod passes;
mod refusal;
mod sampling;
pub(crate) mod shape;
mod window;

use cudainfer_kernels::tensor::TensorType;

pub use self::builder::Builder;
pub use self::evaluate::{Operand, evaluate, run};
pub(crate) use self::evaluate::{best, of_number, of_numbers};
pub use self::function::{Binary, Quantization, Unary};
pub use self::passes::simplify;
pub use self::refusal::Refusal;
pub use self::sampling::{Outside, Sampling};

/// A value of a graph, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub usize);

/// A network.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All tensors.
    pub values: Vec<Value>,
    /// In an order in which each finds its inputs made.
    pub nodes: Vec<Node>,
    /// What a run is given.
    pub inputs: Vec<ValueId>,
    /// What a run makes.
    pub outputs: Vec<ValueId>,
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Value {
    /// The model's name for it.
    pub name: String,
    /// The type of its elements.
    pub ty: TensorType,
    /// Its dimensions, outermost first; none for a scalar.
    pub dims: Vec<usize>,
    /// Its elements, where they are known beforehand.
    pub constant: Option<Elements>,
    /// What integers were multiplied by to give its elements, if the model says it so.
    pub steps: Option<Steps>,
}

/// What integers were multiplied by: numbers along an axis, or one everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Along which axis.
    pub axis: usize,
    /// One, or as many as the tensor is long there.
    pub scales: Vec<f32>,
}

/// A constant's elements, row-major. Types of the model are kept by [`Value::ty`]; numbers are computed with in these.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Of float32 and float16 tensors.
    Floats(Vec<f32>),
    /// Of integers and booleans.
    Integers(Vec<i64>),
}

/// An operator that makes tensors of tensors.
#[derive(Clone, Debug)]
pub struct Node {
    /// The model's name for it: for messages.
    pub name: String,
    /// What it does.
    pub operator: Operator,
    /// What it reads.
    pub inputs: Vec<ValueId>,
    /// What it makes.
    pub output: ValueId,
}

/// What a node does. Whatever ONNX says with other operators (BatchNormalization, Gemm, GlobalAveragePool, Split, DepthToSpace, ...)
/// is said with these.
#[derive(Clone, Debug, PartialEq)]
pub enum Operator {
    /// Inputs: image `[N, C, H, W]`, weights `[K, C / groups, R, S]`, and a bias `[K]` if there is a third one. Weights and bias are
    /// constants.
    Convolution {
        /// Where it looks.
        window: Window,
        /// Groups of channels that are convolved each for itself.
        groups: usize,
    },
    /// Inputs: image `[N, C, H, W]` of int8 or uint8, weights `[K, C / groups, R, S]` of int8, scales `[K]`, and a bias `[K]` if there is
    /// a fourth one. All but the image are constants, and no sum of products leaves int32. Output, in float32:
    /// `sum((image - zero) * weights) * scale + bias`.
    QuantizedConvolution {
        /// Where it looks; what is outside of the image is `zero`.
        window: Window,
        /// Groups of channels that are convolved each for itself.
        groups: usize,
        /// The integer that stands for 0.
        zero: i16,
    },
    /// Inputs: image `[N, C, H, W]`, weights `[C, K / groups, R, S]`, and a bias `[K]` if there is a third one. Weights and bias are
    /// constants. Output rows: `(H - 1) * stride - pad_begin - pad_end + dilation * (R - 1) + 1 + output padding`.
    TransposedConvolution {
        /// What each cell of the input is spread over. `end` is smaller by ONNX's output padding, so it may be negative.
        window: Window,
        /// Groups of channels.
        groups: usize,
    },
    /// Input: image `[N, C, H, W]`.
    Pool {
        /// Which number of the window.
        kind: PoolKind,
        /// Where it looks.
        window: Window,
    },
    /// Input: any tensor. Output: the same dimensions.
    Unary(Unary),
    /// Inputs: two tensors, whose dimensions are broadcast as NumPy does.
    Binary(Binary),
    /// Inputs: condition, then what it is where that is not 0, then what it is elsewhere; broadcast.
    Select,
    /// Input: any tensor. Output: the same numbers in the output's type; integers are cut off towards 0.
    Cast,
    /// Input: any tensor. Output: the axes are 1 (`Reshape` drops them).
    Reduce {
        /// Which number of the elements.
        kind: ReduceKind,
        /// Over which axes, ascending.
        axes: Vec<usize>,
    },
    /// Input: any tensor. Output: the index (int64) of the largest element (the first one of equal ones) along an axis, which is 1 then.
    ArgMax {
        /// Along which axis.
        axis: usize,
    },
    /// Input: any tensor.
    Softmax {
        /// Along which axis the output's sum is 1.
        axis: usize,
    },
    /// Inputs: any tensor, a constant factor of each element and, if there is a third one, a constant that is added; both are broadcast, and
    /// the same wherever the axes are. Output: `(x - mean) / sqrt(variance + epsilon) * factor + added`.
    Normalize {
        /// Over which axes mean and variance are, ascending.
        axes: Vec<usize>,
        /// What keeps the root from 0.
        epsilon: f32,
    },
    /// Input: any tensor.
    Resize(Resize),
    /// Input: any tensor. Output: the same elements, row-major, in other dimensions.
    Reshape,
    /// Input: any tensor. Dimension `i` of the output is dimension `order[i]` of the input.
    Transpose {
        /// A permutation.
        order: Vec<usize>,
    },
    /// Input: any tensor. Element `i` of the output along each axis is `starts[axis] + i * steps[axis]` of the input.
    Slice {
        /// The first element, by axis.
        starts: Vec<usize>,
        /// By axis; not 0, may be negative.
        steps: Vec<isize>,
    },
    /// Inputs: tensors that differ in one dimension at most, one after another along it.
    Concat {
        /// Along which axis.
        axis: usize,
    },
    /// Input: any tensor. Outside of it the output is `value`, or what `mode` says.
    Pad {
        /// Elements before the first, by axis; negative ones cut off.
        before: Vec<isize>,
        /// What is outside.
        mode: PadMode,
    },
    /// Input: any tensor. Output: broadcast as NumPy does.
    Expand,
    /// Inputs: `[..., M, K]` and `[..., K, N]`; the leading dimensions are broadcast.
    MatMul,
    /// Inputs: a tensor, and indices (integers) of its rank, whose dimensions are the output's or 1. Along `axis`, each element of the output
    /// is the one of the tensor that its index says. Negative indices count from the end; those outside mean the nearest element.
    Gather {
        /// Along which axis.
        axis: usize,
    },
    /// Input: any tensor. Output: the indices (int64) of the largest or smallest elements along an axis, the best first; of equal ones
    /// those with lower indices. NaN is worse than every number.
    Top {
        /// Along which axis.
        axis: usize,
        /// Whether the largest ones are the best.
        largest: bool,
    },
    /// Inputs: image `[N, C, H, W]`, and places `[N, P, Q, 2]` in it, as x and y, from -1 to 1. Output: `[N, C, P, Q]`.
    Sample(Sampling),
}

/// Where a convolution or a pooling looks: for each output the cells `output * stride - begin + tap * dilation`; those outside of the
/// image count as 0 (convolution, average) or not at all (maximum). `[rows, columns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Taps.
    pub kernel: [usize; 2],
    /// Cells between neighbours of the output.
    pub strides: [usize; 2],
    /// Cells between taps.
    pub dilations: [usize; 2],
    /// Cells before the first.
    pub begin: [isize; 2],
    /// Cells after the last one.
    pub end: [isize; 2],
}

/// Which number of a window a pooling gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// The largest one.
    Maximum,
    /// The mean.
    Average {
        /// Whether cells of the padding count (as 0).
        count_padding: bool,
    },
}

/// Which number of many a reduction gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The largest one.
    Maximum,
    /// The smallest one.
    Minimum,
    /// The root of the sum of their squares.
    L2,
}

/// How a tensor is enlarged or shrunk: ONNX's Resize, of opset 11 and later.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// Which samples make a new one.
    pub mode: ResizeMode,
    /// Where a new sample lies among the old ones.
    pub coordinates: Coordinates,
    /// New samples for each old one, by axis; 1 where the axis is not resized. ONNX computes coordinates with what the model states,
    /// which may differ from the quotient of the dimensions.
    pub scales: Vec<f32>,
}

/// Which samples make a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResizeMode {
    /// The nearest one.
    Nearest(Rounding),
    /// The two nearest ones along each axis that is resized, by their distance.
    Linear,
    /// The four nearest ones along each axis that is resized (the last two axes alone), by Keys' kernel.
    Cubic {
        /// Keys' `a`: -0.75 where ONNX's default is taken.
        a: f32,
    },
}

/// Where a new sample lies among the old ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    /// `(x + 0.5) / scale - 0.5`.
    HalfPixel,
    /// As `HalfPixel`, but 0 where the new length is 1.
    PytorchHalfPixel,
    /// `x / scale`.
    Asymmetric,
    /// `x * (old - 1) / (new - 1)`, 0 where the new length is 1.
    AlignCorners,
}

/// Which of two samples is the nearest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The nearest; of two equally near ones the lower.
    PreferFloor,
    /// The nearest; of two equally near ones the upper.
    PreferCeil,
    /// The lower.
    Floor,
    /// The upper.
    Ceil,
}

/// What is outside of a padded tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A number.
    Constant(f32),
    /// Its mirror image without the border.
    Reflect,
    /// Its border.
    Edge,
}

impl Graph {
    /// A value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0]
    }
}
