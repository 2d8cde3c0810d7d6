//! Functions of single elements, together with what they are functions of.

use std::collections::HashMap;

use super::Lowering;
use crate::graph::{Node, Operator, Unary, ValueId};
use crate::plan::{Expression, Map, Program, Source, Step, View};

/// Tensors that one kernel reads, at most.
const MOST_SOURCES: usize = 12;
/// Functions that are computed again for each of several readers rather than kept, at most.
const CHEAP: usize = 4;

impl Lowering<'_> {
    /// Whether a node's output is computed only where it is read: by functions of its elements, of which there are as many, once, or
    /// cheaply.
    pub(super) fn may_defer(&self, node: &Node) -> bool {
        let (output, graph) = (node.output, self.graph);
        let dims = &graph.value(output).dims;
        let by_functions = self.readers[output.0].iter().all(|reader| {
            let reader = &graph.nodes[*reader];
            let functions = matches!(
                reader.operator,
                Operator::Unary(_) | Operator::Binary(_) | Operator::Select | Operator::Cast
            );
            functions && graph.value(reader.output).dims == *dims
        });
        let samples = matches!(
            node.operator,
            Operator::Resize(_)
                | Operator::Pad { .. }
                | Operator::Pool { .. }
                | Operator::Gather { .. }
                | Operator::Sample(_)
        );
        let readers = self.readers[output.0].len();
        let few = readers == 1 || (!samples && self.functions(output) <= CHEAP);
        let is_output = graph.outputs.contains(&output);
        by_functions && readers > 0 && few && !is_output && self.sources(output) < MOST_SOURCES / 2
    }

    /// Functions that are computed for an element of this value, of those that are not kept.
    fn functions(&self, value: ValueId) -> usize {
        self.producer(value).map_or(0, |node| {
            let inner = node.inputs.iter().filter(|input| self.deferred[input.0]);
            1 + inner.map(|input| self.functions(*input)).sum::<usize>()
        })
    }

    /// Tensors that are read for it.
    fn sources(&self, value: ValueId) -> usize {
        self.producer(value).map_or(0, |node| {
            node.inputs
                .iter()
                .map(|input| if self.deferred[input.0] { self.sources(*input) } else { 1 })
                .sum()
        })
    }

    fn producer(&self, value: ValueId) -> Option<&Node> {
        Some(&self.graph.nodes[self.producers[value.0]?])
    }

    /// Makes a value that functions give.
    pub(super) fn map(&mut self, value: ValueId) {
        let target = self.place(value);
        self.map_to(value, target);
        self.deferred[value.0] = false;
        self.made[value.0] = true;
    }

    /// Computes such a value, and writes it there.
    pub(super) fn map_to(&mut self, value: ValueId, target: View) {
        let dims = self.graph.value(value).dims.clone();
        let mut writing = Writing {
            dims: dims.clone(),
            sources: Vec::new(),
            program: Program::default(),
            known: HashMap::new(),
        };
        // Its own function, even where it is deferred.
        let result = self.function(value, &mut writing);
        let Writing { sources, program, .. } = writing;
        self.plan.steps.push(Step::Map(Map { dims, sources, program, outputs: vec![(target, result)] }));
    }

    /// The expression of a value that is a function of others.
    fn function(&mut self, value: ValueId, writing: &mut Writing) -> usize {
        let Some(node) = self.producers[value.0].map(|index| self.graph.nodes[index].clone()) else {
            return self.operand(value, writing);
        };
        let expression = match &node.operator {
            Operator::Unary(function) => Expression::Unary(*function, self.operand(node.inputs[0], writing)),
            Operator::Binary(function) => {
                let [a, b] = [0, 1].map(|index| self.operand(node.inputs[index], writing));
                let divided = Expression::Binary(*function, a, b);
                let whole = matches!(function, crate::graph::Binary::Divide) && self.is_integer(value);
                if whole {
                    Expression::Unary(Unary::Truncate, writing.program.push(divided))
                } else {
                    divided
                }
            }
            Operator::Select => {
                let [condition, then, otherwise] =
                    [0, 1, 2].map(|index| self.operand(node.inputs[index], writing));
                Expression::Select(condition, then, otherwise)
            }
            Operator::Cast => {
                let inner = self.operand(node.inputs[0], writing);
                let truncates = self.is_integer(value) && !self.is_integer(node.inputs[0]);
                if self.graph.value(value).ty == cudainfer_kernels::tensor::TensorType::Bool {
                    let not = writing.program.push(Expression::Unary(Unary::Not, inner));
                    Expression::Unary(Unary::Not, not)
                } else if truncates {
                    Expression::Unary(Unary::Truncate, inner)
                } else {
                    return inner;
                }
            }
            Operator::Resize(resize) => {
                let view = self.read(node.inputs[0]);
                let (mode, coordinates, scales) = (resize.mode, resize.coordinates, resize.scales.clone());
                writing.source(Source::Resized { view, mode, coordinates, scales })
            }
            Operator::Pad { before, mode } => {
                let view = self.read(node.inputs[0]);
                writing.source(Source::Padded { view, before: before.clone(), mode: *mode })
            }
            Operator::Pool { kind, window } => {
                let view = self.read(node.inputs[0]);
                writing.source(Source::Pooled { view, kind: *kind, window: *window })
            }
            Operator::Gather { axis } => {
                let [view, indices] = [0, 1].map(|input| self.read(node.inputs[input]));
                let indices = indices.broadcast(&self.graph.value(value).dims);
                writing.source(Source::Gathered { view, indices, axis: *axis })
            }
            Operator::Sample(how) => {
                let [view, places] = [0, 1].map(|input| self.read(node.inputs[input]));
                let place = |of: usize| {
                    let part = places.part(3, of, 1).transpose(&[0, 3, 1, 2]);
                    part.broadcast(&self.graph.value(value).dims)
                };
                writing.source(Source::Sampled { view, places: [place(0), place(1)], how: *how })
            }
            _ => return self.operand(value, writing),
        };
        writing.program.push(expression)
    }

    /// The expression of what a function reads.
    fn operand(&mut self, value: ValueId, writing: &mut Writing) -> usize {
        if let Some(known) = writing.known.get(&value) {
            return *known;
        }
        let known = if let Some(number) = self.scalar(value) {
            writing.program.push(Expression::Constant(number))
        } else if self.deferred[value.0] {
            self.function(value, writing)
        } else {
            let view = self.read(value).broadcast(&writing.dims);
            let source = writing.source(Source::Element(view));
            writing.program.push(source)
        };
        writing.known.insert(value, known);
        known
    }

    fn is_integer(&self, value: ValueId) -> bool {
        use cudainfer_kernels::tensor::TensorType::{Float16, Float32};
        !matches!(self.graph.value(value).ty, Float32 | Float16)
    }
}

/// A map that is being written.
struct Writing {
    dims: Vec<usize>,
    sources: Vec<Source>,
    program: Program,
    /// Expressions of values that were needed before.
    known: HashMap<ValueId, usize>,
}

impl Writing {
    fn source(&mut self, source: Source) -> Expression {
        self.sources.push(source);
        Expression::Source(self.sources.len() - 1)
    }
}
