//! Device memory that several streams use in turn, ordered by events.

use std::sync::{Arc, Mutex};

use super::{Context, CudaStream, DeviceError, DeviceSlice, Memory, Order, Pinned, lock};

/// Device memory with an [`Order`], and a copy of it on the host if one is wanted.
///
/// Use it between `begin` and `end`, with all work on it enqueued in that stream:
/// [`SharedMemory::begin_write`] … [`SharedMemory::end_write`], [`SharedMemory::begin_read`] … [`SharedMemory::end_read`].
#[derive(Debug)]
pub struct SharedMemory {
    memory: Memory,
    order: Order,
    host: Mutex<Host>,
}

/// The host's copy, and whether it is up to date.
#[derive(Debug, Default)]
struct Host {
    copy: Option<Arc<Pinned>>,
    valid: bool,
}

impl SharedMemory {
    /// Undefined bytes that no stream uses yet; `stream` counts the allocation.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Call`].
    pub fn new(stream: &CudaStream, bytes: usize) -> Result<Self, DeviceError> {
        Ok(Self { memory: stream.allocate(bytes)?, order: Order::default(), host: Mutex::default() })
    }

    /// All of it, for the work between `begin` and `end`.
    pub fn slice(&self) -> DeviceSlice<'_> {
        self.memory.slice()
    }

    /// Where it lies.
    pub fn context(&self) -> &Arc<Context> {
        self.memory.context()
    }

    /// Work that is enqueued in `stream` from now on waits until no stream uses the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn begin_write(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        self.order.begin_write(stream)
    }

    /// The work that `stream` was given so far wrote the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_write(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        lock(&self.host).valid = false;
        self.order.end_write(stream)
    }

    /// Work that is enqueued in `stream` from now on waits until the memory has been written.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn begin_read(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        self.order.begin_read(stream)
    }

    /// The work that `stream` was given so far read the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_read(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        self.order.end_read(stream)
    }

    /// The work that another library was given so far in blocking streams has read the memory.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn end_read_by_others(&self) -> Result<(), DeviceError> {
        self.order.end_read_by_others(self.memory.context())
    }

    /// The calling thread waits until the memory has been written, counted in `stream` if that took waiting.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn wait_written(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        self.order.wait_written(stream)
    }

    /// The bytes on the host. The first call after they were written copies them, and waits.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Call`].
    pub fn to_host(&self, stream: &CudaStream) -> Result<Arc<Pinned>, DeviceError> {
        let mut host = lock(&self.host);
        if let (true, Some(copy)) = (host.valid, &host.copy) {
            return Ok(Arc::clone(copy));
        }
        self.order.begin_read(stream)?;
        // A copy that is still read is left to its readers.
        let idle = host.copy.take().and_then(Arc::into_inner);
        let mut copy = match idle {
            Some(copy) => copy,
            None => stream.pin(self.memory.bytes())?,
        };
        stream.download(self.slice(), &mut copy)?;
        let copy = Arc::new(copy);
        host.copy = Some(Arc::clone(&copy));
        host.valid = true;
        Ok(copy)
    }
}
