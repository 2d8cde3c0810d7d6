//! Device memory that several streams use in turn, ordered by events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Context, DeviceError, DeviceSlice, Event, Memory, Pinned, Stream};

/// Device memory with the events of its last writer and of those that have read it since: whoever writes next waits for
/// them, whoever reads waits for the writer, both on the device. So memory may go back to its pool while work on it is
/// still under way.
///
/// Use it between `begin` and `end`, with all work on it enqueued in that stream:
/// [`SharedMemory::begin_write`] … [`SharedMemory::end_write`], [`SharedMemory::begin_read`] … [`SharedMemory::end_read`].
#[derive(Debug)]
pub struct SharedMemory {
    memory: Memory,
    order: Mutex<Order>,
}

#[derive(Debug, Default)]
struct Order {
    written: Option<Mark>,
    /// One a stream.
    read: Vec<Mark>,
    /// The host's copy, and whether it is that of what was last written.
    host: Option<Arc<Pinned>>,
    host_valid: bool,
}

#[derive(Debug)]
struct Mark {
    stream: usize,
    event: Event,
}

impl SharedMemory {
    /// Undefined bytes that nobody uses yet; `stream` counts the allocation.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Call`].
    pub fn new(stream: &Stream, bytes: usize) -> Result<Self, DeviceError> {
        Ok(Self { memory: stream.allocate(bytes)?, order: Mutex::default() })
    }

    /// All of it, for the work between `begin` and `end`.
    pub fn slice(&self) -> DeviceSlice<'_> {
        self.memory.slice()
    }

    /// Where it lies.
    pub fn context(&self) -> &Arc<Context> {
        self.memory.context()
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `stream` does from now on waits until nobody uses the memory any more.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn begin_write(&self, stream: &Stream) -> Result<(), DeviceError> {
        let mut order = self.lock();
        order.host_valid = false;
        let Order { written, read, .. } = &*order;
        let others = written.iter().chain(read).filter(|mark| mark.stream != stream.id());
        others.map(|mark| &mark.event).try_for_each(|event| stream.wait(event))
    }

    /// What `stream` has done so far wrote the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_write(&self, stream: &Stream) -> Result<(), DeviceError> {
        let mut order = self.lock();
        // Reading had to be over before writing began; its events are kept for the next time.
        mark(&mut order.written, stream)
    }

    /// What `stream` does from now on waits until the memory has been written.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn begin_read(&self, stream: &Stream) -> Result<(), DeviceError> {
        match &self.lock().written {
            Some(mark) if mark.stream != stream.id() => stream.wait(&mark.event),
            _ => Ok(()),
        }
    }

    /// What `stream` has done so far read the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_read(&self, stream: &Stream) -> Result<(), DeviceError> {
        let read = &mut self.lock().read;
        if let Some(mark) = read.iter().find(|mark| mark.stream == stream.id()) {
            return stream.record(&mark.event);
        }
        let event = Event::new(stream.context())?;
        stream.record(&event)?;
        read.push(Mark { stream: stream.id(), event });
        Ok(())
    }

    /// The bytes on the host: copied when they are first wanted after having been written, and waited for.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Call`].
    pub fn to_host(&self, stream: &Stream) -> Result<Arc<Pinned>, DeviceError> {
        let mut order = self.lock();
        if let (true, Some(host)) = (order.host_valid, &order.host) {
            return Ok(Arc::clone(host));
        }
        if let Some(mark) = order.written.as_ref().filter(|mark| mark.stream != stream.id()) {
            stream.wait(&mark.event)?;
        }
        // A copy that somebody still reads is left to them.
        let idle = order.host.take().filter(|host| Arc::strong_count(host) == 1);
        let host = match idle {
            Some(host) => host,
            None => Arc::new(stream.pin(self.memory.bytes())?),
        };
        stream.download(self.slice(), &host)?;
        order.host = Some(Arc::clone(&host));
        order.host_valid = true;
        Ok(host)
    }
}

fn mark(slot: &mut Option<Mark>, stream: &Stream) -> Result<(), DeviceError> {
    match slot {
        Some(mark) => {
            stream.record(&mark.event)?;
            mark.stream = stream.id();
        }
        None => {
            let event = Event::new(stream.context())?;
            stream.record(&event)?;
            *slot = Some(Mark { stream: stream.id(), event });
        }
    }
    Ok(())
}
