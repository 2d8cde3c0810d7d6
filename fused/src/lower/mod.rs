//! Graphs as plans: what runs as one kernel, and where tensors lie.
//!
//! - A convolution takes along the functions and additions that follow it, if nobody else needs what lies between.
//! - Functions of single elements run together with those that they are functions of; so does what resizes, pads or pools.
//! - Slices, reshapes, transpositions and broadcasts are views. Parts of a joined tensor are made in it ([`claims`]).
//! - Images lie in memory with their channels last, in rows of a multiple of eight ([`channels`]).
//! - Integers of 8 bits that stand for numbers stay such in memory, and convolutions of them are of integers ([`quantized`]). What makes
//!   others of them, function by function, is looked up in a table ([`table`]).

mod channels;
mod claims;
mod constants;
mod convolution;
mod epilogue;
mod join;
mod map;
mod matmul;
mod quantized;
mod rows;
mod table;
mod transposed;

use std::collections::HashMap;

use cudainfer_kernels::tensor::TensorType;

use self::claims::Claim;
use crate::FusedError;
use crate::graph::{Graph, Node, Operator, PoolKind, ReduceKind, ValueId, Window};
use crate::plan::{
    BufferId, Content, Expression, Map, Normalize, Plan, Program, Reduce, Softmax, Source, Step, Top, View,
    dense_strides,
};

/// Channels are laid out in rows of a multiple of this many, or of sixteen bytes if that is more.
const ROW: usize = 8;

/// Channels of a row, of which there is a multiple.
fn row(ty: TensorType) -> usize {
    ROW.max(16 / ty.size())
}

/// The plan of a graph.
///
/// # Errors
/// [`FusedError::Unsupported`]: a node that no kernel computes.
pub fn lower(graph: &Graph) -> Result<Plan, FusedError> {
    let graph = join::join_slices(graph);
    let mut lowering = Lowering::new(&graph);
    for index in 0..graph.nodes.len() {
        if !lowering.done[index] {
            lowering.node(index)?;
        }
    }
    let outputs = graph.outputs.iter().enumerate().map(|(index, output)| lowering.output(index, *output));
    let outputs = outputs.collect();
    Ok(Plan { outputs, ..lowering.plan })
}

/// A graph that is becoming a plan.
struct Lowering<'a> {
    graph: &'a Graph,
    plan: Plan,
    /// By value: which nodes read it.
    readers: Vec<Vec<usize>>,
    /// By value: which node makes it.
    producers: Vec<Option<usize>>,
    /// By node: whether its output is made, or will be when it is needed.
    done: Vec<bool>,
    /// By value: where it is, once that is decided.
    views: Vec<Option<View>>,
    /// By value: whether steps so far make it.
    made: Vec<bool>,
    /// By value: whether it is computed only where it is read.
    deferred: Vec<bool>,
    innermost: Vec<Option<usize>>,
    claims: HashMap<ValueId, Claim>,
    rows: rows::Rows,
    /// Where constants lie that were needed so far.
    constants: constants::Constants,
}

impl<'a> Lowering<'a> {
    fn new(graph: &'a Graph) -> Self {
        let count = graph.values.len();
        let (mut readers, mut producers) = (vec![Vec::new(); count], vec![None; count]);
        for (index, node) in graph.nodes.iter().enumerate() {
            producers[node.output.0] = Some(index);
            for input in &node.inputs {
                readers[input.0].push(index);
            }
        }
        let innermost = channels::innermost(graph);
        let mut lowering = Self {
            plan: Plan::default(),
            readers,
            producers,
            done: vec![false; graph.nodes.len()],
            views: vec![None; count],
            made: vec![false; count],
            deferred: vec![false; count],
            claims: claims::claims(graph, &innermost),
            innermost,
            rows: rows::Rows::default(),
            constants: constants::Constants::default(),
            graph,
        };
        for (index, input) in graph.inputs.iter().enumerate() {
            let value = graph.value(*input);
            let bytes = value.dims.iter().product::<usize>() * value.ty.size();
            let view = View::dense(lowering.plan.buffer(Content::Input(index), bytes), value.ty, &value.dims);
            lowering.plan.inputs.push(view.clone());
            lowering.views[input.0] = Some(view);
            lowering.made[input.0] = true;
        }
        for (index, output) in graph.outputs.iter().enumerate() {
            let value = graph.value(*output);
            let first = graph.outputs[..index].contains(output);
            // What a step makes is made where it is wanted; everything else is copied there.
            let written =
                lowering.producers[output.0].is_some_and(|node| !is_view(&graph.nodes[node].operator));
            if written && !first {
                let bytes = value.dims.iter().product::<usize>() * value.ty.size();
                let view =
                    View::dense(lowering.plan.buffer(Content::Output(index), bytes), value.ty, &value.dims);
                lowering.views[output.0] = Some(view);
            }
        }
        lowering
    }

