//! Drawing on frames in CUDA memory.

use std::sync::Arc;

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::draw::blur::CudaBlur;
use cudainfer_kernels::draw::{CudaCanvas, DrawError, Mask, MaskData, Primitive};
use cudainfer_kernels::frame::FrameFormat;
use gst::prelude::*;
use gst_video::VideoInfo;

use super::privacy::Cover;
use crate::memory::tensor::{DeviceMemory, device_memory};
use crate::memory::{GpuSession, MappedCudaFrame, order};
use crate::video;

/// What draws on the frames of one negotiation.
pub(crate) struct Artist {
    session: GpuSession,
    canvas: CudaCanvas,
    /// Made when the first frame needs it.
    blur: Option<Box<CudaBlur>>,
    /// For copies of frames that are held elsewhere, too.
    pool: gst::BufferPool,
    /// Whether the elements downstream order by events.
    pub promised: bool,
}

impl Artist {
    /// For frames of `caps`.
    ///
    /// # Errors
    /// An error of the GPU.
    pub fn new(session: GpuSession, caps: &gst::Caps) -> Result<Self, String> {
        let (pool, _) = session.pool(caps, 0).map_err(|e| e.to_string())?;
        pool.set_active(true).map_err(|e| e.to_string())?;
        let stream = session.stream();
        let canvas = CudaCanvas::new(stream).map_err(|e| e.to_string())?;
        Ok(Self { session, canvas, blur: None, pool, promised: false })
    }

    /// The stream that it works in.
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.session.stream()
    }

    /// A frame with the same pixels, without the metadata, that has no other owner.
    ///
    /// # Errors
    /// Memory that cannot be mapped, or is not available.
    pub fn copy(&self, info: &VideoInfo, frame: &gst::BufferRef) -> Result<gst::Buffer, String> {
        let mut copy = self.pool.acquire_buffer(None).map_err(|e| format!("no memory for a copy: {e}"))?;
        order::count(&copy, self.session.stream().counters());
        let target = copy.get_mut().ok_or("the pool's frame is in use")?;
        let source = MappedCudaFrame::read(frame, info, self.session.stream()).map_err(|e| e.to_string())?;
        let target =
            MappedCudaFrame::write(target, info, self.session.stream()).map_err(|e| e.to_string())?;
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

    /// Makes sure that a frame has been written when others read it, unless the elements downstream order by events.
    ///
    /// # Errors
    /// An error of the GPU.
    pub fn hand_over(&self, frame: &mut gst::BufferRef) -> Result<(), String> {
        if self.promised {
            return Ok(());
        }
        order::hand_over(frame, self.session.stream()).map(drop).map_err(|e| e.to_string())
    }

    /// Makes parts of a frame that nothing else holds unrecognisable. Returns how many boxes were on the frame.
    ///
    /// # Errors
    /// Memory that cannot be mapped, or an error of the GPU. The frame must not go on then.
    pub(super) fn cover(
        &mut self,
        info: &VideoInfo,
        format: &FrameFormat,
        frame: &mut gst::BufferRef,
        cover: &Cover,
    ) -> Result<usize, String> {
        let stream = self.session.stream();
        let blur = match &mut self.blur {
            Some(blur) => blur,
            none => none.insert(Box::new(CudaBlur::new(stream).map_err(|e| e.to_string())?)),
        };
        let mapped = MappedCudaFrame::write(frame, info, stream).map_err(|e| e.to_string())?;
        let target = video::device_frame(format, &mapped).map_err(|e| e.to_string())?;
        let Cover { mode, cells, ref boxes, .. } = *cover;
        stream.sampled(|| blur.blur(stream, format, &target, mode, cells, boxes)).map_err(|e| e.to_string())
    }

    /// Paints masks on a frame that nothing else holds, and draws over them. It is finished when this returns, unless the
    /// elements downstream order by events. Masks on the device are not waited for; those on the host are uploaded.
    ///
    /// # Errors
    /// Memory that cannot be mapped, or an error of the GPU.
    pub fn draw(
        &mut self,
        info: &VideoInfo,
        format: &FrameFormat,
        frame: &mut gst::BufferRef,
        masks: &[Mask<&gst::Buffer>],
        primitives: &[Primitive<'_>],
    ) -> Result<(), String> {
        let stream = self.session.stream();
        {
            let mapped = MappedCudaFrame::write(frame, info, stream).map_err(|e| e.to_string())?;
            let target = video::device_frame(format, &mapped).map_err(|e| e.to_string())?;
            let ours = stream.context().handle();
            let samples = masks.iter().map(|mask| {
                let on_device = device_memory(mask.data).filter(|memory| memory.context().handle() == ours);
                on_device
                    .map_or_else(|| mask.data.map_readable().map(Samples::Host), |m| Ok(Samples::Device(m)))
            });
            let samples = samples.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
            let masks: Vec<_> =
                masks.iter().zip(&samples).map(|(mask, samples)| mask.with_data(samples.data())).collect();
            let on_device =
                || samples.iter().filter_map(|s| if let Samples::Device(m) = s { Some(m) } else { None });
            on_device().try_for_each(|memory| memory.begin_read(stream)).map_err(|e| e.to_string())?;
            let canvas = &mut self.canvas;
            let painted = stream.sampled(|| {
                canvas.paint_masks(stream, format, &target, &masks)?;
                canvas.draw(stream, format, &target, primitives)?;
                Ok::<_, DrawError>(())
            });
            // Also after an error: part of the work may have been enqueued.
            on_device().try_for_each(|memory| memory.end_read(stream)).map_err(|e| e.to_string())?;
            painted.map_err(|e| e.to_string())?;
        }
        self.hand_over(frame)
    }
}

/// Where a mask's samples are.
enum Samples<'a> {
    Host(gst::BufferMap<'a, gst::buffer::Readable>),
    Device(DeviceMemory<'a>),
}

impl Samples<'_> {
    fn data(&self) -> MaskData<'_> {
        match self {
            Self::Host(map) => MaskData::Host(map.as_slice()),
            Self::Device(memory) => MaskData::Device(memory.slice()),
        }
    }
}

impl Drop for Artist {
    fn drop(&mut self) {
        let _ = self.pool.set_active(false);
    }
}
