//! Copies of frames from the GPU.

use cudainfer_kernels::device::{CudaStream, DeviceError, Download, Event};
use gst_video::VideoInfo;

use crate::memory::{Elsewhere, GpuSession, MappedCudaFrame, MappedHostFrameMut};

/// Takes the frames of one caps from the GPU.
#[derive(Debug)]
pub(super) struct Downloader {
    info: VideoInfo,
    done: Option<Event>,
}

impl Downloader {
    /// For frames of `info`.
    pub(super) fn new(info: VideoInfo) -> Self {
        Self { info, done: None }
    }

    /// Copies `from`, in CUDA memory, to `to`, in system memory, and waits until it is there. Returns where the frame lay, if
    /// that was another CUDA context.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the frame or the GPU.
    pub(super) fn download(
        &mut self,
        session: &GpuSession,
        from: &gst::BufferRef,
        to: &mut gst::BufferRef,
    ) -> Result<Option<Elsewhere>, String> {
        let stream = session.stream();
        let source = MappedCudaFrame::read(from, &self.info, stream).map_err(|error| error.to_string())?;
        let mut target = MappedHostFrameMut::write(to, &self.info).map_err(|error| error.to_string())?;
        let enqueued = stream.sampled(|| enqueue(stream, &source, &mut target));
        let elsewhere = source.elsewhere();
        drop(source);
        // Also after an error, because what was enqueued before it still writes.
        let waited = self.wait(stream);
        enqueued.and(waited).map_err(|error| error.to_string())?;
        Ok(elsewhere)
    }

    fn wait(&mut self, stream: &CudaStream) -> Result<(), DeviceError> {
        let done = match &mut self.done {
            Some(done) => done,
            none => none.insert(Event::new(stream.context())?),
        };
        stream.record(done)?;
        stream.wait_on_host(done)
    }
}

fn enqueue(
    stream: &CudaStream,
    source: &MappedCudaFrame<'_>,
    target: &mut MappedHostFrameMut<'_>,
) -> Result<(), DeviceError> {
    for (plane, (target, target_stride)) in target.planes_mut().enumerate() {
        let (row_bytes, rows) = source.extent(plane);
        let Some(source) = source.plane(plane) else { continue };
        let copy = Download { source, target, target_stride, row_bytes, rows };
        // SAFETY: `download` keeps both mapped until the copy is done; the source is ordered by its map.
        unsafe { stream.start_download_plane(copy)? };
    }
    Ok(())
}
