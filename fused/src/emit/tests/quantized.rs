use std::collections::BTreeSet;

use cudainfer_kernels::tensor::TensorType::{self, Float32, Int8, Int32, UInt8};

use super::{DEVICE, channels_last, convolutions, dense, kinds, made};
use crate::emit::candidates;
use crate::graph::{Quantization, Unary, Window};
use crate::plan::{Convolution, Epilogue, View};

/// A convolution of integers.
#[derive(Clone, Debug)]
struct Shape {
    ty: TensorType,
    zero: i16,
    image: [usize; 4],
    outputs: usize,
    groups: usize,
    kernel: [usize; 2],
    strides: [usize; 2],
    dilations: [usize; 2],
    begin: [isize; 2],
    after: After,
}

/// What follows the sums and their scales.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    /// Nothing: float32.
    Nothing,
    /// int8 of a function, as part of a joined tensor.
    Function,
    /// uint8, which is kept, then what a table has for each, then the sum with a tensor of int8, as uint8.
    Shortcut,
}

const PLAIN: Shape = Shape {
    ty: Int8,
    zero: 0,
    image: [1, 64, 11, 10],
    outputs: 48,
    groups: 1,
    kernel: [3, 3],
    strides: [1, 1],
    dilations: [1, 1],
    begin: [1, 1],
    after: After::Function,
};

/// Sums of the tests are some 100,000.
const RESULTS: Quantization = Quantization { scale: 613.7, zero: 3, is_signed: true };
const OTHERS: Quantization = Quantization { scale: 311.3, zero: 140, is_signed: false };

impl Shape {
    fn convolution(&self) -> Convolution {
        let Self { ty, zero, image, outputs, groups, kernel, strides, dilations, begin, after } = *self;
        let window = Window { kernel, strides, dilations, begin, end: begin };
        let made = made(image, outputs, &window);
        let row = |buffer| View { strides: vec![0, 1, 0, 0], ..channels_last(buffer, Float32, made) };
        let mut epilogue = vec![Epilogue::Multiply(row(3)), Epilogue::Add(row(4))];
        let output = match after {
            After::Nothing => channels_last(7, Float32, made),
            After::Function => {
                let leaky = Unary::LeakyRelu { slope: 0.1 };
                epilogue.extend([leaky, Unary::Quantize(RESULTS)].map(Epilogue::Unary));
                let joined = channels_last(7, Int8, [made[0], 2 * outputs, made[2], made[3]]);
                View { dims: made.to_vec(), offset: outputs, ..joined }
            }
            After::Shortcut => {
                epilogue.extend([
                    Epilogue::Unary(Unary::Quantize(OTHERS)),
                    Epilogue::Store(channels_last(8, UInt8, made)),
                    Epilogue::Table(dense(5, Int8, &[256])),
                    Epilogue::Unary(Unary::Dequantize(RESULTS)),
                    Epilogue::AddQuantized(channels_last(6, Int8, made), RESULTS),
                    Epilogue::Unary(Unary::Quantize(OTHERS)),
                ]);
                channels_last(7, UInt8, made)
            }
        };
        Convolution {
            input: channels_last(0, ty, image),
            weights: channels_last(1, Int8, [outputs, image[1] / groups, kernel[0], kernel[1]]),
            bias: (zero != 0).then(|| dense(2, Int32, &[outputs])),
            window,
            groups,
            zero,
            epilogue,
            output,
        }
    }
}

/// Integers are the same.
fn check(shapes: &[Shape]) -> BTreeSet<String> {
    convolutions(shapes.iter().map(Shape::convolution))
}

#[test]
fn dense_ones_run_on_tensor_cores_with_any_zero() {
    let shapes = [
        PLAIN,
        Shape { ty: UInt8, after: After::Shortcut, ..PLAIN },
        Shape { ty: UInt8, zero: 131, strides: [2, 2], after: After::Shortcut, ..PLAIN },
        Shape { zero: -7, kernel: [2, 3], dilations: [2, 1], image: [2, 16, 8, 9], ..PLAIN },
        Shape { kernel: [1, 1], begin: [0, 0], outputs: 21, image: [2, 144, 7, 5], ..PLAIN },
        Shape { kernel: [1, 1], begin: [0, 0], outputs: 128, after: After::Nothing, ..PLAIN },
    ];
    assert_eq!(check(&shapes), kinds(&["groups", "matrix", "naive"]));
}

#[test]
fn each_channel_by_itself_is_exact() {
    let own = |channels| Shape { image: [2, channels, 9, 11], outputs: channels, groups: channels, ..PLAIN };
    let shapes = [
        own(32),
        Shape { ty: UInt8, zero: 99, strides: [2, 2], after: After::Shortcut, ..own(24) },
        Shape { kernel: [5, 5], begin: [2, 2], zero: 11, ..own(20) },
    ];
    assert_eq!(check(&shapes), kinds(&["depthwise", "naive"]));
}

#[test]
fn few_channels_and_groups_are_exact_and_long_sums_are_left_to_the_naive_kernel() {
    let shapes = [
        Shape { image: [1, 3, 16, 20], outputs: 16, strides: [2, 2], zero: -3, ..PLAIN },
        Shape { ty: UInt8, zero: 20, image: [1, 24, 6, 7], groups: 2, after: After::Shortcut, ..PLAIN },
        Shape { image: [1, 56, 5, 5], outputs: 5, zero: -128, ..PLAIN },
    ];
    assert_eq!(check(&shapes), kinds(&["direct", "naive"]));
    let long = Shape { image: [1, 58, 5, 5], outputs: 5, ..PLAIN }.convolution();
    assert_eq!(candidates(&long, DEVICE).len(), 1, "58 * 9 products leave float32's integers");
}
