//! Writes CUDA kernels for the steps of plans: all dimensions, strides, types and windows are literals in their sources.
//!
//! A kernel's source is [`prelude`] and then [`Kernel::source`]; several kernels may follow one prelude. They are compiled for compute
//! capability 7.5 or newer.

mod batches;
mod convolution;
mod kernel;
mod launch;
mod map;
mod nest;
mod product;
mod reader;
mod rows;
mod text;
mod top;

pub use self::kernel::{Kernel, MOST_BUFFERS, what};
use crate::FusedError;
use crate::plan::{Convolution, Step};

/// Everything of [`prelude`] that is C++.
macro_rules! templates {
    () => {
        concat!(
            include_str!("../../cuda/memory.cuh"),
            include_str!("../../cuda/function.cuh"),
            include_str!("../../cuda/rows.cuh"),
            include_str!("../../cuda/top.cuh"),
            include_str!("../../cuda/product.cuh"),
            include_str!("../../cuda/depthwise.cuh"),
            include_str!("../../cuda/direct.cuh"),
            include_str!("../../cuda/sums.cuh"),
            include_str!("../../cuda/matrix.cuh")
        )
    };
}

/// What all kernels need in front of them: types, loads and stores, functions of elements, templates.
pub fn prelude() -> &'static str {
    concat!(include_str!("../../cuda/ptx.cuh"), templates!())
}

/// The prelude without the GPU's own instructions: tests run kernels on the host.
#[cfg(test)]
fn host_prelude() -> &'static str {
    templates!()
}

/// Grows when other kernels are offered for convolutions than before, or in another order: choices that were kept do not mean the same then.
pub const CANDIDATES: u32 = 2;

/// What a GPU has, beyond compute capability 7.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Four warps that multiply together, straight from shared memory: compute capability 9.0, and code for it alone (`sm_90a`).
    pub warp_groups: bool,
}

/// The kernels that run a step, one after another.
///
/// # Errors
/// The step has too many buffers, or tensors of 2^31 elements or more.
pub fn kernels(step: &Step) -> Result<Vec<Kernel>, FusedError> {
    match step {
        Step::Map(map) => map::kernels(map),
        Step::Convolution(convolution) => {
            let last = candidates(convolution, Device::default()).pop();
            last.map(|kernel| vec![kernel]).ok_or_else(|| {
                FusedError::Plan("a convolution has too many buffers, or too large ones".into())
            })
        }
        Step::Reduce(reduce) => rows::reduce(reduce),
        Step::Softmax(softmax) => rows::softmax(softmax),
        Step::Normalize(normalize) => rows::normalize(normalize),
        Step::Product(product) => product::kernels(product),
        Step::Top(top) => top::kernels(top),
    }
}

/// The kernels that run a convolution, each by itself: the one that is probably fastest first, a naive one last. None where there is
/// nothing to do, or where a tensor has 2^31 elements or more.
pub fn candidates(convolution: &Convolution, device: Device) -> Vec<Kernel> {
    convolution::candidates(convolution, device)
}

#[cfg(test)]
pub(crate) mod tests;
