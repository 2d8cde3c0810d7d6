//! The functions of libgstcuda that this plugin calls, opened at run time.
//!
//! Checked against GStreamer's sources of 1.22.0, 1.24.0, 1.26.0 and 1.28.0: the functions here have one signature in
//! all of them. `gst_cuda_allocator_alloc` and `gst_cuda_buffer_copy` do not, under the same soname, so they must
//! never be called. `gst_cuda_ensure_element_context` is left out, too: if no neighbour has a context, it makes a new
//! one, which is not the device's primary context.

use std::{
    ffi::{c_int, c_void},
    sync::OnceLock,
};

use gst::glib::ffi::gboolean;

use super::{CAT, MemoryError};
use crate::loader::{OpenLibrary, function};

/// A `GstCudaContext*`, seen as the `GstObject` it begins with.
pub(super) type ContextPtr = *mut gst::ffi::GstObject;

/// A `GstCudaStream*`.
pub(super) type StreamPtr = *mut c_void;

/// How a `GstCudaMemory` begins in every version since 1.22: the rest of it does not matter here.
#[repr(C)]
pub(super) struct CudaMemory {
    memory: gst::ffi::GstMemory,
    /// The context that it was allocated in, which lives as long as the memory.
    pub(super) context: ContextPtr,
}

/// `GST_CUDA_MEMORY_TRANSFER_NEED_SYNC`: work that fills the memory may still be under way in its stream.
pub(super) const NEED_SYNC: u32 = gst::ffi::GST_MEMORY_FLAG_LAST << 2;

/// The same in all versions.
const NAME: &str = "libgstcuda-1.0.so.0";

/// The functions. All are thread-safe, and none is called before [`open`] has had the library load the CUDA driver.
pub(super) struct Functions {
    pub(super) context_new_wrapped: unsafe extern "C" fn(*mut c_void, c_int) -> ContextPtr,
    pub(super) context_get_handle: unsafe extern "C" fn(ContextPtr) -> *mut c_void,
    pub(super) handle_set_context: unsafe extern "C" fn(
        *mut gst::ffi::GstElement,
        *mut gst::ffi::GstContext,
        c_int,
        *mut ContextPtr,
    ) -> gboolean,
    pub(super) handle_context_query:
        unsafe extern "C" fn(*mut gst::ffi::GstElement, *mut gst::ffi::GstQuery, ContextPtr) -> gboolean,
    pub(super) context_new_cuda_context: unsafe extern "C" fn(ContextPtr) -> *mut gst::ffi::GstContext,
    pub(super) is_cuda_memory: unsafe extern "C" fn(*mut gst::ffi::GstMemory) -> gboolean,
    pub(super) buffer_pool_new: unsafe extern "C" fn(ContextPtr) -> *mut gst::ffi::GstBufferPool,
    /// Waits until the memory's own stream has filled it. Since 1.24: in 1.22 memory knows nothing of streams, and producers wait
    /// for their work before they push.
    pub(super) memory_sync: Option<unsafe extern "C" fn(*mut gst::ffi::GstMemory)>,
    /// The stream whose work fills the memory, if it has one; borrowed from the memory. Since 1.24, as the next.
    pub(super) memory_get_stream: Option<unsafe extern "C" fn(*mut gst::ffi::GstMemory) -> StreamPtr>,
    /// That stream as the driver knows it.
    pub(super) stream_get_handle: Option<unsafe extern "C" fn(StreamPtr) -> *mut c_void>,
    /// A new stream, a mini object.
    pub(super) stream_new: Option<unsafe extern "C" fn(ContextPtr) -> StreamPtr>,
    /// The stream that a pool's memory carries; the configuration takes a reference.
    pub(super) pool_config_set_stream: Option<unsafe extern "C" fn(*mut gst::ffi::GstStructure, StreamPtr)>,
}

/// The library's functions, opened by the first call and never closed: GObject types that it registers cannot be
/// unregistered.
///
/// # Errors
/// [`MemoryError::NoLibrary`], [`MemoryError::NoSymbol`] or [`MemoryError::LibraryFoundNoDriver`].
pub(super) fn open() -> Result<&'static Functions, MemoryError> {
    static OPENED: OnceLock<Result<Functions, MemoryError>> = OnceLock::new();
    OPENED.get_or_init(|| load(NAME)).as_ref().map_err(MemoryError::clone)
}

