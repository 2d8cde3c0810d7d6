//! Networks as quantisers write them, put together by chance: convolutions between integers of 8 bits, and what is done with these.

use cudainfer_fused::graph::{
    Binary, Builder, Coordinates, Elements, Graph, Operator, PoolKind, Quantization, ReduceKind, Resize,
    ResizeMode, Rounding, Steps, Unary, ValueId, Window,
};
use cudainfer_kernels::tensor::TensorType;

use super::{Chance, Plain as _};

/// The network of a seed as its file says it, and its input's elements.
pub fn quantized(seed: u64) -> (Graph, Vec<f32>) {
    let mut chance = Chance::new(seed);
    let dims =
        [1 + chance.below(2), chance.of(&[3, 4, 8, 16, 20, 32]), 5 + chance.below(8), 5 + chance.below(8)];
    let mut builder = Builder::default();
    let image = builder.value(TensorType::Float32, &dims);
    builder.graph.inputs.push(image);
    let mut making = Making { builder, chance };
    let mut images = vec![making.through(image, 1.0)];
    for _ in 0..3 + making.chance.below(6) {
        let from = images[images.len() - 1 - making.chance.below(2).min(images.len() - 1)];
        if let Some(made) = making.step(from, &images) {
            images.push(made);
        }
    }
    let last = making.convolution_with(images[images.len() - 1], 5, Window::plain(1), 1).unwrap();
    let mut outputs = vec![last];
    if making.chance.below(3) == 0 && images.len() > 1 {
        // Numbers and integers that others go on from.
        outputs.push(images[images.len() - 1]);
    }
    let Making { mut builder, mut chance } = making;
    builder.graph.outputs = outputs;
    let input = chance.numbers(dims.iter().product(), TensorType::Float32);
    (builder.graph, input)
}

/// A network that is being put together. All its images are numbers of integers, mostly from -2 to 2.
struct Making {
    builder: Builder,
    chance: Chance,
}

impl Making {
    fn dims(&self, value: ValueId) -> [usize; 4] {
        self.builder.dims(value).try_into().unwrap()
    }

    /// The numbers that integers stand for which are made of numbers up to about `size`.
    fn through(&mut self, from: ValueId, size: f32) -> ValueId {
        let by = self.chance.of(&[(0, true), (0, true), (-20, true), (128, false), (117, false), (0, false)]);
        let scale = size * (0.006 + 0.006 * self.chance.below(1000) as f32 / 1000.0);
        let by = Quantization { scale, zero: by.0, is_signed: by.1 };
        let whole = self.builder.unary(Unary::Quantize(by), from).unwrap();
        self.builder.unary(Unary::Dequantize(by), whole).unwrap()
    }

    fn step(&mut self, from: ValueId, images: &[ValueId]) -> Option<ValueId> {
        let [_, channels, rows, columns] = self.dims(from);
        match self.chance.below(10) {
            0..=3 => {
                let made = self.convolution(from)?;
                let made = self.through(made, 2.0);
                Some(self.function(made))
            }
            4 => {
                // A shortcut, and a part of the sum with what it is the sum of.
                let made = self.convolution_with(from, channels, Window::plain(3), 1)?;
                let made = self.through(made, 2.0);
                let function = self.chance.of(&[Binary::Add, Binary::Add, Binary::Multiply]);
                let sum = self.builder.binary(function, from, made).ok()?;
                Some(self.through(sum, 2.0))
            }
            5 => {
                let kernel = self.chance.of(&[[2, 2], [3, 3], [5, 5]]);
                let pad = self.chance.below(kernel[0] / 2 + 1).cast_signed();
                let strides = self.chance.of(&[[1, 1], [2, 2]]);
                let window = Window { kernel, strides, dilations: [1, 1], begin: [pad; 2], end: [pad; 2] };
                let kind = self.chance.of(&[
                    PoolKind::Maximum,
                    PoolKind::Maximum,
                    PoolKind::Average { count_padding: false },
                ]);
                let pooled = self.builder.pool(from, kind, window).ok()?;
                Some(if kind == PoolKind::Maximum { pooled } else { self.through(pooled, 1.0) })
            }
            6 => {
                let scales = vec![1.0, 1.0, 2.0, 2.0];
                let mode = ResizeMode::Nearest(Rounding::Floor);
                let resize = Operator::Resize(Resize { mode, coordinates: Coordinates::Asymmetric, scales });
                let [images, ..] = self.dims(from);
                if rows > 12 {
                    return None;
                }
                let dims = [images, channels, rows * 2, columns * 2];
                self.builder.node(resize, &[from], TensorType::Float32, &dims).ok()
            }
            7 if channels >= 2 => {
                // Halves, of which one goes through a convolution, joined in other steps.
                let half = channels / 2;
                let first = self.builder.slice_axis(from, 1, 0, 1, half).ok()?;
                let second = self.builder.slice_axis(from, 1, half, 1, channels - half).ok()?;
                let made = self.convolution_with(second, 8, Window::plain(3), 1)?;
                let made = self.through(made, 2.0);
                let joined = self.builder.concat(&[first, second, made], 1).ok()?;
                Some(if self.chance.below(4) == 0 { joined } else { self.through(joined, 2.0) })
            }
            8 => {
                let fitting = images.iter().filter(|image| self.dims(**image)[2..] == self.dims(from)[2..]);
                let others: Vec<ValueId> = fitting.copied().collect();
                let other = self.chance.of(&others);
                let joined = self.builder.concat(&[from, other], 1).ok()?;
                Some(self.through(joined, 2.0))
            }
            _ => {
                let mean = self.builder.reduce(ReduceKind::Mean, from, &[2, 3], true).ok()?;
                let mean = self.through(mean, 0.5);
                let made = self.convolution_with(mean, channels, Window::plain(1), 1)?;
                let gate = self.builder.unary(Unary::Sigmoid, made).ok()?;
                let gate = self.through(gate, 1.0);
                let product = self.builder.binary(Binary::Multiply, from, gate).ok()?;
                Some(self.through(product, 2.0))
            }
        }
    }

