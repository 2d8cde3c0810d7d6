//! The context that CUDA memory is of, and marks in the streams that fill it.

use std::{ffi::c_void, ptr};

use cudainfer_kernels::device::{CudaStream, ForeignMark};
use gst::glib::translate::*;

use super::{MemoryError, library};

/// The context that memory was allocated in, held so that it lives.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    handle: *mut c_void,
    _object: gst::Object,
}

// SAFETY: the driver's contexts may be used from every thread; the handle is only ever handed to the driver.
unsafe impl Send for Owner {}
// SAFETY: as above.
unsafe impl Sync for Owner {}

impl Owner {
    /// The owner of `memory`, which must be CUDA memory.
    pub(super) fn of(memory: &gst::MemoryRef) -> Option<Self> {
        let functions = library::opened()?;
        // SAFETY: CUDA memory begins like this in every version, and has a context as long as it lives.
        unsafe {
            let context = (*memory.as_ptr().cast::<library::CudaMemory>()).context;
            Some(Self { handle: (functions.context_get_handle)(context), _object: from_glib_none(context) })
        }
    }

    /// The driver's handle, in whichever type the callee has for that.
    pub(super) fn handle<T>(&self) -> *mut T {
        self.handle.cast()
    }

    /// Whether the stream works in this context.
    pub(super) fn is_of(&self, stream: &CudaStream) -> bool {
        ptr::eq(self.handle, stream.context().handle().cast())
    }
}

/// A mark in the stream that fills memory, with the context that both are of.
#[derive(Debug)]
pub(super) struct ProducerMark {
    /// The event is dropped before its context.
    mark: ForeignMark,
    _owner: Owner,
}

impl ProducerMark {
    pub(super) fn new(owner: Owner) -> Result<Self, MemoryError> {
        // SAFETY: the owner holds the context.
        let mark = unsafe { ForeignMark::new(owner.handle())? };
        Ok(Self { mark, _owner: owner })
    }

    pub(super) fn mark(&self) -> &ForeignMark {
        &self.mark
    }
}
