//! A CUDA stream: enqueuing work, and waiting for it.

use std::{
    ffi::c_void,
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use cudarc::driver::{result::stream, sys};

use super::sample::Sampler;
use super::{Context, Counters, DeviceError, DeviceSlice, Event, Kernel, Memory, Pinned, lock};

/// A non-blocking stream: it does not wait for the legacy default stream nor the other way round. An element has one,
/// and what it enqueues there is counted in [`CudaStream::counters`].
#[derive(Debug)]
pub struct CudaStream {
    context: Arc<Context>,
    raw: sys::CUstream,
    id: usize,
    counters: Arc<Counters>,
    sampler: Mutex<Sampler>,
}

// SAFETY: the driver's streams may be used from every thread; `raw` is only ever handed to the driver.
unsafe impl Send for CudaStream {}
// SAFETY: as above; the driver orders calls made at the same time.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    /// A new stream in `context`, which counts in `counters`. Its kernels go before those of [`CudaStream::for_network`] where
    /// both wait for room on the device: the host waits for results, and the network for the next inputs.
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the driver cannot make one.
    pub fn new(context: &Arc<Context>, counters: &Arc<Counters>) -> Result<Self, DeviceError> {
        Self::with_priority(context, counters, |[_, highest]| highest)
    }

    /// A new stream for the long runs of a network.
    ///
    /// # Errors
    /// As for [`CudaStream::new`].
    pub fn for_network(context: &Arc<Context>, counters: &Arc<Counters>) -> Result<Self, DeviceError> {
        Self::with_priority(context, counters, |[lowest, _]| lowest)
    }

    /// `choose` gets the lowest and the highest priority that the device has; both are 0 where it has none.
    fn with_priority(
        context: &Arc<Context>,
        counters: &Arc<Counters>,
        choose: fn([i32; 2]) -> i32,
    ) -> Result<Self, DeviceError> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let _entered = context.enter()?;
        let [mut lowest, mut highest] = [0; 2];
        // SAFETY: both places live through the call.
        unsafe { sys::cuCtxGetStreamPriorityRange(&raw mut lowest, &raw mut highest) }
            .result()
            .map_err(DeviceError::call("cuCtxGetStreamPriorityRange"))?;
        let mut raw = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the place lives through the call.
        unsafe { sys::cuStreamCreateWithPriority(&raw mut raw, flags, choose([lowest, highest])) }
            .result()
            .map_err(DeviceError::call("cuStreamCreateWithPriority"))?;
        Ok(Self {
            context: Arc::clone(context),
            raw,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            counters: Arc::clone(counters),
            sampler: Mutex::default(),
        })
    }

    /// The context that the stream belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Counts of the work that was enqueued here.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The driver's handle, for libraries that enqueue their own work. It is valid as long as `self`.
    pub fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// A number that no other stream of this process has or had.
    pub(super) fn id(&self) -> usize {
        self.id
    }

    /// Allocates device memory, which makes the device wait: not for every frame.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Call`].
    pub fn allocate(&self, bytes: usize) -> Result<Memory, DeviceError> {
        self.counters.allocations.add(1);
        Memory::new(&self.context, &self.counters, bytes)
    }

    /// Allocates device memory that has these bytes, and waits: not for every frame.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Call`].
    pub fn allocate_with(&self, bytes: &[u8]) -> Result<Memory, DeviceError> {
        let mut pinned = self.pin(bytes.len())?;
        pinned.as_mut_slice().copy_from_slice(bytes);
        let memory = self.allocate(bytes.len())?;
        self.upload(&pinned, memory.slice())?;
        Ok(memory)
    }

    /// Allocates pinned host memory: not for every frame.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] or [`DeviceError::Call`].
    pub fn pin(&self, bytes: usize) -> Result<Pinned, DeviceError> {
        self.counters.allocations.add(1);
        Pinned::new(&self.context, bytes)
    }

    /// Puts a mark after the work that has been enqueued so far.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn record(&self, event: &Event) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        // SAFETY: both live; the driver checks that they belong together.
        unsafe { sys::cuEventRecord(event.raw(), self.raw) }
            .result()
            .map_err(DeviceError::call("cuEventRecord"))?;
        event.was_recorded();
        Ok(())
    }

    /// Work that is enqueued from now on waits, on the device, until the mark is reached.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        if event.is_known_done() {
            return Ok(());
        }
        let _entered = self.context.enter()?;
        // SAFETY: both live; the driver keeps what it needs of the event.
        unsafe { sys::cuStreamWaitEvent(self.raw, event.raw(), 0) }
            .result()
            .map_err(DeviceError::call("cuStreamWaitEvent"))
    }

    /// The calling thread waits until the mark is reached.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn wait_on_host(&self, event: &Event) -> Result<(), DeviceError> {
        self.counters.host_waits.add(1);
        event.synchronize()
    }

    /// Enqueues a kernel: `grid` blocks of `block` threads, with `shared` bytes of dynamic shared memory each.
    ///
    /// # Safety
    /// `params` is the kernel's only parameter: the same struct, field by field, `#[repr(C)]`. All memory that it
    /// points to must be as large as the kernel uses it and stay until the kernel is done.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn launch<P: Copy>(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        params: &P,
    ) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        let mut arguments = [ptr::from_ref(params).cast_mut().cast::<c_void>()];
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        // SAFETY: kernel and stream live; the driver copies the parameters now; the rest is the caller's promise.
        unsafe {
            sys::cuLaunchKernel(
                kernel.raw(),
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shared,
                self.raw,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
        .result()
        .map_err(DeviceError::call("cuLaunchKernel"))?;
        self.counters.launches.add(1);
        Ok(())
    }

    /// As [`CudaStream::launch`], but the kernel's blocks may be set up while the previous kernel in the stream still runs, once
    /// that has called `let_next_start` of `cuda/prelude.cuh`. The kernel begins with `wait_for_previous`, which waits until all
    /// earlier work is done; where the GPU or its code does not support that, it is launched as any other.
    ///
    /// # Safety
    /// As [`CudaStream::launch`]; the kernel touches no memory but its parameters before `wait_for_previous`.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn launch_overlapping<P: Copy>(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        params: &P,
    ) -> Result<(), DeviceError> {
        if !kernel.may_overlap() {
            // SAFETY: the caller's promise.
            return unsafe { self.launch(kernel, grid, block, shared, params) };
        }
        let _entered = self.context.enter()?;
        let mut arguments = [ptr::from_ref(params).cast_mut().cast::<c_void>()];
        let mut overlapping = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (grid, block);
        let config = sys::CUlaunchConfig {
            gridDimX: grid_x,
            gridDimY: grid_y,
            gridDimZ: grid_z,
            blockDimX: block_x,
            blockDimY: block_y,
            blockDimZ: block_z,
            sharedMemBytes: shared,
            hStream: self.raw,
            attrs: &raw mut overlapping,
            numAttrs: 1,
        };
        // SAFETY: kernel and stream live; the driver copies configuration and parameters now; the rest is the caller's promise.
        unsafe {
            sys::cuLaunchKernelEx(&raw const config, kernel.raw(), arguments.as_mut_ptr(), ptr::null_mut())
        }
        .result()
        .map_err(DeviceError::call("cuLaunchKernelEx"))?;
        self.counters.launches.add(1);
        Ok(())
    }

    /// Sets every byte of `target`.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn fill(&self, target: DeviceSlice<'_>, byte: u8) -> Result<(), DeviceError> {
        let _entered = self.context.enter()?;
        // SAFETY: the slice's maker promised that the bytes are there.
        unsafe { sys::cuMemsetD8Async(target.pointer(), byte, target.bytes(), self.raw) }
            .result()
            .map_err(DeviceError::call("cuMemsetD8Async"))
    }

    /// Enqueues a copy on the device, of as many bytes as both have.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn copy_on_device(
        &self,
        source: DeviceSlice<'_>,
        target: DeviceSlice<'_>,
    ) -> Result<(), DeviceError> {
        let bytes = source.bytes().min(target.bytes());
        let _entered = self.context.enter()?;
        // SAFETY: the slices' makers promised that the bytes are there.
        unsafe { sys::cuMemcpyDtoDAsync_v2(target.pointer(), source.pointer(), bytes, self.raw) }
            .result()
            .map_err(DeviceError::call("cuMemcpyDtoDAsync"))?;
        self.counters.device_to_device.add_size(bytes);
        Ok(())
    }

    /// Enqueues a copy from pinned memory.
    ///
    /// # Safety
    /// `source` must not be written before the copy is done: wait for an event after it. (It may be dropped: freeing pinned
    /// memory waits.)
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn start_upload(&self, source: &Pinned, target: DeviceSlice<'_>) -> Result<(), DeviceError> {
        let bytes = source.bytes().min(target.bytes());
        let _entered = self.context.enter()?;
        // SAFETY: both are allocated, and freeing pinned memory waits for the copy; the rest is the caller's promise.
        unsafe {
            sys::cuMemcpyHtoDAsync_v2(target.pointer(), source.as_slice().as_ptr().cast(), bytes, self.raw)
        }
        .result()
        .map_err(DeviceError::call("cuMemcpyHtoDAsync"))?;
        self.counters.host_to_device.add_size(bytes);
        Ok(())
    }

    /// Copies from pinned memory, and waits: not for every frame.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn upload(&self, source: &Pinned, target: DeviceSlice<'_>) -> Result<(), DeviceError> {
        // SAFETY: `source` is borrowed until the copy is done.
        unsafe { self.start_upload(source, target)? };
        self.synchronize()
    }

    /// Enqueues a copy to pinned memory.
    ///
    /// # Safety
    /// `target` must neither be read nor written before the copy is done: wait for an event after it. (It may be dropped:
    /// freeing pinned memory waits.)
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn start_download(
        &self,
        source: DeviceSlice<'_>,
        target: &mut Pinned,
    ) -> Result<(), DeviceError> {
        let bytes = source.bytes().min(target.bytes());
        let _entered = self.context.enter()?;
        // SAFETY: both are there, and freeing pinned memory waits for the copy; the rest is the caller's promise.
        unsafe {
            let host = ptr::with_exposed_provenance_mut(usize::try_from(target.pointer()).unwrap_or(0));
            sys::cuMemcpyDtoHAsync_v2(host, source.pointer(), bytes, self.raw)
        }
        .result()
        .map_err(DeviceError::call("cuMemcpyDtoHAsync"))?;
        self.counters.device_to_host.add_size(bytes);
        Ok(())
    }

    /// Copies to pinned memory, and waits.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn download(&self, source: DeviceSlice<'_>, target: &mut Pinned) -> Result<(), DeviceError> {
        // SAFETY: `target` is borrowed mutably until the copy is done.
        unsafe { self.start_download(source, target)? };
        self.synchronize()
    }

    /// Does `work`, which enqueues, and measures how long that takes on the device: for every
    /// [`super::SAMPLE_EVERY`]th call, or for all where there is a [`super::Timeline`].
    ///
    /// # Errors
    /// Those of `work`, or [`DeviceError::Call`].
    pub fn sampled<T, E: From<DeviceError>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let sampler = || lock(&self.sampler);
        let started = sampler().begin(&self.context, &self.counters, self.id, |start| self.record(start))?;
        let done = work();
        if started {
            let ended = sampler().end(|end| self.record(end));
            if done.is_ok() {
                ended?;
            }
        }
        done
    }

    /// Waits until everything that was enqueued is done.
    ///
    /// # Errors
    /// [`DeviceError::Call`], also for faults of earlier work.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.counters.host_waits.add(1);
        let _entered = self.context.enter()?;
        // SAFETY: the stream is valid until `self` is dropped.
        unsafe { stream::synchronize(self.raw) }.map_err(DeviceError::call("cuStreamSynchronize"))
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        let _entered = self.context.enter();
        // SAFETY: created by us, destroyed once. Work in flight finishes before the driver frees the stream.
        let _ = unsafe { stream::destroy(self.raw) };
    }
}
