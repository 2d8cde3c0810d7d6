//! What becomes of the soft mask of a whole frame before it is delivered: better and softer edges. On the GPU where frames and masks are in
//! its memory, else on the host.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DeviceSlice, Event, Memory, Pinned};
use cudainfer_kernels::frame::FrameFormat;
use cudainfer_kernels::matte::{CudaFeather, CudaGuided, Feather, Guided};
use cudainfer_kernels::preproc::{
    ChannelOrder, CudaPreproc, Interpolation, Layout, Preproc, PreprocParams, Resize,
};
use cudainfer_kernels::tensor::TensorType;
use gst_video::VideoInfo;

use super::pools::Pools;
use super::settings::Improvement;
use super::whole::{LOST, writable};
use crate::decoding::Side;
use crate::memory::caps::in_cuda;
use crate::memory::tensor::{DeviceMemory, TensorAllocator, device_memory};
use crate::memory::{MappedCudaFrame, MappedHostFrame};
use crate::meta::tensor::Failure;
use crate::video;

/// Improves the masks of frames of one size.
pub(super) struct Improver {
    improvement: Improvement,
    info: VideoInfo,
    format: FrameFormat,
    in_cuda: bool,
    host: OnHost,
    /// For frames in CUDA memory, if a GPU may be used.
    gpu: Option<OnGpu>,
}

impl Improver {
    /// For frames of `caps`; for those in CUDA memory with a stream to work in, if there is one.
    ///
    /// # Errors
    /// A sentence: the caps are no video whose luma is known, an error of the GPU.
    pub fn new(
        improvement: Improvement,
        caps: &gst::CapsRef,
        stream: Option<&Arc<CudaStream>>,
    ) -> Result<Self, String> {
        let info = VideoInfo::from_caps(caps).map_err(|e| format!("{caps} is no video: {e}"))?;
        let format = video::frame_format(caps, &info).ok_or_else(|| {
            format!("frames of format {} are not read: put videoconvert before fusedpreproc", info.format())
        })?;
        let gpu = |stream| OnGpu::new(&improvement, format, stream).map_err(|e| e.to_string());
        let (host, gpu) = (OnHost::new(&improvement, format)?, stream.map(gpu).transpose()?);
        Ok(Self { improvement, info, format, in_cuda: in_cuda(caps), host, gpu })
    }

    /// Takes what is needed of the frame that the next mask is of: afterwards the mask may have taken its place.
    ///
    /// # Errors
    /// A sentence: memory that cannot be mapped, an error of the GPU.
    pub fn see(&mut self, frame: &gst::BufferRef) -> Result<(), String> {
        if self.improvement.guided.is_none() {
            return Ok(());
        }
        match &mut self.gpu {
            Some(gpu) => gpu.see(frame, &self.info, &self.format).map_err(|e| e.to_string()),
            None => self.host.see(frame, &self.info, &self.format),
        }
    }

    /// The improved mask, on the GPU where mask and frame are there. Else a mask that is there is downloaded, and so is the luma of a frame, if
    /// the mask is guided by it; that counts as a fallback.
    ///
    /// # Errors
    /// A sentence: there is no memory left, or some that cannot be mapped; an error of the GPU.
    pub fn run(&mut self, mask: &gst::Buffer, cell: usize, side: &Side) -> Result<gst::Buffer, String> {
        let Self { improvement, in_cuda, host, gpu, .. } = self;
        let far = device_memory(mask);
        if let (Some(gpu), Some(far)) = (&mut *gpu, &far)
            && far.context().handle() == gpu.stream.context().handle()
        {
            return gpu.run(improvement, far, cell).map_err(|e| e.to_string());
        }
        let is_guided = improvement.guided.is_some();
        if let (Some(gpu), true) = (gpu, is_guided) {
            gpu.download_luma(&mut host.luma).map_err(|e| e.to_string())?;
        }
        if far.is_some() || (is_guided && *in_cuda) {
            side.count_fallback();
        }
        host.run(improvement, mask, cell)
    }
}

impl Improvement {
    /// The least value that stays.
    fn least(&self) -> u8 {
        (self.floor * 255.0).ceil() as u8
    }
}

/// What makes the luma of frames, a byte a pixel in full range.
fn luma(format: &FrameFormat) -> PreprocParams {
    PreprocParams {
        width: format.width,
        height: format.height,
        resize: Resize::Stretch,
        interpolation: Interpolation::Nearest,
        channels: ChannelOrder::Gray,
        layout: Layout::Nchw,
        ty: TensorType::UInt8,
        scale: 1.0,
        ..PreprocParams::default()
    }
}

/// Improves masks on the host.
struct OnHost {
    preproc: Preproc,
    luma: Vec<u8>,
    size: [usize; 2],
    /// For cells of this many pixels.
    guided: Option<(usize, Guided)>,
    feather: Feather,
    pools: Pools,
}

impl OnHost {
    fn new(improvement: &Improvement, format: FrameFormat) -> Result<Self, String> {
        let [inwards, outwards] = improvement.feather;
        let preproc = Preproc::new(format, luma(&format)).map_err(|e| e.to_string())?;
        Ok(Self {
            luma: Vec::new(),
            preproc,
            size: [format.width, format.height],
            guided: None,
            feather: Feather::new(format.width, inwards, outwards),
            pools: Pools::default(),
        })
    }

