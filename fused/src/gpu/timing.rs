//! How long work takes on the device.

use std::time::Duration;

use cudainfer_kernels::device::{CudaStream, DeviceError, Event, Graph};

use super::GpuError;

/// How often runs are timed: the least counts.
const ROUNDS: usize = 3;
/// How long recording waits for others that must not meet it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Two marks in a stream.
#[derive(Debug)]
pub(super) struct Stopwatch([Event; 2]);

impl Stopwatch {
    pub fn new(stream: &CudaStream) -> Result<Self, DeviceError> {
        Ok(Self([Event::with_time(stream.context())?, Event::with_time(stream.context())?]))
    }

    /// How long one of `runs` runs takes that are recorded together as a CUDA graph, in nanoseconds; nothing where others do not let them
    /// be recorded.
    ///
    /// # Safety
    /// The memory that `run` uses stays until this returns, and nobody else uses it.
    pub unsafe fn time(
        &self,
        stream: &CudaStream,
        runs: usize,
        mut run: impl FnMut() -> Result<(), GpuError>,
    ) -> Result<Option<u64>, GpuError> {
        let Self([begin, end]) = self;
        let recorded = Graph::record(stream, PATIENCE, || (0..runs).try_for_each(|_| run()))?;
        let Some(mut graph) = recorded else { return Ok(None) };
        let mut least = u64::MAX;
        for _ in 0..ROUNDS {
            stream.record(begin)?;
            // SAFETY: the caller's promise; nothing else is enqueued here meanwhile.
            unsafe { stream.launch_graph(&mut graph) }?;
            stream.record(end)?;
            stream.synchronize()?;
            least = least.min(end.nanoseconds_since(begin)? / runs as u64);
        }
        Ok(Some(least))
    }
}
