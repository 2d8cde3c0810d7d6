//! Where the mask of a whole frame goes.

use std::sync::Arc;

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::draw::{self, MaskInk, MaskOutline, Rgb, paint_masks};
use cudainfer_kernels::frame::FrameFormat;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::matte::{Corners, CudaCorners, Foreground, Strip};
use gst_video::{VideoFormat, VideoInfo};

use super::pools::Pools;
use super::settings::{self, Output, Settings, Work};
use super::whole::{LOST, Made, writable};
use crate::decoding::Side;
use crate::inferoverlay::Artist;
use crate::memory::MappedHostFrameMut;
use crate::memory::caps::in_cuda;
use crate::memory::tensor::{DeviceMemory, TensorAllocator, device_memory};
use crate::meta::mask::{self, Mask, MaskKind};
use crate::meta::tensor::Failure;
use crate::video;

const RED: Rgb = Rgb(255, 0, 0);

/// How the frame changes.
pub(super) enum MaskTarget {
    /// It passes, with the mask as metadata.
    Meta,
    /// Its alpha channel becomes the mask, and its colours those of the foreground.
    Alpha(Canvas, Option<Foreground>),
    /// The mask is painted into its corners.
    DeoVr(Canvas, Box<MaskCorners>),
    /// `values` has the new value for each of the mask's bytes.
    Gray { info: VideoInfo, values: Vec<u8>, pools: Pools },
}

/// The frames that are painted on.
pub(super) struct Canvas {
    info: VideoInfo,
    format: FrameFormat,
    /// For frames in CUDA memory.
    pub artist: Option<Artist>,
}

/// Masks in the corners of fisheye pictures.
pub(super) struct MaskCorners {
    corners: Corners,
    /// Where the strips lie in the frame, the upper one first, and where each one's circles lie in it.
    strips: [(Rect, gst::Buffer); 2],
    pools: Pools,
    /// For masks in device memory.
    gpu: Option<(CudaCorners, Pools)>,
}

impl MaskCorners {
    fn new(format: &FrameFormat) -> Result<Self, String> {
        let corners = Corners::new([format.width, format.height]).map_err(|e| e.to_string())?;
        let rows = corners.rows();
        let strip = |strip, y: usize| {
            let rect = Rect { x: 0.0, y: y as f32, w: format.width as f32, h: rows as f32 };
            (rect, gst::Buffer::from_slice(corners.circles(strip)))
        };
        let strips = [strip(Strip::Upper, 0), strip(Strip::Lower, format.height - rows)];
        Ok(Self { corners, strips, pools: Pools::default(), gpu: None })
    }

    /// The strips of a mask of the frame's size.
    fn run(&mut self, mask: &gst::Buffer, width: usize) -> Result<[gst::Buffer; 2], String> {
        let bytes = width * self.corners.rows();
        let (mut upper, mut lower) = (self.pools.buffer(bytes)?, self.pools.buffer(bytes)?);
        {
            let samples = mask.map_readable().map_err(|e| e.to_string())?;
            let mut upper = writable(&mut upper).map_err(|e| e.to_string())?;
            let mut lower = writable(&mut lower).map_err(|e| e.to_string())?;
            self.corners.run(&samples, &mut upper, &mut lower).map_err(|e| e.to_string())?;
        }
        Ok([upper, lower])
    }

