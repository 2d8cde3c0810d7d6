//! The mask of a whole frame.

use std::sync::Arc;

use cudainfer_kernels::device::{DevicePlane, Stream};
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::segment::{CudaResize, CudaSegmenter, Params, Resize, Segmenter};
use cudainfer_kernels::tensor::TensorDesc;

use super::pools::Pools;
use crate::decoding;
use crate::memory::tensor::{TensorAllocator, device_memory};
use crate::meta::tensor::{Failure, OnDevice, Tensor};

/// Makes the masks of one stream, where its tensors lie.
pub(super) struct Whole {
    logits: TensorDesc,
    input: [usize; 2],
    params: Params,
    side: Option<Side>,
    /// The next frame is the first: what was before does not count.
    first: bool,
}

/// Known with the first tensor.
enum Side {
    Cpu(Box<Cpu>),
    Gpu(Box<Gpu>),
}

struct Cpu {
    segmenter: Segmenter,
    pools: Pools,
}

struct Gpu {
    segmenter: CudaSegmenter,
    resize: CudaResize,
    pools: Pools,
    /// The stream that all this was made for.
    stream: Arc<Stream>,
    /// How many values that are no numbers have been told of.
    non_finite: u64,
}

/// A mask that is there, or that will be there when its device gets to it.
pub(super) struct Made {
    pub data: gst::Buffer,
    pub width: usize,
    pub height: usize,
    pub rect: Rect,
    /// Values that are no numbers, since this was last asked.
    pub non_finite: u64,
}

/// What the mask is to be.
pub(super) struct Wanted {
    pub to_frame: Affine,
    /// The frame's width and height.
    pub frame: [usize; 2],
    /// Whether it is to have a sample for each pixel of the frame.
    pub frame_size: bool,
}

impl Wanted {
    /// From a mask of `size` samples to the frame.
    fn resize(&self, size: [usize; 2], input: [usize; 2], soft: bool) -> Resize {
        Resize { from: size, input, to_frame: self.to_frame, frame: self.frame, soft }
    }

    /// Size and place of a mask of `size` samples, resized or not.
    fn made(&self, data: gst::Buffer, size: [usize; 2], input: [usize; 2], non_finite: u64) -> Made {
        let ([width, height], rect) = if self.frame_size {
            (self.frame, whole(self.frame))
        } else {
            (size, self.to_frame.rect(&whole(input)))
        };
        Made { data, width, height, rect, non_finite }
    }
}

impl Whole {
    pub fn new(logits: TensorDesc, input: [usize; 2], params: Params) -> Self {
        Self { logits, input, params, side: None, first: true }
    }

    /// Forgets the frames so far.
    pub fn reset(&mut self) {
        self.first = true;
    }

    /// The mask of the stream's next frame.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(&mut self, tensor: &Tensor, wanted: &Wanted, side: &decoding::Side) -> Result<Made, String> {
        match side.on_device(std::slice::from_ref(tensor))? {
            Some((tensors, stream)) => self.on_gpu(&tensors, wanted, &stream).map_err(|e| e.to_string()),
            None => self.on_cpu(tensor, wanted).map_err(|e| e.to_string()),
        }
    }

    fn on_cpu(&mut self, tensor: &Tensor, wanted: &Wanted) -> Result<Made, Failure> {
        let mapped = tensor.map()?;
        let view = mapped.view()?;
        let cpu = match &mut self.side {
            Some(Side::Cpu(cpu)) => cpu,
            _ => {
                let segmenter = Segmenter::new(&self.logits, self.input, self.params)?;
                self.side = Some(Side::Cpu(Box::new(Cpu { segmenter, pools: Pools::default() })));
                let Some(Side::Cpu(cpu)) = &mut self.side else { return Err("there is no segmenter".into()) };
                cpu
            }
        };
        if std::mem::take(&mut self.first) {
            cpu.segmenter.reset();
        }
        let size = cpu.segmenter.size();
        let mut mask = cpu.pools.buffer(size[0] * size[1])?;
        let outcome = cpu.segmenter.run(&view, &mut writable(&mut mask)?)?;
        if wanted.frame_size {
            let [width, height] = wanted.frame;
            let mut resized = cpu.pools.buffer(width * height)?;
            wanted.resize(size, self.input, self.params.soft).run(
                &mask.map_readable()?,
                &mut writable(&mut resized)?,
                width,
            )?;
            mask = resized;
        }
        Ok(wanted.made(mask, size, self.input, outcome.non_finite as u64))
    }

    /// Nothing here waits: whoever reads the mask does.
    fn on_gpu(
        &mut self,
        tensors: &OnDevice<'_>,
        wanted: &Wanted,
        stream: &Arc<Stream>,
    ) -> Result<Made, Failure> {
        let gpu = match &mut self.side {
            Some(Side::Gpu(gpu)) if Arc::ptr_eq(&gpu.stream, stream) => gpu,
            _ => {
                self.side = Some(Side::Gpu(Box::new(Gpu {
                    segmenter: CudaSegmenter::new(&self.logits, self.input, self.params, stream)?,
                    resize: CudaResize::new(stream)?,
                    pools: Pools::on_device(TensorAllocator::new(stream)?),
                    stream: Arc::clone(stream),
                    non_finite: 0,
                })));
                let Some(Side::Gpu(gpu)) = &mut self.side else { return Err("there is no segmenter".into()) };
                gpu
            }
        };
        if std::mem::take(&mut self.first) {
            gpu.segmenter.reset();
        }
        let size = gpu.segmenter.size();
        let mut mask = gpu.pools.buffer(size[0] * size[1])?;
        let [width, height] = wanted.frame;
        let resized = if wanted.frame_size { Some(gpu.pools.buffer(width * height)?) } else { None };
        let lost = "a mask's memory is not on the device";
        {
            let target = device_memory(&mask).ok_or(lost)?;
            target.begin_write(stream)?;
            let segmenter = &mut gpu.segmenter;
            let done = tensors.read(stream, |views| {
                let [logits, ..] = views else { return Err("there are no logits".into()) };
                Ok(stream.sampled(|| segmenter.run(stream, logits, target.slice()))?)
            });
            // In any case: part of the work may have been enqueued.
            target.end_write(stream)?;
            done?;
        }
        let non_finite = gpu.segmenter.non_finite();
        let new = non_finite.saturating_sub(gpu.non_finite);
        gpu.non_finite = non_finite;
        if let Some(resized) = resized {
            let (source, target) = (device_memory(&mask).ok_or(lost)?, device_memory(&resized).ok_or(lost)?);
            source.begin_read(stream)?;
            target.begin_write(stream)?;
            let plane = DevicePlane::new(target.slice(), width);
            let resize = wanted.resize(size, self.input, self.params.soft);
            let done = gpu.resize.run(stream, &resize, source.slice(), plane);
            target.end_write(stream)?;
            source.end_read(stream)?;
            done?;
            mask = resized;
        }
        Ok(wanted.made(mask, size, self.input, new))
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
