//! Functions of integers of 8 bits that give such integers: each has 256 results, which are looked up.

use std::collections::HashMap;

use cudainfer_kernels::tensor::TensorType;

use super::Lowering;
use crate::graph::number::is_byte;
use crate::graph::{Elements, Node, Operand, Operator, ValueId, evaluate};
use crate::plan::{Content, View};

/// Functions of which one table is made, at most.
const MOST: usize = 16;

/// Functions of one tensor of integers, and nothing else.
pub(super) struct Table {
    /// Whether somebody else reads the tensor.
    pub is_beside: bool,
    /// The functions that nobody else needs.
    pub nodes: Vec<usize>,
    /// What the last one makes.
    pub output: ValueId,
    /// The result for each integer, as bytes: that of -1 is in the last place.
    bytes: Vec<u8>,
}

impl Lowering<'_> {
    /// A chain or a diamond of functions of a value that a table says: the longest one that all readers of the value are in, else the first
    /// one that some of them are.
    pub(super) fn table(&self, from: ValueId) -> Option<Table> {
        let graph = self.graph;
        let dims = &graph.value(from).dims;
        let mut nodes: Vec<usize> = Vec::new();
        let mut known: HashMap<ValueId, Elements> = HashMap::new();
        known.insert(from, all(graph.value(from).ty)?);
        let mut found: Option<Table> = None;
        for index in self.producers[from.0]?..graph.nodes.len() {
            let node = &graph.nodes[index];
            let of_it = node.inputs.iter().any(|input| known.contains_key(input));
            if !of_it || self.done[index] || graph.value(node.output).dims != *dims {
                continue;
            }
            let Some(results) = self.results(node, &known) else { continue };
            nodes.push(index);
            if let (Elements::Integers(results), true) = (&results, is_byte(graph.value(node.output).ty)) {
                let nodes = self.needed_for(&nodes);
                let is_beside = !self.is_read_by(from, &nodes);
                if found.is_none() || !is_beside {
                    let bytes = results.iter().map(|result| result.to_le_bytes()[0]).collect();
                    found = Some(Table { is_beside, nodes, output: node.output, bytes });
                }
            }
            known.insert(node.output, results);
            if nodes.len() == MOST {
                break;
            }
        }
        found
    }

    /// Of these nodes, the last one and those that nothing but these needs.
    fn needed_for(&self, nodes: &[usize]) -> Vec<usize> {
        let mut needed = Vec::new();
        for node in nodes.iter().rev() {
            if needed.is_empty() || self.is_read_by(self.graph.nodes[*node].output, &needed) {
                needed.push(*node);
            }
        }
        needed
    }

    /// Whether nobody else reads a value.
    fn is_read_by(&self, value: ValueId, nodes: &[usize]) -> bool {
        let by_nodes = self.readers[value.0].iter().all(|reader| nodes.contains(reader));
        by_nodes && !self.graph.outputs.contains(&value)
    }

    /// What a function gives for each integer, of what is known so far.
    fn results(&self, node: &Node, known: &HashMap<ValueId, Elements>) -> Option<Elements> {
        let is_function = matches!(
            node.operator,
            Operator::Unary(_) | Operator::Binary(_) | Operator::Select | Operator::Cast
        );
        let operand = |id: &ValueId| match known.get(id) {
            Some(elements) => Some(Operand { dims: &PLACES, elements }),
            None => {
                let elements = self.graph.value(*id).constant.as_ref()?;
                (elements.len() == 1).then_some(Operand { dims: &[], elements })
            }
        };
        let operands = node.inputs.iter().map(operand).collect::<Option<Vec<_>>>().filter(|_| is_function)?;
        evaluate(&node.operator, &operands, self.graph.value(node.output).ty, &PLACES).ok()
    }

    /// Where a table's results lie.
    pub(super) fn results_of(&mut self, table: &Table) -> View {
        let buffer = self.plan.buffer(Content::Constant(table.bytes.clone()), table.bytes.len());
        View::dense(buffer, self.graph.value(table.output).ty, &PLACES)
    }
}

/// The dimensions of a table.
const PLACES: [usize; 1] = [256];

/// All integers of a type of 8 bits, in the order of their bytes.
fn all(ty: TensorType) -> Option<Elements> {
    let signed = (0..=127).chain(-128..=-1);
    match ty {
        TensorType::Int8 => Some(Elements::Integers(signed.collect())),
        TensorType::UInt8 => Some(Elements::Integers((0..=255).collect())),
        _ => None,
    }
}
