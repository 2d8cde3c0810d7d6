//! Events: marks in a stream that other streams, or the host, can wait for.

use std::{
    ptr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::sys::{self, CUevent_flags, CUresult};

use super::{Context, DeviceError};

/// How long a thread that waits stays awake, and how long it sleeps afterwards; the system adds some 50 us.
const AWAKE: Duration = Duration::from_micros(100);
const ASLEEP: Duration = Duration::from_micros(20);

/// How long a thread waits for work at most: far longer than the longest run of a network, so that only a GPU that hangs takes it.
const LIMIT: Duration = Duration::from_secs(600);

/// A mark in a stream. A new one counts as reached. See [`super::CudaStream::record`] and [`super::CudaStream::wait`].
#[derive(Debug)]
pub struct Event {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: the driver's events may be used from every thread; `raw` is only ever handed to the driver.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event for ordering, which takes no time stamp.
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the driver cannot make one.
    pub fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        Self::with_flags(context, CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    /// An event that takes a time stamp, for [`Event::nanoseconds_since`].
    ///
    /// # Errors
    /// As [`Event::new`].
    pub fn with_time(context: &Arc<Context>) -> Result<Self, DeviceError> {
        Self::with_flags(context, CUevent_flags::CU_EVENT_DEFAULT)
    }

    fn with_flags(context: &Arc<Context>, flags: CUevent_flags) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer points to a live handle.
        unsafe { sys::cuEventCreate(&raw mut raw, flags as u32) }
            .result()
            .map_err(DeviceError::call("cuEventCreate"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn raw(&self) -> sys::CUevent {
        self.raw
    }

    /// Whether everything that was enqueued before the mark is done.
    ///
    /// # Errors
    /// [`DeviceError::Call`] with the fault, if one happened on the device.
    pub fn done(&self) -> Result<bool, DeviceError> {
        let _entered = self.context.enter()?;
        // SAFETY: the event lives.
        match unsafe { sys::cuEventQuery(self.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => other.result().map(|()| true).map_err(DeviceError::call("cuEventQuery")),
        }
    }

    /// Records the mark in the context's legacy default stream, which waits for all blocking streams of the context.
    pub(super) fn record_in_legacy_stream(&self) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        // CU_STREAM_LEGACY of cuda.h.
        let legacy = ptr::without_provenance_mut(1);
        // SAFETY: the event lives, and the handle stands for a stream that every context has.
        unsafe { sys::cuEventRecord(self.raw, legacy) }.result().map_err(DeviceError::call("cuEventRecord"))
    }

    /// Work that is enqueued in a stream of another library from now on waits, on the device, until the mark is reached.
    ///
    /// # Safety
    /// `other` must be a stream that lives through the call.
    pub(super) unsafe fn let_wait(&self, other: sys::CUstream) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        // SAFETY: the event lives, the stream by the caller's promise; the driver keeps what it needs of the event.
        unsafe { sys::cuStreamWaitEvent(other, self.raw, 0) }
            .result()
            .map_err(DeviceError::call("cuStreamWaitEvent"))
    }

    /// The calling thread waits until the mark is reached; [`super::CudaStream::wait_on_host`] also counts that. At first the
    /// thread polls without a pause, because short work is over before a thread could fall asleep; then it sleeps between
    /// polls, and leaves its core to others. (An event that wakes the thread by itself would cost 2 us on the device each time.)
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work; [`DeviceError::Busy`] where the work takes longer than ten minutes,
    /// and goes on using its memory.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        poll(|| self.done(), Some(LIMIT))
    }

    /// As [`Event::synchronize`] without a limit, for memory that must not be freed before.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub(super) fn synchronize_however_long(&self) -> Result<(), DeviceError> {
        poll(|| self.done(), None)
    }

    /// Time on the device since `start`; both must have time stamps and be [`Event::done`].
    ///
    /// # Errors
    /// [`DeviceError::Call`] otherwise.
    pub fn nanoseconds_since(&self, start: &Self) -> Result<u64, DeviceError> {
        let _entered = self.context.enter()?;
        let mut milliseconds = 0f32;
        // SAFETY: both events live, the pointer points to a live f32.
        unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, start.raw, self.raw) }
            .result()
            .map_err(DeviceError::call("cuEventElapsedTime"))?;
        // `as` saturates.
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}

/// Waits until `done`, for `limit` at most.
fn poll(
    mut done: impl FnMut() -> Result<bool, DeviceError>,
    limit: Option<Duration>,
) -> Result<(), DeviceError> {
    let started = Instant::now();
    while !done()? {
        let waited = started.elapsed();
        if limit.is_some_and(|limit| waited > limit) {
            return Err(DeviceError::Busy { seconds: waited.as_secs() });
        }
        if waited > AWAKE {
            thread::sleep(ASLEEP);
        }
    }
    Ok(())
}

impl Drop for Event {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: created by us, destroyed once; the driver delays that until the mark is reached.
        let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_ends_is_waited_for_and_work_that_hangs_is_an_error() {
        let mut polls = 0;
        let ends = || {
            polls += 1;
            Ok(polls == 3)
        };
        assert_eq!(poll(ends, None), Ok(()));
        assert_eq!(polls, 3);
        assert_eq!(poll(|| Ok(false), Some(Duration::from_millis(1))), Err(DeviceError::Busy { seconds: 0 }));
        assert_eq!(poll(|| Err(DeviceError::NoDriver), None), Err(DeviceError::NoDriver));
    }
}
