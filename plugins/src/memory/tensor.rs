//! Tensors in device memory, as GStreamer's buffers hold them.
//!
//! The allocator's memory is [`SharedMemory`]. Mapping it for reading, in any language, gives the bytes on the host,
//! downloaded on first access. `GST_MAP_CUDA` gives the address on the device, once what was written there is complete.
//! Code that maps it so for writing must have finished writing when it unmaps; code that maps it so for reading must have
//! enqueued all reads by then, in blocking streams of the memory's context (those of GStreamer, and the default streams of
//! PyTorch and CuPy), which the next writer waits for, or have finished them. Our own elements do neither: they order their work
//! by [`SharedMemory`]'s events.

use std::sync::{Arc, Mutex, OnceLock};

use cudainfer_kernels::device::{CudaStream, DeviceError, DeviceSlice, Pinned, SharedMemory};
use gst::glib::{self, translate::*};
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::{CAT, callback::called_from_c, frame::MAP_CUDA};
use crate::sync::lock;

/// The value of `GstMemory.allocator->mem_type`.
const MEMORY_TYPE: &std::ffi::CStr = c"CudaInferTensorMemory";

/// A `GstMemory` in device memory.
#[repr(C)]
struct TensorMemory {
    /// The first field, so that a pointer to this is one to a `GstMemory`.
    parent: gst::ffi::GstMemory,
    /// Shared by the rows of a batch.
    shared: Arc<SharedMemory>,
    /// Where this memory begins in the shared one.
    offset: usize,
    /// The stream for downloads: a separate one, because the producer's may be capturing a graph at any time.
    stream: Arc<CudaStream>,
    /// The copies on the host that are mapped.
    mapped: Mutex<HostMaps<Pinned>>,
}

/// Copies on the host that are mapped at the moment. There are several where the memory was written, by way of another row of the
/// batch, while it was mapped: each map keeps the bytes that it was given.
struct HostMaps<C> {
    copies: Vec<HostMap<C>>,
}

struct HostMap<C> {
    copy: Arc<C>,
    /// Where in memory its bytes are.
    bytes: std::ops::Range<usize>,
    /// How many times it is mapped.
    maps: usize,
}

impl<C> Default for HostMaps<C> {
    fn default() -> Self {
        Self { copies: Vec::new() }
    }
}

impl<C> HostMaps<C> {
    /// Keeps a copy, whose bytes these are, until it has been released as often as it was added.
    fn add(&mut self, copy: Arc<C>, bytes: std::ops::Range<usize>) {
        match self.copies.iter_mut().find(|known| Arc::ptr_eq(&known.copy, &copy)) {
            Some(known) => known.maps += 1,
            None => self.copies.push(HostMap { copy, bytes, maps: 1 }),
        }
    }

    /// The map of the copy that has a byte at `address` ends.
    fn release(&mut self, address: usize) {
        // The end as well: a map of no bytes, or after an offset, may point there.
        let is_its = |known: &HostMap<C>| (known.bytes.start..=known.bytes.end).contains(&address);
        let exact = self.copies.iter().position(|known| known.bytes.contains(&address));
        let Some(index) = exact.or_else(|| self.copies.iter().position(is_its)) else { return };
        if let Some(known) = self.copies.get_mut(index) {
            known.maps -= 1;
            if known.maps == 0 {
                self.copies.swap_remove(index);
            }
        }
    }
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
    pub fn new(stream: &CudaStream) -> Result<Self, DeviceError> {
        let downloads = CudaStream::new(stream.context(), stream.counters())?;
        let allocator: Self = glib::Object::new();
        let _ = allocator.imp().stream.set(Arc::new(downloads));
        let raw = allocator.upcast_ref::<gst::Allocator>().as_ptr();
        // SAFETY: nothing else holds the object yet; the functions are for this allocator's memory, which is all that they will
        // get.
        unsafe {
            (*raw).mem_type = MEMORY_TYPE.as_ptr();
            (*raw).mem_map_full = Some(map);
            (*raw).mem_unmap_full = Some(unmap);
        }
        Ok(allocator)
    }

