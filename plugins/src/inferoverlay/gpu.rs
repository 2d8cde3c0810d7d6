//! Frames in CUDA memory: the GPU that they lie on, and drawing there.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Choice, Counters};
use cudainfer_kernels::draw::{CudaCanvas, Shape};
use cudainfer_kernels::frame::FrameFormat;
use gst::prelude::*;
use gst_video::VideoInfo;

use crate::memory::{MappedFrame, Place, Session, order};
use crate::sync::lock;
use crate::video;

/// The element's hold on the GPU: from the first frames in CUDA memory, or the first question for a CUDA context, to
/// READY->NULL.
#[derive(Debug, Default)]
pub(super) struct Gpu {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    place: Place,
    /// The CUDA context that the application or a bin last gave us.
    offered: Option<gst::Context>,
}

impl Gpu {
    /// For `set_context`.
    pub fn set_context(&self, context: &gst::Context) {
        if Session::is_offer(context) {
            lock(&self.state).offered = Some(context.clone());
        }
    }

    /// The GPU, opened if it was not.
    ///
    /// # Errors
    /// Why there is none that can be used.
    pub fn session(&self, element: &gst::Element, counters: &Arc<Counters>) -> Result<Session, String> {
        let (place, offered) = {
            let state = lock(&self.state);
            (state.place.clone(), state.offered.clone())
        };
        if let Place::Gpu(session) = place {
            return Ok(session);
        }
        let device = Choice::Auto.to_string();
        match Place::decide(&device, element, offered.as_ref(), counters) {
            Ok((Place::Gpu(session), _)) => {
                lock(&self.state).place = Place::Gpu(session.clone());
                Ok(session)
            }
            Ok((_, reason)) => Err(reason.unwrap_or_else(|| "there is no GPU".to_owned())),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Answers the question of a neighbour for a CUDA context, where there is a GPU.
    pub fn answer(
        &self,
        element: &gst::Element,
        counters: &Arc<Counters>,
        query: &mut gst::QueryRef,
    ) -> bool {
        let gst::QueryView::Context(_) = query.view() else { return false };
        self.session(element, counters).is_ok_and(|session| session.answer(element, query))
    }

    /// For `change_state`, after READY->NULL.
    pub fn close(&self) {
        let place = std::mem::take(&mut lock(&self.state).place);
        drop(place);
    }
}

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
