use cudainfer_kernels::tensor::TensorType::{self, Float16, Float32};

use super::{channels_last, dense, host, nvrtc};
use crate::emit::candidates;
use crate::graph::{Unary, Window};
use crate::plan::{Convolution, Epilogue, Step, View};

/// A convolution with all kinds of epilogue.
fn convolution(
    ty: TensorType,
    image: [usize; 4],
    outputs: usize,
    groups: usize,
    size: usize,
    stride: usize,
) -> Convolution {
    let pad = (size / 2).cast_signed();
    let window =
        Window { kernel: [size; 2], strides: [stride; 2], dilations: [1; 2], begin: [pad; 2], end: [pad; 2] };
    let cells = |length: usize| (length + 2 * (size / 2) - size) / stride + 1;
    let made = [image[0], outputs, cells(image[2]), cells(image[3])];
    let weights = [outputs, image[1] / groups, size, size];
    let row = View { strides: vec![0, 1, 0, 0], ..channels_last(4, Float32, made) };
    Convolution {
        input: channels_last(0, ty, image),
        weights: channels_last(1, ty, weights),
        bias: Some(dense(2, Float32, &[outputs])),
        window,
        groups,
        epilogue: vec![
            Epilogue::Unary(Unary::Silu),
            Epilogue::Add(channels_last(3, ty, made)),
            Epilogue::Multiply(row),
        ],
        output: channels_last(5, ty, made),
    }
}

#[test]
fn convolutions_are_those_of_the_reference() {
    for ty in [Float16, Float32] {
        let steps = [
            convolution(ty, [1, 3, 32, 40], 16, 1, 3, 2),
            convolution(ty, [2, 32, 9, 7], 32, 32, 3, 1),
            convolution(ty, [1, 16, 4, 50], 1, 1, 1, 1),
            convolution(ty, [1, 64, 20, 20], 96, 1, 3, 1),
            convolution(ty, [1, 48, 20, 20], 96, 4, 1, 1),
        ];
        for step in &steps {
            let kernels = candidates(step);
            assert!(kernels.last().unwrap().name.starts_with("convolution_naive"));
            nvrtc::compile(&kernels);
        }
        host::check(&steps.map(Step::Convolution));
    }
}
