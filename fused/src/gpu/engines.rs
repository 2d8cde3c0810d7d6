//! cuDNN's engines for many convolutions, compiled by several threads: each takes a tenth of a second.

use std::sync::Arc;

use cudainfer_kernels::device::Context;

use super::GpuError;
use super::cudnn::{ConvolutionGraph, Cudnn, Engine, Handle};
use super::threads::{processors, side_by_side};
use crate::plan::Convolution;

/// Threads that compile, at most: each has a handle of its own, which takes memory on the device.
const MOST: usize = 16;

/// Ways of cuDNN's to run a convolution.
#[derive(Debug)]
pub(super) struct Engines {
    pub graph: ConvolutionGraph,
    pub engines: Vec<Arc<Engine>>,
}

/// Up to `most` engines for each of these; none where cuDNN does not know the convolution.
pub(super) fn engines_of(
    cudnn: &Arc<Cudnn>,
    context: &Arc<Context>,
    convolutions: &[&Convolution],
    most: usize,
) -> Result<Vec<Option<Engines>>, GpuError> {
    // Handles live until all are done: what they have compiled is used after that by another one.
    let begin = || Handle::new(cudnn, context);
    let work = |handle: &mut Result<Handle, GpuError>, convolution: &&Convolution| {
        let handle = handle.as_ref().map_err(GpuError::clone)?;
        let _entered = context.enter()?;
        let Ok(Some(graph)) = ConvolutionGraph::new(handle, convolution) else { return Ok(None) };
        let engines = graph.engines(handle, most).into_iter().map(Arc::new).collect();
        Ok(Some(Engines { graph, engines }))
    };
    side_by_side("cudnn", processors(MOST), convolutions, begin, work).into_iter().collect()
}
