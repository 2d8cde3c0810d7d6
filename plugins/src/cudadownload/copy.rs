//! Copies of frames from the GPU.

use cudainfer_kernels::device::{DeviceError, Download, Event, Stream};
use gst_video::{VideoFrameExt, VideoFrameRef, VideoInfo};

use crate::memory::{MappedFrame, Session};

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

    /// Copies `from`, in CUDA memory, to `to`, in system memory, and waits until it is there. Returns whether the frame
    /// lay in another CUDA context.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the frame or the GPU.
    pub(super) fn download(
        &mut self,
        session: &Session,
        from: &gst::BufferRef,
        to: &mut gst::BufferRef,
    ) -> Result<bool, String> {
        let stream = session.stream();
        let source = MappedFrame::read(from, &self.info, stream).map_err(|error| error.to_string())?;
        let mut target = VideoFrameRef::from_buffer_ref_writable(to, &self.info)
            .map_err(|_| "the frame to write to is smaller than its caps say".to_owned())?;
        let enqueued = stream.sampled(|| enqueue(stream, &source, &mut target));
        let foreign = source.is_copied();
        drop(source);
        // Also after an error, because what was enqueued before it still writes.
        let waited = self.wait(stream);
        enqueued.and(waited).map_err(|error| error.to_string())?;
        stream.counters().frames.add(1);
        Ok(foreign)
    }

    fn wait(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let done = match &mut self.done {
            Some(done) => done,
            none => none.insert(Event::new(stream.context())?),
        };
        stream.record(done)?;
        stream.wait_on_host(done)
    }
}

fn enqueue(
    stream: &Stream,
    source: &MappedFrame<'_>,
    target: &mut VideoFrameRef<&mut gst::BufferRef>,
) -> Result<(), DeviceError> {
    for (number, plane) in (0u32..).zip(0..source.planes()) {
        let (row_bytes, rows) = source.extent(plane);
        // A pool's rows never go upwards; the copy refuses a stride of 0.
        let target_stride = usize::try_from(target.plane_stride()[plane]).unwrap_or(0);
        let (Some(source), Ok(target)) = (source.plane(plane), target.plane_data_mut(number)) else {
            continue;
        };
        let copy = Download { source, target, target_stride, row_bytes, rows };
        // SAFETY: `download` keeps both mapped until the copy is done; the source is ordered by its map.
        unsafe { stream.start_download_plane(copy)? };
    }
    Ok(())
}
