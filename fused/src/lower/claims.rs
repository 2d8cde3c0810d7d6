//! Tensors that are made where they are needed: a part of a joined tensor, or an output of the model.

use std::collections::HashMap;

use crate::graph::{Graph, Operator, ValueId};

/// A tensor that lies in another one's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Claim {
    /// It is a part of that tensor, from an element of an axis on.
    Part {
        /// The joined tensor.
        whole: ValueId,
        /// Along which axis.
        axis: usize,
        /// From where.
        start: usize,
    },
    /// It is that tensor, in other dimensions: what a reshape or a transposition makes of it.
    Same(ValueId),
}

/// Elements of a type that are read and written at a time: parts of channels begin at multiples.
const ALIGNMENT: usize = 8;

/// Which tensors are made in others' memory. Each is in one place only; where it is needed elsewhere, too, it is copied.
pub(super) fn claims(graph: &Graph, innermost: &[Option<usize>]) -> HashMap<ValueId, Claim> {
    let producers: HashMap<ValueId, usize> =
        graph.nodes.iter().enumerate().map(|(index, node)| (node.output, index)).collect();
    let mut claims = HashMap::new();
    for node in graph.nodes.iter().rev() {
        let Operator::Concat { axis } = node.operator else { continue };
        let mut start = 0;
        for input in &node.inputs {
            // Outputs of the model are dense.
            let inner = innermost[node.output.0] == Some(axis) && !graph.outputs.contains(&node.output);
            if !inner || start % ALIGNMENT == 0 {
                claim(
                    graph,
                    &producers,
                    &mut claims,
                    *input,
                    Claim::Part { whole: node.output, axis, start },
                );
            }
            start += graph.value(*input).dims[axis];
        }
    }
    claims
}

/// Claims a tensor if it is made by a kernel, which can write it anywhere; or what a reshape makes it of.
fn claim(
    graph: &Graph,
    producers: &HashMap<ValueId, usize>,
    claims: &mut HashMap<ValueId, Claim>,
    value: ValueId,
    wanted: Claim,
) {
    if claims.contains_key(&value) || graph.outputs.contains(&value) {
        return;
    }
    let Some(node) = producers.get(&value).map(|index| &graph.nodes[*index]) else { return };
    match node.operator {
        Operator::Slice { .. } | Operator::Expand => {}
        Operator::Reshape | Operator::Transpose { .. } => {
            let source = node.inputs[0];
            claim(graph, producers, claims, source, Claim::Same(value));
            if claims.get(&source) == Some(&Claim::Same(value)) {
                claims.insert(value, wanted);
            }
        }
        _ => {
            claims.insert(value, wanted);
        }
    }
}
