//! The order of work on frames in CUDA memory, kept on the device.
//!
//! Every element enqueues its work in a stream of its own and goes on. What keeps the work in order:
//!
//! - **Memory knows its last users.** [`super::MappedCudaFrame`] leaves events on the `GstMemory` itself, so they survive
//!   copies of the buffer and return with pooled memory, and makes the next stream that uses the memory wait for them.
//! - **Memory of foreign elements** has been waited for by its producer (GStreamer 1.22), or carries the stream in which it
//!   is filled (from 1.24 on), which is then waited for on the device.
//! - **An element that passes CUDA memory on** asks in the ALLOCATION query whether the elements downstream order by these
//!   events. Ours [`promise`] it ([`propose`]); if it is not [`promised`], the producer calls [`hand_over`] before it pushes: from
//!   GStreamer 1.24 on the memory's own stream waits for the frame, as foreign elements do for what is in that stream; in 1.22
//!   the producer waits. What foreign elements enqueue there is waited for before the memory is written again.
//! - **A pool must not hand out memory that is still read.** An element that reads a frame and passes it on calls
//!   [`guard`]; one that releases it keeps it in [`super::HeldBuffers`].

use std::{
    ffi::{CStr, c_void},
    ptr,
    sync::{Arc, LazyLock, Mutex, OnceLock},
};

use cudainfer_kernels::device::{Counters, CudaStream, HeldBytes, Order, SharedMemory};
use gst::{
    glib::{self, translate::*},
    prelude::*,
};

use super::{
    CAT, MemoryError,
    callback::called_from_c,
    library::{self, is_cuda_memory},
    owner::{Owner, ProducerMark},
};
use crate::sync::lock;

/// Under this name a `GstMemory` keeps its [`Uses`].
static USES: LazyLock<glib::Quark> = LazyLock::new(|| glib::Quark::from_str("cudainfer-uses"));

/// What one piece of CUDA memory was used for.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub(super) order: Order,
    /// The mark in its producer's stream, once one was needed.
    produced: Mutex<Option<ProducerMark>>,
    /// For memory of another GPU: copies of it on ours that were needed at the same time.
    pub(super) copies: Mutex<Vec<Arc<SharedMemory>>>,
    /// For memory of an element's pool: counted there as long as it is not freed.
    held: OnceLock<HeldBytes>,
}

impl Uses {
    /// The memory is about to be freed, or used by an element that does not know this order.
    fn end(&self) {
        if let Err(error) = self.order.wait_unused() {
            gst::warning!(CAT, "memory goes although its last use failed: {error}");
        }
    }
}

/// What is known of `memory`'s uses; `None` where no element of ours has used it.
fn known(memory: &gst::MemoryRef) -> Option<&Uses> {
    let object = memory.as_ptr().cast_mut().cast();
    // SAFETY: under this name there is nothing but what `uses` puts there: a `Uses` that stays as long as the memory,
    // which is borrowed.
    unsafe { gst::ffi::gst_mini_object_get_qdata(object, USES.into_glib()).cast::<Uses>().as_ref() }
}

/// What is known of `memory`'s uses, from now on kept with it.
pub(super) fn uses(memory: &gst::MemoryRef) -> &Uses {
    /// Called before the memory is freed.
    unsafe extern "C" fn free(uses: *mut c_void) {
        // SAFETY: made by `Arc::into_raw` below, given back once.
        let uses = unsafe { Arc::from_raw(uses.cast::<Uses>()) };
        called_from_c("freeing memory", (), || {
            uses.end();
            drop(uses);
        });
    }
    static FIRST: Mutex<()> = Mutex::new(());
    if let Some(uses) = known(memory) {
        return uses;
    }
    // Two threads may see a frame for the first time at once, and the slower one must not replace the other's uses.
    let _first = lock(&FIRST);
    if let Some(uses) = known(memory) {
        return uses;
    }
    let uses = Arc::into_raw(Arc::<Uses>::default());
    let object = memory.as_ptr().cast_mut().cast();
    // SAFETY: mini objects' data may be set from every thread. The reference is the memory's now and never replaced.
    unsafe {
        let data = uses.cast_mut().cast();
        gst::ffi::gst_mini_object_set_qdata(object, USES.into_glib(), data, Some(free));
        &*uses
    }
}

