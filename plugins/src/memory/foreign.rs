//! Frames in CUDA memory of another context: an application's own, or that of an element that found none to share.

use std::{
    ffi::c_void,
    ptr,
    sync::{Arc, PoisonError},
};

use cudainfer_kernels::device::{CudaStream, SharedMemory};

use super::{MemoryError, library, order::Uses};

/// The context of `memory`, which must be CUDA memory, if that is not the one of `stream`.
pub(super) fn context(memory: &gst::MemoryRef, stream: &CudaStream) -> Option<*mut c_void> {
    let functions = library::opened()?;
    // SAFETY: CUDA memory begins like this in every version, and has a context as long as it lives.
    let handle = unsafe {
        let context = (*memory.as_ptr().cast::<library::CudaMemory>()).context;
        (functions.context_get_handle)(context)
    };
    (!ptr::eq(handle, stream.context().handle().cast())).then_some(handle)
}

/// A copy of a frame in the context that we work in. It stays with the frame's memory for the next time.
#[derive(Debug)]
pub(super) struct CopiedFrame {
    memory: Arc<SharedMemory>,
    /// Address and context of what it is a copy of.
    original: (u64, *mut c_void),
}

impl CopiedFrame {
    /// Enqueues the copy of all bytes of `original`, which must be mapped until [`CopiedFrame::end`].
    pub(super) fn bring(
        uses: &Uses,
        original: (u64, *mut c_void),
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<Self, MemoryError> {
        let memory = {
            let mut copies = uses.copies.lock().unwrap_or_else(PoisonError::into_inner);
            match copies.iter().find(|copy| Arc::strong_count(copy) == 1) {
                Some(idle) => Arc::clone(idle),
                None => {
                    let copy = Arc::new(SharedMemory::new(stream, bytes)?);
                    copies.push(Arc::clone(&copy));
                    copy
                }
            }
        };
        let copy = Self { memory, original };
        copy.memory.begin_write(stream)?;
        let (address, context) = original;
        // SAFETY: the map says how many bytes there are, and the copy has as many; the frame's order and the copy's
        // keep others away.
        unsafe {
            stream.copy_between_contexts(
                (address, context.cast()),
                (copy.address(), stream.context().handle()),
                bytes,
            )?
        };
        copy.memory.end_write(stream)?;
        stream.counters().fallbacks.add(1);
        Ok(copy)
    }

    /// Ends the use of the copy by `stream`; what was `written` to it goes back into the original.
    pub(super) fn end(&self, written: bool, stream: &CudaStream) -> Result<(), MemoryError> {
        if written {
            let bytes = self.memory.slice().bytes();
            let ((address, context), own) = (self.original, stream.context().handle());
            // SAFETY: as in `bring`.
            unsafe { stream.copy_between_contexts((self.address(), own), (address, context.cast()), bytes)? };
        }
        Ok(self.memory.end_read(stream)?)
    }

    /// Its device address.
    pub(super) fn address(&self) -> u64 {
        self.memory.slice().pointer()
    }
}
