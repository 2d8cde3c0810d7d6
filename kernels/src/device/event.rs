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
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        let started = Instant::now();
        while !self.done()? {
            if started.elapsed() > AWAKE {
                thread::sleep(ASLEEP);
            }
        }
        Ok(())
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

impl Drop for Event {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: created by us, destroyed once; the driver delays that until the mark is reached.
        let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
    }
}
