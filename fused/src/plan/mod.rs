//! Which kernels run, and where in memory their tensors lie.
//!
//! Tensors are views of buffers: dimensions are ONNX's, strides say where they lie. So images with channels last, halves of a tensor
//! and parts of a joined one are read and written in place.

mod lanes;
mod order;
mod program;
mod source;
mod summary;
mod view;

pub use self::lanes::{Lane, Lanes};
pub use self::order::{Arena, Order, Piece};
pub use self::program::{Expression, Program};
pub use self::source::Source;
pub use self::view::{View, dense_strides};
use crate::graph::{Quantization, ReduceKind, Unary, Window};

/// A buffer of a plan, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub usize);

/// A network, ready to run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All memory.
    pub buffers: Vec<Buffer>,
    /// In an order in which each finds its inputs made.
    pub steps: Vec<Step>,
    /// What a run is given, in the model's order.
    pub inputs: Vec<View>,
    /// What a run makes, in the model's order: dense, row-major.
    pub outputs: Vec<View>,
}

/// A piece of memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// What it holds.
    pub content: Content,
    /// Its size in bytes.
    pub bytes: usize,
}

/// What a buffer holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// The input of this index.
    Input(usize),
    /// The output of this index.
    Output(usize),
    /// Weights, tables: these bytes.
    Constant(Vec<u8>),
    /// What steps hand on to each other.
    Intermediate,
}

/// What one kernel does.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // a plan has some hundred steps
pub enum Step {
    /// A convolution.
    Convolution(Convolution),
    /// Each element of the outputs by itself.
    Map(Map),
    /// One number of many.
    Reduce(Reduce),
    /// Numbers whose sum is 1.
    Softmax(Softmax),
    /// Numbers whose mean is 0 and whose variance is 1.
    Normalize(Normalize),
    /// Products of matrices, neither of which is constant.
    Product(Product),
    /// The best of many.
    Top(Top),
}

/// `output = epilogue(sum over taps and channels of input * weights + bias)`, accumulated in float32; of integers of 8 bits in int32.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// `[N, C, H, W]`, of any strides; float32, float16, int8 or uint8.
    pub input: View,
    /// `[K, C / groups, R, S]`, laid out as `[K, R, S, C / groups]`, dense, of the input's type; int8 for uint8.
    pub weights: View,
    /// `[K]`, dense; float32, of integers int32.
    pub bias: Option<View>,
    /// Where it looks.
    pub window: Window,
    /// Groups of channels.
    pub groups: usize,
    /// What is outside of the image: the integer that stands for 0; of floats 0.
    pub zero: i16,
    /// What is done to each sum, in this order, in float32.
    pub epilogue: Vec<Epilogue>,
    /// `[N, K, P, Q]`, of any strides.
    pub output: View,
}

/// What is done to a convolution's sum.
#[derive(Clone, Debug)]
pub enum Epilogue {
    /// A function of it.
    Unary(Unary),
    /// A tensor of the output's dimensions is added (a dimension that it is broadcast along has stride 0).
    Add(View),
    /// It is multiplied by a tensor of the output's dimensions (as for `Add`).
    Multiply(View),
    /// The numbers are added that integers of 8 bits stand for, of a tensor of the output's dimensions.
    AddQuantized(View, Quantization),
    /// It is written to a tensor of the output's dimensions as well, which holds its numbers exactly.
    Store(View),
    /// It is an integer of 8 bits, and becomes the element of this index of a list of 256 (negative ones are counted from the end).
    Table(View),
}

/// Every output element by itself: `outputs[i].0[at] = program(sources at ...)`, for all places `at` in `dims`.
#[derive(Clone, Debug)]
pub struct Map {
    /// The dimensions that are gone through: those of all outputs.
    pub dims: Vec<usize>,
    /// What the program reads, at each place.
    pub sources: Vec<Source>,
    /// The functions, in float32.
    pub program: Program,
    /// Where which expression is written, rounded to the view's type (integers: cut off towards 0; bool: 1 where it is not 0).
    pub outputs: Vec<(View, usize)>,
}

