use std::collections::BTreeSet;

use cudainfer_kernels::tensor::TensorType::{self, Float16, Float32};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::{DEVICE, channels_last, convolutions, dense, kinds, made};
use crate::emit::candidates;
use crate::graph::{Unary, Window};
use crate::plan::{Convolution, Epilogue, View};

/// A convolution with all kinds of epilogue.
#[derive(Clone, Debug)]
struct Shape {
    ty: TensorType,
    image: [usize; 4],
    outputs: usize,
    groups: usize,
    kernel: [usize; 2],
    strides: [usize; 2],
    dilations: [usize; 2],
    begin: [isize; 2],
    /// Whether the image has channels last, the output has.
    channels_last: [bool; 2],
}

const PLAIN: Shape = Shape {
    ty: Float16,
    image: [1, 64, 20, 20],
    outputs: 96,
    groups: 1,
    kernel: [3, 3],
    strides: [1, 1],
    dilations: [1, 1],
    begin: [1, 1],
    channels_last: [true, true],
};

impl Shape {
    fn convolution(&self) -> Convolution {
        let Self { ty, image, outputs, groups, kernel, strides, dilations, begin, .. } = *self;
        let window = Window { kernel, strides, dilations, begin, end: begin };
        let made = made(image, outputs, &window);
        let tensor = |buffer: usize, is_last: bool, dims: [usize; 4]| {
            if is_last { channels_last(buffer, ty, dims) } else { dense(buffer, ty, &dims) }
        };
        let row = View { strides: vec![0, 1, 0, 0], ..channels_last(4, Float32, made) };
        let [input_last, output_last] = self.channels_last;
        // The output is the second half of a joined tensor.
        let joined = tensor(5, output_last, [made[0], 2 * outputs, made[2], made[3]]);
        let offset = if output_last { outputs } else { outputs * made[2] * made[3] };
        Convolution {
            input: tensor(0, input_last, image),
            weights: channels_last(1, ty, [outputs, image[1] / groups, kernel[0], kernel[1]]),
            bias: Some(dense(2, Float32, &[outputs])),
            window,
            groups,
            zero: 0,
            epilogue: vec![
                Epilogue::Unary(Unary::Silu),
                Epilogue::Add(tensor(3, output_last, made)),
                Epilogue::Multiply(row),
            ],
            output: View { dims: made.to_vec(), offset, ..joined },
        }
    }
}

#[test]
fn batches_of_other_sizes_have_the_same_sources() {
    let kernels = |images: usize| {
        let shape = Shape { image: [images, 64, 20, 20], ..PLAIN };
        let all =
            candidates(&shape.convolution(), DEVICE).into_iter().map(|kernel| (kernel.name, kernel.source));
        all.collect::<BTreeSet<_>>()
    };
    assert!(kernels(1).len() > 2);
    assert_eq!(kernels(1), kernels(16));
}

fn check(shapes: &[Shape]) -> BTreeSet<String> {
    for shape in shapes {
        assert!(
            candidates(&shape.convolution(), DEVICE).last().unwrap().name.starts_with("convolution_naive")
        );
    }
    convolutions(shapes.iter().map(Shape::convolution))
}

#[test]
fn dense_ones_run_on_tensor_cores() {
    let shapes = [
        PLAIN,
        Shape { kernel: [1, 1], begin: [0, 0], outputs: 16, image: [2, 24, 7, 9], ..PLAIN },
        Shape { strides: [2, 2], image: [1, 40, 13, 11], outputs: 72, channels_last: [true, false], ..PLAIN },
        Shape { kernel: [2, 5], dilations: [3, 1], image: [1, 8, 9, 17], outputs: 8, ..PLAIN },
    ];
    assert_eq!(check(&shapes), kinds(&["groups", "matrix", "naive"]));
}

#[test]
fn float32_runs_on_tensor_cores_and_without() {
    let shapes = [
        Shape { ty: Float32, outputs: 72, image: [1, 20, 7, 11], ..PLAIN },
        Shape { ty: Float32, strides: [2, 2], image: [2, 36, 7, 11], channels_last: [true, false], ..PLAIN },
        Shape { ty: Float32, kernel: [1, 1], begin: [0, 0], image: [1, 4, 6, 7], outputs: 21, ..PLAIN },
    ];
    assert_eq!(check(&shapes), kinds(&["matrix", "naive", "plain"]));
}

