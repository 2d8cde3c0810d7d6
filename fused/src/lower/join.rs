//! Slices of one tensor that are joined again in their order: the tensor itself.

use std::collections::HashMap;

use crate::graph::{Graph, Operator, ValueId};

/// The graph, in which a joined tensor whose parts are all of another one, one after another, is joined of that one.
pub(super) fn join_slices(graph: &Graph) -> Graph {
    let mut joined = graph.clone();
    // What each slice along one axis is of: the tensor, the axis and where it begins.
    let mut slices: HashMap<ValueId, (ValueId, usize, usize)> = HashMap::new();
    for node in &mut joined.nodes {
        match &node.operator {
            Operator::Slice { starts, steps } => {
                let (from, to) = (&graph.value(node.inputs[0]).dims, &graph.value(node.output).dims);
                let cut: Vec<usize> = (0..from.len()).filter(|axis| from[*axis] != to[*axis]).collect();
                if let ([axis], true) = (&cut[..], steps.iter().all(|step| *step == 1)) {
                    slices.insert(node.output, (node.inputs[0], *axis, starts[*axis]));
                }
            }
            Operator::Concat { axis } => {
                let mut inputs = Vec::new();
                let mut rest = &node.inputs[..];
                while let Some((first, after)) = rest.split_first() {
                    let run = run_of(graph, &slices, rest, *axis);
                    match run {
                        Some((whole, length)) => {
                            inputs.push(whole);
                            rest = &rest[length..];
                        }
                        None => {
                            inputs.push(*first);
                            rest = after;
                        }
                    }
                }
                node.inputs = inputs;
            }
            _ => {}
        }
    }
    let read: std::collections::HashSet<ValueId> = joined
        .nodes
        .iter()
        .flat_map(|node| node.inputs.iter().copied())
        .chain(graph.outputs.iter().copied())
        .collect();
    joined.nodes.retain(|node| read.contains(&node.output));
    joined
}

/// The tensor that the first of these are all the slices of, in order, and how many they are.
fn run_of(
    graph: &Graph,
    slices: &HashMap<ValueId, (ValueId, usize, usize)>,
    parts: &[ValueId],
    axis: usize,
) -> Option<(ValueId, usize)> {
    let (whole, along, _) = *slices.get(parts.first()?)?;
    let mut end = 0;
    for (count, part) in parts.iter().enumerate() {
        let (of, by, start) = *slices.get(part)?;
        if (of, by, start) != (whole, along, end) || along != axis {
            return None;
        }
        end += graph.value(*part).dims[axis];
        if end == graph.value(whole).dims[axis] {
            return Some((whole, count + 1));
        }
    }
    None
}
