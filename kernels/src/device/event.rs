//! Events: marks in a stream that other streams, or the host, can wait for.

use std::{
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cudarc::driver::sys::{self, CUevent_flags, CUresult};

use super::wait::{Work, wait_until_done};
use super::{Context, DeviceError};

/// How long a thread waits for work at most: far longer than the longest run of a network, so that only a GPU that hangs takes it.
const LIMIT: Duration = Duration::from_secs(600);

/// A mark in a stream. A new one counts as reached. See [`super::CudaStream::record`] and [`super::CudaStream::wait`].
#[derive(Debug)]
pub struct Event(Arc<Mark>);

/// The driver's event. The driver holds a lock of the whole context while it is asked, so that it is not asked for what is known.
#[derive(Debug)]
struct Mark {
    context: Arc<Context>,
    raw: sys::CUevent,
    /// How often it was recorded, and which of these recordings the device is known to have reached.
    recorded: AtomicU64,
    reached: AtomicU64,
}

// SAFETY: the driver's events may be used from every thread; `raw` is only ever handed to the driver.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

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
        let [recorded, reached] = Default::default();
        Ok(Self(Arc::new(Mark { context: Arc::clone(context), raw, recorded, reached })))
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    pub(super) fn raw(&self) -> sys::CUevent {
        self.0.raw
    }

    /// It has just been recorded: what is known of earlier recordings says nothing of this one.
    pub(super) fn was_recorded(&self) {
        self.0.recorded.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the mark is known to be reached, without asking the driver.
    pub(super) fn is_known_done(&self) -> bool {
        self.0.unreached().is_none()
    }

    /// Whether everything that was enqueued before the mark is done.
    ///
    /// # Errors
    /// [`DeviceError::Call`] with the fault, if one happened on the device.
    pub fn done(&self) -> Result<bool, DeviceError> {
        self.0.is_done()
    }

    /// Records the mark in the context's legacy default stream, which waits for all blocking streams of the context.
    pub(super) fn record_in_legacy_stream(&self) -> Result<(), DeviceError> {
        let _entered = self.0.context.enter()?;
        // CU_STREAM_LEGACY of cuda.h.
        let legacy = ptr::without_provenance_mut(1);
        // SAFETY: the event lives, and the handle stands for a stream that every context has.
        unsafe { sys::cuEventRecord(self.0.raw, legacy) }
            .result()
            .map_err(DeviceError::call("cuEventRecord"))?;
        self.was_recorded();
        Ok(())
    }

    /// Work that is enqueued in a stream of another library from now on waits, on the device, until the mark is reached.
    ///
    /// # Safety
    /// `other` must be a stream that lives through the call.
    pub(super) unsafe fn let_wait(&self, other: sys::CUstream) -> Result<(), DeviceError> {
        let _entered = self.0.context.enter()?;
        // SAFETY: the event lives, the stream by the caller's promise; the driver keeps what it needs of the event.
        unsafe { sys::cuStreamWaitEvent(other, self.0.raw, 0) }
            .result()
            .map_err(DeviceError::call("cuStreamWaitEvent"))
    }

    /// The calling thread waits until the mark is reached; [`super::CudaStream::wait_on_host`] also counts that.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work; [`DeviceError::Busy`] where the work takes longer than ten minutes,
    /// and goes on using its memory.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        wait_until_done(&self.0, Some(LIMIT))
    }

    /// As [`Event::synchronize`] without a limit, for memory that must not be freed before.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub(super) fn synchronize_however_long(&self) -> Result<(), DeviceError> {
        wait_until_done(&self.0, None)
    }

    /// Time on the device since `start`; both must have time stamps and be [`Event::done`].
    ///
    /// # Errors
    /// [`DeviceError::Call`] otherwise.
    pub fn nanoseconds_since(&self, start: &Self) -> Result<u64, DeviceError> {
        let _entered = self.0.context.enter()?;
        let mut milliseconds = 0f32;
        // SAFETY: both events live, the pointer points to a live f32.
        unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, start.0.raw, self.0.raw) }
            .result()
            .map_err(DeviceError::call("cuEventElapsedTime"))?;
        // `as` saturates.
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}

impl Mark {
    /// The last recording, if it is not known to be reached.
    fn unreached(&self) -> Option<u64> {
        let recording = self.recorded.load(Ordering::Acquire);
        (self.reached.load(Ordering::Acquire) < recording).then_some(recording)
    }
}

impl Work for Mark {
    fn is_done(&self) -> Result<bool, DeviceError> {
        let Some(recording) = self.unreached() else { return Ok(true) };
        let _entered = self.context.enter()?;
        // SAFETY: the event lives.
        match unsafe { sys::cuEventQuery(self.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => {
                other.result().map_err(DeviceError::call("cuEventQuery"))?;
                // One that was made since then counts as unreached.
                self.reached.fetch_max(recording, Ordering::AcqRel);
                Ok(true)
            }
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: created by us, destroyed once; the driver delays that until the mark is reached.
        let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
    }
}
