//! Parameters that the host uploads for each frame, without waiting.

use super::{CudaStream, DeviceError, DeviceSlice, Event, Memory, Pinned};

/// Frames whose uploads may be in flight at the same time.
const IN_FLIGHT: usize = 4;

/// Room for the uploads of a few frames, used in turn. It grows only when a frame needs more than every earlier one.
#[derive(Debug)]
pub(crate) struct Uploads {
    slots: Vec<Slot>,
    next: usize,
}

/// The upload of one frame.
#[derive(Debug)]
pub(crate) struct Slot {
    host: Pinned,
    device: Memory,
    /// Reached when the kernel has read the upload.
    read: Event,
}

impl Slot {
    fn new(stream: &CudaStream, bytes: usize) -> Result<Self, DeviceError> {
        let (host, device) = (stream.pin(bytes)?, stream.allocate(bytes)?);
        Ok(Self { host, device, read: Event::new(stream.context())? })
    }

    /// Where the bytes will be on the device.
    pub fn slice(&self) -> DeviceSlice<'_> {
        self.device.slice()
    }

    /// Call this after the launch of the kernel that reads the bytes.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn done(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        stream.record(&self.read)
    }
}

impl Uploads {
    /// Begins with room for `bytes` a frame.
    ///
    /// # Errors
    /// [`DeviceError`] if there is no memory left.
    pub fn new(stream: &CudaStream, bytes: usize) -> Result<Self, DeviceError> {
        let slots = (0..IN_FLIGHT).map(|_| Slot::new(stream, bytes)).collect::<Result<_, _>>()?;
        Ok(Self { slots, next: 0 })
    }

    /// Enqueues the upload of `bytes` bytes that `fill` writes; it gets their future address on the device. The host waits only
    /// where the upload four frames earlier has not been read yet, and the wait is counted.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        bytes: usize,
        fill: impl FnOnce(&mut [u8], u64),
    ) -> Result<&Slot, DeviceError> {
        let slot = &mut self.slots[self.next];
        self.next = (self.next + 1) % IN_FLIGHT;
        if !slot.read.done()? {
            stream.wait_on_host(&slot.read)?;
        }
        if slot.host.bytes() < bytes {
            *slot = Slot::new(stream, bytes.next_power_of_two())?;
        }
        fill(&mut slot.host.as_mut_slice()[..bytes], slot.device.pointer());
        // SAFETY: the slot is used again only when `read` is reached, which is recorded after the copy.
        unsafe { stream.start_upload(&slot.host, slot.device.slice().first(bytes))? };
        Ok(slot)
    }
}