/// `stream` waits on the device for work of other elements that fills `memory`, which is CUDA memory of `owner`; if it `writes`,
/// also for all else that they have enqueued in the memory's own stream.
pub(super) fn wait_for_others(
    memory: &gst::MemoryRef,
    owner: &Owner,
    uses: &Uses,
    writes: bool,
    stream: &CudaStream,
) -> Result<(), MemoryError> {
    if !writes && !needs_sync(memory) {
        return Ok(());
    }
    let Some(others) = own_stream(memory) else {
        wait_for_producer_on_host(memory, stream);
        return Ok(());
    };
    let mut produced = lock(&uses.produced);
    let mark = match &mut *produced {
        Some(mark) => mark,
        none => none.insert(ProducerMark::new(owner.clone())?),
    };
    // SAFETY: the memory holds its stream, which is of the memory's context, as the mark is.
    unsafe { stream.wait_for(others.cast(), mark.mark())? };
    Ok(())
}

/// The stream that the memory carries, as the driver knows it; it lives as long as the memory. Never in 1.22.
fn own_stream(memory: &gst::MemoryRef) -> Option<*mut c_void> {
    let functions = library::opened().filter(|_| is_cuda_memory(memory))?;
    let (get_stream, get_handle) = (functions.memory_get_stream?, functions.stream_get_handle?);
    // SAFETY: it is CUDA memory, which outlives the borrowed stream.
    unsafe {
        let stream = get_stream(memory.as_ptr().cast_mut());
        (!stream.is_null()).then(|| get_handle(stream))
    }
}

/// The same by making the calling thread wait.
fn wait_for_producer_on_host(memory: &gst::MemoryRef, stream: &CudaStream) {
    let Some(sync) = library::opened().and_then(|functions| functions.memory_sync) else { return };
    if needs_sync(memory) {
        stream.counters().host_waits.add(1);
        // SAFETY: the callers say that it is CUDA memory.
        unsafe { sync(memory.as_ptr().cast_mut()) };
    }
}

/// Whether work that fills `memory` may be under way in its own stream. Never so in 1.22.
fn needs_sync(memory: &gst::MemoryRef) -> bool {
    // SAFETY: the memory is borrowed, and every one begins with these flags.
    let flags = unsafe { (*memory.as_ptr()).mini_object.flags };
    flags & library::NEED_SYNC != 0
}

/// Call it before the frame in `buffer` goes to an element that has not [`promised`] to order by events. Such elements wait for
/// what is in the memory's own stream, so that stream waits for the frame; for memory without one the calling thread waits,
/// counted in `stream` if that took waiting. Returns whether the frame has been written by now.
///
/// # Errors
/// [`MemoryError::Device`], also for faults of earlier work.
pub fn hand_over(buffer: &mut gst::BufferRef, stream: &CudaStream) -> Result<bool, MemoryError> {
    let mut written = true;
    for index in 0..buffer.n_memory() {
        let memory = buffer.peek_memory(index);
        if known(memory).is_none() {
            continue;
        }
        // Not where another buffer holds the memory, too: its user may be reading the flags.
        let own = own_stream(memory).filter(|_| set_need_sync(buffer, index));
        let Some(uses) = known(buffer.peek_memory(index)) else { continue };
        match own {
            // SAFETY: the memory holds its stream.
            Some(own) => unsafe { uses.order.let_wait(own.cast())? },
            None => uses.order.wait_written(stream)?,
        }
        written &= own.is_none();
    }
    Ok(written)
}

/// Makes every map of the memory with this number wait for the memory's own stream. False where the memory is not this buffer's
/// alone.
fn set_need_sync(buffer: &mut gst::BufferRef, index: usize) -> bool {
    // With a range of one memory, nothing is merged or replaced.
    if !buffer.is_memory_range_writable(index..index + 1) {
        return false;
    }
    let Ok(memory) = buffer.peek_memory_mut(index) else { return false };
    // SAFETY: the memory is writable, so nothing else holds it; every memory begins with these flags.
    unsafe { (*memory.as_mut_ptr()).mini_object.flags |= library::NEED_SYNC };
    true
}

