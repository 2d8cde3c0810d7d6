//! cuDNN's engines for many convolutions, compiled by several threads: each takes a tenth of a second.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use cudainfer_kernels::device::Context;

use super::GpuError;
use super::choose::Kind;
use super::cudnn::{ConvolutionGraph, Cudnn, Engine, Handle};

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
    kinds: &[Kind<'_>],
    most: usize,
) -> Result<Vec<Option<Engines>>, GpuError> {
    if kinds.is_empty() {
        return Ok(Vec::new());
    }
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(MOST).min(kinds.len());
    let next = AtomicUsize::new(0);
    let found: Vec<Mutex<Option<Engines>>> = kinds.iter().map(|_| Mutex::default()).collect();
    let work = || {
        let _entered = context.enter()?;
        let handle = Handle::new(cudnn, context)?;
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(kind) = kinds.get(index) else { return Ok(handle) };
            let Ok(Some(graph)) = ConvolutionGraph::new(&handle, kind.convolution) else { continue };
            let engines = graph.engines(&handle, most).into_iter().map(Arc::new).collect();
            *found[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(Engines { graph, engines });
        }
    };
    // Handles live until all are done: what they have compiled is used after that by another one.
    let handles: Vec<Result<Handle, GpuError>> = thread::scope(|scope| {
        let start = |_| thread::Builder::new().name("cudnn".into()).spawn_scoped(scope, work);
        // As many as there are: one is enough.
        let all: Vec<_> = (0..threads).map_while(|index| start(index).ok()).collect();
        if all.is_empty() {
            return vec![work()];
        }
        let ended = |_| Err(GpuError::Compile("a thread that compiled has ended".into()));
        all.into_iter().map(|thread| thread.join().unwrap_or_else(ended)).collect()
    });
    handles.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().map(|one| one.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}