    /// What quantisers make of an activation.
    fn function(&mut self, from: ValueId) -> ValueId {
        match self.chance.below(4) {
            0 => from,
            1 => {
                let open = self.builder.unary(Unary::Sigmoid, from).unwrap();
                let gate = self.through(open, 1.0);
                let product = self.builder.binary(Binary::Multiply, from, gate).unwrap();
                self.through(product, 2.0)
            }
            _ => {
                let function = self.chance.of(&[
                    Unary::Relu,
                    Unary::LeakyRelu { slope: 0.1 },
                    Unary::Clip { low: 0.0, high: 1.5 },
                    Unary::HardSwish,
                ]);
                let made = self.builder.unary(function, from).unwrap();
                self.through(made, 2.0)
            }
        }
    }

    fn convolution(&mut self, from: ValueId) -> Option<ValueId> {
        let [_, channels, ..] = self.dims(from);
        let kernel = self.chance.of(&[[1, 1], [3, 3], [1, 3], [2, 2]]);
        let begin = kernel.map(|taps: usize| self.chance.below(taps).cast_signed());
        let strides = self.chance.of(&[[1, 1], [1, 1], [2, 2]]);
        let window = Window { kernel, strides, dilations: [1, 1], begin, end: begin };
        let groups = self.chance.of(&[1, 1, 1, channels]);
        let filters = if groups == 1 { self.chance.of(&[1, 5, 8, 16, 21, 32]) } else { channels };
        self.convolution_with(from, filters, window, groups)
    }

    fn convolution_with(
        &mut self,
        from: ValueId,
        filters: usize,
        window: Window,
        groups: usize,
    ) -> Option<ValueId> {
        let [_, channels, ..] = self.dims(from);
        let of_filter = channels / groups * window.kernel[0] * window.kernel[1];
        let [rows, columns] = window.kernel;
        let size = (3.0 / of_filter as f32).sqrt() / 127.0;
        let scales = if self.chance.below(3) == 0 { 1 } else { filters };
        let scales: Vec<f32> =
            (0..scales).map(|_| size * (0.5 + self.chance.below(1000) as f32 / 1000.0)).collect();
        let number = |at: usize, whole: usize| (whole as f32 - 127.0) * scales[at / of_filter % scales.len()];
        let numbers = (0..filters * of_filter).map(|at| number(at, self.chance.below(255))).collect();
        let dims = [filters, channels / groups, rows, columns];
        let weights = self.builder.constant(TensorType::Float32, &dims, Elements::Floats(numbers));
        self.builder.graph.values[weights.0].steps = Some(Steps { axis: 0, scales });
        let mut inputs = vec![from, weights];
        if self.chance.below(4) > 0 {
            let bias = self.chance.numbers(filters, TensorType::Float32);
            inputs.push(self.builder.constant(TensorType::Float32, &[filters], Elements::Floats(bias)));
        }
        self.builder.convolution(&inputs, window, groups).ok()
    }
}