/// What stands for the promise in an ALLOCATION query: the API type of a meta that no buffer ever carries.
struct Promise;

// SAFETY: the type is registered once, and no meta of it is ever made, so its layout is never looked at.
unsafe impl gst::MetaAPI for Promise {
    type GstType = gst::ffi::GstMeta;

    fn meta_api() -> glib::Type {
        static API: OnceLock<glib::Type> = OnceLock::new();
        *API.get_or_init(|| api(c"GstCudaInferOrderMetaAPI"))
    }
}

/// States in the answer to an ALLOCATION query that all that get the frames order by events: this element, and every element that
/// it passes them on to. Where it passes them on, it promises only what it is promised itself, or waits.
pub fn promise(query: &mut gst::query::Allocation) {
    if !promised(query) {
        query.add_allocation_meta::<Promise>(None);
    }
}

/// Whether this ALLOCATION query was answered with that [`promise`]. Call it before the base class decides: that removes what it
/// does not know from the query.
pub fn promised(query: &gst::query::Allocation) -> bool {
    query.find_allocation_meta::<Promise>().is_some()
}

/// Answers an ALLOCATION query for an element that reads frames with any strides: it makes a [`promise`], or promises what
/// the elements downstream of `passed_on_by` do, which passes frames on while work on them is under way.
pub fn propose(query: &mut gst::query::Allocation, passed_on_by: Option<&gst::Element>) {
    query.add_allocation_meta::<gst_video::VideoMeta>(None);
    match passed_on_by {
        None => promise(query),
        Some(element) => {
            if let Some(source) = element.static_pad("src") {
                promise_for(&source, query);
            }
        }
    }
}

fn promise_for(source: &gst::Pad, query: &mut gst::query::Allocation) {
    let Some(caps) = source.current_caps() else { return };
    let mut answer = gst::query::Allocation::new(Some(&caps), false);
    if source.peer_query(&mut answer) && promised(&answer) {
        promise(query);
    }
}

/// Counts the memory of `buffer`, which comes from a pool of the element's, in `counters` until it is freed.
pub fn count(buffer: &gst::BufferRef, counters: &Arc<Counters>) {
    for memory in buffer.iter_memories() {
        uses(memory).held.get_or_init(|| HeldBytes::new(counters, memory.maxsize()));
    }
}

/// Keeps the memory of `buffer` from being used again before what our elements have enqueued on it is done: the thread that drops
/// the buffer waits, if that is necessary. It costs nothing else, and the buffer stays writable.
pub fn guard(buffer: &mut gst::BufferRef) {
    if buffer.n_memory() != 1 {
        return;
    }
    let info = guard_info().0;
    // SAFETY: the buffer is writable; the info is that of a registered meta, which takes no parameters.
    let meta = unsafe {
        if !gst::ffi::gst_buffer_get_meta(buffer.as_mut_ptr(), (*info).api).is_null() {
            return;
        }
        gst::ffi::gst_buffer_add_meta(buffer.as_mut_ptr(), info, ptr::null_mut()).cast::<Guard>()
    };
    // The original of a copy must not go back to its pool before the guard has waited, and metas are freed in the order of their
    // making.
    let parents = buffer.iter_meta::<gst::meta::ParentBufferMeta>().map(|meta| meta.parent_owned());
    let parents = Box::new(parents.collect::<Vec<gst::Buffer>>());
    let uses = ptr::from_ref(uses(buffer.peek_memory(0)));
    // SAFETY: `uses` is the inside of an `Arc` that the memory holds; the meta has just been made, and gives its
    // reference back when it is freed.
    unsafe {
        Arc::increment_strong_count(uses);
        (*meta).uses = uses;
        (*meta).parents = Box::into_raw(parents);
    }
}

