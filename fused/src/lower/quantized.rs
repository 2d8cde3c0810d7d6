//! Convolutions of integers of 8 bits.
//!
//! Kernels add up products of the integers as they are, and have the integer that stands for 0 where a window lies outside of the image:
//! so the sum is too large by that integer times the sum of the weights, which a bias of int32 takes off again.

use cudainfer_kernels::tensor::TensorType;

use super::convolution::{Emitted, Taps, Zero, reads_anywhere, unsupported};
use super::epilogue::Sums;
use super::{Lowering, row};
use crate::FusedError;
use crate::graph::{Elements, Node, ValueId, Window};
use crate::plan::{Epilogue, View};

impl Lowering<'_> {
    pub(super) fn quantized_convolution(
        &mut self,
        node: &Node,
        window: Window,
        groups: usize,
        zero: i16,
    ) -> Result<(), FusedError> {
        let weights = self.graph.value(node.inputs[1]);
        let (&[filters, channels, rows, columns], Some(Elements::Integers(integers))) =
            (&weights.dims[..], &weights.constant)
        else {
            return Err(unsupported(node, "the weights are no constants of four dimensions"));
        };
        let numbers: Vec<f32> = integers.iter().map(|integer| *integer as f32).collect();
        let of_filter = integers.len() / filters.max(1);
        let sums = integers.chunks_exact(of_filter.max(1)).map(|filter| filter.iter().sum::<i64>());
        let correction: Vec<i64> = sums.map(|sum| -i64::from(zero) * sum).collect();
        let correction = (zero != 0).then(|| self.integers(&correction, TensorType::Int32));
        let zero = Zero { integer: zero, correction };
        let mut input = self.read(node.inputs[0]);
        // Tensor cores read sixteen channels together, of which the last ones may be nobody's.
        let is_whole = channels.is_multiple_of(row(input.ty)) || self.rows.wide(&input).is_some();
        let is_good = input.strides[1] == 1 && (groups != 1 || is_aligned(&input) && is_whole);
        if !is_good && !reads_anywhere(groups, &weights.dims) {
            input = self.channels_last(input);
        }
        let mut epilogue = vec![Epilogue::Multiply(self.of_channels(node.inputs[2], node.output))];
        if let Some(bias) = node.inputs.get(3) {
            epilogue.push(Epilogue::Add(self.of_channels(*bias, node.output)));
        }
        let (after, last) = self.epilogue(node.output, Sums::OfIntegers);
        epilogue.extend(after);
        let output = self.place(last);
        let taps = Taps { filters, channels, rows, columns };
        self.emit(Emitted { input, numbers, taps, bias: None, window, groups, zero, epilogue }, output);
        self.made[last.0] = true;
        Ok(())
    }

    /// A constant `[K]` as it is broadcast along a tensor `[N, K, P, Q]`.
    fn of_channels(&mut self, constant: ValueId, along: ValueId) -> View {
        let view = self.constant(constant);
        let strides = vec![0, view.strides[0], 0, 0];
        View { dims: self.graph.value(along).dims.clone(), strides, ..view }
    }
}

/// Whether each pixel's channels begin at a multiple of what is read at once.
fn is_aligned(view: &View) -> bool {
    let row = row(view.ty);
    view.offset.is_multiple_of(row)
        && [0, 2, 3].iter().all(|axis| view.strides[*axis].unsigned_abs().is_multiple_of(row))
}
