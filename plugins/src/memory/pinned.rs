//! Buffers in pinned host memory, which the device copies to and from by itself.

use std::sync::{Arc, OnceLock};

use cudainfer_kernels::device::{CudaStream, Pinned};
use gst::glib::{self, prelude::*, subclass::prelude::*};
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::{CAT, MemoryError, callback::called_from_c, wrapped::wrap};

/// What pinned memory is aligned to, at least: it comes in pages.
const ALIGN: usize = 4096;

glib::wrapper! {
    /// Makes system memory that is pinned. Counted as allocations in its stream.
    pub struct PinnedAllocator(ObjectSubclass<imp::PinnedAllocator>) @extends gst::Allocator, gst::Object;
}

impl PinnedAllocator {
    /// Memory for copies by work in `stream`, and any other of its device.
    pub(super) fn new(stream: &Arc<CudaStream>) -> Self {
        let allocator = glib::Object::new::<Self>();
        // The object is new, so nothing was set yet.
        let _ = allocator.imp().stream.set(Arc::clone(stream));
        allocator
    }

    /// A configured, inactive pool of such memory for frames of `caps`, with at least `min` buffers. The second value
    /// is the size of a buffer in bytes. Rows lie as GStreamer's defaults say, unless the pool's configuration says otherwise.
    ///
    /// # Errors
    /// [`MemoryError::NoPinnedPool`] if the caps are not video.
    pub fn pool(
        &self,
        caps: &gst::Caps,
        min: u32,
        params: Option<&gst::AllocationParams>,
    ) -> Result<(gst::BufferPool, u32), MemoryError> {
        let no_pool = || MemoryError::NoPinnedPool { caps: caps.to_string() };
        let info = gst_video::VideoInfo::from_caps(caps).map_err(|_| no_pool())?;
        let size = u32::try_from(info.size()).map_err(|_| no_pool())?;
        let pool = gst_video::VideoBufferPool::new();
        let mut config = pool.config();
        config.set_params(Some(caps), size, min, 0);
        config.set_allocator(Some(self), params);
        config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
        pool.set_config(config).map_err(|_| no_pool())?;
        Ok((pool.upcast(), size))
    }
}

/// Pinned memory as bytes for GStreamer to hold.
struct Bytes(Pinned);

impl AsMut<[u8]> for Bytes {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }
}

#[allow(missing_docs)] // the implementation of the GObject
mod imp {
    use super::*;

    #[derive(Default)]
    pub struct PinnedAllocator {
        pub(super) stream: OnceLock<Arc<CudaStream>>,
    }

    #[glib::object_subclass]
    impl ObjectSubclass for PinnedAllocator {
        const NAME: &'static str = "GstCudaInferPinnedAllocator";
        type Type = super::PinnedAllocator;
        type ParentType = gst::Allocator;
    }

    impl ObjectImpl for PinnedAllocator {}
    impl GstObjectImpl for PinnedAllocator {}

    // SAFETY: what it returns is null or a new memory with the prefix, size and padding that were asked for (`wrap`).
    unsafe impl AllocatorImpl for PinnedAllocator {
        unsafe fn alloc(&self, size: usize, params: &gst::AllocationParams) -> *mut gst::ffi::GstMemory {
            let pinned = |bytes| match self.stream.get()?.pin(bytes) {
                Ok(pinned) => Some(Bytes(pinned)),
                Err(error) => {
                    gst::warning!(CAT, imp = self, "no pinned memory: {error}");
                    None
                }
            };
            called_from_c("allocating pinned memory", None, || wrap(size, params, ALIGN, pinned))
                .unwrap_or(std::ptr::null_mut())
        }
    }
}
