//! The mask of a whole frame.

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

/// A stream's frames so far, as smoothing remembers them.
#[derive(Default)]
pub(super) struct Smoothed {
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
        self.first = true;
    }
}

/// A mask that is complete, or will be when its device has done the work.
pub(super) struct Made {
    pub data: gst::Buffer,
    pub width: usize,
    pub height: usize,
    pub rect: Rect,
    /// Values that are no numbers, since the previous mask.
    pub non_finite: u64,
    /// Class numbers that a byte cannot hold, likewise.
    pub out_of_range: u64,
}

/// The mask that is wanted.
pub(super) struct Wanted {
    pub to_frame: Affine,
    /// The frame's width and height.
    pub frame: [usize; 2],
    /// Whether it must have a sample for each pixel of the frame.
    pub frame_size: bool,
}

impl Wanted {
    /// From a mask of `size` samples to the frame.
    fn resize(&self, size: [usize; 2], input: [usize; 2], soft: bool) -> Resize {
        Resize { from: size, input, to_frame: self.to_frame, frame: self.frame, soft }
    }

    /// Size and place of a mask of `size` samples, resized or not.
    fn made(
        &self,
        data: gst::Buffer,
        size: [usize; 2],
        input: [usize; 2],
        [non_finite, out_of_range]: [u64; 2],
    ) -> Made {
        let ([width, height], rect) = if self.frame_size {
            (self.frame, whole(self.frame))
        } else {
            (size, self.to_frame.rect(&whole(input)))
        };
        Made { data, width, height, rect, non_finite, out_of_range }
    }
}

impl Whole {
    pub fn new(setup: SegmenterSetup) -> Self {
        Self { setup, memory: None, unsmoothed: Smoothed::default() }
    }

    /// The mask of the next frame of the stream whose turn it is.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(
        &mut self,
        tensor: &Tensor,
        wanted: &Wanted,
        side: &decoding::Side,
        streams: &mut Streams<Smoothed>,
    ) -> Result<Made, String> {
        let Self { setup, memory, unsmoothed } = self;
        let smoothed = if setup.params.smoothing > 0.0 { streams.current_mut() } else { unsmoothed };
        let made = match side.on_device(std::slice::from_ref(tensor))? {
            Some((tensors, stream)) => on_gpu(setup, memory, smoothed, &tensors, wanted, &stream),
            None => on_cpu(setup, memory, smoothed, tensor, wanted),
        };
        made.map_err(|e| e.to_string())
    }
}

fn on_cpu(
    setup: &SegmenterSetup,
    memory: &mut Option<MaskMemory>,
    smoothed: &mut Smoothed,
    tensor: &Tensor,
    wanted: &Wanted,
) -> Result<Made, Failure> {
    let mapped = tensor.map()?;
    let view = mapped.view()?;
    let segmenter = smoothed.on_cpu(setup)?;
    if !matches!(memory, Some(MaskMemory::Host(_))) {
        *memory = Some(MaskMemory::Host(Pools::default()));
    }
    let Some(MaskMemory::Host(pools)) = memory else { return Err("there is no memory for masks".into()) };
    let size = segmenter.size();
    let mut mask = pools.buffer(size[0] * size[1])?;
    let outcome = segmenter.run(&view, &mut writable(&mut mask)?)?;
    if wanted.frame_size {
        let [width, height] = wanted.frame;
        let mut resized = pools.buffer(width * height)?;
        wanted.resize(size, setup.input, setup.params.soft).run(
            &mask.map_readable()?,
            &mut writable(&mut resized)?,
            width,
        )?;
        mask = resized;
    }
    let counted = [outcome.non_finite, outcome.out_of_range].map(|count| count as u64);
    Ok(wanted.made(mask, size, setup.input, counted))
}

/// Nothing here waits: readers of the mask do.
fn on_gpu(
    setup: &SegmenterSetup,
    memory: &mut Option<MaskMemory>,
    smoothed: &mut Smoothed,
    tensors: &OnDevice<'_>,
    wanted: &Wanted,
    stream: &Arc<CudaStream>,
) -> Result<Made, Failure> {
    let (segmenter, reported) = smoothed.on_gpu(setup, stream)?;
    if !matches!(memory, Some(MaskMemory::Device { stream: made_for, .. }) if Arc::ptr_eq(made_for, stream)) {
        let pools = Pools::on_device(TensorAllocator::new(stream)?);
        let resize = Box::new(CudaResize::new(stream)?);
        *memory = Some(MaskMemory::Device { pools, resize, stream: Arc::clone(stream) });
    }
    let Some(MaskMemory::Device { pools, resize, .. }) = memory else {
        return Err("there is no memory for masks".into());
    };
    let size = segmenter.size();
    let mut mask = pools.buffer(size[0] * size[1])?;
    let [width, height] = wanted.frame;
    let resized = if wanted.frame_size { Some(pools.buffer(width * height)?) } else { None };
    let lost = "a mask's memory is not on the device";
    {
        let target = device_memory(&mask).ok_or(lost)?;
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
    let new = [0, 1].map(|kind| counted[kind].saturating_sub(reported[kind]));
    *reported = counted;
    if let Some(resized) = resized {
        let (source, target) = (device_memory(&mask).ok_or(lost)?, device_memory(&resized).ok_or(lost)?);
        source.begin_read(stream)?;
        target.begin_write(stream)?;
        let plane = DevicePlane::new(target.slice(), width);
        let to_frame = wanted.resize(size, setup.input, setup.params.soft);
        let done = resize.run(stream, &to_frame, source.slice(), plane);
        target.end_write(stream)?;
        source.end_read(stream)?;
        done?;
        mask = resized;
    }
    Ok(wanted.made(mask, size, setup.input, new))
}

impl Smoothed {
    /// The stream's segmenter, ready for its next frame.
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
