//! The mask of a whole frame, from its tensor or from those of its regions.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DevicePlane};
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::segment::{CudaResize, CudaSegmenter, Resize, SegmentParams, Segmenter};
use cudainfer_kernels::tensor::TensorDesc;

use super::pools::Pools;
use crate::decoding;
use crate::memory::tensor::{TensorAllocator, device_memory};
use crate::meta::tensor::{Failure, OnDevice, Tensor};
use crate::streams::{PerStream, Streams};

/// Makes the masks of streams, where their tensors lie.
pub(super) struct Whole {
    setup: SegmenterSetup,
    memory: Option<MaskMemory>,
    /// Where nothing is smoothed, streams need not be distinguished.
    unsmoothed: Smoothed,
}

/// The parameters of a segmenter: with others, smoothing begins anew.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SegmenterSetup {
    pub logits: TensorDesc,
    /// Width and height of the network's input.
    pub input: [usize; 2],
    pub params: SegmentParams,
    /// The model that makes the logits, as caps name it.
    pub model: Option<String>,
}

/// Where masks are put and resized, known with the first tensor.
enum MaskMemory {
    Host(Pools),
    /// In one stream of the GPU.
    Device {
        pools: Pools,
        resize: Box<CudaResize>,
        stream: Arc<CudaStream>,
    },
}

/// A stream's frames so far, as smoothing remembers them: for each region by itself.
#[derive(Default)]
pub(super) struct Smoothed {
    segmenters: Vec<StreamSegmenter>,
}

/// What makes the masks of a region of a stream.
#[derive(Default)]
struct StreamSegmenter {
    segmenter: Option<(SegmenterSetup, SideSegmenter)>,
    /// The next frame is the first: earlier ones do not count.
    first: bool,
}

/// With the state of one stream.
enum SideSegmenter {
    Cpu(Box<Segmenter>),
    Gpu {
        segmenter: Box<CudaSegmenter>,
        /// The stream of the GPU that the segmenter was made for.
        stream: Arc<CudaStream>,
        /// How many values that are no numbers, and class numbers that a byte cannot hold, have been reported.
        reported: [u64; 2],
    },
}

impl PerStream for Smoothed {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }

    /// Keeps the memory that a segmenter works in.
    fn forget(&mut self) {
        self.segmenters.iter_mut().for_each(|segmenter| segmenter.first = true);
    }
}

impl Smoothed {
    /// That of a region, by its place among those of the frame.
    fn of_region(&mut self, index: usize) -> &mut StreamSegmenter {
        if self.segmenters.len() <= index {
            self.segmenters.resize_with(index + 1, StreamSegmenter::default);
        }
        &mut self.segmenters[index]
    }
}

/// A mask that is complete, or will be when its device has done the work.
pub(super) struct Made {
    pub data: gst::Buffer,
    pub width: usize,
    pub height: usize,
    pub rect: Rect,
}

/// The masks of a frame, and values that are not as they should be, since the frame before.
#[derive(Default)]
pub(super) struct MadeMasks {
    pub masks: Vec<Made>,
    /// Pixels of the frame across a cell of the model's masks.
    pub cell: usize,
    /// Values that are no numbers.
    pub non_finite: u64,
    /// Class numbers that a byte cannot hold.
    pub out_of_range: u64,
}

/// A tensor of a frame.
pub(super) struct Part<'a> {
    pub tensor: &'a Tensor,
    pub to_frame: Affine,
    /// The part of the frame that it was made from, in pixels; `None` for all of it.
    pub region: Option<Rect>,
}

/// The mask that is wanted.
pub(super) struct Wanted {
    /// The frame's width and height.
    pub frame: [usize; 2],
    /// Whether it must be one mask with a sample for each pixel of the frame.
    pub frame_size: bool,
}

/// Whole pixels of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl Window {
    /// The pixels whose centres lie in the part's region, or all of the frame; none where it lies outside.
    fn of(part: &Part<'_>, [width, height]: [usize; 2]) -> Option<Self> {
        let Some(rect) = part.region else { return Some(Self { x: 0, y: 0, width, height }) };
        let side = |begin: f32, length: f32, most: usize| {
            // Between 0 and the frame's side; 0 for NaN.
            let [first, end] =
                [begin, begin + length].map(|edge| edge.round().clamp(0.0, most as f32) as usize);
            (end > first).then_some((first, end - first))
        };
        let ((x, width), (y, height)) = (side(rect.x, rect.w, width)?, side(rect.y, rect.h, height)?);
        Some(Self { x, y, width, height })
    }

    /// Where the window begins in a plane of a frame.
    fn begin(&self, stride: usize) -> usize {
        self.y * stride + self.x
    }

    /// From the mask of a part, of `from` samples, to the window.
    fn resize(&self, part: &Part<'_>, from: [usize; 2], setup: &SegmenterSetup) -> Resize {
        let Affine { scale, skew, offset: [x, y] } = part.to_frame;
        let to_frame = Affine { scale, skew, offset: [x - self.x as f64, y - self.y as f64] };
        let frame = [self.width, self.height];
        Resize { from, input: setup.input, to_frame, frame, soft: setup.params.soft }
    }
}

