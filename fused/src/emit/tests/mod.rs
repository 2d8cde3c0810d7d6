//! All kinds of kernels compile for GPUs, and compute what the reference does when they are run on the CPU.
#![allow(clippy::unwrap_used)] // clippy's own exception stops at functions without #[test]

mod convolution;
mod host;
mod map;
mod nvrtc;
mod rows;

use cudainfer_kernels::tensor::TensorType;

use crate::plan::{BufferId, View};

/// A dense tensor.
fn dense(buffer: usize, ty: TensorType, dims: &[usize]) -> View {
    View::dense(BufferId(buffer), ty, dims)
}

/// An image `[N, C, H, W]` with channels last in memory.
fn channels_last(buffer: usize, ty: TensorType, dims: [usize; 4]) -> View {
    let [_, c, h, w] = dims.map(usize::cast_signed);
    View { strides: vec![h * w * c, 1, w * c, c], ..dense(buffer, ty, &dims) }
}
