//! Which streams used device memory last, so that several can use it in turn without the host.

use std::sync::{Arc, Mutex, MutexGuard};

use cudarc::driver::sys;

use super::{Context, CudaStream, DeviceError, Event, lock};

/// What stands for the streams of other libraries; no [`CudaStream`] has this number.
const OTHERS: usize = usize::MAX;

/// The events of the last writer of some memory and of its readers since: the next writer waits for all of them, a reader
/// waits for the writer, both on the device. So memory may go back to its pool while work on it is still in flight.
///
/// Work on the memory is enqueued in one stream between [`Order::begin_write`] and [`Order::end_write`], or
/// [`Order::begin_read`] and [`Order::end_read`].
#[derive(Debug, Default)]
pub struct Order {
    marks: Mutex<Marks>,
}

#[derive(Debug, Default)]
struct Marks {
    written: Option<Mark>,
    /// One mark a stream.
    read: Vec<Mark>,
}

#[derive(Debug)]
struct Mark {
    stream: usize,
    event: Event,
}

impl Order {
    fn lock(&self) -> MutexGuard<'_, Marks> {
        lock(&self.marks)
    }

    /// Work that is enqueued in `stream` from now on waits until no stream uses the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn begin_write(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        let marks = self.lock();
        let others = marks.written.iter().chain(&marks.read).filter(|mark| mark.stream != stream.id());
        others.map(|mark| &mark.event).try_for_each(|event| stream.wait(event))
    }

    /// The work that `stream` was given so far wrote the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_write(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        // Reading was over before writing began; its events are kept for the next time.
        let slot = &mut self.lock().written;
        // An event can be recorded in its own context only.
        let same = |mark: &&mut Mark| mark.event.context().handle() == stream.context().handle();
        if let Some(mark) = slot.as_mut().filter(same) {
            stream.record(&mark.event)?;
            mark.stream = stream.id();
            return Ok(());
        }
        *slot = Some(Mark::new(stream.id(), stream.context(), |event| stream.record(event))?);
        Ok(())
    }

    /// Work that is enqueued in `stream` from now on waits until the memory has been written.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn begin_read(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        match &self.lock().written {
            Some(mark) if mark.stream != stream.id() => stream.wait(&mark.event),
            _ => Ok(()),
        }
    }

    /// The work that `stream` was given so far read the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_read(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        self.mark_read(stream.id(), stream.context(), |event| stream.record(event))
    }

    /// The work that another library was given so far has read the memory, in whichever blocking stream of the memory's `context`.
    /// (Streams are blocking unless they were made otherwise: those of GStreamer are, and the default streams of PyTorch and CuPy.)
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_read_by_others(&self, context: &Arc<Context>) -> Result<(), DeviceError> {
        self.mark_read(OTHERS, context, Event::record_in_legacy_stream)
    }

    /// Keeps the mark that `record` makes as the latest of the stream of this number.
    fn mark_read(
        &self,
        stream: usize,
        context: &Arc<Context>,
        record: impl FnOnce(&Event) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let read = &mut self.lock().read;
        if let Some(mark) = read.iter().find(|mark| mark.stream == stream) {
            return record(&mark.event);
        }
        read.push(Mark::new(stream, context, record)?);
        Ok(())
    }

    /// The calling thread waits until the memory has been written, counted in `stream` if that took waiting.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn wait_written(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        match &self.lock().written {
            Some(mark) if !mark.event.done()? => stream.wait_on_host(&mark.event),
            _ => Ok(()),
        }
    }

    /// Work that is enqueued in a stream of another library from now on waits, on the device, until the memory has been written.
    ///
    /// # Safety
    /// `other` must be a stream that lives through the call.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn let_wait(&self, other: sys::CUstream) -> Result<(), DeviceError> {
        match &self.lock().written {
            // SAFETY: the caller's promise.
            Some(mark) => unsafe { mark.event.let_wait(other) },
            None => Ok(()),
        }
    }

    /// The calling thread waits, however long that takes, until no stream uses the memory any more: call this before the memory
    /// goes to code that does not know this order.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn wait_unused(&self) -> Result<(), DeviceError> {
        let marks = self.lock();
        marks.written.iter().chain(&marks.read).try_for_each(|mark| mark.event.synchronize_however_long())
    }
}

impl Mark {
    /// The mark that `record` makes in the stream of this number.
    fn new(
        stream: usize,
        context: &Arc<Context>,
        record: impl FnOnce(&Event) -> Result<(), DeviceError>,
    ) -> Result<Self, DeviceError> {
        let event = Event::new(context)?;
        record(&event)?;
        Ok(Self { stream, event })
    }
}
