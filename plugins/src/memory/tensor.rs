//! Tensors in device memory, as GStreamer's buffers hold them.
//!
//! The allocator's memory is [`SharedMemory`]: whoever maps it for reading, in any language, gets the bytes on the host,
//! downloaded when they are first asked for. `GST_MAP_CUDA` gives the address on the device, once what was
//! written there is there. Our own elements take neither way: they order their work by [`SharedMemory`]'s events.

use std::sync::{Arc, Mutex, OnceLock};

use cudainfer_kernels::device::{DeviceError, Pinned, SharedMemory, Stream};
use gst::glib::{self, translate::*};
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::{CAT, frame::MAP_CUDA};
use crate::sync::lock;

/// What `GstMemory.allocator->mem_type` says.
const MEMORY_TYPE: &std::ffi::CStr = c"CudaInferTensorMemory";

/// A `GstMemory` in device memory.
#[repr(C)]
struct TensorMemory {
    /// First, so that a pointer to this is one to a `GstMemory`.
    parent: gst::ffi::GstMemory,
    shared: SharedMemory,
    /// For downloads: a stream apart, because the producer's may be recording a graph at any time.
    stream: Arc<Stream>,
    /// The host's copy while it is mapped, and how many times.
    mapped: Mutex<(usize, Option<Arc<Pinned>>)>,
}

glib::wrapper! {
    /// Allocates tensors on the device of a stream.
    pub struct TensorAllocator(ObjectSubclass<imp::TensorAllocator>) @extends gst::Allocator, gst::Object;
}

impl TensorAllocator {
    /// An allocator for memory that work in `stream` writes, which counts what is done here.
    ///
    /// # Errors
    /// The driver makes no further stream.
    pub fn new(stream: &Stream) -> Result<Self, DeviceError> {
        let downloads = Stream::new(stream.context(), stream.counters())?;
        let allocator: Self = glib::Object::new();
        let _ = allocator.imp().stream.set(Arc::new(downloads));
        let raw = allocator.upcast_ref::<gst::Allocator>().as_ptr();
        // SAFETY: nobody else has the object yet; the functions are for this allocator's memory, which is all that they
        // will get.
        unsafe {
            (*raw).mem_type = MEMORY_TYPE.as_ptr();
            (*raw).mem_map = Some(map);
            (*raw).mem_unmap = Some(unmap);
        }
        Ok(allocator)
    }

    /// An active pool of buffers of `size` bytes each, which grows as needed.
    ///
    /// # Errors
    /// GStreamer refuses the pool.
    pub fn pool(&self, size: usize) -> Result<gst::BufferPool, glib::BoolError> {
        let size = u32::try_from(size).map_err(|_| glib::bool_error!("a tensor is larger than 4 GiB"))?;
        let pool = gst::BufferPool::new();
        let mut config = pool.config();
        config.set_params(None, size, 0, 0);
        config.set_allocator(Some(self), None);
        pool.set_config(config)?;
        pool.set_active(true)?;
        Ok(pool)
    }
}

/// The device memory of a tensor's buffer; `None` where it lies on the host.
pub fn device_memory(buffer: &gst::BufferRef) -> Option<&SharedMemory> {
    if buffer.n_memory() != 1 {
        return None;
    }
    let memory = buffer.peek_memory(0);
    memory.allocator()?.downcast_ref::<TensorAllocator>()?;
    // SAFETY: the allocator's type says that it is a TensorMemory; the buffer holds it as long as it is borrowed.
    Some(unsafe { &(*memory.as_ptr().cast::<TensorMemory>()).shared })
}

mod imp {
    use super::*;

    #[derive(Default)]
    pub struct TensorAllocator {
        pub(super) stream: OnceLock<Arc<Stream>>,
    }

    #[glib::object_subclass]
    impl ObjectSubclass for TensorAllocator {
        const NAME: &'static str = "GstCudaInferTensorAllocator";
        type Type = super::TensorAllocator;
        type ParentType = gst::Allocator;
    }

