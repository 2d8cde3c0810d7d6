//! Bytes from elsewhere as GStreamer's memory: what our allocators of system memory have in common.

use gst::glib::translate::IntoGlibPtr;

/// What [`AllocatorImpl::alloc`](gst::subclass::prelude::AllocatorImpl::alloc) returns: a new memory of the bytes that `make`
/// makes, with the requested size, prefix and padding. It frees itself, by the allocator of wrapped memory. `None` where there
/// are no such bytes, or where they would have to be aligned to more than `align`.
pub(super) fn wrap<B: AsMut<[u8]> + Send + 'static>(
    size: usize,
    params: &gst::AllocationParams,
    align: usize,
    make: impl FnOnce(usize) -> Option<B>,
) -> Option<*mut gst::ffi::GstMemory> {
    let all = size.checked_add(params.prefix())?.checked_add(params.padding())?;
    // GStreamer's alignment is a mask.
    let bytes = if params.align() < align { make(all) } else { None };
    let mut memory = gst::Memory::from_mut_slice(bytes?);
    memory.make_mut().resize(params.prefix()..params.prefix() + size);
    Some(memory.into_glib_ptr())
}

#[cfg(test)]
mod tests {
    use gst::glib::translate::from_glib_full;

    use super::*;

    #[test]
    fn memory_has_the_prefix_size_and_padding_that_were_asked_for() {
        gst::init().unwrap();
        let params = |align| gst::AllocationParams::new(gst::MemoryFlags::empty(), align, 3, 5);
        let asked = std::cell::Cell::new(0);
        let make = |bytes| {
            asked.set(bytes);
            Some(vec![7_u8; bytes])
        };
        let memory = wrap(10, &params(63), 64, make).unwrap();
        // SAFETY: a new memory, which nothing else holds.
        let memory: gst::Memory = unsafe { from_glib_full(memory) };
        assert_eq!((asked.get(), memory.offset(), memory.size(), memory.maxsize()), (18, 3, 10, 18));
        assert!(wrap(10, &params(64), 64, make).is_none(), "aligned to 65 bytes");
        assert!(wrap(usize::MAX - 7, &params(0), 64, make).is_none(), "more bytes than there are");
        assert!(wrap(10, &params(0), 64, |_| None::<Vec<u8>>).is_none());
    }
}
