//! All kinds of kernels compile for GPUs, and compute what the reference does when they are run on the CPU.
#![allow(clippy::unwrap_used)] // clippy's own exception stops at functions without #[test]

mod convolution;
mod host;
mod map;
pub(crate) mod nvrtc;
mod places;
mod product;
mod quantized;
mod rows;
mod top;

use std::collections::BTreeSet;

use cudainfer_kernels::tensor::TensorType;

use super::{Device, Kernel, kernels};
use crate::graph::Window;
use crate::plan::{BufferId, Convolution, Step, View};

/// A GPU that has everything.
const DEVICE: Device = Device { warp_groups: true };

/// A dense tensor.
fn dense(buffer: usize, ty: TensorType, dims: &[usize]) -> View {
    View::dense(BufferId(buffer), ty, dims)
}

/// An image `[N, C, H, W]` with channels last in memory.
fn channels_last(buffer: usize, ty: TensorType, dims: [usize; 4]) -> View {
    let [_, c, h, w] = dims.map(usize::cast_signed);
    View { strides: vec![h * w * c, 1, w * c, c], ..dense(buffer, ty, &dims) }
}

/// The dimensions that a convolution makes of an image.
fn made(image: [usize; 4], outputs: usize, window: &Window) -> [usize; 4] {
    let Window { kernel, strides, dilations, begin, .. } = window;
    let [rows, columns] = [0, 1].map(|axis| {
        let reach = dilations[axis] * (kernel[axis] - 1) + 1;
        let padded = (image[axis + 2] + 2 * begin[axis].unsigned_abs()).max(reach);
        (padded - reach) / strides[axis] + 1
    });
    [image[0], outputs, rows, columns]
}

/// The one kernel of a step, which compiles and computes what the reference does.
fn only(step: &Step) -> Kernel {
    let kernels = kernels(step).unwrap();
    assert_eq!(kernels.len(), 1, "{kernels:?}");
    nvrtc::compile(&kernels);
    host::check(std::slice::from_ref(step));
    kernels[0].clone()
}

/// Compiles candidates of convolutions, compares what they compute with the reference, and returns their kinds.
fn convolutions(of: impl Iterator<Item = Convolution>) -> BTreeSet<String> {
    let steps: Vec<Step> = of.map(Step::Convolution).collect();
    let kernels: Vec<Kernel> = host::alternatives(&steps).into_iter().flatten().flatten().collect();
    nvrtc::compile(&kernels);
    host::check(&steps);
    kernels.iter().map(|kernel| kernel.name.rsplit_once('_').unwrap().0.to_owned()).collect()
}

fn kinds(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| format!("convolution_{name}")).collect()
}
