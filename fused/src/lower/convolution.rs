//! Convolutions, with what follows them.

use cudainfer_kernels::tensor::TensorType;

use super::epilogue::Sums;
use super::{Lowering, ROW};
use crate::FusedError;
use crate::graph::number::is_byte;
use crate::graph::{Node, PadMode, ValueId, Window};
use crate::plan::{Convolution, Epilogue, Expression, Map, Program, Source, Step, View};

/// Channels that are so few that kernels without tensor cores read them wherever they lie.
pub(super) const FEW: usize = 4;
/// Taps of one channel from which on such kernels have more to compute than it takes to make the channels [`ROW`].
const LARGE: usize = 25;

/// Whether a convolution with weights of these dimensions is left to kernels without tensor cores, which read channels wherever they lie.
pub(super) fn reads_anywhere(groups: usize, weights: &[usize]) -> bool {
    let area: usize = weights.iter().skip(2).product();
    groups == 1 && weights[1] <= FEW && area < LARGE
}

impl Lowering<'_> {
    pub(super) fn convolution(
        &mut self,
        node: &Node,
        window: Window,
        groups: usize,
    ) -> Result<(), FusedError> {
        let weights = node.inputs[1];
        let dims = &self.graph.value(weights).dims;
        let &[filters, channels, rows, columns] = &dims[..] else {
            return Err(unsupported(node, "the weights have other than four dimensions"));
        };
        let numbers =
            self.numbers(weights).ok_or_else(|| unsupported(node, "the weights are not constant"))?;
        let bias = self.bias(node)?;
        let mut input = self.read(node.inputs[0]);
        if channels > FEW && input.strides[1] != 1 {
            input = self.channels_last(input);
        }
        let (epilogue, last) = self.epilogue(node.output, Sums::OfFloats);
        let output = self.place(last);
        let taps = Taps { filters, channels, rows, columns };
        let zero = Zero::default();
        let mut emitted = Emitted { input, numbers, taps, bias, window, groups, zero, epilogue };
        if channels <= FEW && groups == 1 && !reads_anywhere(groups, dims) {
            self.deepen(&mut emitted);
        }
        self.emit(emitted, output);
        self.made[last.0] = true;
        Ok(())
    }

    pub(super) fn bias(&self, node: &Node) -> Result<Option<Vec<f32>>, FusedError> {
        let numbers =
            |bias: &ValueId| self.numbers(*bias).ok_or_else(|| unsupported(node, "the bias is not constant"));
        node.inputs.get(2).map(numbers).transpose()
    }

    /// A copy with channels last.
    pub(super) fn channels_last(&mut self, view: View) -> View {
        let copy = self.memory_for(&view.dims, view.ty, 1);
        self.copy(view, copy.clone());
        copy
    }

    /// Has a convolution of few channels read a copy that has [`ROW`] of them, those added being 0: tensor cores take that many.
    fn deepen(&mut self, emitted: &mut Emitted) {
        let channels = emitted.taps.channels;
        let mut dims = emitted.input.dims.clone();
        dims[1] = ROW;
        let deep = self.memory_for(&dims, emitted.input.ty, 1);
        let source =
            Source::Padded { view: emitted.input.clone(), before: vec![0; 4], mode: PadMode::Constant(0.0) };
        let program = Program(vec![Expression::Source(0)]);
        self.plan.steps.push(Step::Map(Map {
            dims,
            sources: vec![source],
            program,
            outputs: vec![(deep.clone(), 0)],
        }));
        let area = emitted.taps.rows * emitted.taps.columns;
        let filter = |filter: &[f32]| {
            let mut filter = filter.to_vec();
            filter.resize(ROW * area, 0.0);
            filter
        };
        emitted.numbers = emitted.numbers.chunks_exact(channels * area).flat_map(filter).collect();
        emitted.taps.channels = ROW;
        emitted.input = deep;
    }

    /// Adds the step, which writes channels last: to a place where they are not, they are copied.
    pub(super) fn emit(&mut self, mut emitted: Emitted, output: View) {
        let aligned = |view: &View| {
            let in_rows = |axis: &usize| view.strides[*axis].unsigned_abs().is_multiple_of(ROW);
            view.strides[1] == 1 && view.offset.is_multiple_of(ROW) && [0, 2, 3].iter().all(in_rows)
        };
        // Kernels for few channels, groups or integers write anywhere.
        let anywhere = emitted.groups != 1 || output.dims[1] <= FEW || is_byte(emitted.input.ty);
        let target = if aligned(&output) || anywhere {
            output.clone()
        } else {
            self.memory_for(&output.dims, output.ty, 1)
        };
        let written = self.rows.widen_output(&mut emitted, &target);
        self.rows.widen_input(&mut emitted);
        let Emitted { input, numbers, taps, bias, window, groups, zero, epilogue } = emitted;
        let ty = if is_byte(input.ty) { TensorType::Int8 } else { input.ty };
        let weights = self.floats(&taps.channels_last(&numbers), ty, &taps.dims());
        let weights = View { strides: taps.strides(), ..weights };
        let bias = bias.map(|bias| self.floats(&bias, TensorType::Float32, &[bias.len()]));
        let (bias, zero) = (bias.or(zero.correction), zero.integer);
        let step = Convolution { input, weights, bias, window, groups, zero, epilogue, output: written };
        self.plan.steps.push(Step::Convolution(step));
        if target != output {
            self.copy(target, output);
        }
    }
}

/// A convolution, before its step is made.
pub(super) struct Emitted {
    pub input: View,
    /// `[K, C / groups, R, S]`, row-major.
    pub numbers: Vec<f32>,
    pub taps: Taps,
    pub bias: Option<Vec<f32>>,
    pub window: Window,
    pub groups: usize,
    pub zero: Zero,
    pub epilogue: Vec<Epilogue>,
}

/// What stands for 0 in an image of integers.
#[derive(Debug, Default)]
pub(super) struct Zero {
    pub integer: i16,
    /// What takes it off the sums, `[K]` of int32.
    pub correction: Option<View>,
}

/// The dimensions of weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taps {
    pub filters: usize,
    /// Of a group.
    pub channels: usize,
    pub rows: usize,
    pub columns: usize,
}

impl Taps {
    fn dims(self) -> [usize; 4] {
        [self.filters, self.channels, self.rows, self.columns]
    }

    /// With the channels innermost.
    fn strides(self) -> Vec<isize> {
        let Self { channels, rows, columns, .. } = self;
        [rows * columns * channels, 1, columns * channels, channels].map(usize::cast_signed).to_vec()
    }

    /// `[K, C, R, S]` as `[K, R, S, C]`.
    fn channels_last(self, numbers: &[f32]) -> Vec<f32> {
        let Self { channels, rows, columns, .. } = self;
        let area = rows * columns;
        let filter = |filter: &[f32]| {
            let at = |tap: usize| (0..channels).map(move |channel| channel * area + tap);
            (0..area).flat_map(at).map(|index| filter[index]).collect::<Vec<_>>()
        };
        numbers.chunks_exact((channels * area).max(1)).flat_map(filter).collect()
    }
}

/// A node that no kernel computes.
pub(super) fn unsupported(node: &Node, why: &str) -> FusedError {
    let operator = format!("{:?}", node.operator);
    let operator = operator.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
    FusedError::Unsupported { operator, node: node.name.clone(), why: why.to_owned() }
}
