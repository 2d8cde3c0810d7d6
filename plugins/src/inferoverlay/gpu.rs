//! Drawing on frames in CUDA memory.

use cudainfer_kernels::draw::{CudaCanvas, Shape};
use cudainfer_kernels::frame::FrameFormat;
use gst::prelude::*;
use gst_video::VideoInfo;

use crate::memory::{MappedFrame, Session, order};
use crate::video;

/// What draws on the frames of one negotiation.
pub(super) struct Artist {
    session: Session,
    canvas: CudaCanvas,
    /// For copies of frames that others hold, too.
    pool: gst::BufferPool,
    /// Whether who is behind orders by events.
    pub promised: bool,
}

impl Artist {
    /// For frames of `caps`.
    ///
    /// # Errors
    /// What the GPU refuses.
    pub fn new(session: Session, caps: &gst::Caps) -> Result<Self, String> {
        let (pool, _) = session.pool(caps, 0).map_err(|e| e.to_string())?;
        pool.set_active(true).map_err(|e| e.to_string())?;
        let stream = session.stream();
        let canvas = CudaCanvas::new(stream).map_err(|e| e.to_string())?;
        Ok(Self { session, canvas, pool, promised: false })
    }

    /// A frame with the same pixels, and none of the metadata, that nobody else holds.
    ///
    /// # Errors
    /// What cannot be mapped, or has no room.
    pub fn copy(&self, info: &VideoInfo, frame: &gst::BufferRef) -> Result<gst::Buffer, String> {
        let mut copy = self.pool.acquire_buffer(None).map_err(|e| format!("no memory for a copy: {e}"))?;
        let target = copy.get_mut().ok_or("the pool's frame is in use")?;
        let source = MappedFrame::read(frame, info, self.session.stream()).map_err(|e| e.to_string())?;
        let target = MappedFrame::write(target, info, self.session.stream()).map_err(|e| e.to_string())?;
        for number in 0..source.planes() {
            if let (Some(from), Some(to)) = (source.plane(number), target.plane(number)) {
                let (row_bytes, rows) = source.extent(number);
                let stream = self.session.stream();
                stream.copy_plane(from, to, row_bytes, rows).map_err(|e| e.to_string())?;
            }
        }
        drop((source, target));
        Ok(copy)
    }

    /// Waits until a frame has been written, unless who is behind orders by events.
    ///
    /// # Errors
    /// What went wrong on the GPU.
    pub fn settle(&self, frame: &gst::BufferRef) -> Result<(), String> {
        if self.promised {
            return Ok(());
        }
        order::wait_written(frame, self.session.stream()).map_err(|e| e.to_string())
    }

    /// Draws on a frame that nobody else holds. It is finished when this returns, unless who is behind
    /// orders by events.
    ///
    /// # Errors
    /// What cannot be mapped, or what the GPU refuses.
    pub fn draw(
        &mut self,
        info: &VideoInfo,
        format: &FrameFormat,
        frame: &mut gst::BufferRef,
        shapes: &[Shape<'_>],
    ) -> Result<(), String> {
        let stream = self.session.stream();
        {
            let mapped = MappedFrame::write(frame, info, stream).map_err(|e| e.to_string())?;
            let target = video::device_frame(format, &mapped).map_err(|e| e.to_string())?;
            let canvas = &mut self.canvas;
            stream.sampled(|| canvas.draw(stream, format, &target, shapes)).map_err(|e| e.to_string())?;
        }
        self.settle(frame)
    }
}

impl Drop for Artist {
    fn drop(&mut self) {
        let _ = self.pool.set_active(false);
    }
}
