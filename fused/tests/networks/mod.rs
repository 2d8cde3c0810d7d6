//! Networks of all that the engine supports, put together by chance: images from 3 to 14 pixels, up to 24 channels, in float32 or float16.

mod attention;
mod quantized;

use cudainfer_fused::graph::{
    Binary, Builder, Coordinates, Elements, Graph, Operator, PadMode, PoolKind, ReduceKind, Resize,
    ResizeMode, Rounding, Unary, ValueId, Window, simplify,
};
use cudainfer_kernels::tensor::TensorType;
use half::f16;

pub use self::quantized::quantized;

/// Numbers by chance, the same for each seed.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        let mut chance = Self(seed ^ 0x9E37_79B9_7F4A_7C15);
        (0..4).for_each(|_| {
            chance.below(2);
        });
        chance
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// From -1 to 1, as the type holds it.
    pub fn number(&mut self, ty: TensorType) -> f32 {
        let number = self.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0;
        if ty == TensorType::Float16 { f16::from_f32(number).to_f32() } else { number }
    }

    pub fn numbers(&mut self, count: usize, ty: TensorType) -> Vec<f32> {
        (0..count).map(|_| self.number(ty)).collect()
    }
}

/// A network that is being put together.
struct Making {
    builder: Builder,
    chance: Chance,
    ty: TensorType,
    /// Images that may go on.
    images: Vec<ValueId>,
}

/// Convolutions of many channels in float16, as large networks have them: a row of them, some of which are added to what went in. Two images of
/// `side` rows and a few more columns.
pub fn wide(seed: u64, side: usize) -> (Graph, Vec<f32>) {
    let (mut chance, ty) = (Chance::new(seed), TensorType::Float16);
    let dims = [2, 64, side, side + chance.below(5)];
    let mut builder = Builder::default();
    let image = builder.value(ty, &dims);
    builder.graph.inputs.push(image);
    let mut making = Making { builder, chance, ty, images: vec![image] };
    let mut last = image;
    for _ in 0..3 {
        let (kernel, step) = (making.chance.of(&[3, 3, 1]), making.chance.of(&[1, 1, 2]));
        let (dilation, pad) = if kernel == 3 { making.chance.of(&[(1, 1), (2, 2)]) } else { (1, 0) };
        let window = Window {
            kernel: [kernel; 2],
            strides: [step; 2],
            dilations: [dilation; 2],
            begin: [pad; 2],
            end: [pad; 2],
        };
        let filters = making.chance.of(&[16, 80, 128, 256, 272]);
        let made = making.convolution_with(last, filters, window, 1).unwrap();
        let made = making.builder.unary(Unary::Silu, made).unwrap();
        let alike = making.dims(made) == making.dims(last);
        last = if alike { making.builder.binary(Binary::Add, made, last).unwrap() } else { made };
    }
    making.builder.graph.outputs.push(last);
    let mut graph = making.builder.graph;
    simplify(&mut graph).unwrap();
    let input = making.chance.numbers(dims.iter().product(), ty);
    (graph, input)
}

/// The network of a seed, simplified as those of files are, and its input's elements.
pub fn network(seed: u64, ty: TensorType) -> (Graph, Vec<f32>) {
    let mut chance = Chance::new(seed);
    let dims =
        [1 + chance.below(3), chance.of(&[1, 3, 4, 8, 16, 20]), 5 + chance.below(10), 5 + chance.below(10)];
    let mut builder = Builder::default();
    let image = builder.value(ty, &dims);
    builder.graph.inputs.push(image);
    let mut making = Making { builder, chance, ty, images: vec![image] };
    for _ in 0..4 + making.chance.below(6) {
        let from = *making.images.last().unwrap();
        // What does not fit is left out: another one follows.
        if let Some(made) = making.step(from) {
            making.images.push(made);
        }
    }
    if making.images.len() == 1 {
        let made = making.convolution(image).unwrap();
        making.images.push(made);
    }
    let last = *making.images.last().unwrap();
    let mut outputs = vec![making.end(last)];
    // An image that others go on from may be an output as well.
    let other = making.images[1 + making.chance.below(making.images.len() - 1)];
    if making.chance.below(3) == 0 && !outputs.contains(&other) {
        outputs.push(other);
    }
    let Making { mut builder, mut chance, .. } = making;
    builder.graph.outputs = outputs;
    let mut graph = builder.graph;
    simplify(&mut graph).unwrap();
    let input = chance.numbers(dims.iter().product(), ty);
    (graph, input)
}

impl Making {
    fn dims(&self, value: ValueId) -> [usize; 4] {
        self.builder.dims(value).try_into().unwrap()
    }

    /// Weights whose sums stay about as large as what they are sums of.
    fn weights(&mut self, dims: &[usize], fan: usize) -> ValueId {
        let count = dims.iter().product();
        let size = (3.0 / fan.max(1) as f32).sqrt();
        let numbers = self.chance.numbers(count, TensorType::Float32).into_iter().map(|number| number * size);
        let ty = self.ty;
        let round =
            |number: f32| if ty == TensorType::Float16 { f16::from_f32(number).to_f32() } else { number };
        self.builder.constant(ty, dims, Elements::Floats(numbers.map(round).collect()))
    }

