//! Nodes and values that no output needs.

use super::super::{Graph, ValueId};

/// Removes nodes and values that no output needs; inputs stay. Values have other indices then.
pub fn remove(graph: &mut Graph) {
    let mut needed = vec![false; graph.values.len()];
    for id in graph.outputs.iter().chain(&graph.inputs) {
        needed[id.0] = true;
    }
    let mut kept = Vec::new();
    for node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if needed[node.output.0] {
            node.inputs.iter().for_each(|id| needed[id.0] = true);
            kept.push(node);
        }
    }
    kept.reverse();
    graph.nodes = kept;
    let mut count = 0;
    let place = |needed: &bool| {
        count += usize::from(*needed);
        ValueId(count.saturating_sub(1))
    };
    let moved: Vec<ValueId> = needed.iter().map(place).collect();
    let mut is_needed = needed.into_iter();
    graph.values.retain(|_| is_needed.next().unwrap_or(false));
    let renumber = |id: &mut ValueId| *id = moved[id.0];
    graph.inputs.iter_mut().chain(&mut graph.outputs).for_each(renumber);
    for node in &mut graph.nodes {
        node.inputs.iter_mut().chain([&mut node.output]).for_each(renumber);
    }
}