    /// The same of a mask in memory of the stream's device; after the first frame nothing waits.
    fn run_on_gpu(
        &mut self,
        mask: &DeviceMemory<'_>,
        width: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<[gst::Buffer; 2], Failure> {
        let bytes = width * self.corners.rows();
        let (corners, pools) = match &mut self.gpu {
            Some(gpu) => gpu,
            none => none.insert((
                CudaCorners::new(&self.corners, stream)?,
                Pools::on_device(TensorAllocator::new(stream)?),
            )),
        };
        let strips = [pools.buffer(bytes)?, pools.buffer(bytes)?];
        {
            let [upper, lower] = strips.each_ref().map(|strip| device_memory(strip).ok_or(LOST));
            let (upper, lower) = (upper?, lower?);
            [&upper, &lower].iter().try_for_each(|strip| strip.begin_write(stream))?;
            mask.begin_read(stream)?;
            let done = corners.run(stream, mask.slice(), upper.slice(), lower.slice());
            // Also after an error: part of the work may have been enqueued.
            let ended = [mask.end_read(stream), upper.end_write(stream), lower.end_write(stream)];
            done?;
            ended.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(strips)
    }
}

impl Canvas {
    fn new(caps: &gst::CapsRef, what: &str) -> Result<Self, String> {
        let info = VideoInfo::from_caps(caps).map_err(|e| format!("{caps} is no video: {e}"))?;
        let format = video::frame_format(caps, &info).ok_or_else(|| {
            format!("frames of format {} {what}. Put videoconvert before fusedpreproc", info.format())
        })?;
        Ok(Self { info, format, artist: None })
    }

    /// Takes the background's colours out of soft edges.
    fn show(
        &self,
        foreground: &Foreground,
        buffer: &mut gst::BufferRef,
        mask: &gst::Buffer,
    ) -> Result<(), String> {
        let samples = mask.map_readable().map_err(|e| e.to_string())?;
        let mut frame = MappedHostFrameMut::write(buffer, &self.info).map_err(|e| e.to_string())?;
        let (pixels, stride) = frame.planes_mut().next().ok_or("a frame has no plane")?;
        foreground.run(pixels, stride, &samples).map_err(|e| e.to_string())
    }

    fn paint(
        &mut self,
        buffer: &mut gst::BufferRef,
        masks: &[draw::Mask<&gst::Buffer>],
    ) -> Result<(), String> {
        let Self { info, format, artist } = self;
        if let Some(artist) = artist {
            return artist.draw(info, format, buffer, masks, &[]);
        }
        let samples = masks.iter().map(|mask| mask.data.map_readable());
        let samples = samples.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        let masks: Vec<_> =
            masks.iter().zip(&samples).map(|(mask, samples)| mask.with_data(samples.as_slice())).collect();
        let mut mapped = MappedHostFrameMut::write(buffer, info).map_err(|e| e.to_string())?;
        let mut frame = video::frame_mut(format, &mut mapped).map_err(|e| e.to_string())?;
        paint_masks(format, &mut frame, &masks).map_err(|e| e.to_string())
    }
}

impl MaskTarget {
    /// For frames of `caps`; those in CUDA memory still need an artist.
    ///
    /// # Errors
    /// A sentence: the caps are no video that this can be done with.
    pub fn new(settings: &Settings, work: &Work, caps: &gst::CapsRef) -> Result<Self, String> {
        let info = || VideoInfo::from_caps(caps).map_err(|e| format!("{caps} is no video: {e}"));
        Ok(match (settings.output, work) {
            (Output::Alpha, _) => {
                let canvas = Canvas::new(caps, "have no alpha channel")?;
                let is_estimated = settings.foreground == settings::Foreground::Estimated;
                if is_estimated && in_cuda(caps) {
                    return Err("foreground=estimated is for frames in system memory: put cudainferdownload before this element, or set \
                                foreground=frame"
                        .into());
                }
                let size = [canvas.format.width, canvas.format.height];
                let foreground = is_estimated.then(|| Foreground::new(size));
                Self::Alpha(canvas, foreground)
            }
            (Output::DeoVr, _) => {
                let canvas = Canvas::new(caps, "are not painted on")?;
                let corners = MaskCorners::new(&canvas.format)?;
                Self::DeoVr(canvas, Box::new(corners))
            }
            (Output::Gray, Work::Whole { gray, .. }) => {
                let frame = info()?;
                let info = VideoInfo::builder(VideoFormat::Gray8, frame.width(), frame.height()).build();
                let info = info.map_err(|e| e.to_string())?;
                Self::Gray { info, values: gray.clone(), pools: Pools::default() }
            }
            _ => Self::Meta,
        })
    }

    /// The frames that are painted on.
    pub fn canvas(&mut self) -> Option<&mut Canvas> {
        match self {
            Self::Alpha(canvas, _) | Self::DeoVr(canvas, _) => Some(canvas),
            Self::Meta | Self::Gray { .. } => None,
        }
    }

    /// The buffer to write to instead of `frame`, if that is needed. `ours` says that nothing else holds the frame; frames in
    /// system memory are copied by mapping them for writing.
    ///
    /// # Errors
    /// A sentence: there is no memory left, or an error of the GPU.
    pub fn instead_of(&mut self, frame: &gst::BufferRef, ours: bool) -> Result<Option<gst::Buffer>, String> {
        match self {
            Self::Alpha(canvas, _) | Self::DeoVr(canvas, _) if !ours => match &mut canvas.artist {
                Some(artist) => artist.copy(&canvas.info, frame).map(Some),
                None => Ok(None),
            },
            Self::Gray { info, pools, .. } => pools.buffer(info.size()).map(Some),
            _ => Ok(None),
        }
    }

    /// Puts the masks where they belong: into the frame it is one of the frame's size.
    ///
    /// # Errors
    /// A sentence: memory that cannot be mapped, or an error of the GPU.
    pub fn deliver(
        &mut self,
        made: Vec<Made>,
        kind: &MaskKind,
        buffer: &mut gst::BufferRef,
        side: &Side,
    ) -> Result<(), String> {
        if matches!(self, Self::Meta) {
            let mask =
                |Made { data, width, height, rect }| Mask { kind: kind.clone(), width, height, data, rect };
            mask::put(buffer, &made.into_iter().map(mask).collect::<Vec<_>>());
            return Ok(());
        }
        let Ok([Made { data, width, height, rect }]) = <[Made; 1]>::try_from(made) else {
            return Err("a frame has several masks".into());
        };
        match self {
            Self::Meta => Ok(()),
            Self::Alpha(canvas, foreground) => {
                if let Some(foreground) = foreground {
                    canvas.show(foreground, buffer, &data)?;
                }
                let ink = match kind {
                    MaskKind::Classes { background, .. } => MaskInk::Classes { background: *background },
                    _ => MaskInk::Cover(Rgb::WHITE),
                };
                let mask = draw::Mask {
                    data: &data,
                    width,
                    height,
                    rect,
                    ink,
                    opacity: 255,
                    outline: MaskOutline::default(),
                    into_alpha: true,
                };
                canvas.paint(buffer, &[mask])
            }
            Self::DeoVr(canvas, corners) => {
                let stream = canvas.artist.as_ref().map(Artist::stream);
                let near = stream.and_then(|stream| {
                    let is_near =
                        |mask: &DeviceMemory<'_>| mask.context().handle() == stream.context().handle();
                    device_memory(&data).filter(is_near).map(|mask| (mask, stream))
                });
                let made = match near {
                    Some((mask, stream)) => {
                        corners.run_on_gpu(&mask, width, stream).map_err(|e| e.to_string())?
                    }
                    None => {
                        if device_memory(&data).is_some() {
                            side.count_fallback();
                        }
                        corners.run(&data, width)?
                    }
                };
                let height = corners.corners.rows();
                let of = |data, rect, color| {
                    let ink = MaskInk::Cover(color);
                    draw::Mask {
                        data,
                        width,
                        height,
                        rect,
                        ink,
                        opacity: 255,
                        outline: MaskOutline::default(),
                        into_alpha: false,
                    }
                };
                // What was in the circles goes first.
                let black = corners.strips.iter().map(|(rect, circles)| of(circles, *rect, Rgb::BLACK));
                let red = corners.strips.iter().zip(&made).map(|((rect, _), mask)| of(mask, *rect, RED));
                canvas.paint(buffer, &black.chain(red).collect::<Vec<_>>())
            }
            Self::Gray { info, values, .. } => {
                let samples = data.map_readable().map_err(|e| e.to_string())?;
                let mut frame = MappedHostFrameMut::write(buffer, info).map_err(|e| e.to_string())?;
                let (rows, stride) = frame.planes_mut().next().ok_or("a mask has no plane")?;
                for (to, from) in rows.chunks_mut(stride).zip(samples.chunks(width)) {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = values[usize::from(*from)];
                    }
                }
                Ok(())
            }
        }
    }
}
