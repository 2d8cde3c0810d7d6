//! Converts GStreamer's video frames to the kernels' plain structs.

use cudainfer_kernels::device::DeviceFrame;
use cudainfer_kernels::frame::{Frame, FrameError, FrameFormat, FrameMut, PixelFormat};
use gst_video::{VideoFormat, VideoInfo};

use crate::colorimetry::Colorimetry;
use crate::memory::caps::{CUDA_FORMATS, CUDA_MEMORY};
use crate::memory::{MappedCudaFrame, MappedHostFrame, MappedHostFrameMut};

/// The kernels' name for a pixel format; `None` for those that they do not read.
pub fn pixel_format(format: VideoFormat) -> Option<PixelFormat> {
    Some(match format {
        VideoFormat::Nv12 => PixelFormat::Nv12,
        VideoFormat::I420 => PixelFormat::I420,
        VideoFormat::P01010le => PixelFormat::P010Le,
        VideoFormat::Yuy2 => PixelFormat::Yuy2,
        VideoFormat::Rgb => PixelFormat::Rgb,
        VideoFormat::Bgr => PixelFormat::Bgr,
        VideoFormat::Rgba => PixelFormat::Rgba,
        VideoFormat::Bgra => PixelFormat::Bgra,
        VideoFormat::Rgbx => PixelFormat::Rgbx,
        VideoFormat::Bgrx => PixelFormat::Bgrx,
        VideoFormat::Gray8 => PixelFormat::Gray8,
        _ => return None,
    })
}

/// The formats that fusedpreproc reads, best first.
pub const READABLE: [VideoFormat; 11] = [
    VideoFormat::Nv12,
    VideoFormat::I420,
    VideoFormat::P01010le,
    VideoFormat::Yuy2,
    VideoFormat::Rgb,
    VideoFormat::Bgr,
    VideoFormat::Rgba,
    VideoFormat::Bgra,
    VideoFormat::Rgbx,
    VideoFormat::Bgrx,
    VideoFormat::Gray8,
];

/// The frames that fusedpreproc reads.
pub fn readable() -> gst::Caps {
    in_any_memory(&READABLE)
}

/// The formats that inferoverlay draws on.
pub const DRAWABLE: [VideoFormat; 8] = [
    VideoFormat::Nv12,
    VideoFormat::I420,
    VideoFormat::Rgb,
    VideoFormat::Bgr,
    VideoFormat::Rgba,
    VideoFormat::Bgra,
    VideoFormat::Rgbx,
    VideoFormat::Bgrx,
];

/// The frames that inferoverlay draws on.
pub fn drawable() -> gst::Caps {
    in_any_memory(&DRAWABLE)
}

/// Frames of these formats, in CUDA memory, as far as it can hold them, or in system memory.
fn in_any_memory(formats: &[VideoFormat]) -> gst::Caps {
    let on_gpu = formats.iter().copied().filter(|format| CUDA_FORMATS.contains(format));
    let on_gpu = gst_video::VideoCapsBuilder::new().features([CUDA_MEMORY]).format_list(on_gpu);
    let mut frames = on_gpu.build();
    frames.merge(gst_video::VideoCapsBuilder::new().format_list(formats.iter().copied()).build());
    frames
}

/// The format of the frames of `caps`, which `info` was made of, as the kernels describe it; `None` for pixel formats that they do
/// not read. Colours are as [`Colorimetry`] says.
pub fn frame_format(caps: &gst::CapsRef, info: &VideoInfo) -> Option<FrameFormat> {
    let Colorimetry { matrix, range, .. } = Colorimetry::of(caps, info);
    Some(FrameFormat {
        pixels: pixel_format(info.format())?,
        width: usize::try_from(info.width()).ok()?,
        height: usize::try_from(info.height()).ok()?,
        matrix,
        range,
    })
}

/// The planes of a mapped frame.
///
/// # Errors
/// A plane is shorter than the format needs.
pub fn frame<'a>(format: &FrameFormat, mapped: &'a MappedHostFrame<'_>) -> Result<Frame<'a>, FrameError> {
    let mut planes: [(&[u8], usize); 3] = [(&[], 0); 3];
    for (plane, slot) in planes.iter_mut().enumerate().take(format.pixels.planes()) {
        *slot = mapped.plane(plane).unwrap_or((&[], 0));
    }
    Frame::new(format, &planes)
}

/// The planes of a frame in CUDA memory.
///
/// # Errors
/// As [`frame`].
pub fn device_frame<'a>(
    format: &FrameFormat,
    mapped: &'a MappedCudaFrame<'_>,
) -> Result<DeviceFrame<'a>, FrameError> {
    let planes: Vec<_> = (0..format.pixels.planes()).filter_map(|plane| mapped.plane(plane)).collect();
    DeviceFrame::new(format, &planes)
}

/// The planes of a frame that is mapped for writing.
///
/// # Errors
/// A plane is shorter than the format needs.
pub fn frame_mut<'a>(
    format: &FrameFormat,
    mapped: &'a mut MappedHostFrameMut<'_>,
) -> Result<FrameMut<'a>, FrameError> {
    FrameMut::new(format, mapped.planes_mut().take(format.pixels.planes()).collect())
}
