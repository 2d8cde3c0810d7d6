//! Two nodes one after another that one says, too.

use super::super::number::is_float;
use super::super::{Node, Operator, Refusal, ValueId};
use super::rewrite::Rewrite;
use cudainfer_kernels::tensor::TensorType;

/// A node after one of the same kind.
pub fn rule(rewrite: &mut Rewrite, node: &Node) -> Result<Option<ValueId>, Refusal> {
    let dims = rewrite.dims(node.output).to_vec();
    let x = node.inputs[0];
    if let Operator::Transpose { order } = &node.operator
        && keeps_order(rewrite.dims(x), order)
    {
        return rewrite.builder.reshape(x, &dims).map(Some);
    }
    let Some(before) = rewrite.maker(x) else { return Ok(None) };
    let source = before.inputs[0];
    match (&before.operator, &node.operator) {
        (Operator::Reshape, Operator::Reshape) => rewrite.builder.reshape(source, &dims).map(Some),
        (Operator::Expand, Operator::Expand) => rewrite.builder.expand(source, &dims).map(Some),
        (Operator::Transpose { order: first }, Operator::Transpose { order }) => {
            let order: Vec<usize> = order.iter().map(|axis| first[*axis]).collect();
            rewrite.builder.transpose(source, &order).map(Some)
        }
        (Operator::Slice { starts: first, steps: by }, Operator::Slice { starts, steps }) => {
            let start = |axis: usize| first[axis].cast_signed() + starts[axis].cast_signed() * by[axis];
            let starts = (0..dims.len()).map(|axis| start(axis).unsigned_abs()).collect();
            let steps = by.iter().zip(steps).map(|(first, step)| first * step).collect();
            rewrite.builder.slice(source, starts, steps, &dims).map(Some)
        }
        (Operator::Cast, Operator::Cast) => Ok(recast(rewrite, source, x, node)),
        _ => Ok(None),
    }
}

/// Whether elements keep their order where axes are permuted: only axes of 1 change places with others.
fn keeps_order(dims: &[usize], order: &[usize]) -> bool {
    order.iter().filter(|axis| dims[**axis] != 1).is_sorted()
}

/// What is cast to a type that holds all its numbers, and back.
fn recast(rewrite: &Rewrite, source: ValueId, between: ValueId, node: &Node) -> Option<ValueId> {
    let [from, through, to] = [source, between, node.output].map(|id| rewrite.builder.ty(id));
    let holds = match from {
        TensorType::Float16 => through == TensorType::Float32,
        TensorType::Bool => true,
        TensorType::UInt8 | TensorType::Int8 => is_float(through) || through.size() > 1,
        _ => false,
    };
    (from == to && holds).then_some(source)
}
