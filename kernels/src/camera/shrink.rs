//! From a frame to its picture: [`crate::preproc`], with its area interpolation.

use super::{CameraError, Picture, picture_size};
use crate::device::{CudaStream, DeviceFrame, Event, Memory, Pinned};
use crate::frame::{Frame, FrameFormat};
use crate::preproc::{ChannelOrder, CudaPreproc, Interpolation, Preproc, PreprocParams, Resize};
use crate::tensor::TensorType;

/// How a frame becomes a picture of this width and height.
pub fn picture_params([width, height]: [usize; 2]) -> PreprocParams {
    PreprocParams {
        width,
        height,
        resize: Resize::Stretch,
        interpolation: Interpolation::Area,
        channels: ChannelOrder::Gray,
        ty: TensorType::UInt8,
        scale: 1.0,
        ..PreprocParams::default()
    }
}

/// Shrinks frames of one format in host memory.
#[derive(Debug)]
pub struct Shrink {
    preproc: Preproc,
    pixels: Vec<u8>,
    size: [usize; 2],
    frame: [usize; 2],
}

impl Shrink {
    /// Prepares for frames of `format`, whose pictures have [`picture_size`].
    ///
    /// # Errors
    /// [`CameraError::Shrink`] for sides of 0 or beyond [`MAX_SIDE`](crate::preproc::MAX_SIDE).
    pub fn new(format: FrameFormat) -> Result<Self, CameraError> {
        Self::to(picture_size(format.width, format.height), format)
    }

    /// As [`Shrink::new`], for pictures of this width and height.
    ///
    /// # Errors
    /// As [`Shrink::new`].
    pub fn to(size: [usize; 2], format: FrameFormat) -> Result<Self, CameraError> {
        let preproc = Preproc::new(format, picture_params(size))?;
        Ok(Self { pixels: vec![0; preproc.bytes()], preproc, size, frame: [format.width, format.height] })
    }

    /// The picture of `frame`.
    ///
    /// # Errors
    /// [`CameraError::Shrink`] for a frame that is smaller than the format.
    pub fn run(&mut self, frame: &Frame<'_>) -> Result<Picture<'_>, CameraError> {
        self.preproc.run(frame, &mut self.pixels)?;
        Picture::new(&self.pixels, self.size, self.frame)
    }
}

/// Shrinks frames of one format on a GPU, and downloads nothing but their pictures. One frame is in flight at a time.
#[derive(Debug)]
pub struct CudaShrink {
    preproc: CudaPreproc,
    small: Memory,
    pixels: Pinned,
    done: Event,
    pending: bool,
    size: [usize; 2],
    frame: [usize; 2],
}

impl CudaShrink {
    /// Prepares for frames of `format` on the GPU of `stream`, which counts the allocations.
    ///
    /// # Errors
    /// As [`Shrink::new`], and [`CameraError::Device`].
    pub fn new(format: FrameFormat, stream: &CudaStream) -> Result<Self, CameraError> {
        Self::to(picture_size(format.width, format.height), format, stream)
    }

    /// As [`CudaShrink::new`], for pictures of this width and height.
    ///
    /// # Errors
    /// As [`CudaShrink::new`].
    pub fn to(size: [usize; 2], format: FrameFormat, stream: &CudaStream) -> Result<Self, CameraError> {
        let preproc = CudaPreproc::new(format, picture_params(size), stream)?;
        Ok(Self {
            small: stream.allocate(preproc.bytes())?,
            pixels: stream.pin(preproc.bytes())?,
            done: Event::new(stream.context())?,
            pending: false,
            preproc,
            size,
            frame: [format.width, format.height],
        })
    }

    /// Enqueues the shrinking of `frame`, one launch, and the download of its picture, which [`CudaShrink::finish`] returns. A
    /// frame that was started before and not finished is dropped. The stream must be that of the last call, or have waited
    /// for it.
    ///
    /// # Errors
    /// As [`Shrink::run`], and [`CameraError::Device`].
    pub fn start(&mut self, stream: &CudaStream, frame: &DeviceFrame<'_>) -> Result<(), CameraError> {
        self.pending = false;
        self.preproc.run(stream, std::slice::from_ref(frame), self.small.slice())?;
        // SAFETY: only `finish` looks at the pixels, and it waits for `done`.
        unsafe { stream.start_download(self.small.slice(), &mut self.pixels)? };
        stream.record(&self.done)?;
        self.pending = true;
        Ok(())
    }

    /// Waits once for the frame that was started last, and returns its picture, bit for bit that of [`Shrink::run`]; none if no
    /// frame was started.
    ///
    /// # Errors
    /// [`CameraError::Device`], also for faults of earlier work.
    pub fn finish(&mut self, stream: &CudaStream) -> Result<Option<Picture<'_>>, CameraError> {
        if !std::mem::take(&mut self.pending) {
            return Ok(None);
        }
        stream.wait_on_host(&self.done)?;
        Picture::new(self.pixels.as_slice(), self.size, self.frame).map(Some)
    }
}