    fn see(&mut self, frame: &gst::BufferRef, info: &VideoInfo, format: &FrameFormat) -> Result<(), String> {
        let mapped = MappedHostFrame::read(frame, info).map_err(|e| e.to_string())?;
        let planes = video::frame(format, &mapped).map_err(|e| e.to_string())?;
        self.luma.resize(self.preproc.bytes(), 0);
        self.preproc.run(&planes, &mut self.luma).map_err(|e| e.to_string())
    }

    fn run(
        &mut self,
        improvement: &Improvement,
        mask: &gst::Buffer,
        cell: usize,
    ) -> Result<gst::Buffer, String> {
        let Self { luma, size, guided, feather, pools, .. } = self;
        let mut improved = pools.buffer(mask.size())?;
        {
            let before = mask.map_readable().map_err(|e| e.to_string())?;
            let mut pixels = writable(&mut improved).map_err(|e| e.to_string())?;
            pixels.copy_from_slice(&before);
            if let Some((radius, epsilon)) = improvement.guided {
                let known = guided.take().filter(|(made_for, _)| *made_for == cell);
                let make = || (cell, Guided::new(*size, cell, radius, epsilon));
                let (_, filter) = guided.insert(known.unwrap_or_else(make));
                filter.run(luma, &mut pixels).map_err(|e| e.to_string())?;
            }
            feather.run(&mut pixels).map_err(|e| e.to_string())?;
            let least = improvement.least();
            pixels.iter_mut().filter(|pixel| **pixel < least).for_each(|pixel| *pixel = 0);
        }
        Ok(improved)
    }
}

/// Improves masks on the GPU, in one stream.
struct OnGpu {
    stream: Arc<CudaStream>,
    preproc: CudaPreproc,
    /// The frame's luma, and when it is there.
    luma: Memory,
    seen: Event,
    /// For luma that the host needs.
    pinned: Option<Pinned>,
    /// For cells of this many pixels.
    guided: Option<(usize, CudaGuided)>,
    /// The filtered mask, if it is made softer then.
    filtered: Option<Memory>,
    feather: CudaFeather,
    size: [usize; 2],
    pools: Pools,
}

impl OnGpu {
    fn new(
        improvement: &Improvement,
        format: FrameFormat,
        stream: &Arc<CudaStream>,
    ) -> Result<Self, Failure> {
        let [inwards, outwards] = improvement.feather;
        let size = [format.width, format.height];
        let preproc = CudaPreproc::new(format, luma(&format), stream)?;
        let is_guided = improvement.guided.is_some();
        let softens = inwards + outwards > 0;
        Ok(Self {
            luma: stream.allocate(if is_guided { preproc.bytes() } else { 0 })?,
            preproc,
            seen: Event::new(stream.context())?,
            pinned: None,
            guided: None,
            filtered: (is_guided && softens).then(|| stream.allocate(size[0] * size[1])).transpose()?,
            feather: CudaFeather::new(size, inwards, outwards, stream)?,
            size,
            pools: Pools::on_device(TensorAllocator::new(stream)?),
            stream: Arc::clone(stream),
        })
    }

    /// Waits until the frame has been read, because it may go to others then.
    fn see(&mut self, frame: &gst::BufferRef, info: &VideoInfo, format: &FrameFormat) -> Result<(), Failure> {
        let Self { stream, preproc, luma, seen, .. } = self;
        {
            let mapped = MappedCudaFrame::read(frame, info, stream)?;
            let planes = video::device_frame(format, &mapped)?;
            stream.sampled(|| preproc.run(stream, &[planes], luma.slice()))?;
        }
        stream.record(seen)?;
        Ok(stream.wait_on_host(seen)?)
    }

    fn download_luma(&mut self, luma: &mut Vec<u8>) -> Result<(), Failure> {
        let pinned = match &mut self.pinned {
            Some(pinned) => pinned,
            none => none.insert(self.stream.pin(self.luma.bytes())?),
        };
        self.stream.download(self.luma.slice(), pinned)?;
        pinned.as_slice().clone_into(luma);
        Ok(())
    }

    /// After the first frame nothing here waits: readers of the mask do.
    fn run(
        &mut self,
        improvement: &Improvement,
        mask: &DeviceMemory<'_>,
        cell: usize,
    ) -> Result<gst::Buffer, Failure> {
        let Self { stream, luma, guided, filtered, feather, size, pools, .. } = self;
        let improved = pools.buffer(mask.slice().bytes())?;
        {
            let target = device_memory(&improved).ok_or(LOST)?;
            let filter = match improvement.guided {
                Some((radius, epsilon)) => {
                    let known = guided.take().filter(|(made_for, _)| *made_for == cell);
                    let make = || CudaGuided::new(Guided::new(*size, cell, radius, epsilon), stream);
                    let known = known.map_or_else(|| Ok::<_, Failure>((cell, make()?)), Ok)?;
                    Some(&guided.insert(known).1)
                }
                None => None,
            };
            target.begin_write(stream)?;
            mask.begin_read(stream)?;
            let done = stream.sampled(|| {
                let (least, to) = (improvement.least(), target.slice());
                let soften = |from: DeviceSlice<'_>| feather.run(stream, from, to, least);
                match (filter, &*filtered) {
                    (None, _) => soften(mask.slice()),
                    (Some(filter), None) => filter.run(stream, luma.slice(), mask.slice(), to, least),
                    (Some(filter), Some(filtered)) => {
                        filter.run(stream, luma.slice(), mask.slice(), filtered.slice(), 0)?;
                        soften(filtered.slice())
                    }
                }
            });
            // Also after an error: part of the work may have been enqueued.
            let ended = [mask.end_read(stream), target.end_write(stream)];
            done?;
            ended.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(improved)
    }
}
