//! What multiplies each channel before a convolution becomes part of its weights.

use super::super::number::float;
use super::super::{Binary, Elements, Node, Operator, Refusal, ValueId};
use super::fold::{fits, of_channels};
use super::rewrite::Rewrite;
use cudainfer_kernels::tensor::TensorType;

/// A convolution of a product that nothing else reads, of an image and a constant of a number for each channel. The border of 0 stays 0.
pub fn rule(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let groups = match node.operator {
        Operator::Convolution { groups, .. } => Some(groups),
        Operator::TransposedConvolution { .. } => None,
        _ => return Ok(None),
    };
    let x = node.inputs[0];
    let Some((function, [a, b])) = rewrite.binary(x).filter(|_| rewrite.is_read_once(x)) else {
        return Ok(None);
    };
    let (image, constant) = match function {
        Binary::Multiply if rewrite.builder.elements(a).is_some() => (b, a),
        Binary::Multiply | Binary::Divide => (a, b),
        _ => return Ok(None),
    };
    let Some(mut factors) = of_channels(rewrite, image, constant) else { return Ok(None) };
    if function == Binary::Divide {
        factors.iter_mut().for_each(|factor| *factor = 1.0 / *factor);
    }
    let weights = node.inputs[1];
    let dims = rewrite.dims(weights).to_vec();
    let Some(elements) = rewrite.builder.elements(weights) else { return Ok(None) };
    if !factors.iter().all(|factor| is_moderate(*factor, rewrite.builder.ty(weights))) {
        return Ok(None);
    }
    let taps: usize = dims[2..].iter().product();
    let channel = |at: usize| match groups {
        Some(groups) => {
            let (output, own) = (at / taps / dims[1], at / taps % dims[1]);
            output / (dims[0] / groups) * dims[1] + own
        }
        None => at / taps / dims[1],
    };
    let scaled = elements.numbers().into_iter().enumerate();
    let scaled = scaled.map(|(at, value)| float(value * factors[channel(at)])).collect();
    let scaled = Elements::Floats(scaled);
    let ty = rewrite.builder.ty(weights);
    if !fits(&scaled, ty) {
        return Ok(None);
    }
    let mut inputs = node.inputs.clone();
    inputs[0] = image;
    inputs[1] = rewrite.builder.constant(ty, &dims, scaled);
    let output = rewrite.builder.graph.value(node.output);
    let (ty, dims) = (output.ty, output.dims.clone());
    rewrite.builder.node(node.operator.clone(), &inputs, ty, &dims).map(Some)
}

/// Whether weights keep their precision when they are multiplied by it: float16 has few small numbers (levels of 8 bits are divided by
/// 255 before a first convolution).
fn is_moderate(factor: f64, ty: TensorType) -> bool {
    let is_half = ty == TensorType::Float16;
    factor.is_finite() && (!is_half || factor == 0.0 || (1.0 / 16.0..=16.0).contains(&factor.abs()))
}
