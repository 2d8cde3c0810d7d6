//! Convolutions that are not left to cuDNN: depthwise ones, those of few channels, and small dense ones.

mod epilogue;
mod naive;

use super::kernel::Kernel;
use super::nest::is_small;
use crate::plan::{Convolution, Step};

/// The kernels that run a convolution, the one that is probably fastest first, a naive one last. None where there is nothing to do, or
/// where a tensor has 2^31 elements or more.
pub(super) fn candidates(convolution: &Convolution) -> Vec<Kernel> {
    let step = Step::Convolution(convolution.clone());
    let (reads, writes) = step.views();
    if convolution.output.elements() == 0 || reads.into_iter().chain(writes).any(|view| !is_small(view)) {
        return Vec::new();
    }
    let kernels = [naive::kernel(convolution)];
    kernels.into_iter().flatten().collect()
}
