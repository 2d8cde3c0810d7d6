//! What multiplies or shifts each channel of a convolution becomes part of its weights and its bias.

use super::super::number::rounded;
use super::super::{Binary, Elements, Node, Operator, Refusal, ValueId, shape};
use super::rewrite::Rewrite;
use cudainfer_kernels::tensor::TensorType;

/// A product, sum, difference or quotient of a convolution that nothing else reads, and a constant of a number for each channel.
/// BatchNormalization is such a product and such a sum.
pub fn rule(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let Operator::Binary(function) = node.operator else { return Ok(None) };
    let [a, b] = [node.inputs[0], node.inputs[1]];
    let (x, constant, is_second) =
        if rewrite.builder.elements(b).is_some() { (a, b, true) } else { (b, a, false) };
    let Some(numbers) = of_channels(rewrite, x, constant) else { return Ok(None) };
    let Some(change) = Change::of(function, &numbers, is_second) else { return Ok(None) };
    let Some(before) = rewrite.maker(x).filter(|_| rewrite.is_read_once(x)) else { return Ok(None) };
    let (operator, inputs) = (before.operator.clone(), before.inputs.clone());
    let of_group = match operator {
        Operator::Convolution { .. } => None,
        Operator::TransposedConvolution { groups, .. } => Some(numbers.len() / groups),
        _ => return Ok(None),
    };
    let (weights, bias) = (inputs[1], inputs.get(2).copied());
    let Some(scaled) = scaled(rewrite, weights, &change.factors, of_group) else { return Ok(None) };
    let ty = rewrite.builder.ty(x);
    if !fits(&scaled, ty) {
        return Ok(None);
    }
    let old = bias.and_then(|bias| rewrite.builder.elements(bias)).map(Elements::numbers);
    let old = old.unwrap_or_else(|| vec![0.0; numbers.len()]);
    let shifted = old.iter().zip(&change.factors).zip(&change.shifts);
    let shifted = shifted.map(|((old, factor), shift)| super::super::number::float(old * factor + shift));
    let shifted = Elements::Floats(shifted.collect());
    let dims = rewrite.dims(weights).to_vec();
    let weights = rewrite.builder.constant(ty, &dims, scaled);
    let bias = rewrite.builder.constant(ty, &[numbers.len()], shifted);
    let dims = rewrite.dims(x).to_vec();
    rewrite.builder.node(operator, &[inputs[0], weights, bias], ty, &dims).map(Some)
}

/// Whether a type holds numbers: float16 ends at 65504.
pub fn fits(elements: &Elements, ty: TensorType) -> bool {
    elements.numbers().iter().all(|number| rounded(*number, ty).is_finite())
}

/// A constant's number for each channel of `x`, `[N, C, H, W]`; none if it has others.
pub fn of_channels(rewrite: &Rewrite, x: ValueId, constant: ValueId) -> Option<Vec<f64>> {
    let (elements, dims) = (rewrite.builder.elements(constant)?, rewrite.dims(constant));
    let [_, channels, ..] = *rewrite.dims(x) else { return None };
    let keeps = shape::broadcast(rewrite.dims(x), dims).is_ok_and(|both| both == rewrite.dims(x));
    let others = dims.iter().rev().enumerate().all(|(from_end, dim)| from_end == 2 || *dim == 1);
    let numbers = match elements.len() {
        1 => vec![elements.number(0); channels],
        count if count == channels => elements.numbers(),
        _ => return None,
    };
    (keeps && others && rewrite.dims(x).len() == 4).then_some(numbers)
}

/// What becomes of each channel: `x * factor + shift`.
struct Change {
    factors: Vec<f64>,
    shifts: Vec<f64>,
}

impl Change {
    /// Of a function of a channel and a number, which comes second or first.
    fn of(function: Binary, numbers: &[f64], is_second: bool) -> Option<Self> {
        let all = |number: f64| vec![number; numbers.len()];
        let each = |of: fn(f64) -> f64| numbers.iter().map(|number| of(*number)).collect();
        let (factors, shifts) = match (function, is_second) {
            (Binary::Multiply, _) => (numbers.to_vec(), all(0.0)),
            (Binary::Divide, true) => (each(|number| 1.0 / number), all(0.0)),
            (Binary::Add, _) => (all(1.0), numbers.to_vec()),
            (Binary::Subtract, true) => (all(1.0), each(|number| -number)),
            (Binary::Subtract, false) => (all(-1.0), numbers.to_vec()),
            _ => return None,
        };
        let change = Self { factors, shifts };
        // What is infinite would make every number of the channel so.
        let is_finite = change.factors.iter().chain(&change.shifts).all(|number| number.is_finite());
        is_finite.then_some(change)
    }
}

/// Weights times a factor for each output: the first axis of a convolution's; the second one of a transposed one's, whose groups have
/// `of_group` outputs each.
fn scaled(rewrite: &Rewrite, weights: ValueId, factors: &[f64], of_group: Option<usize>) -> Option<Elements> {
    let dims = rewrite.dims(weights);
    let values = rewrite.builder.elements(weights)?.numbers();
    let taps: usize = dims[2..].iter().product();
    let factor = |at: usize| match of_group {
        None => factors[at / (taps * dims[1])],
        Some(of_group) => {
            let channels_of_group = dims[0] * of_group / factors.len();
            let group = at / (taps * of_group) / channels_of_group;
            factors[group * of_group + at / taps % of_group]
        }
    };
    let scaled = values.iter().enumerate();
    let scaled = scaled.map(|(at, value)| super::super::number::float(value * factor(at)));
    Some(Elements::Floats(scaled.collect()))
}
