//! Products of matrices: those with constant ones are 1x1 convolutions.

use cudainfer_kernels::tensor::TensorType;

use super::convolution::{Emitted, Taps, Zero, unsupported};
use super::{Lowering, ROW};
use crate::FusedError;
use crate::graph::{Binary, Node, Operator, Unary, Window};
use crate::plan::{Epilogue, Product, Step, View};

/// The least rows, columns and depth for which tensor cores are worth a copy.
const LARGE: usize = 16;

impl Lowering<'_> {
    /// `[..., M, K]` times a constant `[K, N]`: an image of one row of all M columns, K channels deep.
    pub(super) fn matmul(&mut self, node: &Node) -> Result<(), FusedError> {
        let matrix = self.graph.value(node.inputs[1]);
        let (&[depth, width], Some(numbers)) = (&matrix.dims[..], self.numbers(node.inputs[1])) else {
            self.product(node);
            return Ok(());
        };
        let mut left = self.read(node.inputs[0]);
        let rows = left.elements() / depth;
        let image = |view: &View, channels: usize| {
            view.reshape(&[rows, channels]).map(|view| {
                let (row, channel) = (view.strides[0], view.strides[1]);
                let strides = vec![row * rows.cast_signed(), channel, row * rows.cast_signed(), row];
                View { dims: vec![1, channels, 1, rows], strides, ..view }
            })
        };
        let seen = image(&left, depth).filter(|image| image.strides[1] == 1);
        let input = match seen {
            Some(seen) => seen,
            None => {
                let buffer = self.intermediate(left.elements() * left.ty.size());
                let dense = View::dense(buffer, left.ty, &left.dims);
                self.copy(left, dense.clone());
                left = dense;
                image(&left, depth).ok_or_else(|| unsupported(node, "it has no elements"))?
            }
        };
        let mut transposed = vec![0.0; numbers.len()];
        for (row, of_row) in numbers.chunks_exact(width).enumerate() {
            for (column, number) in of_row.iter().enumerate() {
                transposed[column * depth + row] = *number;
            }
        }
        let (bias, epilogue, last) = self.after_product(node, width);
        let output = self.place(last);
        let target = image(&output, width);
        let taps = Taps { filters: width, channels: depth, rows: 1, columns: 1 };
        let window =
            Window { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], begin: [0, 0], end: [0, 0] };
        let zero = Zero::default();
        let emitted = Emitted { input, numbers: transposed, taps, bias, window, groups: 1, zero, epilogue };
        match target {
            Some(target) => self.emit(emitted, target),
            None => {
                let buffer = self.intermediate(output.elements() * output.ty.size());
                let dense = View::dense(buffer, output.ty, &output.dims);
                let target = image(&dense, width).ok_or_else(|| unsupported(node, "it has no elements"))?;
                self.emit(emitted, target);
                self.copy(dense, output);
            }
        }
        self.made[last.0] = true;
        Ok(())
    }

    /// Any other product. What tensor cores multiply is copied to where they can read it; all else is read where it is.
    fn product(&mut self, node: &Node) {
        let [mut left, mut right] = [0, 1].map(|input| self.read(node.inputs[input]));
        let output = self.place(node.output);
        let (batch, matrix) = output.dims.split_at(output.dims.len() - 2);
        let (depth, rank) = (left.dims[left.dims.len() - 1], right.dims.len());
        let is_large = matrix.iter().chain([&depth]).all(|length| *length >= LARGE);
        if left.ty == TensorType::Float16 && depth.is_multiple_of(ROW) && is_large {
            left = self.with_rows(left.dims.len() - 1, left);
            right = self.with_rows(rank - 2, right);
        }
        let wide = |view: View| {
            let matrix = &view.dims[view.dims.len() - 2..];
            view.broadcast(&[batch, matrix].concat())
        };
        let step = Product { left: wide(left), right: wide(right), output: output.clone() };
        self.plan.steps.push(Step::Product(step));
        self.made[node.output.0] = true;
    }

    /// A tensor whose elements along `axis` lie together, in rows at multiples of [`ROW`]: a copy, if this one's do not.
    fn with_rows(&mut self, axis: usize, view: View) -> View {
        let mut others = view.dims.iter().zip(&view.strides).enumerate().filter(|(of, _)| *of != axis);
        let in_rows = |(_, (dim, stride)): (usize, (&usize, &isize))| {
            *dim == 1 || stride.unsigned_abs().is_multiple_of(ROW)
        };
        if view.strides[axis] == 1 && view.offset.is_multiple_of(ROW) && others.all(in_rows) {
            return view;
        }
        let copy = self.memory_for(&view.dims, view.ty, axis);
        self.copy(view, copy.clone());
        copy
    }

    /// The bias and the functions that follow a product, and the last one's output.
    fn after_product(
        &mut self,
        node: &Node,
        width: usize,
    ) -> (Option<Vec<f32>>, Vec<Epilogue>, crate::graph::ValueId) {
        let (mut bias, mut epilogue, mut last) = (None, Vec::new(), node.output);
        while epilogue.is_empty() && !self.graph.outputs.contains(&last) {
            let &[reader] = &self.readers[last.0][..] else { break };
            let next = &self.graph.nodes[reader];
            match next.operator {
                Operator::Unary(Unary::Quantize(_)) => break,
                Operator::Unary(function) => epilogue.push(Epilogue::Unary(function)),
                Operator::Binary(Binary::Add) if bias.is_none() => {
                    let Some(other) = next.inputs.iter().find(|input| **input != last) else { break };
                    let is_row = self.graph.value(*other).dims.last() == Some(&width);
                    match self.numbers(*other).filter(|numbers| numbers.len() == width && is_row) {
                        Some(numbers) => bias = Some(numbers),
                        None => break,
                    }
                }
                _ => break,
            }
            self.done[reader] = true;
            last = next.output;
        }
        (bias, epilogue, last)
    }
}
