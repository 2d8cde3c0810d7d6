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
    /// One mark a stream, of those that have read it since.
    read: Vec<Mark>,
    /// Events of former readers, for the next ones: streams come and go while memory stays.
    spare: Vec<Event>,
}

/// Events that are kept, at most.
const MOST_SPARE: usize = 8;

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
        let marks = &mut *self.lock();
        match &mut marks.written {
            // An event can be recorded in its own context only.
            Some(mark) if mark.event.context().handle() == stream.context().handle() => {
                stream.record(&mark.event)?;
                mark.stream = stream.id();
            }
            written => {
                let event = Event::new(stream.context())?;
                stream.record(&event)?;
                *written = Some(Mark { stream: stream.id(), event });
            }
        }
        // Reading was over before writing began.
        marks.spare.extend(marks.read.drain(..).map(|mark| mark.event));
        marks.spare.truncate(MOST_SPARE);
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
        let Marks { read, spare, .. } = &mut *self.lock();
        if let Some(mark) = read.iter().find(|mark| mark.stream == stream) {
            return record(&mark.event);
        }
        let is_its = |event: &Event| event.context().handle() == context.handle();
        let event = match spare.iter().position(is_its) {
            Some(index) => spare.swap_remove(index),
            None => Event::new(context)?,
        };
        record(&event)?;
        read.push(Mark { stream, event });
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