    fn step(&mut self, from: ValueId) -> Option<ValueId> {
        let [images, channels, rows, columns] = self.dims(from);
        match self.chance.below(16) {
            0..=4 => self.convolution(from),
            5 => self.transposed(from),
            6 => {
                let kernel = self.chance.of(&[[2, 2], [3, 3], [5, 5], [rows, columns]]);
                let whole = kernel == [rows, columns];
                let pad =
                    if whole { 0 } else { self.chance.below(kernel[0].min(kernel[1]) / 2 + 1).cast_signed() };
                let strides = self.chance.of(&[[1, 1], [2, 2], [1, 2]]);
                let kind = self.chance.of(&[
                    PoolKind::Maximum,
                    PoolKind::Average { count_padding: false },
                    PoolKind::Average { count_padding: true },
                ]);
                let window = Window { kernel, strides, dilations: [1, 1], begin: [pad; 2], end: [pad; 2] };
                self.builder.pool(from, kind, window).ok()
            }
            7 => self.resize(from),
            8 => {
                // A shortcut: what has the same dimensions is added.
                let other = self.convolution_with(from, channels, Window::plain(3), 1)?;
                let sum = self.builder.binary(Binary::Add, from, other).ok()?;
                if self.chance.below(2) == 0 { Some(sum) } else { self.builder.unary(Unary::Relu, sum).ok() }
            }
            9 => {
                let mean = self.builder.reduce(ReduceKind::Mean, from, &[2, 3], true).ok()?;
                let squeezed = self.convolution_with(mean, channels, Window::plain(1), 1)?;
                let gate = self.builder.unary(Unary::Sigmoid, squeezed).ok()?;
                self.builder.binary(Binary::Multiply, from, gate).ok()
            }
            11 => self.attention(from),
            12 => self.sampled(from),
            13 => self.shuffled(from),
            10 if channels % 2 == 0 => {
                let half = channels / 2;
                let parts = [0, half].map(|start| self.builder.slice_axis(from, 1, start, 1, half).unwrap());
                let more = self.convolution_with(parts[1], half, Window::plain(3), 1)?;
                let order = self.chance.of(&[[0, 1, 2], [1, 0, 2], [2, 1, 0]]);
                let joined = order.map(|index| [parts[0], parts[1], more][index]);
                self.builder.concat(&joined, 1).ok()
            }
            _ => {
                let before = [0, 0, self.chance.below(3).cast_signed(), 1];
                let after = [0, 0, 1, self.chance.below(3).cast_signed()];
                let mode = self.chance.of(&[
                    PadMode::Constant(0.0),
                    PadMode::Constant(0.5),
                    PadMode::Edge,
                    PadMode::Reflect,
                ]);
                let padded = self.builder.pad(from, &before, &after, mode).ok()?;
                let shift = self.weights(&[channels, 1, 1], 3);
                let _ = images;
                self.builder.binary(Binary::Subtract, padded, shift).ok()
            }
        }
    }

    fn convolution(&mut self, from: ValueId) -> Option<ValueId> {
        let [_, channels, ..] = self.dims(from);
        let kernel = self.chance.of(&[[1, 1], [3, 3], [1, 3], [2, 2], [5, 5]]);
        let dilations = self.chance.of(&[[1, 1], [1, 1], [2, 2]]);
        let begin = kernel.map(|taps: usize| self.chance.below(taps).cast_signed());
        let window = Window {
            kernel,
            strides: self.chance.of(&[[1, 1], [2, 2], [2, 1]]),
            dilations,
            begin,
            end: begin,
        };
        let groups = self.chance.of(&[1, 1, 1, channels, 2]);
        if channels % groups != 0 {
            return None;
        }
        let filters = match groups {
            1 => self.chance.of(&[1, 2, 4, 8, 16, 21, 24]),
            _ => channels * self.chance.of(&[1, 1, 2]),
        };
        let made = self.convolution_with(from, filters, window, groups)?;
        match self.chance.below(3) {
            0 => Some(made),
            _ => {
                let function = self.chance.of(&[
                    Unary::Relu,
                    Unary::Silu,
                    Unary::LeakyRelu { slope: 0.1 },
                    Unary::Clip { low: 0.0, high: 0.75 },
                    Unary::HardSwish,
                    Unary::Sigmoid,
                    Unary::Gelu,
                    Unary::Tanh,
                ]);
                self.builder.unary(function, made).ok()
            }
        }
    }

