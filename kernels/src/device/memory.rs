//! Device memory, and host memory that the device reaches by itself.

use std::{ptr, slice, sync::Arc};

use cudarc::driver::sys;

use super::{Context, Counters, DeviceError, DeviceSlice, HeldBytes};

/// Owned device memory. It is freed when dropped, which waits for the whole device: keep it in a pool.
#[derive(Debug)]
pub struct Memory {
    context: Arc<Context>,
    pointer: sys::CUdeviceptr,
    bytes: usize,
    _held: HeldBytes,
}

impl Memory {
    /// [`super::CudaStream::allocate`] counts the allocation; `counters` count the bytes as long as it lives. They are undefined.
    pub(super) fn new(
        context: &Arc<Context>,
        counters: &Arc<Counters>,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        let mut pointer = 0;
        // SAFETY: the pointer points to a live address. The driver refuses 0 bytes.
        unsafe { sys::cuMemAlloc_v2(&raw mut pointer, bytes.max(1)) }
            .result()
            .map_err(|error| DeviceError::out_of_memory(bytes, "cuMemAlloc", error))?;
        let held = HeldBytes::new(counters, bytes);
        Ok(Self { context: Arc::clone(context), pointer, bytes, _held: held })
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Its address on the device, aligned to 256 bytes.
    pub fn pointer(&self) -> sys::CUdeviceptr {
        self.pointer
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of it.
    pub fn slice(&self) -> DeviceSlice<'_> {
        // SAFETY: it lives as long as `self` is borrowed.
        unsafe { DeviceSlice::from_raw(self.pointer, self.bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: allocated by us, freed once; the driver first waits for work that uses it.
        let _ = unsafe { sys::cuMemFree_v2(self.pointer) };
    }
}

/// Pinned host memory: copies to and from it do not hold the host up, and kernels can write to it directly.
#[derive(Debug)]
pub struct Pinned {
    context: Arc<Context>,
    pointer: *mut u8,
    bytes: usize,
}

// SAFETY: it is plain memory, owned.
unsafe impl Send for Pinned {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// [`super::CudaStream::pin`] counts the allocation. The bytes are zero.
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, DeviceError> {
        let _entered = context.enter()?;
        let mut pointer = ptr::null_mut();
        // SAFETY: the pointer points to a live address.
        unsafe { sys::cuMemHostAlloc(&raw mut pointer, bytes.max(1), sys::CU_MEMHOSTALLOC_PORTABLE) }
            .result()
            .map_err(|error| DeviceError::out_of_memory(bytes, "cuMemHostAlloc", error))?;
        let pinned = Self { context: Arc::clone(context), pointer: pointer.cast(), bytes };
        // SAFETY: this many bytes have just been allocated.
        unsafe { ptr::write_bytes(pinned.pointer, 0, bytes.max(1)) };
        Ok(pinned)
    }

    /// Its address, the same for the host and the device.
    pub fn pointer(&self) -> sys::CUdeviceptr {
        self.pointer.expose_provenance() as u64
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes. Device work that writes them must be done: wait for an event after it first.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the memory lives and is initialised.
        unsafe { slice::from_raw_parts(self.pointer, self.bytes) }
    }

    /// The bytes, to be written. Device work that uses them must be done.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.pointer, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: allocated by us, freed once; the driver first waits for work that uses it.
        let _ = unsafe { sys::cuMemFreeHost(self.pointer.cast()) };
    }
}