/// `output[at] = reduction of input over axes`, accumulated in float32.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// Which number; none: the index of the largest element along the one axis.
    pub kind: Option<ReduceKind>,
    /// Any tensor.
    pub input: View,
    /// Over which axes, ascending.
    pub axes: Vec<usize>,
    /// The input's dimensions, with 1 in those of `axes`.
    pub output: View,
}

/// `output = e^(input - max) / sum of that`, along an axis, in float32.
#[derive(Clone, Debug)]
pub struct Softmax {
    /// Any tensor.
    pub input: View,
    /// Along which axis.
    pub axis: usize,
    /// Of the same dimensions.
    pub output: View,
}

/// `output = (input - mean) / sqrt(variance + epsilon) * factor + added`, in float32; mean and variance are over `axes`.
#[derive(Clone, Debug)]
pub struct Normalize {
    /// Any tensor.
    pub input: View,
    /// Over which axes, ascending.
    pub axes: Vec<usize>,
    /// What keeps the root from 0.
    pub epsilon: f32,
    /// Constants of the input's dimensions, with stride 0 along all but `axes`.
    pub factor: View,
    /// The same.
    pub added: Option<View>,
    /// Of the input's dimensions.
    pub output: View,
}

/// `output = left * right`, accumulated in float32: products of matrices, for all places in the dimensions before the last two.
#[derive(Clone, Debug)]
pub struct Product {
    /// `[..., M, K]`.
    pub left: View,
    /// `[..., K, N]`, with the same dimensions before; those that it is broadcast along have stride 0.
    pub right: View,
    /// `[..., M, N]`.
    pub output: View,
}

/// The indices of the best elements along an axis, the best first; of equal ones those with lower indices. NaN is worse than every number.
#[derive(Clone, Debug)]
pub struct Top {
    /// Any tensor.
    pub input: View,
    /// Along which axis.
    pub axis: usize,
    /// Whether the largest elements are the best ones.
    pub largest: bool,
    /// Of the same dimensions, but for the axis: of as many elements as are wanted.
    pub output: View,
}

impl Plan {
    /// Adds a buffer.
    pub fn buffer(&mut self, content: Content, bytes: usize) -> BufferId {
        self.buffers.push(Buffer { content, bytes });
        BufferId(self.buffers.len() - 1)
    }
}

impl Step {
    /// The tensors that it reads, and those that it writes.
    pub fn views(&self) -> (Vec<&View>, Vec<&View>) {
        match self {
            Self::Convolution(convolution) => {
                let Convolution { input, weights, bias, epilogue, output, .. } = convolution;
                let mut reads = vec![input, weights];
                reads.extend(bias);
                reads.extend(epilogue.iter().filter_map(|epilogue| match epilogue {
                    Epilogue::Add(view)
                    | Epilogue::Multiply(view)
                    | Epilogue::AddQuantized(view, _)
                    | Epilogue::Table(view) => Some(view),
                    Epilogue::Unary(_) | Epilogue::Store(_) => None,
                }));
                let stored = epilogue.iter().filter_map(|epilogue| match epilogue {
                    Epilogue::Store(view) => Some(view),
                    _ => None,
                });
                (reads, [output].into_iter().chain(stored).collect())
            }
            Self::Map(map) => {
                let reads = map.sources.iter().flat_map(Source::views).collect();
                (reads, map.outputs.iter().map(|(view, _)| view).collect())
            }
            Self::Reduce(reduce) => (vec![&reduce.input], vec![&reduce.output]),
            Self::Softmax(softmax) => (vec![&softmax.input], vec![&softmax.output]),
            Self::Normalize(normalize) => {
                let Normalize { input, factor, added, output, .. } = normalize;
                ([input, factor].into_iter().chain(added).collect(), vec![output])
            }
            Self::Product(product) => (vec![&product.left, &product.right], vec![&product.output]),
            Self::Top(top) => (vec![&top.input], vec![&top.output]),
        }
    }
}