/// The guard: pools take it off a buffer before they use it again. A copy of the buffer has none, and needs none, because
/// it holds the buffer.
#[repr(C)]
struct Guard {
    meta: gst::ffi::GstMeta,
    /// A reference of its own: a buffer's memory is freed before its metas.
    uses: *const Uses,
    /// The buffers whose memory this one shares.
    parents: *mut Vec<gst::Buffer>,
}

#[derive(Clone, Copy)]
struct GuardInfo(*const gst::ffi::GstMetaInfo);

// SAFETY: registered metas are never changed and never freed.
unsafe impl Send for GuardInfo {}
// SAFETY: as above.
unsafe impl Sync for GuardInfo {}

fn guard_info() -> GuardInfo {
    unsafe extern "C" fn init(
        meta: *mut gst::ffi::GstMeta,
        _params: glib::ffi::gpointer,
        _buffer: *mut gst::ffi::GstBuffer,
    ) -> glib::ffi::gboolean {
        // SAFETY: GStreamer calls this with a new meta of the size that it was registered with.
        unsafe {
            (*meta.cast::<Guard>()).uses = ptr::null();
            (*meta.cast::<Guard>()).parents = ptr::null_mut();
        }
        glib::ffi::GTRUE
    }
    unsafe extern "C" fn free(meta: *mut gst::ffi::GstMeta, _buffer: *mut gst::ffi::GstBuffer) {
        // SAFETY: GStreamer calls this with a meta that `init` began; what `guard` put into it is given back once.
        unsafe {
            let uses = (*meta.cast::<Guard>()).uses;
            let uses = (!uses.is_null()).then(|| Arc::from_raw(uses));
            let parents = (*meta.cast::<Guard>()).parents;
            let parents = (!parents.is_null()).then(|| Box::from_raw(parents));
            called_from_c("taking a guard off a frame", (), || {
                if let Some(uses) = uses {
                    uses.end();
                }
                drop(parents);
            });
        }
    }
    static INFO: OnceLock<GuardInfo> = OnceLock::new();
    *INFO.get_or_init(|| {
        let api = api(c"GstCudaInferGuardMetaAPI").into_glib();
        let name = c"GstCudaInferGuardMeta".as_ptr();
        let size = size_of::<Guard>();
        // SAFETY: the functions have the signatures that GStreamer wants, and the meta begins with its head.
        GuardInfo(unsafe { gst::ffi::gst_meta_register(api, name, size, Some(init), Some(free), None) })
    })
}