    fn convolution_with(
        &mut self,
        from: ValueId,
        filters: usize,
        window: Window,
        groups: usize,
    ) -> Option<ValueId> {
        let [_, channels, ..] = self.dims(from);
        let of_group = channels / groups;
        let [rows, columns] = window.kernel;
        let mut inputs =
            vec![from, self.weights(&[filters, of_group, rows, columns], of_group * rows * columns)];
        if self.chance.below(4) > 0 {
            inputs.push(self.weights(&[filters], 3));
        }
        self.builder.convolution(&inputs, window, groups).ok()
    }

    fn transposed(&mut self, from: ValueId) -> Option<ValueId> {
        let [_, channels, ..] = self.dims(from);
        let kernel = self.chance.of(&[[2, 2], [3, 3], [4, 4], [2, 3]]);
        let strides = self.chance.of(&[[2, 2], [1, 1], [2, 1], [3, 3]]);
        let pad = self.chance.below(2).cast_signed();
        let end = pad - self.chance.below(2).cast_signed();
        let window = Window { kernel, strides, dilations: [1, 1], begin: [pad; 2], end: [end; 2] };
        let filters = self.chance.of(&[3, 8, 12]);
        let inputs = [from, self.weights(&[channels, filters, kernel[0], kernel[1]], channels * kernel[0])];
        let made = self.builder.transposed_convolution(&inputs, window, 1).ok()?;
        self.builder.unary(Unary::Relu, made).ok()
    }

    fn resize(&mut self, from: ValueId) -> Option<ValueId> {
        let [images, channels, rows, columns] = self.dims(from);
        let (up, wide) = (1 + self.chance.below(2), 1 + self.chance.below(2));
        let dims = [images, channels, rows * up, columns * wide];
        let mode = self.chance.of(&[
            ResizeMode::Nearest(Rounding::Floor),
            ResizeMode::Linear,
            ResizeMode::Cubic { a: -0.75 },
        ]);
        let coordinates =
            self.chance.of(&[Coordinates::HalfPixel, Coordinates::Asymmetric, Coordinates::AlignCorners]);
        let scales = vec![1.0, 1.0, up as f32, wide as f32];
        let resize = Operator::Resize(Resize { mode, coordinates, scales });
        self.builder.node(resize, &[from], self.ty, &dims).ok()
    }

    /// What detectors and classifiers end in.
    fn end(&mut self, from: ValueId) -> ValueId {
        let [images, channels, rows, columns] = self.dims(from);
        let builder = &mut self.builder;
        match self.chance.below(5) {
            0 => from,
            1 => {
                let flat = builder.reshape(from, &[images, channels, rows * columns]).unwrap();
                let turned = builder.transpose(flat, &[0, 2, 1]).unwrap();
                builder.softmax(turned, 2).unwrap()
            }
            2 => builder.softmax(from, 1).unwrap(),
            3 => {
                let pooled = builder.reduce(ReduceKind::Mean, from, &[2, 3], false).unwrap();
                let matrix = self.weights(&[channels, 10], channels);
                let product = self.builder.multiply(pooled, matrix).unwrap();
                let bias = self.weights(&[10], 3);
                self.builder.binary(Binary::Add, product, bias).unwrap()
            }
            _ => {
                let best = builder.reduce(ReduceKind::Maximum, from, &[1], true).unwrap();
                let low = builder.binary(Binary::Subtract, from, best).unwrap();
                let flat = builder.reshape(low, &[images, channels * rows * columns]).unwrap();
                builder.unary(Unary::Exp, flat).unwrap()
            }
        }
    }
}

/// A window of this many taps that leaves an image as large as it is.
trait Plain {
    fn plain(taps: usize) -> Window;
}

impl Plain for Window {
    fn plain(taps: usize) -> Window {
        let pad = (taps / 2).cast_signed();
        Window { kernel: [taps; 2], strides: [1; 2], dilations: [1; 2], begin: [pad; 2], end: [pad; 2] }
    }
}

/// Elements as bytes.
pub fn bytes(numbers: &[f32], ty: TensorType) -> Vec<u8> {
    match ty {
        TensorType::Float16 => {
            numbers.iter().flat_map(|number| f16::from_f32(*number).to_ne_bytes()).collect()
        }
        _ => numbers.iter().flat_map(|number| number.to_ne_bytes()).collect(),
    }
}

/// Bytes as elements.
pub fn numbers(bytes: &[u8], ty: TensorType) -> Vec<f32> {
    match ty {
        TensorType::Float16 => {
            bytes.as_chunks().0.iter().map(|half| f16::from_ne_bytes(*half).to_f32()).collect()
        }
        _ => bytes.as_chunks().0.iter().map(|float| f32::from_ne_bytes(*float)).collect(),
    }
}

/// The root of the mean square of the difference, as a share of that of what is expected.
pub fn difference(expected: &[f32], found: &[f32]) -> f64 {
    assert_eq!(expected.len(), found.len());
    let square = |number: f32| f64::from(number) * f64::from(number);
    let size: f64 = expected.iter().map(|number| square(*number)).sum();
    let off: f64 = expected.iter().zip(found).map(|(a, b)| square(a - b)).sum();
    (off / size.max(1e-12)).sqrt()
}