    fn node(&mut self, index: usize) -> Result<(), FusedError> {
        let node = &self.graph.nodes[index];
        self.done[index] = true;
        match &node.operator {
            Operator::Convolution { window, groups } => self.convolution(node, *window, *groups),
            Operator::QuantizedConvolution { window, groups, zero } => {
                self.quantized_convolution(node, *window, *groups, *zero)
            }
            Operator::TransposedConvolution { window, groups } => self.transposed(node, *window, *groups),
            Operator::MatMul => self.matmul(node),
            Operator::Pool { kind: PoolKind::Average { .. }, window } if self.is_whole(node, window) => {
                self.reduce(node, Some(ReduceKind::Mean), vec![2, 3]);
                Ok(())
            }
            Operator::Unary(_)
            | Operator::Binary(_)
            | Operator::Select
            | Operator::Cast
            | Operator::Resize(_)
            | Operator::Pad { .. }
            | Operator::Pool { .. }
            | Operator::Gather { .. }
            | Operator::Sample(_) => {
                if self.may_defer(node) {
                    self.deferred[node.output.0] = true;
                } else {
                    self.map(node.output);
                }
                Ok(())
            }
            Operator::Reduce { kind, axes } => {
                self.reduce(node, Some(*kind), axes.clone());
                Ok(())
            }
            Operator::ArgMax { axis } => {
                self.reduce(node, None, vec![*axis]);
                Ok(())
            }
            Operator::Softmax { axis } => {
                let input = self.read(node.inputs[0]);
                let output = self.place(node.output);
                self.plan.steps.push(Step::Softmax(Softmax { input, axis: *axis, output }));
                self.made[node.output.0] = true;
                Ok(())
            }
            Operator::Normalize { axes, epsilon } => {
                let dims = &self.graph.value(node.output).dims;
                let input = self.read(node.inputs[0]);
                let factor = self.read(node.inputs[1]).broadcast(dims);
                let added = node.inputs.get(2).map(|added| self.read(*added).broadcast(dims));
                let output = self.place(node.output);
                let (axes, epsilon) = (axes.clone(), *epsilon);
                self.plan.steps.push(Step::Normalize(Normalize {
                    input,
                    axes,
                    epsilon,
                    factor,
                    added,
                    output,
                }));
                self.made[node.output.0] = true;
                Ok(())
            }
            Operator::Top { axis, largest } => {
                let input = self.read(node.inputs[0]);
                let output = self.place(node.output);
                self.plan.steps.push(Step::Top(Top { input, axis: *axis, largest: *largest, output }));
                self.made[node.output.0] = true;
                Ok(())
            }
            Operator::Concat { axis } => {
                self.concat(node, *axis);
                Ok(())
            }
            Operator::Reshape | Operator::Transpose { .. } | Operator::Slice { .. } | Operator::Expand => {
                self.view(node);
                Ok(())
            }
        }
    }

    /// Whether a pooling's only window is the whole image.
    fn is_whole(&self, node: &Node, window: &Window) -> bool {
        let image = &self.graph.value(node.inputs[0]).dims[2..];
        image == window.kernel && window.begin == [0, 0] && window.end == [0, 0] && window.dilations == [1, 1]
    }

    fn reduce(&mut self, node: &Node, kind: Option<ReduceKind>, axes: Vec<usize>) {
        let input = self.read(node.inputs[0]);
        let output = self.place(node.output);
        self.plan.steps.push(Step::Reduce(Reduce { kind, input, axes, output }));
        self.made[node.output.0] = true;
    }

    /// Parts that were not made in the joined tensor are copied there.
    fn concat(&mut self, node: &Node, axis: usize) {
        let whole = self.place(node.output);
        let mut start = 0;
        for input in &node.inputs {
            let length = self.graph.value(*input).dims[axis];
            let part = whole.part(axis, start, length);
            start += length;
            if self.deferred[input.0] {
                self.map_to(*input, part);
                continue;
            }
            let source = self.read(*input);
            if !source.is_same(&part) {
                self.copy(source, part);
            }
        }
        self.made[node.output.0] = true;
    }

    /// A tensor in other dimensions: where it is, or a copy where that cannot be said, or is elsewhere wanted.
    fn view(&mut self, node: &Node) {
        let (source, to) = (self.read(node.inputs[0]), &self.graph.value(node.output).dims);
        let seen = seen(&node.operator, &source, to);
        let wanted = self.views[node.output.0].clone().or_else(|| self.claimed(node.output));
        let view = match (seen, wanted) {
            (Some(seen), None) => seen,
            (Some(seen), Some(wanted)) => {
                if !seen.is_same(&wanted) {
                    self.copy(seen, wanted.clone());
                }
                wanted
            }
            (None, wanted) => {
                let view = wanted.unwrap_or_else(|| self.root(node.output));
                // Only a reshape is not seen: the elements are laid out in order first, unless they can be seen from the other end.
                match view.reshape(&source.dims) {
                    Some(target) => self.copy(source, target),
                    None => {
                        let bytes = source.elements() * source.ty.size();
                        let buffer = self.plan.buffer(Content::Intermediate, bytes);
                        self.copy(source.clone(), View::dense(buffer, source.ty, &source.dims));
                        self.copy(View::dense(buffer, source.ty, to), view.clone());
                    }
                }
                view
            }
        };
        self.views[node.output.0] = Some(view);
        self.made[node.output.0] = true;
    }