    impl ObjectImpl for TensorAllocator {}
    impl GstObjectImpl for TensorAllocator {}

    // SAFETY: `alloc` returns a GstMemory that `gst_memory_init` has set up, or null; `free` takes it apart.
    unsafe impl AllocatorImpl for TensorAllocator {
        unsafe fn alloc(&self, size: usize, _params: &gst::AllocationParams) -> *mut gst::ffi::GstMemory {
            let made = self.stream.get().map(|stream| (SharedMemory::new(stream, size), stream));
            let (shared, stream) = match made {
                Some((Ok(shared), stream)) => (shared, Arc::clone(stream)),
                Some((Err(error), _)) => {
                    gst::error!(CAT, imp = self, "{error}");
                    return std::ptr::null_mut();
                }
                None => return std::ptr::null_mut(),
            };
            let memory = TensorMemory {
                // SAFETY: it is a C struct of numbers and pointers; `gst_memory_init` fills it below.
                parent: unsafe { std::mem::zeroed() },
                shared,
                stream,
                mapped: Mutex::default(),
            };
            let memory = Box::into_raw(Box::new(memory)).cast::<gst::ffi::GstMemory>();
            // SAFETY: the struct is live, and its first field is a GstMemory.
            unsafe {
                gst::ffi::gst_memory_init(
                    memory,
                    gst::ffi::GST_MEMORY_FLAG_NO_SHARE,
                    self.obj().upcast_ref::<gst::Allocator>().as_ptr(),
                    std::ptr::null_mut(),
                    size,
                    255,
                    0,
                    size,
                );
            }
            memory
        }

        unsafe fn free(&self, memory: *mut gst::ffi::GstMemory) {
            // SAFETY: `alloc` made it of a Box, and this is called once.
            drop(unsafe { Box::from_raw(memory.cast::<TensorMemory>()) });
        }
    }
}

unsafe extern "C" fn map(
    memory: *mut gst::ffi::GstMemory,
    _size: usize,
    flags: gst::ffi::GstMapFlags,
) -> glib::ffi::gpointer {
    // SAFETY: this function is set in our allocators only, whose memory is a TensorMemory.
    let memory = unsafe { &*memory.cast::<TensorMemory>() };
    let mapped = if flags & MAP_CUDA != 0 {
        memory.shared.begin_read(&memory.stream).and_then(|()| memory.stream.synchronize()).map(|()| {
            std::ptr::with_exposed_provenance_mut(
                usize::try_from(memory.shared.slice().pointer()).unwrap_or(0),
            )
        })
    } else if flags & gst::ffi::GST_MAP_WRITE != 0 {
        gst::error!(
            CAT,
            "tensors on the GPU cannot be written from the CPU: write a buffer of one's own instead"
        );
        return std::ptr::null_mut();
    } else {
        memory.shared.to_host(&memory.stream).map(|host| {
            let mut mapped = lock(&memory.mapped);
            let address = host.as_slice().as_ptr();
            *mapped = (mapped.0 + 1, Some(host));
            address.cast_mut().cast()
        })
    };
    mapped.unwrap_or_else(|error| {
        gst::error!(CAT, "{error}");
        std::ptr::null_mut()
    })
}

unsafe extern "C" fn unmap(memory: *mut gst::ffi::GstMemory) {
    // SAFETY: as above.
    let memory = unsafe { &*memory.cast::<TensorMemory>() };
    let mut mapped = lock(&memory.mapped);
    mapped.0 = mapped.0.saturating_sub(1);
    if mapped.0 == 0 {
        mapped.1 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_others_is_not_taken_for_ours() {
        gst::init().unwrap();
        assert!(device_memory(&gst::Buffer::from_slice([1u8; 4])).is_none());
        assert!(device_memory(&gst::Buffer::new()).is_none());
        // Without a stream there is nothing to allocate from: an error, no crash.
        let allocator: TensorAllocator = glib::Object::new();
        assert!(allocator.alloc(16, None).is_err());
    }
}
