//! Parameters that the host uploads for each frame, without waiting.

use super::{CudaStream, DeviceError, DeviceSlice, Event, Kernel, Memory, Pinned};

/// Frames whose uploads may be in flight at the same time.
const IN_FLIGHT: usize = 4;
/// Bytes that the GPU reads at a time, and threads of a block that does it.
const WORD: usize = 16;
const THREADS: usize = 128;
/// More bytes are copied by the GPU's copy engine. A kernel begins and ends some microseconds earlier, but occupies multiprocessors.
const MOST_BY_KERNEL: usize = 256 << 10;

/// `Fetch` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Fetch {
    from: u64,
    to: u64,
    words: u64,
}

/// Room for the uploads of a few frames, used in turn. It grows only when a frame needs more than every earlier one.
#[derive(Debug)]
pub(crate) struct Uploads {
    /// Reads pinned memory; a kernel that is launched after it may overlap with its end.
    fetch: Kernel,
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
    /// With room for `bytes`, in whole words.
    fn new(stream: &CudaStream, bytes: usize) -> Result<Self, DeviceError> {
        let bytes = bytes.next_multiple_of(WORD);
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
    /// [`DeviceError`] if there is no memory left, or the driver refuses the kernel.
    pub fn new(stream: &CudaStream, bytes: usize) -> Result<Self, DeviceError> {
        let slots = (0..IN_FLIGHT).map(|_| Slot::new(stream, bytes)).collect::<Result<_, _>>()?;
        Ok(Self { fetch: Kernel::load(stream.context(), "copies", "fetch")?, slots, next: 0 })
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
        if bytes > MOST_BY_KERNEL {
            // SAFETY: the slot is used again only when `read` is reached, which is recorded after the copy.
            unsafe { stream.start_upload(&slot.host, slot.device.slice().first(bytes))? };
            return Ok(slot);
        }
        let words = bytes.div_ceil(WORD);
        let params = Fetch { from: slot.host.pointer(), to: slot.device.pointer(), words: words as u64 };
        let [blocks, threads] =
            [words.div_ceil(THREADS).max(1), THREADS].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        // SAFETY: `Fetch` mirrors the kernel's struct. Both ends have room for whole words, the GPU reads pinned memory at the host's
        // address, and the slot is used again only when `read` is reached, which is recorded after this.
        unsafe { stream.launch(&self.fetch, [blocks, 1, 1], [threads, 1, 1], 0, &params)? };
        stream.counters().host_to_device.add_size(bytes);
        Ok(slot)
    }
}