#[test]
fn tensor_cores_make_any_number_of_channels() {
    let shapes = [
        Shape { outputs: 17, kernel: [1, 1], begin: [0, 0], ..PLAIN },
        Shape { outputs: 36, image: [1, 16, 8, 9], ..PLAIN },
        Shape { outputs: 272, kernel: [1, 1], begin: [0, 0], image: [1, 72, 9, 9], ..PLAIN },
        Shape { outputs: 136, image: [1, 8, 12, 13], channels_last: [true, false], ..PLAIN },
        Shape { outputs: 21, image: [2, 48, 8, 9], channels_last: [true, false], ..PLAIN },
    ];
    assert_eq!(check(&shapes), kinds(&["groups", "matrix", "naive"]));
}

#[test]
fn each_channel_by_itself() {
    let own = |channels| Shape { image: [2, channels, 9, 11], outputs: channels, groups: channels, ..PLAIN };
    let shapes = [
        own(32),
        Shape { strides: [2, 2], ..own(24) },
        Shape { kernel: [5, 5], begin: [2, 2], ty: Float32, ..own(40) },
        Shape { dilations: [2, 3], ..own(21) },
        Shape { kernel: [7, 7], begin: [3, 3], image: [1, 264, 7, 7], outputs: 264, groups: 264, ..PLAIN },
        // The weights of 32 chunks of channels are more than a block's shared memory.
        Shape { kernel: [7, 7], begin: [3, 3], image: [1, 256, 7, 7], outputs: 256, groups: 256, ..PLAIN },
    ];
    assert_eq!(check(&shapes), kinds(&["depthwise", "naive"]));
}

#[test]
fn few_channels_and_groups_are_summed_directly() {
    let shapes = [
        Shape { image: [1, 3, 32, 40], outputs: 16, strides: [2, 2], ..PLAIN },
        Shape { image: [1, 3, 32, 40], outputs: 12, strides: [2, 2], channels_last: [false, true], ..PLAIN },
        Shape { image: [2, 3, 21, 19], outputs: 64, kernel: [7, 7], begin: [3, 3], ty: Float32, ..PLAIN },
        Shape { image: [1, 16, 4, 50], outputs: 1, kernel: [1, 1], begin: [0, 0], ..PLAIN },
        Shape {
            image: [1, 16, 4, 50],
            outputs: 1,
            kernel: [1, 1],
            begin: [0, 0],
            channels_last: [false; 2],
            ..PLAIN
        },
        Shape { image: [1, 256, 5, 5], outputs: 3, ..PLAIN },
        Shape { image: [1, 48, 20, 20], outputs: 96, groups: 4, ..PLAIN },
        Shape { image: [1, 8, 9, 9], outputs: 16, groups: 8, channels_last: [false, true], ..PLAIN },
    ];
    assert_eq!(check(&shapes), kinds(&["direct", "matrix", "naive"]));
}

/// Any small convolution.
fn shape() -> impl Strategy<Value = Shape> {
    let counts = (1_usize..4, 1_usize..4, prop::sample::select(vec![1_usize, 2, 4, 8, 16]), 1_usize..3);
    let window = (
        [1_usize..4, 1_usize..4],
        [1_usize..3, 1_usize..3],
        [1_usize..3, 1_usize..3],
        [-1_isize..3, 0_isize..2],
    );
    let places = (1_usize..3, 5_usize..14, 5_usize..14);
    (counts, window, places, prop::bool::ANY, prop::array::uniform2(prop::bool::ANY)).prop_map(
        |(
            (depth, made, by, groups),
            (kernel, strides, dilations, begin),
            (images, rows, columns),
            is_half,
            channels_last,
        )| Shape {
            ty: if is_half { Float16 } else { Float32 },
            image: [images, depth * by * groups, rows, columns],
            outputs: made * by * groups,
            groups,
            kernel,
            strides,
            dilations,
            begin,
            channels_last,
        },
    )
}

#[test]
fn all_others_are_those_of_the_reference() {
    let mut runner = TestRunner::deterministic();
    let shapes: Vec<Shape> = (0..24).map(|_| shape().new_tree(&mut runner).unwrap().current()).collect();
    assert_eq!(check(&shapes), kinds(&["direct", "matrix", "naive", "plain"]));
}

#[test]
fn gelu_is_that_of_the_reference_also_where_it_is_made_for_float16() {
    let of = |ty| {
        let shape = Shape { ty, kernel: [1, 1], begin: [0, 0], image: [1, 16, 6, 7], outputs: 24, ..PLAIN };
        Convolution { epilogue: vec![Epilogue::Unary(Unary::Gelu)], ..shape.convolution() }
    };
    assert!(!convolutions([Float16, Float32].into_iter().map(of)).is_empty());
}
