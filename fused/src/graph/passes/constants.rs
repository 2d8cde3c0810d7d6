//! Constants, smaller.

use std::collections::HashSet;

use super::super::evaluate::{Operand, Walk};
use super::super::number::rounded;
use super::super::{Elements, Graph, Operator};
use crate::plan::dense_strides;
use cudainfer_kernels::tensor::TensorType;

/// Makes constants that are broadcast anyway as small as they can be: 1 along axes that they do not change along.
pub fn shrink(graph: &mut Graph) {
    let broadcasts = |operator: &Operator| matches!(operator, Operator::Binary(_) | Operator::Select);
    let (mut shrinkable, mut others) = (HashSet::new(), HashSet::new());
    others.extend(graph.outputs.iter().copied());
    for node in &graph.nodes {
        // The other inputs must have the output's dimensions by themselves: a constant's rank stays, so one of them.
        let dims = &graph.value(node.output).dims;
        let is_whole = node.inputs.iter().any(|id| {
            let value = graph.value(*id);
            value.constant.is_none() && value.dims == *dims
        });
        let of = if broadcasts(&node.operator) && is_whole { &mut shrinkable } else { &mut others };
        of.extend(node.inputs.iter().copied());
    }
    for id in shrinkable.difference(&others) {
        let value = &mut graph.values[id.0];
        let Some(elements) = &value.constant else { continue };
        let mut now = (value.dims.clone(), elements.clone());
        for axis in 0..now.0.len() {
            if now.0[axis] > 1
                && let Some(smaller) = without_repeats(Operand { dims: &now.0, elements: &now.1 }, axis)
            {
                now.1 = smaller;
                now.0[axis] = 1;
            }
        }
        (value.dims, value.constant) = (now.0, Some(now.1));
    }
}

/// The elements at 0 of an axis, if those at its other places are the same.
fn without_repeats(x: Operand<'_>, axis: usize) -> Option<Elements> {
    let strides = dense_strides(x.dims);
    let mut dims = x.dims.to_vec();
    let length = std::mem::replace(&mut dims[axis], 1);
    let at = |place: usize| {
        let offset = strides[axis] * place.cast_signed();
        x.elements.pick(Walk::new(&dims, &strides, offset))
    };
    let first = at(0);
    (1..length).all(|place| at(place) == first).then_some(first)
}

/// Rounds constants of float16 to it, but for the biases of convolutions: plans have these in float32.
pub fn round(graph: &mut Graph) {
    let is_sum = |operator: &Operator| {
        matches!(operator, Operator::Convolution { .. } | Operator::TransposedConvolution { .. })
    };
    let (mut biases, mut others) = (HashSet::new(), HashSet::new());
    for node in &graph.nodes {
        for (slot, id) in node.inputs.iter().enumerate() {
            if slot == 2 && is_sum(&node.operator) { &mut biases } else { &mut others }.insert(id.0);
        }
    }
    let values = graph.values.iter_mut().enumerate();
    for (at, value) in values.filter(|(_, value)| value.ty == TensorType::Float16) {
        if let Some(Elements::Floats(floats)) = &mut value.constant
            && (others.contains(&at) || !biases.contains(&at))
        {
            floats.iter_mut().for_each(|float| *float = rounded((*float).into(), TensorType::Float16));
        }
    }
}