    /// A buffer of the first `bytes` of memory that is not the allocator's own; `None` where that cannot be mapped.
    pub fn buffer(&self, shared: &Arc<SharedMemory>, bytes: usize) -> Option<gst::Buffer> {
        let stream = Arc::clone(self.imp().stream.get()?);
        Some(self.wrap(Arc::clone(shared), stream, 0, bytes))
    }

    fn wrap(
        &self,
        shared: Arc<SharedMemory>,
        stream: Arc<CudaStream>,
        offset: usize,
        bytes: usize,
    ) -> gst::Buffer {
        let memory = self.imp().make(shared, stream, offset, bytes);
        // SAFETY: just made, and owned by nothing else.
        let memory = unsafe { gst::Memory::from_glib_full(memory) };
        let mut buffer = gst::Buffer::new();
        if let Some(buffer) = buffer.get_mut() {
            buffer.append_memory(memory);
        }
        buffer
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

/// A tensor's part of some device memory.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemory<'a> {
    shared: &'a Arc<SharedMemory>,
    offset: usize,
    bytes: usize,
}

impl<'a> DeviceMemory<'a> {
    /// The tensor's bytes, for the work between `begin` and `end`.
    pub fn slice(&self) -> DeviceSlice<'a> {
        self.shared.slice().after(self.offset).first(self.bytes)
    }

    /// Enqueues the copy of the tensor to memory of the stream's GPU, from another GPU and without the host.
    ///
    /// # Errors
    /// [`DeviceError::Call`].
    pub fn copy_over(&self, stream: &CudaStream, target: DeviceSlice<'_>) -> Result<(), DeviceError> {
        let bytes = self.bytes.min(target.bytes());
        let [from, to] = [self.context(), stream.context()].map(|context| context.handle());
        self.begin_read(stream)?;
        // SAFETY: both hold that many bytes; the tensor's order keeps other work away from it, and the caller has promised the
        // same for the target. The memory and the stream hold their contexts.
        let copied = unsafe {
            stream.copy_between_contexts((self.slice().pointer(), from), (target.pointer(), to), bytes)
        };
        self.end_read(stream)?;
        copied
    }

    /// Both as one, where `next` follows immediately in memory.
    pub fn join(self, next: &Self) -> Option<Self> {
        let adjacent = Arc::ptr_eq(self.shared, next.shared) && self.offset + self.bytes == next.offset;
        adjacent.then_some(Self { bytes: self.bytes + next.bytes, ..self })
    }
}

/// The order of its use is that of the whole memory.
impl std::ops::Deref for DeviceMemory<'_> {
    type Target = SharedMemory;

    fn deref(&self) -> &SharedMemory {
        self.shared
    }
}

/// The device memory of a tensor's buffer; `None` where it lies on the host.
pub fn device_memory(buffer: &gst::BufferRef) -> Option<DeviceMemory<'_>> {
    let memory = tensor_memory(buffer)?;
    Some(DeviceMemory { shared: &memory.shared, offset: memory.offset, bytes: memory.parent.size })
}

/// Part of a tensor, not copied. It holds the whole one, whose memory a pool would give to another tensor otherwise.
///
/// # Errors
/// The buffer is shorter.
pub fn part(buffer: &gst::Buffer, offset: usize, bytes: usize) -> Result<gst::Buffer, glib::BoolError> {
    let range = offset..offset.saturating_add(bytes);
    if range.end > buffer.size() {
        return Err(glib::bool_error!("a tensor is shorter than its dimensions say"));
    }
    let Some(memory) = tensor_memory(buffer) else {
        let map = buffer.clone().into_mapped_buffer_readable();
        let map = map.map_err(|_| glib::bool_error!("a tensor's memory cannot be read"))?;
        return Ok(gst::Buffer::from_slice(HostPart { map, range }));
    };
    let allocator = buffer.peek_memory(0).allocator().and_then(|a| a.downcast_ref::<TensorAllocator>());
    let allocator = allocator.ok_or_else(|| glib::bool_error!("a tensor has no allocator"))?;
    let (shared, stream) = (Arc::clone(&memory.shared), Arc::clone(&memory.stream));
    let mut part = allocator.wrap(shared, stream, memory.offset + offset, bytes);
    gst::ParentBufferMeta::add(part.make_mut(), buffer);
    Ok(part)
}

