//! Frames in place of the incoming frame, and the memory they are made in.

use cudainfer_kernels::maps::Place;
use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

use crate::memory::MappedHostFrameMut;
use crate::memory::host_pool;
use crate::memory::tensor::TensorAllocator;
use crate::meta;
use crate::meta::tensor::Failure;

/// Buffers of one size. Dropping it releases the unused ones.
#[derive(Debug)]
pub(super) struct Pool(gst::BufferPool);

impl Pool {
    /// On the device; in pinned host memory they are downloaded when they are read.
    pub fn on_device(allocator: &TensorAllocator, bytes: usize) -> Result<Self, glib::BoolError> {
        allocator.pool(bytes).map(Self)
    }

    /// A buffer of undefined bytes, whose memory is in one piece.
    ///
    /// # Errors
    /// A sentence: there is no memory left.
    pub fn buffer(&self) -> Result<gst::Buffer, String> {
        self.0.acquire_buffer(None).map_err(|e| format!("there is no memory for another frame: {e}"))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = self.0.set_active(false);
    }
}

/// The frames that are made.
#[derive(Debug)]
pub(super) struct Video {
    pub info: VideoInfo,
    /// Which cells they show, if they have the size of the map; else they have the frame's.
    pub place: Option<Place>,
    pool: Pool,
}

impl Video {
    /// Frames of `size`.
    ///
    /// # Errors
    /// A sentence: a size that no video has.
    pub fn new(format: VideoFormat, size: [usize; 2], place: Option<Place>) -> Result<Self, String> {
        let [width, height] = size.map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        let info = VideoInfo::builder(format, width, height).build().map_err(|e| e.to_string())?;
        let pool = host_pool::pool(info.size()).map_err(|e| format!("there is no memory for frames: {e}"))?;
        Ok(Self { info, place, pool: Pool(pool) })
    }

    /// The next frame.
    ///
    /// # Errors
    /// A sentence: there is no memory left.
    pub fn buffer(&self) -> Result<gst::Buffer, String> {
        self.pool.buffer()
    }

    /// Calls `paint` with the rows of a frame and the bytes from one to the next.
    pub fn write<T>(
        &self,
        buffer: &mut gst::BufferRef,
        paint: impl FnOnce(&mut [u8], usize) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut frame = MappedHostFrameMut::write(buffer, &self.info)?;
        let (rows, stride) = frame.planes_mut().next().ok_or("a frame has no plane")?;
        paint(rows, stride)
    }

    /// Bytes of a row without padding, and the number of rows.
    pub fn dense(&self) -> [usize; 2] {
        let bytes = if self.info.format() == VideoFormat::Rgb { 3 } else { 2 };
        let side = |v: u32| usize::try_from(v).unwrap_or(usize::MAX);
        [bytes * side(self.info.width()), side(self.info.height())]
    }
}

/// Removes metas with places in pixels of the incoming frame from a frame of another size.
pub(super) fn remove_places(buffer: &mut gst::BufferRef) {
    while let Some(region) = buffer.meta_mut::<gst_video::VideoRegionOfInterestMeta>() {
        if region.remove().is_err() {
            break;
        }
    }
    meta::analytics::remove(buffer);
    for name in [meta::mask::NAME, meta::map::NAME, meta::zone::NAME] {
        while let Ok(custom) = gst::meta::CustomMeta::from_mut_buffer(buffer, name) {
            if custom.remove().is_err() {
                break;
            }
        }
    }
}