    /// Where a value is that a step reads: it is made first, if it was left for later.
    fn read(&mut self, value: ValueId) -> View {
        if self.graph.value(value).constant.is_some() {
            return self.constant(value);
        }
        if self.deferred[value.0] {
            self.map(value);
        }
        self.place(value)
    }

    /// Where a value is, or will be.
    fn place(&mut self, value: ValueId) -> View {
        if let Some(view) = &self.views[value.0] {
            return view.clone();
        }
        let view = self.claimed(value).unwrap_or_else(|| self.root(value));
        self.views[value.0] = Some(view.clone());
        view
    }

    /// Where a value is in the memory of the one that it is claimed for.
    fn claimed(&mut self, value: ValueId) -> Option<View> {
        match self.claims.get(&value)?.clone() {
            Claim::Part { whole, axis, start } => {
                let length = self.graph.value(value).dims[axis];
                Some(self.place(whole).part(axis, start, length))
            }
            Claim::Same(other) => {
                // The node that makes `other` of it.
                let node = &self.graph.nodes[self.producers[other.0]?];
                let view = self.views[other.0].clone().or_else(|| self.claimed(other))?;
                match &node.operator {
                    Operator::Transpose { order } => {
                        let mut back = vec![0; order.len()];
                        order.iter().enumerate().for_each(|(new, old)| back[*old] = new);
                        Some(view.transpose(&back))
                    }
                    _ => view.reshape(&self.graph.value(value).dims),
                }
            }
        }
    }

    /// Memory of its own for a value.
    fn root(&mut self, value: ValueId) -> View {
        let innermost = self.innermost[value.0];
        let value = self.graph.value(value);
        match innermost {
            Some(axis) => self.memory_for(&value.dims, value.ty, axis),
            None => {
                let bytes = value.dims.iter().product::<usize>() * value.ty.size();
                let buffer = self.plan.buffer(Content::Intermediate, bytes);
                View::dense(buffer, value.ty, &value.dims)
            }
        }
    }

    /// Memory of its own for a tensor whose elements along `axis` are adjacent, in rows of a multiple of [`row`].
    fn memory_for(&mut self, dims: &[usize], ty: TensorType, axis: usize) -> View {
        let order: Vec<usize> = (0..dims.len()).filter(|other| *other != axis).chain([axis]).collect();
        let row = dims[axis].next_multiple_of(row(ty));
        let laid: Vec<usize> = order.iter().map(|of| if *of == axis { row } else { dims[*of] }).collect();
        let mut strides = vec![0; laid.len()];
        dense_strides(&laid).into_iter().zip(order).for_each(|(stride, axis)| strides[axis] = stride);
        let buffer = self.plan.buffer(Content::Intermediate, laid.iter().product::<usize>() * ty.size());
        self.rows.add(buffer, row, dims[axis]);
        View { buffer, ty, offset: 0, dims: dims.to_vec(), strides }
    }

    fn copy(&mut self, from: View, to: View) {
        let program = Program(vec![Expression::Source(0)]);
        let dims = to.dims.clone();
        self.plan.steps.push(Step::Map(Map {
            dims,
            sources: vec![Source::Element(from)],
            program,
            outputs: vec![(to, 0)],
        }));
    }

    /// The output of this index, which is copied to its own buffer if it was not made there.
    fn output(&mut self, index: usize, value: ValueId) -> View {
        let made = self.read(value);
        if matches!(self.plan.buffers[made.buffer.0].content, Content::Output(of) if of == index) {
            return made;
        }
        let output = self.graph.value(value);
        let bytes = output.dims.iter().product::<usize>() * output.ty.size();
        let view = View::dense(self.plan.buffer(Content::Output(index), bytes), output.ty, &output.dims);
        self.copy(made, view.clone());
        view
    }

    /// A buffer that steps hand on to each other.
    fn intermediate(&mut self, bytes: usize) -> BufferId {
        self.plan.buffer(Content::Intermediate, bytes)
    }
}

/// Whether the operator only says elsewhere where elements are.
fn is_view(operator: &Operator) -> bool {
    matches!(
        operator,
        Operator::Reshape | Operator::Transpose { .. } | Operator::Slice { .. } | Operator::Expand
    )
}

/// What such an operator makes of a tensor, if strides can say it.
fn seen(operator: &Operator, source: &View, dims: &[usize]) -> Option<View> {
    match operator {
        Operator::Reshape => source.reshape(dims),
        Operator::Transpose { order } => Some(source.transpose(order)),
        Operator::Slice { starts, steps } => Some(source.slice(starts, steps, dims)),
        Operator::Expand => Some(source.broadcast(dims)),
        _ => None,
    }
}
