//! From a frame to its picture: by sums of samples, or by [`crate::preproc`] with its area interpolation where there are none.

use super::sums::{CpuSums, CudaSums, SumPlan};
use super::{CameraError, Picture, picture_size};
use crate::device::{CudaStream, DeviceFrame, Event, Memory, Pinned};
use crate::frame::{Frame, FrameFormat};
use crate::preproc::{
    ChannelOrder, CudaPreproc, Interpolation, Preproc, PreprocError, PreprocParams, Resize,
};
use crate::tensor::TensorType;

/// How a frame becomes a picture of this width and height.
pub(super) fn picture_params([width, height]: [usize; 2]) -> PreprocParams {
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

/// How frames of a format become pictures of this size, if sums of samples can do it.
fn plan(format: FrameFormat, size: [usize; 2]) -> Result<Option<SumPlan>, CameraError> {
    picture_params(size).check(&format)?;
    Ok(SumPlan::new(format, size))
}

/// Shrinks frames of one format in host memory.
#[derive(Debug)]
pub struct Shrink {
    by: CpuBy,
    pixels: Vec<u8>,
    size: [usize; 2],
    format: FrameFormat,
}

#[derive(Debug)]
enum CpuBy {
    Sums(Box<CpuSums>),
    Preproc(Box<Preproc>),
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
        let by = match plan(format, size)? {
            Some(plan) => CpuBy::Sums(Box::new(CpuSums::new(plan))),
            None => CpuBy::Preproc(Box::new(Preproc::new(format, picture_params(size))?)),
        };
        Ok(Self { by, pixels: vec![0; size[0] * size[1]], size, format })
    }

    /// The picture of `frame`.
    ///
    /// # Errors
    /// [`CameraError::Shrink`] for a frame that is smaller than the format.
    pub fn run(&mut self, frame: &Frame<'_>) -> Result<Picture<'_>, CameraError> {
        match &mut self.by {
            CpuBy::Sums(sums) => {
                frame.check(&self.format).map_err(PreprocError::from)?;
                sums.run(frame, &mut self.pixels);
            }
            CpuBy::Preproc(preproc) => preproc.run(frame, &mut self.pixels)?,
        }
        Picture::new(&self.pixels, self.size, [self.format.width, self.format.height])
    }
}

/// Shrinks frames of one format on a GPU, and downloads nothing but their pictures. One frame is in flight at a time.
#[derive(Debug)]
pub struct CudaShrink {
    by: CudaBy,
    small: Memory,
    pixels: Pinned,
    done: Event,
    pending: bool,
    size: [usize; 2],
    frame: [usize; 2],
}

#[derive(Debug)]
enum CudaBy {
    Sums(Box<CudaSums>),
    Preproc(Box<CudaPreproc>),
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
        let by = match plan(format, size)? {
            Some(plan) => CudaBy::Sums(Box::new(CudaSums::load(stream, plan)?)),
            None => CudaBy::Preproc(Box::new(CudaPreproc::new(format, picture_params(size), stream)?)),
        };
        let bytes = size[0] * size[1];
        Ok(Self {
            by,
            small: stream.allocate(bytes)?,
            pixels: stream.pin(bytes)?,
            done: Event::new(stream.context())?,
            pending: false,
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
        self.shrink(stream, frame)?;
        // SAFETY: only `finish` looks at the pixels, and it waits for `done`.
        unsafe { stream.start_download(self.small.slice(), &mut self.pixels)? };
        stream.record(&self.done)?;
        self.pending = true;
        Ok(())
    }

    /// Enqueues the shrinking alone, and leaves the picture on the GPU.
    ///
    /// # Errors
    /// As [`CudaShrink::start`].
    pub fn shrink(&self, stream: &CudaStream, frame: &DeviceFrame<'_>) -> Result<(), CameraError> {
        match &self.by {
            CudaBy::Sums(sums) => sums.launch(stream, frame, self.small.slice())?,
            CudaBy::Preproc(preproc) => {
                preproc.run(stream, std::slice::from_ref(frame), self.small.slice())?;
            }
        }
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
