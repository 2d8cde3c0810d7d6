//! What follows a convolution, and runs with it.

use super::Lowering;
use crate::graph::{Binary, Node, Operator, Quantization, Unary, ValueId};
use crate::plan::{Epilogue, View};

/// Functions and additions that a convolution takes along, at most.
const MOST: usize = 4;
/// The same of integers, whose functions are between others that make integers and numbers of each other.
const MOST_OF_INTEGERS: usize = 8;

/// What a convolution adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    OfFloats,
    OfIntegers,
}

impl Lowering<'_> {
    /// The functions and additions that follow a value, as far as nobody else reads what lies between; and the last one's output. Integers
    /// are made of sums of integers alone: sums of floats in another order would make others here and there, and right kernels would look like
    /// wrong ones.
    pub(super) fn epilogue(&mut self, first: ValueId, sums: Sums) -> (Vec<Epilogue>, ValueId) {
        let (mut epilogue, mut last) = (Vec::new(), first);
        let most = if sums == Sums::OfFloats { MOST } else { MOST_OF_INTEGERS };
        while epilogue.len() < most {
            if let Some(table) = self.table(last) {
                if table.is_beside {
                    epilogue.push(Epilogue::Store(self.place(last)));
                    self.made[last.0] = true;
                }
                epilogue.push(Epilogue::Table(self.results_of(&table)));
                table.nodes.iter().for_each(|node| self.done[*node] = true);
                last = table.output;
                continue;
            }
            if self.graph.outputs.contains(&last) {
                break;
            }
            let &[reader] = &self.readers[last.0][..] else { break };
            let node = &self.graph.nodes[reader];
            let taken = match node.operator {
                Operator::Unary(Unary::Quantize(_)) if sums == Sums::OfFloats => None,
                Operator::Unary(Unary::Dequantize(_)) if self.is_better_small(node.output) => None,
                Operator::Unary(function) => Some(Epilogue::Unary(function)),
                Operator::Binary(function @ (Binary::Add | Binary::Multiply)) => {
                    let quantized = (function == Binary::Add).then(|| self.quantized_operand_of(node, last));
                    quantized.flatten().or_else(|| {
                        self.operand_of(node, last).map(|view| match function {
                            Binary::Add => Epilogue::Add(view),
                            _ => Epilogue::Multiply(view),
                        })
                    })
                }
                _ => None,
            };
            let Some(taken) = taken else { break };
            epilogue.push(taken);
            self.done[reader] = true;
            last = node.output;
        }
        (epilogue, last)
    }

    /// Whether these numbers of integers had better not be written: functions that this convolution does not take along read them, and can
    /// as well read the integers.
    fn is_better_small(&self, numbers: ValueId) -> bool {
        let dims = &self.graph.value(numbers).dims;
        let readers = &self.readers[numbers.0];
        let by_functions = readers.iter().all(|reader| {
            let reader = &self.graph.nodes[*reader];
            let is_function =
                matches!(reader.operator, Operator::Binary(_) | Operator::Select | Operator::Cast);
            is_function && self.graph.value(reader.output).dims == *dims
        });
        let is_taken = match readers[..] {
            [reader] => {
                let node = &self.graph.nodes[reader];
                node.operator == Operator::Binary(Binary::Add)
                    && node
                        .inputs
                        .iter()
                        .filter(|input| **input != numbers)
                        .all(|other| self.is_there(*other))
            }
            _ => false,
        };
        by_functions && !is_taken && !self.graph.outputs.contains(&numbers)
    }

    /// Whether a value, or the integers that it is made of, are there already.
    fn is_there(&self, value: ValueId) -> bool {
        let of = |value: ValueId| self.graph.value(value).constant.is_some() || self.made[value.0];
        of(value) || self.deferred[value.0] || self.integers_of(value).is_some_and(|(x, _)| of(x))
    }

    /// What a value is made of, if it is of integers.
    fn integers_of(&self, value: ValueId) -> Option<(ValueId, Quantization)> {
        let node = &self.graph.nodes[self.producers[value.0]?];
        match node.operator {
            Operator::Unary(Unary::Dequantize(by)) => Some((node.inputs[0], by)),
            _ => None,
        }
    }

    /// What `node` adds to `value`, if it is made of integers that are there already and lie as the value does.
    fn quantized_operand_of(&mut self, node: &Node, value: ValueId) -> Option<Epilogue> {
        let dims = &self.graph.value(value).dims;
        let other = *node.inputs.iter().find(|input| **input != value)?;
        let (x, by) = self.integers_of(other)?;
        if !self.made[x.0] || self.graph.value(x).dims != *dims || dims.len() != 4 {
            return None;
        }
        let view = self.read(x);
        (view.strides[1] == 1).then_some(Epilogue::AddQuantized(view, by))
    }

    /// What `node` adds to `value` or multiplies it by, if it is there already and lies as the value does.
    fn operand_of(&mut self, node: &Node, value: ValueId) -> Option<View> {
        let dims = self.graph.value(value).dims.clone();
        let other = *node.inputs.iter().find(|input| **input != value)?;
        let of = self.graph.value(other);
        let same_type = of.ty == self.graph.value(value).ty && self.graph.value(node.output).ty == of.ty;
        let there = of.constant.is_some() || self.made[other.0] || self.deferred[other.0];
        if !same_type || !there || self.graph.value(node.output).dims != dims || dims.len() != 4 {
            return None;
        }
        let view = self.read(other).broadcast(&dims);
        // Something per channel, or a tensor with channels last.
        (view.strides[1] == 1).then_some(view)
    }
}
