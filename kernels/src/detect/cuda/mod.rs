//! The operation on the GPU: one launch decodes, one ranks, one compares, one selects; soft NMS takes one for the last
//! two. `cuda/detect.cu`, `cuda/nms.cu` and `cuda/soft_nms.cu` say how.

mod buffers;
mod layout;
mod params;
mod suppressor;
mod table;

use crate::device::{DeviceTensor, Event, Kernel, Stream};
use crate::geometry::{Affine, Rect};

use super::candidates::Gate;
use super::{Decoder, DecoderKind, DetectError, Detection, Nms, Outcome, Params};

use buffers::{Buffers, Capacity};
use params::{COUNTS_BYTES, DETECTION_BYTES, Decode};
use suppressor::Suppressor;
use table::Table;

pub(super) use layout::{At, Layout, Scoring, Span};

/// Anchors that a block decodes, by as many threads as both decoding kernels have.
const ANCHORS: u32 = 32;
const DECODERS: u32 = 256;

/// [`super::Detector`] on a GPU: the same detections from tensors in device memory.
///
/// Decisions are those of the CPU, bit by bit, because the arithmetic is the same in the same order; only the
/// exponential function (sigmoid, softmax, yolox's and nanodet's boxes, gaussian decay) may differ in the last places,
/// and the order in which softmax adds. So boxes agree within 1e-3 pixels and confidences within 1e-6, and two
/// detections may change places where their confidences are that close. The same tensors always give the same bits.
///
/// What it keeps on the device it allocates with the first frame, and again only for a frame of more anchors than any
/// before.
#[derive(Debug)]
pub struct CudaDetector {
    decoder: Decoder,
    params: Params,
    decode: Kernel,
    thresholds: Table,
    lowest: f32,
    suppressor: Suppressor,
    buffers: Option<Buffers>,
    /// Whether the buffers are as a frame needs them to begin with.
    ready: bool,
    done: Event,
    pending: bool,
}

impl CudaDetector {
    /// A detector for the outputs that `decoder` was chosen for, in the context of `stream`.
    ///
    /// # Errors
    /// [`DetectError::Param`] names the first parameter that is out of range; [`DetectError::Device`] if the GPU fails.
    pub fn new(decoder: Decoder, params: Params, stream: &Stream) -> Result<Self, DetectError> {
        params.validate()?;
        let context = stream.context();
        let gate = Gate::new(&params);
        let (exceptions, other, lowest) = gate.parts();
        let nms = if decoder.kind() == DecoderKind::EndToEnd { Nms::None } else { params.nms };
        let columns = decoder.kind() == DecoderKind::Yolov8;
        let name = if columns { "decode_columns" } else { "decode_rows" };
        Ok(Self {
            decode: Kernel::load(context, "detect", name)?,
            thresholds: Table::new(stream, exceptions, other)?,
            lowest,
            suppressor: Suppressor::new(nms, &params, &gate, stream)?,
            buffers: None,
            ready: false,
            done: Event::new(context)?,
            pending: false,
            decoder,
            params,
        })
    }