impl Whole {
    pub fn new(setup: SegmenterSetup) -> Self {
        Self { setup, memory: None, unsmoothed: Smoothed::default() }
    }

    /// The masks of the next frame of the stream whose turn it is: one for each part, or one of the frame's size.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(
        &mut self,
        parts: &[Part<'_>],
        wanted: &Wanted,
        side: &decoding::Side,
        streams: &mut Streams<Smoothed>,
    ) -> Result<MadeMasks, String> {
        let Self { setup, memory, unsmoothed } = self;
        let smoothed = if setup.params.smoothing > 0.0 { streams.current_mut() } else { unsmoothed };
        let mut made = MadeMasks::default();
        let mut masks = Vec::with_capacity(parts.len());
        let mut on = None;
        for (index, part) in parts.iter().enumerate() {
            let segmenter = smoothed.of_region(index);
            let mask = match side.on_device(std::slice::from_ref(part.tensor))? {
                Some((tensors, stream)) => {
                    let mask = on_gpu(setup, memory, segmenter, &tensors, &stream);
                    on = Some(stream);
                    mask
                }
                None => on_cpu(setup, memory, segmenter, part.tensor),
            };
            let Mask { data, size, non_finite, out_of_range } = mask.map_err(|e| e.to_string())?;
            let across = part.to_frame.rect(&whole(setup.input)).w / size[0] as f32;
            made.cell = made.cell.max(across.round() as usize);
            made.non_finite += non_finite;
            made.out_of_range += out_of_range;
            masks.push((data, size));
        }
        if !wanted.frame_size {
            let rects = parts.iter().map(|part| part.to_frame.rect(&whole(setup.input)));
            let masks = masks.into_iter().zip(rects);
            made.masks =
                masks.map(|((data, [width, height]), rect)| Made { data, width, height, rect }).collect();
            return Ok(made);
        }
        let [width, height] = wanted.frame;
        let data = match on {
            Some(stream) => join_on_gpu(setup, memory, parts, &masks, wanted.frame, &stream),
            None => join_on_cpu(setup, memory, parts, &masks, wanted.frame),
        };
        let data = data.map_err(|e| e.to_string())?;
        made.masks = vec![Made { data, width, height, rect: whole(wanted.frame) }];
        Ok(made)
    }
}

/// A part's mask, of the size that the model gives it.
struct Mask {
    data: gst::Buffer,
    size: [usize; 2],
    non_finite: u64,
    out_of_range: u64,
}

fn on_cpu(
    setup: &SegmenterSetup,
    memory: &mut Option<MaskMemory>,
    segmenter: &mut StreamSegmenter,
    tensor: &Tensor,
) -> Result<Mask, Failure> {
    let mapped = tensor.map()?;
    let view = mapped.view()?;
    let segmenter = segmenter.on_cpu(setup)?;
    if !matches!(memory, Some(MaskMemory::Host(_))) {
        *memory = Some(MaskMemory::Host(Pools::default()));
    }
    let Some(MaskMemory::Host(pools)) = memory else { return Err("there is no memory for masks".into()) };
    let size = segmenter.size();
    let mut data = pools.buffer(size[0] * size[1])?;
    let outcome = segmenter.run(&view, &mut writable(&mut data)?)?;
    let [non_finite, out_of_range] = [outcome.non_finite, outcome.out_of_range].map(|count| count as u64);
    Ok(Mask { data, size, non_finite, out_of_range })
}

/// Nothing here waits: readers of the mask do.
fn on_gpu(
    setup: &SegmenterSetup,
    memory: &mut Option<MaskMemory>,
    segmenter: &mut StreamSegmenter,
    tensors: &OnDevice<'_>,
    stream: &Arc<CudaStream>,
) -> Result<Mask, Failure> {
    let (segmenter, reported) = segmenter.on_gpu(setup, stream)?;
    if !matches!(memory, Some(MaskMemory::Device { stream: made_for, .. }) if Arc::ptr_eq(made_for, stream)) {
        let pools = Pools::on_device(TensorAllocator::new(stream)?);
        let resize = Box::new(CudaResize::new(stream)?);
        *memory = Some(MaskMemory::Device { pools, resize, stream: Arc::clone(stream) });
    }
    let Some(MaskMemory::Device { pools, .. }) = memory else {
        return Err("there is no memory for masks".into());
    };
    let size = segmenter.size();
    let data = pools.buffer(size[0] * size[1])?;
    {
        let target = device_memory(&data).ok_or(LOST)?;
        target.begin_write(stream)?;
        let done = tensors.read(stream, |views| {
            let [logits, ..] = views else { return Err("there are no logits".into()) };
            Ok(stream.sampled(|| segmenter.run(stream, logits, target.slice()))?)
        });
        // Also after an error: part of the work may have been enqueued.
        target.end_write(stream)?;
        done?;
    }
    let counted = [segmenter.non_finite(), segmenter.out_of_range()];
    let [non_finite, out_of_range] = [0, 1].map(|kind| counted[kind].saturating_sub(reported[kind]));
    *reported = counted;
    Ok(Mask { data, size, non_finite, out_of_range })
}

