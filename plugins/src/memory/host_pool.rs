//! Pools of system memory for tensors and masks, whose sizes follow from caps and models. If memory is short, asking for a
//! buffer fails; GStreamer's own allocator would end the process.

use gst::glib::{self, subclass::prelude::*};
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::{CAT, callback::called_from_c, wrapped::wrap};

/// Aligned for every vector instruction.
const ALIGN: usize = 64;

glib::wrapper! {
    /// Makes system memory, or says that there is none.
    pub struct HostAllocator(ObjectSubclass<imp::HostAllocator>) @extends gst::Allocator, gst::Object;
}

/// A pool of buffers of `bytes` undefined bytes in one piece, ready to be used.
///
/// # Errors
/// More than 4 GiB, which a pool cannot count.
pub(crate) fn pool(bytes: usize) -> Result<gst::BufferPool, glib::BoolError> {
    let size = u32::try_from(bytes).map_err(|_| glib::bool_error!("{bytes} bytes are more than 4 GiB"))?;
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(None, size, 0, 0);
    config.set_allocator(Some(&glib::Object::new::<HostAllocator>()), None);
    pool.set_config(config)?;
    pool.set_active(true)?;
    Ok(pool)
}

/// Memory for GStreamer to hold: what begins at an aligned address in a vector that is longer.
struct Bytes {
    all: Vec<u8>,
    start: usize,
    size: usize,
}

impl Bytes {
    fn new(size: usize) -> Option<Self> {
        let mut all = Vec::new();
        let length = size.checked_add(ALIGN)?;
        all.try_reserve_exact(length).ok()?;
        all.resize(length, 0);
        let start = all.as_ptr().addr().next_multiple_of(ALIGN) - all.as_ptr().addr();
        Some(Self { all, start, size })
    }
}

impl AsMut<[u8]> for Bytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.all[self.start..self.start + self.size]
    }
}

mod imp {
    use super::*;

    #[derive(Default)]
    pub struct HostAllocator;

    #[glib::object_subclass]
    impl ObjectSubclass for HostAllocator {
        const NAME: &'static str = "GstCudaInferHostAllocator";
        type Type = super::HostAllocator;
        type ParentType = gst::Allocator;
    }

    impl ObjectImpl for HostAllocator {}
    impl GstObjectImpl for HostAllocator {}

    // SAFETY: what it returns is null or a new memory with the prefix, size and padding that were asked for (`wrap`).
    unsafe impl AllocatorImpl for HostAllocator {
        unsafe fn alloc(&self, size: usize, params: &gst::AllocationParams) -> *mut gst::ffi::GstMemory {
            let memory = called_from_c("allocating memory", None, || wrap(size, params, ALIGN, Bytes::new));
            memory.unwrap_or_else(|| {
                gst::warning!(CAT, imp = self, "there is no memory of {size} bytes");
                std::ptr::null_mut()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_of_their_size_and_used_again() {
        gst::init().unwrap();
        for size in [1, 63, 64, 1000] {
            let pool = pool(size).unwrap();
            let mut buffer = pool.acquire_buffer(None).unwrap();
            let address = {
                let mut map = buffer.get_mut().unwrap().map_writable().unwrap();
                assert_eq!(map.size(), size);
                map.as_mut_slice().fill(7);
                map.as_ptr().addr()
            };
            assert_eq!(address % ALIGN, 0);
            drop(buffer);
            let again = pool.acquire_buffer(None).unwrap();
            assert_eq!(again.map_readable().unwrap().as_ptr().addr(), address);
            drop(again);
            pool.set_active(false).unwrap();
        }
        assert!(pool(1 << 32).is_err());
    }

    #[test]
    fn memory_that_is_not_there_is_no_memory() {
        gst::init().unwrap();
        let allocator = glib::Object::new::<HostAllocator>();
        assert!(allocator.alloc(usize::MAX / 4, None).is_err());
        assert!(allocator.alloc(usize::MAX, None).is_err());
    }
}
