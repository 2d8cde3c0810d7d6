//! What is enqueued as a step.

use cudainfer_kernels::device::{CudaStream, Kernel};

use super::GpuError;
use super::compiled::{Compiled, Parameter};
use super::cudnn::{Execution, Handle};
use crate::emit;
use crate::plan::BufferId;

/// What runs as a step.
#[derive(Debug)]
pub(super) enum Launch {
    /// Kernels of ours, one after another.
    Kernels(Vec<Bound>),
    Cudnn(Execution),
}

/// A kernel and its parameter.
#[derive(Debug)]
pub(super) struct Bound {
    kernel: Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    parameter: Parameter,
}

impl Launch {
    /// Enqueues it; with `overlap`, kernels of ours may begin before what is ahead of them is over, and wait for it by themselves.
    pub fn enqueue(
        &self,
        handle: Option<&mut Handle>,
        stream: &CudaStream,
        overlap: bool,
    ) -> Result<(), GpuError> {
        match (self, handle) {
            (Self::Kernels(kernels), _) => kernels.iter().try_for_each(|bound| bound.launch(stream, overlap)),
            // SAFETY: the addresses are those of tensors that live as long as the network, and of the caller's of `new`.
            (Self::Cudnn(execution), Some(handle)) => unsafe { handle.execute(execution, stream.raw()) },
            (Self::Cudnn(_), None) => Err(GpuError::Library("cuDNN is not open".into())),
        }
    }
}

impl Bound {
    pub fn new(
        compiled: &Compiled,
        kernel: &emit::Kernel,
        at: impl Fn(BufferId) -> u64,
    ) -> Result<Self, GpuError> {
        let loaded = compiled.kernel(kernel)?;
        let emit::Kernel { grid, block, shared, .. } = *kernel;
        Ok(Self { kernel: loaded, grid, block, shared, parameter: Parameter::new(kernel, at) })
    }

    fn launch(&self, stream: &CudaStream, overlap: bool) -> Result<(), GpuError> {
        let Self { kernel, grid, block, shared, parameter } = self;
        // SAFETY: `Parameter` is the kernel's, `Buffers` in its source; the memory lives as long as the network. Kernels of
        // `emit` begin with `griddepcontrol.wait`, or read constants alone before that.
        let launched = unsafe {
            if overlap {
                stream.launch_overlapping(kernel, *grid, *block, *shared, parameter)
            } else {
                stream.launch(kernel, *grid, *block, *shared, parameter)
            }
        };
        Ok(launched?)
    }
}
