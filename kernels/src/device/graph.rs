//! Work that is recorded once and launched as a whole.

use std::{ptr, sync::Arc, time::Duration};

use cudarc::driver::sys::{self, CUstreamCaptureMode};

use super::{Context, CudaStream, DeviceError};

/// A recorded piece of a stream. It uses the addresses that were used when it was recorded.
#[derive(Debug)]
pub struct Graph {
    context: Arc<Context>,
    raw: sys::CUgraphExec,
}

// SAFETY: the driver's executable graphs may be launched from every thread, one at a time, which `&mut` in
// `CudaStream::launch_graph` ensures.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Graph {
    /// Records what `work` enqueues in `stream` instead of running it. Recording is safe: it keeps addresses, and only
    /// [`CudaStream::launch_graph`] uses them. `None` where others have work that must not meet a recording
    /// ([`Context::unrecorded`]) for longer than `patience`.
    ///
    /// # Errors
    /// Those of `work`, or [`DeviceError::Call`] if `work` did what cannot be recorded, such as waiting for the device.
    pub fn record<E: From<DeviceError>>(
        stream: &CudaStream,
        patience: Duration,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Self>, E> {
        let context = stream.context();
        let _entered = context.enter()?;
        let Some(_alone) = context.recording(patience) else { return Ok(None) };
        // Relaxed, so that other threads are not affected.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives.
        unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) }
            .result()
            .map_err(DeviceError::call("cuStreamBeginCapture"))?;
        let worked = work();
        let mut graph = ptr::null_mut();
        // SAFETY: as above. Also after an error, or the stream would go on recording.
        let ended = unsafe { sys::cuStreamEndCapture(stream.raw(), &raw mut graph) };
        let made = worked.and_then(|()| {
            ended.result().map_err(DeviceError::call("cuStreamEndCapture"))?;
            let mut raw = ptr::null_mut();
            // SAFETY: capturing has just made this graph.
            unsafe { sys::cuGraphInstantiateWithFlags(&raw mut raw, graph, 0) }
                .result()
                .map_err(DeviceError::call("cuGraphInstantiate"))?;
            Ok(Some(Self { context: Arc::clone(context), raw }))
        });
        if !graph.is_null() {
            // SAFETY: made above, destroyed once; the executable graph does not need it.
            let _ = unsafe { sys::cuGraphDestroy(graph) };
        }
        made
    }
}

impl CudaStream {
    /// Enqueues recorded work.
    ///
    /// # Safety
    /// The graph uses the addresses that it was recorded with: that memory must still be there, be as large, stay until the work is
    /// done, and be ordered as for work that is enqueued in this stream now.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn launch_graph(&self, graph: &mut Graph) -> Result<(), DeviceError> {
        let _entered = self.context().enter()?;
        // SAFETY: both live; the memory that the graph uses is the caller's promise.
        unsafe { sys::cuGraphLaunch(graph.raw, self.raw()) }
            .result()
            .map_err(DeviceError::call("cuGraphLaunch"))?;
        self.counters().launches.add(1);
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: instantiated by us, destroyed once; the driver delays that until launches in flight are done.
        let _ = unsafe { sys::cuGraphExecDestroy(self.raw) };
    }
}
