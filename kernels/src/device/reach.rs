//! Memory of another context: whether kernels can use it in place, how it is copied, and when it has been filled.

use std::{ffi::c_void, ptr};

use cudarc::driver::sys::{self, CUevent_flags, CUpointer_attribute};

use super::{Context, CudaStream, DeviceError};

/// How a stream can use memory that may belong to another context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Kernels of the stream work on it in place: it is on the same GPU.
    InPlace,
    /// It must be copied, and lies on this GPU (its number).
    Copied(u32),
}

impl CudaStream {
    /// How the stream can use device memory.
    ///
    /// All contexts of a process share one range of addresses on a GPU, so the driver can tell which GPU an address is on.
    /// Kernels work on memory of other contexts at full speed; copies by the driver do not: they wait until the GPU changes to
    /// the other context, a millisecond or more while it is busy.
    ///
    /// # Errors
    /// [`DeviceError::Call`] if the driver does not know the address.
    pub fn reach(&self, address: sys::CUdeviceptr) -> Result<Reach, DeviceError> {
        let _entered = self.context().enter()?;
        let mut ordinal = 0i32;
        // SAFETY: one attribute, whose value is an int. The driver looks the address up and does not use it.
        unsafe {
            sys::cuPointerGetAttribute(
                (&raw mut ordinal).cast::<c_void>(),
                CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                address,
            )
        }
        .result()
        .map_err(DeviceError::call("cuPointerGetAttribute"))?;
        let mut reached: sys::CUdeviceptr = 0;
        // SAFETY: as above, with an address.
        let found = unsafe {
            sys::cuPointerGetAttribute(
                (&raw mut reached).cast::<c_void>(),
                CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                address,
            )
        };
        let ordinal = ordinal.unsigned_abs();
        let here = ordinal == self.context().device().ordinal;
        let in_place = here && found.result().is_ok() && reached == address;
        Ok(if in_place { Reach::InPlace } else { Reach::Copied(ordinal) })
    }

    /// Enqueues a copy between device memory of two contexts, which may be of two devices. Each address comes with its
    /// context. Where the devices are linked, the bytes do not pass through the host.
    ///
    /// # Safety
    /// Both must hold that many bytes until the copy is done, and other work that uses them must be ordered with it. The
    /// contexts must live.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn copy_between_contexts(
        &self,
        (source, source_context): (sys::CUdeviceptr, sys::CUcontext),
        (target, target_context): (sys::CUdeviceptr, sys::CUcontext),
        bytes: usize,
    ) -> Result<(), DeviceError> {
        for other in [source_context, target_context] {
            // SAFETY: the caller's promise.
            unsafe { self.context().link(other)? };
        }
        let _entered = self.context().enter()?;
        // SAFETY: the caller's promise.
        unsafe { sys::cuMemcpyPeerAsync(target, target_context, source, source_context, bytes, self.raw()) }
            .result()
            .map_err(DeviceError::call("cuMemcpyPeerAsync"))?;
        self.counters().device_to_device.add_size(bytes);
        self.counters().peer_copies.add(1);
        Ok(())
    }

    /// Work that is enqueued from now on waits, on the device, until all work that is in the stream `other` of another library
    /// is done. `mark` is recorded there, and belongs to that stream's context.
    ///
    /// # Safety
    /// `other` must be a stream of the mark's context, and live through the call.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn wait_for(&self, other: sys::CUstream, mark: &ForeignMark) -> Result<(), DeviceError> {
        // SAFETY: the context lives, as was promised to `ForeignMark::new`.
        unsafe {
            inside(mark.context, || {
                // SAFETY: the event lives, the stream by the caller's promise.
                sys::cuEventRecord(mark.raw, other).result().map_err(DeviceError::call("cuEventRecord"))
            })?;
        }
        let _entered = self.context().enter()?;
        // SAFETY: both live; the driver keeps what it needs of the event.
        unsafe { sys::cuStreamWaitEvent(self.raw(), mark.raw, 0) }
            .result()
            .map_err(DeviceError::call("cuStreamWaitEvent"))
    }
}

impl Context {
    /// Lets copies of this context go straight to and from memory of `other`, where the devices are linked; tried once for
    /// each context. Where they cannot be linked, the driver copies through the host.
    ///
    /// # Safety
    /// `other` must be a context that lives.
    unsafe fn link(&self, other: sys::CUcontext) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        if ptr::eq(other, self.handle()) || !unsafe { self.is_new_neighbour(other) } {
            return Ok(());
        }
        let _entered = self.enter()?;
        // SAFETY: the caller's promise. A refusal, as between two contexts of one device, is no error, and neither is that
        // another library has linked them already.
        let _ = unsafe { sys::cuCtxEnablePeerAccess(other, 0) };
        Ok(())
    }
}

/// A mark for streams of another library's context.
#[derive(Debug)]
pub struct ForeignMark {
    context: sys::CUcontext,
    raw: sys::CUevent,
}

// SAFETY: the driver's contexts and events may be used from every thread; both are only ever handed to the driver.
unsafe impl Send for ForeignMark {}
// SAFETY: as above.
unsafe impl Sync for ForeignMark {}

impl ForeignMark {
    /// A mark for streams of `context`.
    ///
    /// # Safety
    /// The context must live longer than the mark.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub unsafe fn new(context: sys::CUcontext) -> Result<Self, DeviceError> {
        let mut raw = ptr::null_mut();
        // SAFETY: the context lives, and the pointer points to a live handle.
        unsafe {
            inside(context, || {
                sys::cuEventCreate(&raw mut raw, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32)
                    .result()
                    .map_err(DeviceError::call("cuEventCreate"))
            })?;
        }
        Ok(Self { context, raw })
    }
}

impl Drop for ForeignMark {
    fn drop(&mut self) {
        // SAFETY: the context lives, as was promised; created by us, destroyed once.
        let _ = unsafe {
            inside(self.context, || {
                sys::cuEventDestroy_v2(self.raw).result().map_err(DeviceError::call("cuEventDestroy"))
            })
        };
    }
}

/// Does `work` with `context` as the thread's current one.
///
/// # Safety
/// The context must live.
unsafe fn inside<T>(
    context: sys::CUcontext,
    work: impl FnOnce() -> Result<T, DeviceError>,
) -> Result<T, DeviceError> {
    // SAFETY: the caller's promise.
    unsafe { sys::cuCtxPushCurrent_v2(context) }.result().map_err(DeviceError::call("cuCtxPushCurrent"))?;
    let done = work();
    let mut popped = ptr::null_mut();
    // SAFETY: the pointer points to a live handle, and the context on top is the one from above.
    let _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
    done
}
