//! Nodes that change nothing.

use super::super::{Binary, Node, Operator, Refusal, ValueId};
use super::rewrite::Rewrite;

/// A node whose output is its input.
pub fn rule(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let first = node.inputs[0];
    let output = rewrite.builder.graph.value(node.output);
    let (ty, dims) = (output.ty, output.dims.as_slice());
    let is_same = rewrite.dims(first) == dims;
    let is_nothing = match &node.operator {
        // What copies an output's value from a constant or an input is written again where it is needed.
        Operator::Reshape | Operator::Expand => is_same,
        // What is cut off at one end may be added at the other one.
        Operator::Pad { before, .. } => is_same && before.iter().all(|pad| *pad == 0),
        Operator::Cast => ty == rewrite.builder.ty(first),
        Operator::Transpose { order } => order.is_sorted(),
        Operator::Slice { starts, steps } => {
            is_same && starts.iter().all(|start| *start == 0) && steps.iter().all(|step| *step == 1)
        }
        Operator::Concat { .. } => node.inputs.len() == 1,
        Operator::Reduce { axes, .. } => axes.is_empty(),
        Operator::Binary(function) => return Ok(neutral(rewrite, node, *function)),
        _ => false,
    };
    Ok(is_nothing.then_some(first))
}

/// What is added to 0 or multiplied by 1.
fn neutral(rewrite: &Rewrite, node: &Node, function: Binary) -> Option<ValueId> {
    let (x, number, is_second) = rewrite.with_number([node.inputs[0], node.inputs[1]])?;
    let is_neutral = match function {
        Binary::Add => number == 0.0,
        Binary::Multiply => number == 1.0,
        Binary::Subtract => is_second && number == 0.0,
        Binary::Divide | Binary::Power => is_second && number == 1.0,
        _ => false,
    };
    is_neutral.then_some(x)
}