/// The API type of a meta of ours, registered when first asked for. Its tag says that it is about the buffer's memory, so
/// that elements which put frames into other memory, as cudaconvert does, neither copy it nor pass on its proposal.
fn api(name: &CStr) -> glib::Type {
    let mut tags = [c"memory".as_ptr(), ptr::null()];
    // SAFETY: a name that ends in 0 and a list that ends in NULL; both are copied.
    unsafe { from_glib(gst::ffi::gst_meta_api_type_register(name.as_ptr(), tags.as_mut_ptr())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_found_in_the_query_once_and_only_where_it_was_made() {
        gst::init().unwrap();
        let caps = super::super::caps::any_cuda();
        let mut query = gst::query::Allocation::new(Some(&caps), true);
        assert!(!promised(&query));
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        assert!(!promised(&query));
        promise(&mut query);
        promise(&mut query);
        assert!(promised(&query));
        assert_eq!(query.allocation_metas().count(), 2);
    }

    #[test]
    fn flags_of_memory_that_others_have_are_left_alone() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::with_size(16).unwrap();
        let other = buffer.copy();
        let is_shared = ptr::eq(buffer.peek_memory(0), other.peek_memory(0));
        assert!(is_shared && !set_need_sync(buffer.get_mut().unwrap(), 0));
        assert!(!needs_sync(other.peek_memory(0)));
        drop(other);
        assert!(set_need_sync(buffer.get_mut().unwrap(), 0) && needs_sync(buffer.peek_memory(0)));
    }

    #[test]
    fn memory_keeps_its_uses_through_copies_of_the_buffer_until_it_is_freed() {
        gst::init().unwrap();
        let buffer = gst::Buffer::with_size(16).unwrap();
        assert!(known(buffer.peek_memory(0)).is_none());
        let first = ptr::from_ref(uses(buffer.peek_memory(0)));
        let copy = buffer.copy();
        drop(buffer);
        assert!(ptr::eq(first, uses(copy.peek_memory(0))));
    }

    #[test]
    fn memory_of_a_pool_is_counted_once_until_it_is_freed() {
        gst::init().unwrap();
        let counters = Arc::<Counters>::default();
        let buffer = gst::Buffer::with_size(16).unwrap();
        let bytes = buffer.peek_memory(0).maxsize() as u64;
        count(&buffer, &counters);
        let copy = buffer.copy();
        count(&copy, &counters);
        drop(buffer);
        assert_eq!(counters.device_bytes(), bytes);
        drop(copy);
        assert_eq!(counters.device_bytes(), 0);
    }

    #[test]
    fn threads_that_see_memory_for_the_first_time_at_once_agree_on_its_uses() {
        gst::init().unwrap();
        for _ in 0..100 {
            let buffer = gst::Buffer::with_size(16).unwrap();
            let start = std::sync::Barrier::new(4);
            let seen: Vec<usize> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(|| {
                            start.wait();
                            ptr::from_ref(uses(buffer.peek_memory(0))).addr()
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(seen.iter().all(|address| *address == seen[0]));
        }
    }

    #[test]
    fn a_guard_is_put_on_once_stays_with_its_buffer_and_outlives_the_memory() {
        gst::init().unwrap();
        let guards =
            |buffer: &gst::BufferRef| buffer.iter_meta::<gst::Meta>().filter(|meta| is_guard(meta)).count();
        let mut buffer = gst::Buffer::with_size(16).unwrap();
        guard(buffer.get_mut().unwrap());
        guard(buffer.get_mut().unwrap());
        assert_eq!(guards(&buffer), 1);
        let copy = buffer.copy();
        assert_eq!(guards(&copy), 0);
        drop(copy);
        drop(buffer);
    }

    #[test]
    fn a_guarded_copy_keeps_what_it_was_made_of_until_the_guard_has_waited() {
        gst::init().unwrap();
        let pool = gst::BufferPool::new();
        let mut config = pool.config();
        config.set_params(None, 16, 1, 1);
        pool.set_config(config).unwrap();
        pool.set_active(true).unwrap();
        let original = pool.acquire_buffer(None).unwrap();
        let mut copy = original.copy();
        // SAFETY: the buffer lives, and nothing else holds it.
        let held = |buffer: &gst::Buffer| unsafe { (*buffer.as_ptr()).mini_object.refcount };
        // GStreamer 1.22 leaves the parent meta to the code that copies; its pools then give up the original.
        if copy.meta::<gst::meta::ParentBufferMeta>().is_none() {
            gst::meta::ParentBufferMeta::add(copy.get_mut().unwrap(), &original);
        }
        assert_eq!(held(&original), 2, "this test's and the copy's");
        guard(copy.get_mut().unwrap());
        assert_eq!(held(&original), 3, "and the guard's");
        // What a pool does with a buffer that comes back: it removes the metas, the guard as the last.
        let parent = copy.meta::<gst::meta::ParentBufferMeta>().unwrap().as_ptr().cast_mut();
        let copied = copy.get_mut().unwrap().as_mut_ptr();
        // SAFETY: the meta is the copy's, and nothing else holds the copy.
        let removed = unsafe { gst::ffi::gst_buffer_remove_meta(copied, parent.cast()) };
        assert_ne!(removed, glib::ffi::GFALSE);
        assert_eq!(held(&original), 2, "the guard still holds it");
        drop(copy);
        assert_eq!(held(&original), 1);
        pool.set_active(false).unwrap();
    }

    fn is_guard(meta: &gst::MetaRef<'_, gst::Meta>) -> bool {
        meta.api().name() == "GstCudaInferGuardMetaAPI"
    }
}