/// Part of a tensor on the host. The memory holds the whole tensor, and shares none of its memory: a pool takes no buffer back whose
/// memory is shared, and a buffer's metas, which could hold the whole as well, are freed before its memory.
struct HostPart {
    map: gst::buffer::MappedBuffer<gst::buffer::Readable>,
    range: std::ops::Range<usize>,
}

impl AsRef<[u8]> for HostPart {
    fn as_ref(&self) -> &[u8] {
        &self.map[self.range.clone()]
    }
}

fn tensor_memory(buffer: &gst::BufferRef) -> Option<&TensorMemory> {
    if buffer.n_memory() != 1 {
        return None;
    }
    let memory = buffer.peek_memory(0);
    memory.allocator()?.downcast_ref::<TensorAllocator>()?;
    // SAFETY: the allocator's type says that it is a TensorMemory; the buffer holds it as long as it is borrowed.
    Some(unsafe { &*memory.as_ptr().cast::<TensorMemory>() })
}

mod imp {
    use super::*;

    #[derive(Default)]
    pub struct TensorAllocator {
        pub(super) stream: OnceLock<Arc<CudaStream>>,
    }

    #[glib::object_subclass]
    impl ObjectSubclass for TensorAllocator {
        const NAME: &'static str = "GstCudaInferTensorAllocator";
        type Type = super::TensorAllocator;
        type ParentType = gst::Allocator;
    }

    impl TensorAllocator {
        pub(super) fn make(
            &self,
            shared: Arc<SharedMemory>,
            stream: Arc<CudaStream>,
            offset: usize,
            size: usize,
        ) -> *mut gst::ffi::GstMemory {
            let memory = TensorMemory {
                // SAFETY: it is a C struct of numbers and pointers; `gst_memory_init` fills it below.
                parent: unsafe { std::mem::zeroed() },
                shared,
                offset,
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
    }

    impl ObjectImpl for TensorAllocator {}
    impl GstObjectImpl for TensorAllocator {}

    // SAFETY: `alloc` returns a GstMemory that `gst_memory_init` has set up, or null; `free` takes it apart.
    unsafe impl AllocatorImpl for TensorAllocator {
        unsafe fn alloc(&self, size: usize, _params: &gst::AllocationParams) -> *mut gst::ffi::GstMemory {
            called_from_c("allocating a tensor", std::ptr::null_mut(), || {
                let Some(stream) = self.stream.get() else { return std::ptr::null_mut() };
                match SharedMemory::new(stream, size) {
                    Ok(shared) => self.make(Arc::new(shared), Arc::clone(stream), 0, size),
                    Err(error) => {
                        gst::error!(CAT, imp = self, "{error}");
                        std::ptr::null_mut()
                    }
                }
            })
        }

        unsafe fn free(&self, memory: *mut gst::ffi::GstMemory) {
            // SAFETY: `alloc` made it of a Box, and this is called once.
            let memory = unsafe { Box::from_raw(memory.cast::<TensorMemory>()) };
            called_from_c("freeing a tensor", (), || drop(memory));
        }
    }
}

unsafe extern "C" fn map(
    memory: *mut gst::ffi::GstMemory,
    info: *mut gst::ffi::GstMapInfo,
    _size: usize,
) -> glib::ffi::gpointer {
    // SAFETY: this function is set in our allocators only, whose memory is a TensorMemory; GStreamer has filled the flags.
    let (memory, flags) = unsafe { (&*memory.cast::<TensorMemory>(), (*info).flags) };
    called_from_c("mapping a tensor", std::ptr::null_mut(), || {
        memory.map(flags).unwrap_or_else(|error| {
            gst::error!(CAT, "{error}");
            std::ptr::null_mut()
        })
    })
}

unsafe extern "C" fn unmap(memory: *mut gst::ffi::GstMemory, info: *mut gst::ffi::GstMapInfo) {
    // SAFETY: as above; the info is that of the map.
    let (memory, info) = unsafe { (&*memory.cast::<TensorMemory>(), &*info) };
    called_from_c("unmapping a tensor", (), || memory.unmap(info.flags, info.data.addr()));
}

impl TensorMemory {
    fn map(&self, flags: gst::ffi::GstMapFlags) -> Result<glib::ffi::gpointer, DeviceError> {
        let writes = flags & gst::ffi::GST_MAP_WRITE != 0;
        if flags & MAP_CUDA != 0 {
            // The code that maps it knows nothing of our events, so no work on it may be in flight.
            if writes {
                self.shared.begin_write(&self.stream)?;
            } else {
                self.shared.begin_read(&self.stream)?;
            }
            self.stream.synchronize()?;
            let address = usize::try_from(self.shared.slice().pointer()).unwrap_or(0) + self.offset;
            return Ok(std::ptr::with_exposed_provenance_mut(address));
        }
        if writes {
            gst::error!(
                CAT,
                "tensors on the GPU cannot be written from the CPU: write a buffer of one's own instead"
            );
            return Ok(std::ptr::null_mut());
        }
        let host = self.shared.to_host(&self.stream)?;
        let bytes = host.as_slice().as_ptr_range();
        let address = host.as_slice()[self.offset..].as_ptr();
        lock(&self.mapped).add(host, bytes.start.addr()..bytes.end.addr());
        Ok(address.cast_mut().cast())
    }

