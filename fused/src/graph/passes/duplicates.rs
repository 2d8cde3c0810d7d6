//! Constants and nodes that are there twice.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

use super::super::{Elements, Graph, Value, ValueId};

/// The largest constants that are compared: weights are not there twice, and would take long.
const MOST_ELEMENTS: usize = 4096;

/// Merges equal constants, and nodes that do the same with the same.
pub fn merge(graph: &mut Graph) {
    let mut moved: Vec<ValueId> = (0..graph.values.len()).map(ValueId).collect();
    constants(graph, &mut moved);
    let mut known = HashMap::new();
    let mut kept = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        node.inputs.iter_mut().for_each(|id| *id = moved[id.0]);
        // Outputs stay, each by its own node.
        if graph.outputs.contains(&node.output) {
            kept.push(node);
            continue;
        }
        let output = graph.value(node.output);
        let key = format!("{:?} {:?} {:?} {:?}", node.operator, node.inputs, output.ty, output.dims);
        match known.entry(key) {
            Entry::Occupied(first) => moved[node.output.0] = *first.get(),
            Entry::Vacant(place) => {
                place.insert(node.output);
                kept.push(node);
            }
        }
    }
    graph.nodes = kept;
}

/// Finds equal constants.
fn constants(graph: &Graph, moved: &mut [ValueId]) {
    let mut known: HashMap<u64, Vec<ValueId>> = HashMap::new();
    for (at, value) in graph.values.iter().enumerate() {
        let elements = value.constant.as_ref().filter(|elements| elements.len() <= MOST_ELEMENTS);
        let Some(elements) = elements else { continue };
        let same = known.entry(hash(value, elements)).or_default();
        let first = same.iter().find(|id| {
            let other = graph.value(**id);
            let is_same = other.constant.as_ref().is_some_and(|others| equal(others, elements));
            is_same && (other.ty, &other.dims) == (value.ty, &value.dims)
        });
        match first {
            Some(first) => moved[at] = *first,
            None => same.push(ValueId(at)),
        }
    }
}

fn hash(value: &Value, elements: &Elements) -> u64 {
    let mut hasher = DefaultHasher::new();
    (value.ty, &value.dims).hash(&mut hasher);
    match elements {
        Elements::Floats(values) => values.iter().for_each(|value| value.to_bits().hash(&mut hasher)),
        Elements::Integers(values) => values.hash(&mut hasher),
    }
    hasher.finish()
}

/// Whether elements are the same, 0 and -0 not being so.
fn equal(a: &Elements, b: &Elements) -> bool {
    match (a, b) {
        (Elements::Floats(a), Elements::Floats(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        (Elements::Integers(a), Elements::Integers(b)) => a == b,
        _ => false,
    }
}
