//! The pixels of frames, on the CPU or on the GPU, wherever the frames are, for elements that only look at them.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DeviceFrame};
use cudainfer_kernels::frame::{Frame, FrameFormat};
use gst_video::VideoInfo;

use crate::memory::caps::CUDA_MEMORY;
use crate::memory::{MappedCudaFrame, MappedHostFrame};
use crate::video;

/// Frames of some caps.
#[derive(Clone)]
pub(crate) struct Pixels {
    info: VideoInfo,
    pub format: FrameFormat,
    /// Where frames on the GPU are looked at.
    pub stream: Option<Arc<CudaStream>>,
}

impl Pixels {
    /// For the pixels that `property` needs; `stream` gives the GPU's stream where frames lie there.
    pub fn of(
        caps: &gst::Caps,
        property: &str,
        stream: impl FnOnce() -> Result<Arc<CudaStream>, String>,
    ) -> Result<Self, String> {
        let info = VideoInfo::from_caps(caps).map_err(|e| e.to_string())?;
        let format = video::frame_format(caps, &info).ok_or_else(|| {
            format!(
                "{property} cannot read frames of format {}: put videoconvert before this element",
                info.format()
            )
        })?;
        let on_gpu = caps.features(0).is_some_and(|features| features.contains(CUDA_MEMORY));
        let stream = on_gpu.then(stream).transpose().map_err(|why| {
            format!(
                "{property} needs the pixels of frames in CUDA memory, but {why}: put cudainferdownload before this element"
            )
        })?;
        Ok(Self { info, format, stream })
    }

    /// Works on a frame in system memory.
    pub fn on_host<T>(
        &self,
        buffer: &gst::BufferRef,
        work: impl FnOnce(&Frame<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let mapped = MappedHostFrame::read(buffer, &self.info).map_err(|e| e.to_string())?;
        work(&video::frame(&self.format, &mapped).map_err(|e| e.to_string())?)
    }

    /// Works on a frame on the GPU. `work` must have waited for its own work when it returns.
    pub fn on_device<T>(
        &self,
        buffer: &gst::BufferRef,
        stream: &CudaStream,
        work: impl FnOnce(&DeviceFrame<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let mapped = MappedCudaFrame::read(buffer, &self.info, stream).map_err(|e| e.to_string())?;
        work(&video::device_frame(&self.format, &mapped).map_err(|e| e.to_string())?)
    }
}