    /// `data` is the address that the map returned.
    fn unmap(&self, flags: gst::ffi::GstMapFlags, data: usize) {
        if flags & MAP_CUDA == 0 {
            return lock(&self.mapped).release(data);
        }
        let marked = if flags & gst::ffi::GST_MAP_WRITE != 0 {
            // The work that wrote the bytes is complete, because the writer has named no stream.
            self.shared.end_write(&self.stream)
        } else {
            self.shared.end_read_by_others()
        };
        if let Err(error) = marked {
            gst::error!(CAT, "later work may not wait for what another library does with a tensor: {error}");
        }
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

    #[test]
    fn a_copy_that_is_mapped_stays_when_a_newer_one_is_mapped_and_goes_with_its_last_map() {
        let (old, new) = (Arc::new("old"), Arc::new("new"));
        let mut maps = HostMaps::default();
        maps.add(Arc::clone(&old), 100..200);
        maps.add(Arc::clone(&old), 100..200);
        // Another row of the batch was written: the next map has other bytes, at an address that may follow.
        maps.add(Arc::clone(&new), 200..300);
        let held = || [&old, &new].map(|copy| Arc::strong_count(copy) - 1);
        assert_eq!(held(), [1, 1]);
        maps.release(150);
        assert_eq!(held(), [1, 1]);
        maps.release(200);
        assert_eq!(held(), [1, 0], "the first byte of the new one is not the end of the old one");
        maps.release(200);
        assert_eq!(held(), [0, 0], "a map of no bytes points to the end");
        maps.release(100);
    }

    #[test]
    fn a_pool_gets_memory_back_with_its_last_part_and_no_earlier() {
        gst::init().unwrap();
        let pool = crate::memory::host_pool::pool(64).unwrap();
        let address = |buffer: &gst::Buffer| buffer.map_readable().unwrap().as_ptr().addr();
        let whole = pool.acquire_buffer(None).unwrap();
        let first = address(&whole);
        let parts = [0, 32].map(|offset| part(&whole, offset, 32).unwrap());
        drop(whole);
        let other = pool.acquire_buffer(None).unwrap();
        assert_ne!(address(&other), first, "the parts are still there");
        let [last, gone] = parts;
        drop(gone);
        let another = pool.acquire_buffer(None).unwrap();
        assert_ne!(address(&another), first, "one of them is still there");
        drop(last);
        let again = pool.acquire_buffer(None).unwrap();
        assert_eq!(address(&again), first, "the last part has given it back");
        pool.set_active(false).unwrap();
    }

    #[test]
    fn a_part_of_memory_on_the_host_is_not_copied() {
        gst::init().unwrap();
        let whole = gst::Buffer::from_slice([0u8, 1, 2, 3, 4, 5, 6, 7]);
        let part = part(&whole, 4, 2).unwrap();
        let [whole, part] = [&whole, &part].map(|buffer| buffer.map_readable().unwrap());
        assert_eq!(part.as_slice(), [4, 5]);
        assert_eq!(part.as_ptr(), whole[4..].as_ptr());
        drop((whole, part));
        assert!(super::part(&gst::Buffer::from_slice([0u8; 4]), 2, 4).is_err());
    }
}