/// Whether there is one part, which is all of the frame.
fn is_whole(parts: &[Part<'_>]) -> bool {
    matches!(parts, [Part { region: None, .. }])
}

pub(super) const LOST: &str = "a mask's memory is not on the device";

/// The masks of a frame's parts as one of the frame's size, in which pixels of no part are 0, and those of several belong to the last.
fn join_on_cpu(
    setup: &SegmenterSetup,
    memory: &mut Option<MaskMemory>,
    parts: &[Part<'_>],
    masks: &[(gst::Buffer, [usize; 2])],
    [width, height]: [usize; 2],
) -> Result<gst::Buffer, Failure> {
    let Some(MaskMemory::Host(pools)) = memory else { return Err("there is no memory for masks".into()) };
    let mut joined = pools.buffer(width * height)?;
    {
        let mut target = writable(&mut joined)?;
        if !is_whole(parts) {
            target.fill(0);
        }
        for (part, (mask, size)) in parts.iter().zip(masks) {
            let Some(window) = Window::of(part, [width, height]) else { continue };
            let target = &mut target[window.begin(width)..];
            window.resize(part, *size, setup).run(&mask.map_readable()?, target, width)?;
        }
    }
    Ok(joined)
}

/// The same on the GPU; nothing waits.
fn join_on_gpu(
    setup: &SegmenterSetup,
    memory: &mut Option<MaskMemory>,
    parts: &[Part<'_>],
    masks: &[(gst::Buffer, [usize; 2])],
    [width, height]: [usize; 2],
    stream: &Arc<CudaStream>,
) -> Result<gst::Buffer, Failure> {
    let Some(MaskMemory::Device { pools, resize, .. }) = memory else {
        return Err("there is no memory for masks".into());
    };
    let joined = pools.buffer(width * height)?;
    {
        let target = device_memory(&joined).ok_or(LOST)?;
        target.begin_write(stream)?;
        let enqueue = || -> Result<(), Failure> {
            if !is_whole(parts) {
                stream.fill(target.slice(), 0)?;
            }
            for (part, (mask, size)) in parts.iter().zip(masks) {
                let Some(window) = Window::of(part, [width, height]) else { continue };
                let source = device_memory(mask).ok_or(LOST)?;
                source.begin_read(stream)?;
                let plane = DevicePlane::new(target.slice().after(window.begin(width)), width);
                let done = resize.run(stream, &window.resize(part, *size, setup), source.slice(), plane);
                source.end_read(stream)?;
                done?;
            }
            Ok(())
        };
        let done = enqueue();
        target.end_write(stream)?;
        done?;
    }
    Ok(joined)
}

impl StreamSegmenter {
    /// The region's segmenter, ready for its next frame.
    fn on_cpu(&mut self, setup: &SegmenterSetup) -> Result<&mut Segmenter, Failure> {
        if !matches!(&self.segmenter, Some((made_for, SideSegmenter::Cpu(_))) if made_for == setup) {
            let made = Box::new(Segmenter::new(&setup.logits, setup.input, setup.params)?);
            self.segmenter = Some((setup.clone(), SideSegmenter::Cpu(made)));
        }
        let Some((_, SideSegmenter::Cpu(segmenter))) = &mut self.segmenter else {
            return Err("there is no segmenter".into());
        };
        if std::mem::take(&mut self.first) {
            segmenter.reset();
        }
        Ok(segmenter)
    }

    /// The same on the GPU, and which of its counts have been reported.
    fn on_gpu(
        &mut self,
        setup: &SegmenterSetup,
        stream: &Arc<CudaStream>,
    ) -> Result<(&mut CudaSegmenter, &mut [u64; 2]), Failure> {
        let known = matches!(&self.segmenter, Some((made_for, SideSegmenter::Gpu { stream: of, .. }))
            if made_for == setup && Arc::ptr_eq(of, stream));
        if !known {
            let made = CudaSegmenter::new(&setup.logits, setup.input, setup.params, stream)?;
            let stream = Arc::clone(stream);
            let made = SideSegmenter::Gpu { segmenter: Box::new(made), stream, reported: [0, 0] };
            self.segmenter = Some((setup.clone(), made));
        }
        let Some((_, SideSegmenter::Gpu { segmenter, reported, .. })) = &mut self.segmenter else {
            return Err("there is no segmenter".into());
        };
        if std::mem::take(&mut self.first) {
            segmenter.reset();
        }
        Ok((segmenter, reported))
    }
}

fn whole([width, height]: [usize; 2]) -> Rect {
    Rect { x: 0.0, y: 0.0, w: width as f32, h: height as f32 }
}

/// A new buffer's bytes.
pub(super) fn writable(
    buffer: &mut gst::Buffer,
) -> Result<gst::BufferMap<'_, gst::buffer::Writable>, Failure> {
    Ok(buffer.get_mut().ok_or("a new mask is in use")?.map_writable()?)
}
