//! Copies of frames to the GPU, enqueued and not waited for.

use std::collections::VecDeque;

use cudainfer_kernels::device::{CudaStream, DeviceError, Event, Pinned, Upload};
use gst_video::VideoInfo;

use crate::memory::{GpuSession, HeldBuffers, MappedCudaFrame, MappedHostFrame, MemoryError, order};

/// Takes the frames of one caps to the GPU.
#[derive(Debug)]
pub(super) struct Uploader {
    info: VideoInfo,
    /// Whether all elements downstream order by events. If not, each frame is waited for.
    pub(super) promised: bool,
    /// Sources that are still being read.
    held: HeldBuffers,
    staging: Staging,
}

impl Uploader {
    /// For frames of `info` in system memory.
    pub(super) fn new(info: VideoInfo) -> Self {
        Self { info, promised: false, held: HeldBuffers::default(), staging: Staging::default() }
    }

    /// Enqueues the copy of `from`, in system memory, to `to`, in CUDA memory. Pinned memory is copied from directly; all other
    /// memory goes through pinned memory of our own, counted as a fallback.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the frame or the GPU.
    pub(super) fn upload(
        &mut self,
        session: &GpuSession,
        from: &gst::Buffer,
        to: &mut gst::BufferRef,
    ) -> Result<(), String> {
        let stream = session.stream();
        order::count(to, stream.counters());
        let source = MappedHostFrame::read(from, &self.info).map_err(|error| error.to_string())?;
        let target = MappedCudaFrame::write(to, &self.info, stream).map_err(|error| self.refused(&error))?;
        let planes = planes(&source, &target)?;
        let pinned = planes.iter().flatten().all(|plane| stream.is_pinned(plane.source));
        let enqueued = if pinned {
            // SAFETY: the source is held below, and the target ordered by its map.
            unsafe { enqueue(stream, &planes) }
        } else {
            stream.counters().fallbacks.add(1);
            self.staging.upload(stream, &planes)
        };
        drop((source, target));
        if pinned {
            // Also after an error, because what was enqueued before it still reads the source.
            self.held.keep(stream, from.clone()).map_err(|error| error.to_string())?;
        }
        enqueued.map_err(|error| error.to_string())?;
        if !self.promised && order::hand_over(to, stream).map_err(|error| error.to_string())? {
            self.held.release().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Why a frame of GStreamer's CUDA memory cannot be written: GStreamer 1.26 makes that of NV21 frames of odd height a row of
    /// chroma too short, for instance.
    fn refused(&self, error: &MemoryError) -> String {
        match error {
            MemoryError::ShortPlane { plane, wanted, bytes, .. } => format!(
                "this GStreamer's CUDA memory is too small for {}x{} {}: plane {plane} needs {wanted} bytes beyond its offset, of \
                 {bytes} in all. Put videoconvert and videoscale before this element, for another format or an even height",
                self.info.width(),
                self.info.height(),
                self.info.format()
            ),
            _ => error.to_string(),
        }
    }
}

/// The planes of a frame, from one memory to the other.
fn planes<'a>(
    source: &'a MappedHostFrame<'_>,
    target: &'a MappedCudaFrame<'_>,
) -> Result<[Option<Upload<'a>>; 4], String> {
    let mut planes = [None; 4];
    for (plane, copy) in planes.iter_mut().enumerate().take(target.planes()) {
        let (row_bytes, rows) = target.extent(plane);
        let (source, source_stride) =
            source.plane(plane).ok_or_else(|| format!("the frame has no plane {plane}"))?;
        let target = target.plane(plane).ok_or_else(|| format!("the GPU's frame has no plane {plane}"))?;
        *copy = Some(Upload { source, source_stride, target, row_bytes, rows });
    }
    Ok(planes)
}

/// # Safety
/// As [`CudaStream::start_upload_plane`].
unsafe fn enqueue(stream: &CudaStream, planes: &[Option<Upload<'_>>; 4]) -> Result<(), DeviceError> {
    stream.sampled(|| {
        planes.iter().flatten().try_for_each(|plane| {
            // SAFETY: the caller's promise.
            unsafe { stream.start_upload_plane(plane) }
        })
    })
}

/// Pinned memory that frames of pageable memory go through, because the device cannot read those by itself.
#[derive(Debug, Default)]
struct Staging {
    /// With the event of the copy that last read it; the oldest first.
    slots: VecDeque<(Pinned, Event)>,
}

impl Staging {
    /// Copies in flight, at most; the next one waits for the oldest.
    const SLOTS: usize = 4;

    /// Copies the planes here now, and enqueues their copy to the device.
    fn upload(&mut self, stream: &CudaStream, planes: &[Option<Upload<'_>>; 4]) -> Result<(), DeviceError> {
        let used = |plane: &Upload<'_>| {
            let rows = plane.source_stride.saturating_mul(plane.rows.saturating_sub(1));
            plane.source.len().min(rows.saturating_add(plane.row_bytes))
        };
        let bytes = planes.iter().flatten().map(used).sum();
        let (mut pinned, event) = self.slot(stream, bytes)?;
        let mut rest = pinned.as_mut_slice();
        let mut staged = *planes;
        for plane in staged.iter_mut().flatten() {
            let (here, after) = rest.split_at_mut(used(plane));
            here.copy_from_slice(&plane.source[..here.len()]);
            (plane.source, rest) = (here, after);
        }
        // SAFETY: the slot is not written again before its event has fired; the target is ordered by its map.
        let enqueued = unsafe { enqueue(stream, &staged) };
        let recorded = stream.record(&event);
        self.slots.push_back((pinned, event));
        enqueued.and(recorded)
    }

    /// At least `bytes` that no copy reads any more.
    fn slot(&mut self, stream: &CudaStream, bytes: usize) -> Result<(Pinned, Event), DeviceError> {
        let idle = match self.slots.front() {
            Some((_, event)) => event.done()?,
            None => false,
        };
        if !idle && self.slots.len() < Self::SLOTS {
            return Ok((stream.pin(bytes)?, Event::new(stream.context())?));
        }
        let Some((pinned, event)) = self.slots.pop_front() else {
            return Ok((stream.pin(bytes)?, Event::new(stream.context())?));
        };
        if !idle {
            stream.wait_on_host(&event)?;
        }
        Ok((if pinned.bytes() < bytes { stream.pin(bytes)? } else { pinned }, event))
    }
}
