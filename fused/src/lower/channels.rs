//! Which dimension of each tensor lies innermost in memory. Convolutions want their channels there, and what is computed of their
//! outputs and for their inputs had better lie the same way.

use super::convolution::reads_anywhere;
use crate::graph::{Graph, Node, Operator, ValueId};

/// By value: the dimension whose elements are adjacent, where it is not the last one.
pub(super) fn innermost(graph: &Graph) -> Vec<Option<usize>> {
    let mut innermost = vec![None; graph.values.len()];
    for node in &graph.nodes {
        let found = match &node.operator {
            Operator::Convolution { .. }
            | Operator::QuantizedConvolution { .. }
            | Operator::TransposedConvolution { .. }
            | Operator::Pool { .. }
            | Operator::Sample(_) => Some(1),
            _ => node.inputs.iter().find_map(|input| through(graph, node, *input, innermost[input.0]?)),
        };
        innermost[node.output.0] = found;
    }
    // What nothing before it decides, the convolutions after it do.
    for node in graph.nodes.iter().rev() {
        let wanted = match node.operator {
            Operator::Convolution { groups, .. } | Operator::QuantizedConvolution { groups, .. } => {
                Some(1).filter(|_| !reads_anywhere(groups, &graph.value(node.inputs[1]).dims))
            }
            Operator::TransposedConvolution { .. } => Some(1),
            Operator::Unary(_)
            | Operator::Binary(_)
            | Operator::Cast
            | Operator::Resize(_)
            | Operator::Pad { .. } => innermost[node.output.0],
            _ => None,
        };
        let rank = graph.value(node.output).dims.len();
        for input in &node.inputs {
            if graph.value(*input).dims.len() == rank && innermost[input.0].is_none() {
                innermost[input.0] = wanted;
            }
        }
    }
    innermost
}

/// Where the dimension `axis` of an input is in the node's output.
fn through(graph: &Graph, node: &Node, input: ValueId, axis: usize) -> Option<usize> {
    let (from, to) = (&graph.value(input).dims, &graph.value(node.output).dims);
    match &node.operator {
        Operator::Transpose { order } => order.iter().position(|old| *old == axis),
        Operator::Reshape => reshaped(from, to, axis),
        Operator::MatMul => None,
        // Indices lie as they are computed, whatever they choose from.
        Operator::Gather { .. } if input != node.inputs[0] => None,
        // The same dimensions, but for those that broadcasting adds in front.
        _ => (axis + to.len()).checked_sub(from.len()).filter(|_| from.len() == to.len() || from[axis] > 1),
    }
}

/// Where the innermost part of dimension `axis` is after a reshape; `None` where it is joined with what follows it.
fn reshaped(from: &[usize], to: &[usize], axis: usize) -> Option<usize> {
    let end: usize = from[..=axis].iter().product();
    let mut product = 1;
    for (new, length) in to.iter().enumerate() {
        product *= length;
        if product == end && from[axis].is_multiple_of(*length) && *length > 1 {
            return Some(new);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::reshaped;

    #[test]
    fn channels_are_found_again_after_reshapes() {
        assert_eq!(reshaped(&[1, 144, 80, 80], &[1, 144, 6400], 1), Some(1));
        assert_eq!(
            reshaped(&[1, 64, 8400], &[1, 4, 16, 8400], 1),
            Some(2),
            "the inner part of what is split"
        );
        assert_eq!(reshaped(&[1, 64, 80, 80], &[1, 409_600], 1), None);
        assert_eq!(reshaped(&[2, 8, 5], &[16, 5], 1), None, "joined with the batch");
    }
}
