//! ONNX's operators: what each one says, in those of [`Operator`](crate::graph::Operator).

mod activation;
mod compare;
mod constant;
mod convolution;
mod einsum;
mod elementwise;
mod extremum;
mod gather;
mod matrix;
mod normalize;
mod pad;
mod pool;
mod quantize;
mod reduce;
mod resample;
mod resize;
mod running_sum;
mod sample;
mod scatter;
mod shape;
mod slice;
mod space;
mod tile;
mod top;
mod window;

use super::call::{Call, Made};

/// Adds what a node says to the graph.
pub type Reader = fn(&mut Call<'_>) -> Made;

/// The function that reads an operator, if it is known.
pub fn reader(domain: &str, operator: &str) -> Option<Reader> {
    match domain {
        "" | "ai.onnx" => own(operator),
        "com.microsoft" => microsoft(operator),
        _ => None,
    }
}

/// ONNX's own operators.
fn own(operator: &str) -> Option<Reader> {
    Some(match operator {
        "Conv" => convolution::convolution,
        "ConvTranspose" => convolution::transposed,
        "MaxPool" => pool::maximum,
        "AveragePool" => pool::average,
        "GlobalMaxPool" | "GlobalAveragePool" => pool::global,
        "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceL2" | "ReduceL1"
        | "ReduceSumSquare" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceProd" => reduce::reduce,
        "ArgMax" | "ArgMin" => reduce::index,
        "Softmax" | "LogSoftmax" => reduce::softmax,
        "BatchNormalization" => normalize::batch,
        "InstanceNormalization" => normalize::instance,
        "LayerNormalization" => normalize::layer,
        "GroupNormalization" => normalize::group,
        "LpNormalization" => normalize::length,
        "LRN" => normalize::local_response,
        "Gemm" => matrix::gemm,
        "MatMul" => matrix::multiply,
        "Resize" => resize::resize,
        "Upsample" => resize::upsample,
        "Pad" => pad::pad,
        "Reshape" => shape::reshape,
        "Flatten" => shape::flatten,
        "Squeeze" => shape::squeeze,
        "Unsqueeze" => shape::unsqueeze,
        "Transpose" => shape::transpose,
        "Expand" => tile::expand,
        "Tile" => tile::tile,
        "Slice" => slice::slice,
        "Split" => slice::split,
        "Concat" => slice::concat,
        "Gather" => gather::gather,
        "GatherElements" => gather::elements,
        "GatherND" => gather::places,
        "ScatterND" => scatter::places,
        "ScatterElements" => scatter::elements,
        "CumSum" => running_sum::running_sum,
        "Einsum" => einsum::einsum,
        "TopK" => top::top,
        "GridSample" => sample::grid,
        "DepthToSpace" => space::depth_to_space,
        "SpaceToDepth" => space::space_to_depth,
        "Shape" | "Size" => constant::shape,
        "Constant" => constant::constant,
        "ConstantOfShape" => constant::of_shape,
        "Range" => constant::range,
        "NonZero" => constant::non_zero,
        "QuantizeLinear" => quantize::quantize,
        "DequantizeLinear" => quantize::dequantize,
        other => {
            return elementwise::reader(other)
                .or_else(|| activation::reader(other))
                .or_else(|| compare::reader(other));
        }
    })
}

/// Operators of ONNX Runtime.
fn microsoft(operator: &str) -> Option<Reader> {
    Some(match operator {
        "Gelu" => activation::gelu_by_erf,
        "FastGelu" => activation::fast_gelu,
        "QuickGelu" => activation::quick_gelu,
        _ => return None,
    })
}