/// The functions if [`open`] has already succeeded or succeeds now; for callers to which "there is none" is an answer.
pub(super) fn opened() -> Option<&'static Functions> {
    open().ok()
}

/// Whether this is GStreamer's CUDA memory. `false` where libgstcuda cannot be loaded, because then nothing in the process can
/// have made any.
pub fn is_cuda_memory(memory: &gst::MemoryRef) -> bool {
    let Some(functions) = opened() else { return false };
    // SAFETY: the memory lives through the call, which only looks at its allocator.
    unsafe { (functions.is_cuda_memory)(memory.as_ptr().cast_mut()) != gst::glib::ffi::GFALSE }
}

fn load(name: &str) -> Result<Functions, MemoryError> {
    let library = OpenLibrary::of_gstreamer(name)?;
    let load_library: unsafe extern "C" fn() -> gboolean = function!(library, c"gst_cuda_load_library")?;
    let memory_init_once: unsafe extern "C" fn() = function!(library, c"gst_cuda_memory_init_once")?;
    let memory_sync = function!(library, c"gst_cuda_memory_sync").ok();
    let functions = Functions {
        context_new_wrapped: function!(library, c"gst_cuda_context_new_wrapped")?,
        context_get_handle: function!(library, c"gst_cuda_context_get_handle")?,
        handle_set_context: function!(library, c"gst_cuda_handle_set_context")?,
        handle_context_query: function!(library, c"gst_cuda_handle_context_query")?,
        context_new_cuda_context: function!(library, c"gst_context_new_cuda_context")?,
        is_cuda_memory: function!(library, c"gst_is_cuda_memory")?,
        buffer_pool_new: function!(library, c"gst_cuda_buffer_pool_new")?,
        memory_sync,
        memory_get_stream: function!(library, c"gst_cuda_memory_get_stream").ok(),
        stream_get_handle: function!(library, c"gst_cuda_stream_get_handle").ok(),
        stream_new: function!(library, c"gst_cuda_stream_new").ok(),
        pool_config_set_stream: function!(library, c"gst_buffer_pool_config_set_cuda_stream").ok(),
    };
    // SAFETY: takes nothing; may be called any number of times, from any thread.
    if unsafe { load_library() } == gst::glib::ffi::GFALSE {
        return Err(MemoryError::LibraryFoundNoDriver);
    }
    // SAFETY: as above. Buffer pools find the allocator by name, which this registers.
    unsafe { memory_init_once() };
    let series = if functions.memory_sync.is_some() { "1.24 or newer" } else { "1.22" };
    gst::debug!(CAT, "opened {NAME} of GStreamer {series}");
    Ok(functions)
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::device::DeviceError;

    use super::*;

    #[test]
    fn a_library_that_is_missing_or_another_is_named_with_what_to_do() {
        gst::init().unwrap();
        let refused = |name| load(name).err().unwrap();
        let error = refused("libgstcuda-of-nowhere.so.0");
        assert!(
            matches!(&error, MemoryError::NoLibrary { reason } if reason.contains("of-nowhere")),
            "{error:?}"
        );
        assert!(error.to_string().contains("libgstreamer-plugins-bad1.0-0"), "{error}");
        let error = refused("libc.so.6");
        assert_eq!(error, MemoryError::NoSymbol { symbol: "gst_cuda_load_library" });
        assert!(error.to_string().contains("GStreamer 1.22 or newer"), "{error}");
    }

    #[test]
    fn without_a_driver_the_library_is_not_used() {
        gst::init().unwrap();
        let driver = cudainfer_kernels::device::probe() != Err(DeviceError::NoDriver);
        match open() {
            Ok(_) | Err(MemoryError::NoSymbol { .. }) => {
                assert!(driver, "there is nothing that it could drive")
            }
            // The library is not installed, or has found no driver.
            Err(error) => assert!(!driver || matches!(error, MemoryError::NoLibrary { .. }), "{error}"),
        }
    }
}
