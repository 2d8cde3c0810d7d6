//! Where the planes of a frame in CUDA memory lie.

use std::mem::MaybeUninit;

use cudainfer_kernels::device::{CudaStream, DevicePlane, DeviceSlice};
use gst_video::VideoInfo;

use super::{
    CAT, MemoryError,
    foreign::{self, CopiedFrame, Elsewhere},
    layout::{FrameLayout, PlaneLayout},
    library::is_cuda_memory,
    order,
    owner::Owner,
};

/// `GST_MAP_CUDA`: map the device's address instead of a copy in host memory. GL, VA and D3D use the same bit, so it
/// may only be used on memory that [`is_cuda_memory`].
pub(super) const MAP_CUDA: gst::ffi::GstMapFlags = gst::ffi::GST_MAP_FLAG_LAST << 1;

/// A frame in CUDA memory whose device addresses are known, mapped until this is dropped, for work in one stream.
///
/// What is enqueued in that stream while the frame is mapped comes after the work that made the frame, and before the work of its
/// next user (see [`super::order`]). The host does not wait.
#[derive(Debug)]
pub struct MappedCudaFrame<'a> {
    memory: &'a gst::MemoryRef,
    stream: &'a CudaStream,
    access: Access,
    /// Whether the stream has been made to wait, so that the use must be marked.
    begun: bool,
    map: gst::ffi::GstMapInfo,
    /// The frame's place, if it is in another context.
    elsewhere: Option<Elsewhere>,
    /// The copy, if the frame lies on another GPU.
    copy: Option<CopiedFrame>,
    layout: FrameLayout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl<'a> MappedCudaFrame<'a> {
    /// The planes of `buffer`, to be read by work in `stream`.
    ///
    /// # Errors
    /// [`MemoryError::NotCuda`], [`MemoryError::NoMap`], [`MemoryError::Device`], and where the planes are not within the
    /// memory, or not where the caps say, those of [`FrameLayout::of`].
    pub fn read(
        buffer: &'a gst::BufferRef,
        info: &VideoInfo,
        stream: &'a CudaStream,
    ) -> Result<Self, MemoryError> {
        Self::map(buffer, info, stream, Access::Read)
    }

    /// The planes of `buffer`, to be written (and read) by work in `stream`.
    ///
    /// # Errors
    /// As [`MappedCudaFrame::read`].
    pub fn write(
        buffer: &'a mut gst::BufferRef,
        info: &VideoInfo,
        stream: &'a CudaStream,
    ) -> Result<Self, MemoryError> {
        Self::map(buffer, info, stream, Access::Write)
    }

    fn map(
        buffer: &'a gst::BufferRef,
        info: &VideoInfo,
        stream: &'a CudaStream,
        access: Access,
    ) -> Result<Self, MemoryError> {
        let memory = single(buffer)?;
        let layout = FrameLayout::of(buffer, info)?;
        let (flags, access_name) = match access {
            Access::Read => (gst::ffi::GST_MAP_READ, "reading"),
            Access::Write => (gst::ffi::GST_MAP_READ | gst::ffi::GST_MAP_WRITE, "writing"),
        };
        let mut map = MaybeUninit::zeroed();
        // SAFETY: the memory belongs to the buffer, which is borrowed for `'a`, and was checked to be CUDA memory.
        let mapped = unsafe {
            gst::ffi::gst_memory_map(memory.as_ptr().cast_mut(), map.as_mut_ptr(), flags | MAP_CUDA)
        };
        if mapped == gst::glib::ffi::GFALSE {
            return Err(MemoryError::NoMap { access: access_name });
        }
        // SAFETY: a successful map fills it.
        let map = unsafe { map.assume_init() };
        // From here on, dropping unmaps.
        let mut frame =
            Self { memory, stream, access, begun: false, map, elsewhere: None, copy: None, layout };
        frame.layout.check_mapped(frame.map.size)?;
        frame.begin()?;
        frame.begun = true;
        Ok(frame)
    }

    /// Makes the stream wait for work in flight on the frame, and copies a frame of another GPU over.
    fn begin(&mut self) -> Result<(), MemoryError> {
        let uses = order::uses(self.memory);
        match self.access {
            Access::Read => uses.order.begin_read(self.stream)?,
            Access::Write => uses.order.begin_write(self.stream)?,
        }
        let Some(owner) = Owner::of(self.memory) else { return Ok(()) };
        let writes = self.access == Access::Write;
        order::wait_for_others(self.memory, &owner, uses, writes, self.stream)?;
        if owner.is_of(self.stream) {
            return Ok(());
        }
        let source = self.map.data as u64;
        let elsewhere = foreign::place(self.stream, source)?;
        self.elsewhere = Some(elsewhere);
        if let Elsewhere::Copied(_) = elsewhere {
            self.copy = Some(CopiedFrame::bring(uses, (source, owner), self.map.size, self.stream)?);
        }
        Ok(())
    }

    /// Marks the end of the stream's use of the frame.
    fn end(&self) -> Result<(), MemoryError> {
        let uses = order::uses(self.memory);
        if let Some(copy) = &self.copy {
            copy.end(self.access == Access::Write, self.stream)?;
        }
        match self.access {
            Access::Read => uses.order.end_read(self.stream)?,
            Access::Write => uses.order.end_write(self.stream)?,
        }
        Ok(())
    }

    /// Where the frame lies, if that is another CUDA context. A copy is counted as a fallback. Report it on the bus:
    /// [`crate::notice::frames_elsewhere`].
    pub fn elsewhere(&self) -> Option<Elsewhere> {
        self.elsewhere
    }

    /// Planes of this frame, at most 4.
    pub fn planes(&self) -> usize {
        self.layout.planes().len()
    }

    /// Bytes that carry pixels in a row of `plane`, and its rows; zeros if there is no such plane.
    pub fn extent(&self, plane: usize) -> (usize, usize) {
        self.layout.planes().get(plane).map_or((0, 0), |plane| (plane.row_bytes, plane.rows))
    }

    /// Where `plane` lies on the device, with the pool's padding; `None` if there is no such plane.
    pub fn plane(&self, plane: usize) -> Option<DevicePlane<'_>> {
        let PlaneLayout { offset, stride, .. } = *self.layout.planes().get(plane)?;
        let bytes = self.map.size.checked_sub(offset)?;
        let base = self.copy.as_ref().map_or(self.map.data as u64, CopiedFrame::address);
        let pointer = base.checked_add(u64::try_from(offset).ok()?)?;
        // SAFETY: the map says that these bytes are device memory that the stream's kernels reach, held until `self` is
        // dropped; or the copy holds as many there. `begin` and `end` order the work of its stream with all other.
        let data = unsafe { DeviceSlice::from_raw(pointer, bytes) };
        Some(DevicePlane::new(data, stride))
    }
}

