//! Frames in CUDA memory of another context: of an application's own, of an element that found none to share, or of another
//! GPU.
//!
//! Those on the same GPU are processed where they lie. Those on another GPU are copied over, without the host.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, Reach, SharedMemory};

use super::{MemoryError, order::Uses, owner::Owner};
use crate::sync::lock;

/// Where a frame lies that is not in our own context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// In another context of the same GPU, where kernels reach it.
    SameGpu,
    /// It is copied over from another context, on the GPU of this number.
    Copied(u32),
}

/// A copy of a frame in our own context. It is kept with the frame's memory for the next time.
#[derive(Debug)]
pub(super) struct CopiedFrame {
    memory: Arc<SharedMemory>,
    /// Address and context of the original.
    original: (u64, Owner),
}

impl CopiedFrame {
    /// Enqueues the copy of all bytes of `original`, which must be mapped until [`CopiedFrame::end`].
    pub(super) fn bring(
        uses: &Uses,
        original: (u64, Owner),
        bytes: usize,
        stream: &CudaStream,
    ) -> Result<Self, MemoryError> {
        let memory = {
            let mut copies = lock(&uses.copies);
            let idle = |copy: &&Arc<SharedMemory>| {
                Arc::strong_count(copy) == 1 && Arc::ptr_eq(copy.context(), stream.context())
            };
            match copies.iter().find(idle) {
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
        let (address, owner) = &copy.original;
        // SAFETY: the map says how many bytes there are, and the copy has as many; the frame's order and the copy's keep other
        // work away. The owner holds the context.
        unsafe {
            stream.copy_between_contexts(
                (*address, owner.handle()),
                (copy.address(), stream.context().handle()),
                bytes,
            )?
        };
        copy.memory.end_write(stream)?;
        stream.counters().fallbacks.add(1);
        Ok(copy)
    }

    /// Ends the use of the copy by `stream`; bytes that were `written` to it go back into the original.
    pub(super) fn end(&self, written: bool, stream: &CudaStream) -> Result<(), MemoryError> {
        if written {
            let bytes = self.memory.slice().bytes();
            let ((address, owner), own) = (&self.original, stream.context().handle());
            // SAFETY: as in `bring`.
            unsafe {
                stream.copy_between_contexts((self.address(), own), (*address, owner.handle()), bytes)?
            };
        }
        Ok(self.memory.end_read(stream)?)
    }

    /// The copy's device address.
    pub(super) fn address(&self) -> u64 {
        self.memory.slice().pointer()
    }
}

/// Where work in the stream uses memory at this address, which is of another context.
pub(super) fn place(stream: &CudaStream, address: u64) -> Result<Elsewhere, MemoryError> {
    Ok(match stream.reach(address)? {
        Reach::InPlace => Elsewhere::SameGpu,
        Reach::Copied(gpu) => Elsewhere::Copied(gpu),
    })
}
