//! Convolutions that are not left to cuDNN: depthwise ones, those of few channels, and small dense ones.

mod depthwise;
mod direct;
mod epilogue;
mod matrix;
mod naive;
mod shape;

use super::Device;
use super::kernel::Kernel;
use super::nest::is_small;
use crate::plan::{Convolution, Product, Step};

/// The kernels that run a convolution: of each way to compute it the ones that are probably the fastest, a naive one last. None where there is nothing to do, or
/// where a tensor has 2^31 elements or more.
pub(super) fn candidates(convolution: &Convolution, device: Device) -> Vec<Kernel> {
    let step = Step::Convolution(convolution.clone());
    let (reads, writes) = step.views();
    if convolution.output.elements() == 0 || reads.into_iter().chain(writes).any(|view| !is_small(view)) {
        return Vec::new();
    }
    let mut kernels = depthwise::kernels(convolution);
    if kernels.is_empty() {
        kernels = matrix::kernels(convolution, device);
    }
    // Tensor cores compute sixteen channels at once, however few there are.
    if kernels.is_empty() || (convolution.groups == 1 && convolution.output.dims[1] < 8) {
        kernels.extend(direct::kernels(convolution));
    }
    kernels.extend(naive::kernel(convolution));
    kernels
}

/// The kernel of a product of matrices on tensor cores, if they lie as these read them.
pub(super) fn product(product: &Product) -> Option<Kernel> {
    matrix::products(product).into_iter().next()
}