    /// [`CudaDetector::start`] and [`CudaDetector::finish`].
    ///
    /// # Errors
    /// Theirs; `found` is then empty.
    pub fn run(
        &mut self,
        stream: &Stream,
        outputs: &[DeviceTensor<'_>],
        map: &Affine,
        frame: [usize; 2],
        found: &mut Vec<Detection>,
    ) -> Result<Outcome, DetectError> {
        found.clear();
        self.start(stream, outputs, map, frame)?;
        self.finish(stream, found)
    }

    /// Enqueues all work on a frame and returns at once. Frames follow one another: [`CudaDetector::finish`] one
    /// before the next is started, or its detections are lost; all in one stream.
    ///
    /// `outputs`, of any element type, are the model's outputs in the order in which [`super::choose`] was given their
    /// descriptions, each aligned to its elements; they must not be written before the work is done. `map` leads from
    /// the input tensor's pixels to the frame's, `frame` is the frame's width and height in pixels.
    ///
    /// # Errors
    /// [`DetectError::Outputs`] or [`DetectError::Shape`] where the tensors are not those the decoder was chosen for,
    /// [`DetectError::Hint`] where the model has more than 8 strides, [`DetectError::Device`] if the GPU fails.
    pub fn start(
        &mut self,
        stream: &Stream,
        outputs: &[DeviceTensor<'_>],
        map: &Affine,
        frame: [usize; 2],
    ) -> Result<(), DetectError> {
        self.pending = false;
        let layout = self.decoder.layout(outputs)?;
        self.reserve(stream, layout.anchors())?;
        let Some(buffers) = &self.buffers else { return Ok(()) };
        if !self.ready {
            stream.fill(buffers.zero(), 0)?;
        }
        // Until the last kernel is on its way, nobody sets the counts back.
        self.ready = false;
        let size = frame.map(|side| side as f32);
        let decode = Decode {
            scale: map.scale,
            offset: map.offset,
            counts: buffers.counts,
            candidates: buffers.candidates,
            thresholds: self.thresholds.params(),
            lowest: self.lowest,
            frame: size,
            min_size: self.params.min_size,
            padding: 0,
            layout,
        };
        // SAFETY: the kernel's parameter is this struct; the tensors are as large as the layout, which was checked
        // against their shapes, says, the buffers hold all anchors, and both stay as this function's docs demand.
        unsafe { stream.launch(&self.decode, layout.grid(ANCHORS), [DECODERS, 1, 1], 0, &decode)? };
        self.suppressor.start(stream, buffers, layout.anchors(), size)?;
        stream.record(&self.done)?;
        self.ready = true;
        self.pending = true;
        Ok(())
    }

    /// Waits for the frame that was started, the only time that the host waits, and replaces `found` by its
    /// detections, by descending confidence; by none where no frame was started.
    ///
    /// # Errors
    /// [`DetectError::Device`] if the GPU failed; `found` is then empty.
    pub fn finish(&mut self, stream: &Stream, found: &mut Vec<Detection>) -> Result<Outcome, DetectError> {
        found.clear();
        let (true, Some(buffers)) = (self.pending, &self.buffers) else { return Ok(Outcome::default()) };
        self.pending = false;
        stream.wait_on_host(&self.done)?;
        let (counts, detections) = buffers.report.as_slice().split_at(COUNTS_BYTES);
        let [kept, candidates, non_finite, count] =
            bytemuck::pod_read_unaligned::<[u32; 4]>(counts).map(|count| count as usize);
        found.extend(detections.chunks_exact(DETECTION_BYTES).take(count).map(|bytes| {
            let [x, y, w, h, confidence, class] = bytemuck::pod_read_unaligned::<[u32; 6]>(bytes);
            let [x, y, w, h, confidence] = [x, y, w, h, confidence].map(f32::from_bits);
            Detection { rect: Rect { x, y, w, h }, confidence, class }
        }));
        stream.counters().device_to_host.add_size(COUNTS_BYTES + count * DETECTION_BYTES);
        Ok(Outcome { candidates, non_finite, truncated: kept.saturating_sub(self.params.top_k_before) })
    }

    /// Makes room for so many anchors.
    fn reserve(&mut self, stream: &Stream, anchors: usize) -> Result<(), DetectError> {
        if self.buffers.as_ref().is_some_and(|buffers| buffers.capacity.anchors >= anchors) {
            return Ok(());
        }
        let ranked = self.suppressor.ranked_of(anchors);
        let capacity = Capacity { anchors, ranked, found: ranked.min(self.params.top_k_after) };
        self.ready = false;
        self.buffers = None;
        self.buffers = Some(Buffers::new(stream, capacity)?);
        Ok(())
    }
}
