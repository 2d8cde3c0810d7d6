//! What operators do, written plainly: constants are folded with it, and graphs are compared with it in tests.
//!
//! Numbers are computed in float64 (integers in int64), and rounded to the output's type once.

mod convolution;
mod elements;
mod elementwise;
mod erf;
mod gather;
mod matrix;
mod movement;
mod pool;
mod reduce;
mod resize;
mod walk;

use cudainfer_kernels::tensor::TensorType;

pub(crate) use self::elementwise::{of_number, of_numbers};
pub(crate) use self::gather::best;
pub use self::walk::Walk;
use super::{Elements, Graph, Operator, Refusal, ValueId};

/// A tensor that is computed with.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Its dimensions.
    pub dims: &'a [usize],
    /// Its elements, row-major.
    pub elements: &'a Elements,
}

/// What an operator makes of tensors. The output has type `ty` and dimensions `dims`, which must be those that the operator gives.
///
/// # Errors
/// The number of operands is not the operator's.
pub fn evaluate(
    operator: &Operator,
    operands: &[Operand<'_>],
    ty: TensorType,
    dims: &[usize],
) -> Result<Elements, Refusal> {
    let numbers = match (operator, operands) {
        (Operator::Unary(function), [x]) => return Ok(elementwise::unary(*function, *x, ty)),
        (Operator::Binary(function), [a, b]) => return Ok(elementwise::binary(*function, *a, *b, ty, dims)),
        (Operator::Select, [condition, yes, no]) => {
            return Ok(movement::select(*condition, *yes, *no, dims));
        }
        (Operator::Cast, [x]) => return Ok(x.elements.cast(ty)),
        (Operator::Reshape, [x]) => return Ok(x.elements.clone()),
        (Operator::Transpose { order }, [x]) => return Ok(movement::transpose(*x, order, dims)),
        (Operator::Slice { starts, steps }, [x]) => return Ok(movement::slice(*x, starts, steps, dims)),
        (Operator::Expand, [x]) => return Ok(movement::expand(*x, dims)),
        (Operator::Concat { axis }, operands) => return Ok(movement::concat(operands, *axis, dims)),
        (Operator::Gather { axis }, [x, indices]) => return Ok(gather::gather(*x, *indices, *axis, dims)),
        (Operator::Top { axis, largest }, [x]) => return Ok(gather::top(*x, *axis, *largest, dims)),
        (Operator::Pad { before, mode }, [x]) => return Ok(movement::pad(*x, before, *mode, dims)),
        (Operator::Convolution { window, groups }, [image, weights, bias @ ..]) => {
            convolution::convolution([*image, *weights], bias.first().copied(), window, *groups, dims)
        }
        (Operator::QuantizedConvolution { window, groups, zero }, [image, weights, scales, bias @ ..]) => {
            let shifted = convolution::shifted(image.elements, *zero);
            let image = Operand { elements: &shifted, ..*image };
            let sums = convolution::convolution([image, *weights], None, window, *groups, dims);
            convolution::scaled(&sums, *scales, bias.first().copied(), dims)
        }
        (Operator::TransposedConvolution { window, groups }, [image, weights, bias @ ..]) => {
            convolution::transposed([*image, *weights], bias.first().copied(), window, *groups, dims)
        }
        (Operator::Pool { kind, window }, [x]) => pool::pool(*x, *kind, window, dims),
        (Operator::Reduce { kind, axes }, [x]) => reduce::reduce(*x, *kind, axes, dims),
        (Operator::ArgMax { axis }, [x]) => reduce::arg_max(*x, *axis),
        (Operator::Softmax { axis }, [x]) => reduce::softmax(*x, *axis),
        (Operator::Normalize { axes, epsilon }, [x, factor, added @ ..]) => {
            reduce::normalize(*x, [Some(*factor), added.first().copied()], axes, *epsilon)
        }
        (Operator::Resize(resize), [x]) => resize::resize(*x, resize, dims),
        (Operator::Sample(how), [image, places]) => gather::sample(*image, *places, *how, dims),
        (Operator::MatMul, [a, b]) => matrix::multiply(*a, *b, dims),
        _ => return Err(Refusal::invalid(format!("{operator:?} of {} tensors", operands.len()))),
    };
    Ok(Elements::of_numbers(&numbers, ty))
}

/// Runs a graph: its inputs' elements in, its outputs' elements out.
///
/// # Errors
/// The number of inputs is not the graph's, or a node reads what is not made yet.
pub fn run(graph: &Graph, inputs: &[Elements]) -> Result<Vec<Elements>, Refusal> {
    if inputs.len() != graph.inputs.len() {
        return Err(Refusal::invalid(format!("{} inputs instead of {}", inputs.len(), graph.inputs.len())));
    }
    let mut known: Vec<Option<Elements>> = graph.values.iter().map(|value| value.constant.clone()).collect();
    for (id, elements) in graph.inputs.iter().zip(inputs) {
        known[id.0] = Some(elements.clone());
    }
    let unknown = |id: &ValueId| Refusal::invalid(format!("'{}' is not made yet", graph.value(*id).name));
    for node in &graph.nodes {
        let operands = node.inputs.iter().map(|id| {
            let elements = known[id.0].as_ref().ok_or_else(|| unknown(id))?;
            Ok(Operand { dims: &graph.value(*id).dims, elements })
        });
        let output = graph.value(node.output);
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let made = evaluate(&node.operator, &operands, output.ty, &output.dims)?;
        known[node.output.0] = Some(made);
    }
    graph.outputs.iter().map(|id| known[id.0].clone().ok_or_else(|| unknown(id))).collect()
}