impl Drop for MappedCudaFrame<'_> {
    fn drop(&mut self) {
        let ended = if self.begun { self.end() } else { Ok(()) };
        if let Err(error) = ended {
            gst::warning!(CAT, "work on a frame cannot be followed: {error}");
        }
        // SAFETY: it was mapped by us, once, and the buffer that holds the memory is still borrowed.
        unsafe { gst::ffi::gst_memory_unmap(self.memory.as_ptr().cast_mut(), &raw mut self.map) };
    }
}

/// The buffer's one memory, if it is CUDA memory.
fn single(buffer: &gst::BufferRef) -> Result<&gst::MemoryRef, MemoryError> {
    let memory = match buffer.n_memory() {
        1 => buffer.peek_memory(0),
        0 => return Err(MemoryError::NotCuda { found: "no memory at all".to_owned() }),
        n => return Err(MemoryError::NotCuda { found: format!("{n} pieces of memory instead of one") }),
    };
    if !is_cuda_memory(memory) {
        let kind = memory
            .allocator()
            .map_or_else(|| "unknown".to_owned(), |allocator| allocator.memory_type().to_string());
        return Err(MemoryError::NotCuda { found: format!("memory of the kind '{kind}'") });
    }
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use gst_video::VideoFormat;

    use super::*;

    #[test]
    fn system_memory_is_not_mistaken_for_cuda_memory() {
        gst::init().unwrap();
        let info = VideoInfo::builder(VideoFormat::Rgba, 4, 4).build().unwrap();
        let buffer = gst::Buffer::with_size(info.size()).unwrap();
        assert!(!is_cuda_memory(buffer.peek_memory(0)));
        let error = single(&buffer).unwrap_err();
        assert!(error.to_string().contains("memory of the kind 'SystemMemory'"), "{error}");
    }
}
