//! What becomes of the soft mask of a whole frame before it is delivered: better and softer edges, on the host.

use cudainfer_kernels::frame::FrameFormat;
use cudainfer_kernels::matte::{Feather, Guided};
use cudainfer_kernels::preproc::{ChannelOrder, Interpolation, Layout, Preproc, PreprocParams, Resize};
use cudainfer_kernels::tensor::TensorType;
use gst_video::VideoInfo;

use super::pools::Pools;
use super::settings::Improvement;
use super::whole::writable;
use crate::decoding::Side;
use crate::memory::MappedHostFrame;
use crate::memory::caps::in_cuda;
use crate::memory::tensor::device_memory;
use crate::video;

/// Improves the masks of frames of one size.
pub(super) struct Improver {
    improvement: Improvement,
    info: VideoInfo,
    in_cuda: bool,
    luma: Luma,
    /// For cells of this many pixels.
    guided: Option<(usize, Guided)>,
    feather: Feather,
    pools: Pools,
}

impl Improver {
    /// For frames of `caps`.
    ///
    /// # Errors
    /// A sentence: the caps are no video whose luma is known.
    pub fn new(improvement: Improvement, caps: &gst::CapsRef) -> Result<Self, String> {
        let info = VideoInfo::from_caps(caps).map_err(|e| format!("{caps} is no video: {e}"))?;
        let format = video::frame_format(caps, &info).ok_or_else(|| {
            format!("frames of format {} are not read: put videoconvert before fusedpreproc", info.format())
        })?;
        let [inwards, outwards] = improvement.feather;
        Ok(Self {
            improvement,
            in_cuda: in_cuda(caps),
            luma: Luma::new(format)?,
            guided: None,
            feather: Feather::new(format.width, inwards, outwards),
            pools: Pools::default(),
            info,
        })
    }

    /// Takes what is needed of the frame that the next mask is of: afterwards the mask may have taken its place.
    ///
    /// # Errors
    /// A sentence: memory that cannot be mapped.
    pub fn see(&mut self, frame: &gst::BufferRef) -> Result<(), String> {
        if self.improvement.guided.is_some() { self.luma.see(frame, &self.info) } else { Ok(()) }
    }

    /// The improved mask, on the host. A mask or a frame in device memory is downloaded, which counts as a fallback.
    ///
    /// # Errors
    /// A sentence: there is no memory left, or some that cannot be mapped.
    pub fn run(&mut self, mask: &gst::Buffer, cell: usize, side: &Side) -> Result<gst::Buffer, String> {
        let Self { improvement, in_cuda, luma, guided, feather, pools, .. } = self;
        if device_memory(mask).is_some() || (*in_cuda && improvement.guided.is_some()) {
            side.count_fallback();
        }
        let mut improved = pools.buffer(mask.size())?;
        {
            let before = mask.map_readable().map_err(|e| e.to_string())?;
            let mut pixels = writable(&mut improved).map_err(|e| e.to_string())?;
            pixels.copy_from_slice(&before);
            if let Some((radius, epsilon)) = improvement.guided {
                let known = guided.take().filter(|(made_for, _)| *made_for == cell);
                let size = [luma.format.width, luma.format.height];
                let (_, filter) =
                    guided.insert(known.unwrap_or_else(|| (cell, Guided::new(size, cell, radius, epsilon))));
                filter.run(&luma.bytes, &mut pixels).map_err(|e| e.to_string())?;
            }
            feather.run(&mut pixels).map_err(|e| e.to_string())?;
            let floor = (improvement.floor * 255.0).ceil() as u8;
            pixels.iter_mut().filter(|pixel| **pixel < floor).for_each(|pixel| *pixel = 0);
        }
        Ok(improved)
    }
}

/// Makes the luma of frames, a byte a pixel in full range.
struct Luma {
    format: FrameFormat,
    preproc: Preproc,
    bytes: Vec<u8>,
}

impl Luma {
    fn new(format: FrameFormat) -> Result<Self, String> {
        let params = PreprocParams {
            width: format.width,
            height: format.height,
            resize: Resize::Stretch,
            interpolation: Interpolation::Nearest,
            channels: ChannelOrder::Gray,
            layout: Layout::Nchw,
            ty: TensorType::UInt8,
            scale: 1.0,
            ..PreprocParams::default()
        };
        let preproc = Preproc::new(format, params).map_err(|e| e.to_string())?;
        Ok(Self { bytes: vec![0; preproc.bytes()], format, preproc })
    }

    fn see(&mut self, frame: &gst::BufferRef, info: &VideoInfo) -> Result<(), String> {
        let mapped = MappedHostFrame::read(frame, info).map_err(|e| e.to_string())?;
        let planes = video::frame(&self.format, &mapped).map_err(|e| e.to_string())?;
        self.preproc.run(&planes, &mut self.bytes).map_err(|e| e.to_string())
    }
}
