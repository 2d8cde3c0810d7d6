//! What makes a graph simpler, and leaves what it computes.

mod activation;
mod bounds;
mod constants;
mod dead;
mod duplicates;
mod fold;
mod identity;
mod integer;
mod merge;
mod padding;
mod quantize;
mod rewrite;
mod scale;
mod sink;

use self::rewrite::{Rewrite, Rule};
use super::{Graph, Operator, Refusal};
use crate::FusedError;

/// How often the rules are gone through at most: each time they change something, others may apply.
const MOST_ROUNDS: usize = 32;

/// Rules that make a graph smaller, in the order in which they are tried on each node.
const SMALLER: [Rule; 13] = [
    identity::rule,
    quantize::identity,
    quantize::moved,
    quantize::parts,
    integer::convolution,
    integer::product,
    merge::rule,
    bounds::rule,
    activation::rule,
    fold::rule,
    scale::rule,
    padding::rule,
    sink::reshape,
];

/// Simplifies a graph as far as the passes can. Constants of float16 are rounded to it then; each once, whatever was folded into it.
///
/// # Errors
/// [`FusedError::Model`]: the graph contradicts itself.
pub fn simplify(graph: &mut Graph) -> Result<(), FusedError> {
    let problem = |refusal| match refusal {
        Refusal::Unsupported(why) | Refusal::Invalid(why) => FusedError::Model(why),
    };
    apply(graph, &SMALLER).map_err(problem)?;
    if graph.nodes.iter().any(|node| matches!(node.operator, Operator::Transpose { .. })) {
        // Axes that are moved later meet those that are moved back, or they do not: then it is left.
        let mut other = graph.clone();
        let rules = [&SMALLER[..], &[sink::transpose]].concat();
        apply(&mut other, &rules).map_err(problem)?;
        if transposed(&other) < transposed(graph) {
            *graph = other;
        }
    }
    constants::round(graph);
    Ok(())
}

/// Applies rules until none changes anything.
fn apply(graph: &mut Graph, rules: &[Rule]) -> Result<(), Refusal> {
    for _ in 0..MOST_ROUNDS {
        constants::shrink(graph);
        duplicates::merge(graph);
        let is_changed = Rewrite::run(graph, rules)?;
        dead::remove(graph);
        if !is_changed {
            break;
        }
    }
    Ok(())
}

/// The number of elements that change their places along axes.
fn transposed(graph: &Graph) -> usize {
    let moved = graph.nodes.iter().filter(|node| matches!(node.operator, Operator::Transpose { .. }));
    moved.map(|node| graph.value(node.output).dims.iter().product::<usize>()).sum()
}
