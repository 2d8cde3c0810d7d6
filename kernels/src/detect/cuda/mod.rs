//! The operation on the GPU: one launch decodes, and two do greedy NMS of upright boxes alone, of up to 2048 candidates a frame.
//! Of more, and else, one ranks, one compares, one selects; soft NMS takes one for the last two; keypoints, mask coefficients and
//! rotated boxes take one more. A batch of frames takes as many as one frame does. `cuda/detect.cu`, `cuda/nms_small.cu`,
//! `cuda/nms.cu`, `cuda/nms_rotated.cu`, `cuda/soft_nms.cu` and `cuda/gather.cu` say how.
//!
//! How many candidates a frame has only the device knows. Where a frame had too many for these two, or more than there was room
//! for, its report has the number, and the batch is started once more with the other kernels and room for all; until no frame of a batch
//! has as many, those are launched at once.

mod buffers;
mod layout;
mod output;
mod params;
mod size;
mod suppressor;
mod table;

use std::mem;

use crate::device::{CudaStream, DeviceTensor, Event, Kernel, Memory};
use crate::geometry::{Rect, RowFrame};

use super::candidates::Gate;
use super::layout::Layout;
use super::{Attached, Decoder, DetectError, DetectParams, Detection, Outcome};

use buffers::{Buffers, Capacity, extra_at};
use layout::PackedLayout;
use output::Output;
use params::{COUNTS_BYTES, DETECTION_BYTES, Decode, Gather, Gathered, MOST_ROWS, MOST_SMALL, TOO_MANY};
use size::size;
use suppressor::Suppressor;
use table::Table;

/// Anchors that a block decodes, by as many threads as all decoding kernels have; of raw heads each thread takes one.
const ANCHORS: u32 = 32;
const DECODERS: u32 = 256;
/// Anchors, and threads, of a block that looks at objectness first.
const OBJECTS: u32 = 128;
/// The least candidates of a frame that there is room for after `rank`.
const LEAST_REACH: usize = 1024;
/// Threads of a block of `gather`, and the most blocks of a row.
const GATHERERS: u32 = 128;
const MAX_GATHER_BLOCKS: usize = 64;

/// [`super::Detector`] on a GPU: the same detections from tensors in device memory, for all frames of a batch at once. A
/// frame alone is a batch of one.
///
/// Decisions are those of the CPU, bit by bit, because the arithmetic is the same in the same order; only the
/// exponential function (sigmoid, softmax, yolox's and nanodet's boxes, gaussian decay) and, of rotated boxes, trigonometric
/// functions and the logarithm, all in float64, may differ in the last places,
/// and the order in which softmax adds. So boxes agree within 1e-3 pixels and confidences within 1e-6, and two
/// detections may change places where their confidences are that close. The same tensors always give the same bits, in
/// whatever batch and row they are.
///
/// What it keeps on the device it allocates with the first batch, and again only for one of more rows, of more anchors a
/// frame, or with many more candidates, than any before.
#[derive(Debug)]
pub struct CudaDetector {
    decoder: Decoder,
    params: DetectParams,
    decode: Kernel,
    /// Anchors that a block of it decodes.
    anchors_of_block: u32,
    /// For tensors with an objectness.
    decode_objects: Option<Kernel>,
    /// Only for models whose detections carry more than boxes.
    gather: Option<Kernel>,
    thresholds: Table,
    /// Prior boxes or the sizes of anchors, of decoders that have them.
    priors: Option<Memory>,
    lowest: f32,
    suppressor: Suppressor,
    buffers: Option<Buffers>,
    /// Whether what must be zero when a batch begins is so: all kernels of the last one are enqueued, and did not fail.
    is_clear: bool,
    /// Whether the last batch had a frame with too many candidates for the small kernels.
    crowded: bool,
    /// The most candidates of a frame that the next batch may well have: some more than the last one had.
    expected: usize,
    /// Candidates of a frame that the others rank: as many as the last batches had, so that the launches of a crowd are not
    /// those of every frame.
    reach: usize,
    done: Event,
    /// Rows that are under way, and what is gathered of their detections.
    pending: usize,
    gathered: Option<Gathered>,
    /// Candidates that there was room for in each.
    room: usize,
    /// Of the last batch, by row.
    attached: Vec<Attached>,
}

impl CudaDetector {
    /// A detector for the outputs that `decoder` was chosen for, in the context of `stream`.
    ///
    /// # Errors
    /// [`DetectError::Param`] names the first parameter that is out of range, or not there for this decoder,
    /// [`DetectError::Hint`] one that the decoder has no use for; [`DetectError::Device`] if the GPU fails.
    pub fn new(decoder: Decoder, params: DetectParams, stream: &CudaStream) -> Result<Self, DetectError> {
        params.validate()?;
        decoder.check(&params)?;
        let context = stream.context();
        let gate = Gate::new(&params);
        let (exceptions, other, lowest) = gate.parts();
        let rotated = decoder.is_rotated();
        let anchored = decoder.layout().is_some_and(|layout| layout.form().is_some());
        let name = match (decoder.layout().is_some_and(Layout::by_columns), rotated) {
            _ if anchored => "decode_anchors",
            (true, false) => "decode_columns",
            (true, true) => "decode_columns_rotated",
            (false, false) => "decode_rows",
            (false, true) => "decode_rows_rotated",
        };
        let gathers = rotated || decoder.keypoints() > 0 || decoder.masks().is_some();
        let gather = if rotated { "gather_rotated" } else { "gather" };
        Ok(Self {
            decode: Kernel::load(context, "detect", name)?,
            anchors_of_block: if anchored { DECODERS } else { ANCHORS },
            decode_objects: (name == "decode_rows")
                .then(|| Kernel::load(context, "detect", "decode_objects"))
                .transpose()?,
            gather: gathers.then(|| Kernel::load(context, "gather", gather)).transpose()?,
            thresholds: Table::new(stream, exceptions, other)?,
            priors: decoder
                .prior_boxes()
                .map(|boxes| stream.allocate_with(bytemuck::cast_slice(boxes)))
                .transpose()?,
            lowest,
            suppressor: Suppressor::new(rotated, &params, &gate, stream)?,
            buffers: None,
            is_clear: false,
            crowded: false,
            expected: usize::MAX,
            reach: LEAST_REACH,
            done: Event::new(context)?,
            pending: 0,
            gathered: None,
            room: 0,
            attached: Vec::new(),
            decoder,
            params,
        })
    }

    /// [`CudaDetector::start`] and [`CudaDetector::finish`], once more where that lacked room.
    ///
    /// # Errors
    /// Theirs; there are then no detections.
    pub fn run(
        &mut self,
        stream: &CudaStream,
        outputs: &[DeviceTensor<'_>],
        rows: &[RowFrame],
        found: &mut Vec<Vec<Detection>>,
    ) -> Result<Vec<Outcome>, DetectError> {
        found.clear();
        self.start(stream, outputs, rows)?;
        match self.finish(stream, found) {
            Err(DetectError::NoRoom) => {
                self.start(stream, outputs, rows)?;
                self.finish(stream, found)
            }
            done => done,
        }
    }

    /// Enqueues all work on a batch and returns at once. Batches follow one another: [`CudaDetector::finish`] one
    /// before the next is started, or its detections are lost; all in one stream.
    ///
    /// `outputs`, of any element type, are the model's outputs in the order in which [`super::choose`] was given the
    /// descriptions of one frame's, each aligned to its elements; they must not be written before the work is done. Their
    /// first dimension counts the frames: as many as there are `rows`, which say what each belongs to, or more, which are
    /// not looked at.
    ///
    /// # Errors
    /// [`DetectError::Outputs`] or [`DetectError::Shape`] where the tensors are not those the decoder was chosen for, or
    /// hold too few rows; [`DetectError::Hint`] where the model has more than 8 strides, [`DetectError::Device`] if the
    /// GPU fails.
    pub fn start(
        &mut self,
        stream: &CudaStream,
        outputs: &[DeviceTensor<'_>],
        rows: &[RowFrame],
    ) -> Result<(), DetectError> {
        self.pending = 0;
        let (layout, gathered) = packed(&self.decoder, outputs, rows.len())?;
        if rows.is_empty() {
            return Ok(());
        }
        let layout = if self.params.multi_label { layout.multi_label() } else { layout };
        let layout = match &self.priors {
            Some(boxes) => layout.with_priors(boxes.pointer()),
            None => layout,
        };
        let candidates = layout.candidates()?;
        self.reserve(stream, rows.len(), candidates, gathered.as_ref().map_or(0, Gathered::bytes))?;
        let Some(buffers) = &self.buffers else { return Ok(()) };
        let small = self.suppressor.has_small() && gathered.is_none() && !self.crowded;
        if !mem::take(&mut self.is_clear) {
            buffers.zeros().try_for_each(|zero| stream.fill(zero, 0))?;
        }
        let objects = self.decode_objects.as_ref().filter(|_| layout.has_objectness());
        let (kernel, anchors, threads) = match objects {
            Some(kernel) => (kernel, OBJECTS, OBJECTS),
            None => (&self.decode, self.anchors_of_block, DECODERS),
        };
        for (first_row, rows) in (0..).step_by(MOST_ROWS).zip(rows.chunks(MOST_ROWS)) {
            let decode = Decode {
                row_bytes: buffers.row_bytes as u64,
                counts: buffers.counts,
                row: buffers.row,
                candidates: buffers.candidates,
                thresholds: self.thresholds.params(),
                lowest: self.lowest,
                min_size: self.params.min_size,
                first_row,
                capacity: size(candidates)?,
                clip_before_nms: u32::from(self.params.clip_before_nms),
                layout,
                rows: params::PackedRow::all(rows),
            };
            let grid = layout.grid(anchors, rows.len())?;
            // SAFETY: the kernel's parameter is this struct; the tensors are as large as the layout, which was checked
            // against their shapes, says, the buffers hold as many candidates as it is given, and both stay as this function's docs
            // demand. It waits for earlier work before it touches either.
            unsafe { stream.launch_overlapping(kernel, grid, [threads, 1, 1], 0, &decode)? };
        }
        let boxes = gathered.as_ref().filter(|gathered| gathered.are_rotated());
        let rotated = boxes.map(|boxes| (boxes, layout.per_anchor()));
        if small {
            self.suppressor.start_small(stream, buffers, rows.len(), candidates, self.expected)?;
        } else {
            self.suppressor.start(stream, buffers, rows.len(), candidates, self.reach, rotated)?;
        }
        if let (Some(values), Some(gather)) = (gathered, &self.gather) {
            let params = Gather {
                row_bytes: buffers.row_bytes as u64,
                report_bytes: buffers.report_bytes as u64,
                row: buffers.row,
                ranked: buffers.ranked,
                found: buffers.found,
                delivered: buffers.delivered,
                report: buffers.report.pointer() + extra_at(buffers.capacity.found) as u64,
                values,
                layout,
            };
            let threads = buffers.capacity.found * values.count();
            let blocks = threads.div_ceil(GATHERERS as usize).clamp(1, MAX_GATHER_BLOCKS);
            let grid = [size(blocks)?, 1, size(rows.len())?];
            // SAFETY: the kernel's parameter is this struct; the tensor is as large as the decoder has checked, the report
            // has room for what as many detections carry as may be found, and both stay as this function's docs demand.
            unsafe { stream.launch(gather, grid, [GATHERERS, 1, 1], 0, &params)? };
        }
        self.is_clear = true;
        stream.record(&self.done)?;
        self.pending = rows.len();
        self.gathered = gathered;
        self.room = candidates;
        Ok(())
    }

    /// Waits for the batch that was started, the only time that the host waits, and replaces `found` by the detections
    /// of its rows, each by descending confidence; by none where no batch was started. What became of each row's anchors
    /// is returned.
    ///
    /// # Errors
    /// [`DetectError::NoRoom`] where a frame has many more candidates than those before it: when the batch is started again, there
    /// is room. [`DetectError::Device`] if the GPU failed. There are then no detections.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        found: &mut Vec<Vec<Detection>>,
    ) -> Result<Vec<Outcome>, DetectError> {
        let rows = mem::take(&mut self.pending);
        found.resize_with(rows, Vec::new);
        found.iter_mut().for_each(Vec::clear);
        self.attached.resize_with(rows, Attached::default);
        self.attached.iter_mut().for_each(Attached::clear);
        if rows == 0 {
            return Ok(Vec::new());
        }
        let outcomes = self.read_all(stream, found);
        if let Err(error) = &outcomes {
            self.is_clear &= matches!(error, DetectError::NoRoom);
            found.iter_mut().for_each(Vec::clear);
            self.attached.iter_mut().for_each(Attached::clear);
        }
        outcomes
    }

    /// Waits for the reports of all rows and reads them.
    fn read_all(
        &mut self,
        stream: &CudaStream,
        found: &mut [Vec<Detection>],
    ) -> Result<Vec<Outcome>, DetectError> {
        stream.wait_on_host(&self.done)?;
        let Some(buffers) = &self.buffers else { return Ok(Vec::new()) };
        let ranked = self.params.top_k_before.min(self.room);
        let (mut most, mut lacks_room) = (0, false);
        let mut outcomes = Vec::with_capacity(found.len());
        for ((found, attached), report) in found.iter_mut().zip(&mut self.attached).zip(buffers.reports()) {
            let (boxes, extra) = report.split_at(extra_at(buffers.capacity.found));
            let (counts, detections) = boxes.split_at(COUNTS_BYTES);
            let [kept, candidates, non_finite, count] =
                bytemuck::pod_read_unaligned::<[u32; 4]>(counts).map(|count| count as usize);
            most = most.max(kept);
            if count == TOO_MANY {
                lacks_room = true;
                continue;
            }
            found.extend(detections.chunks_exact(DETECTION_BYTES).take(count).map(|bytes| {
                let [x, y, w, h, confidence, class] = bytemuck::pod_read_unaligned::<[u32; 6]>(bytes);
                let [x, y, w, h, confidence] = [x, y, w, h, confidence].map(f32::from_bits);
                Detection { rect: Rect { x, y, w, h }, confidence, class }
            }));
            let gathered = self.gathered.as_ref().map_or(0, |values| {
                let bytes = count * values.bytes();
                values.read(&extra[..bytes], attached);
                bytes
            });
            stream.counters().device_to_host.add_size(COUNTS_BYTES + count * DETECTION_BYTES + gathered);
            let truncated = kept.saturating_sub(ranked);
            let limited = found.len() == self.params.top_k_after && kept - truncated > found.len();
            outcomes.push(Outcome { candidates, non_finite, truncated, limited });
        }
        self.crowded = most > MOST_SMALL;
        self.expected = most + most / 4;
        if lacks_room {
            self.reach = most.next_power_of_two().max(LEAST_REACH);
            return Err(DetectError::NoRoom);
        }
        if most <= self.reach / 4 {
            self.reach = (self.reach / 2).max(LEAST_REACH);
        }
        Ok(outcomes)
    }

    /// What the detections of the last batch that was finished carry besides their boxes, by row.
    pub fn attached(&self) -> &[Attached] {
        &self.attached
    }

    /// Makes room for that many rows and candidates, and that many bytes of each detection besides its box.
    fn reserve(
        &mut self,
        stream: &CudaStream,
        rows: usize,
        candidates: usize,
        extra: usize,
    ) -> Result<(), DetectError> {
        let has = self.buffers.as_ref().map_or([0; 4], |b| {
            [b.capacity.rows, b.capacity.candidates, b.capacity.extra, b.capacity.ranked]
        });
        let all = self.suppressor.ranked_of(candidates);
        let wanted = [rows, candidates, extra, all.min(self.reach)];
        if self.buffers.is_some() && wanted.iter().zip(has).all(|(wanted, has)| *wanted <= has) {
            return Ok(());
        }
        let [rows, candidates, extra, ranked] = [0, 1, 2, 3].map(|i| wanted[i].max(has[i]));
        let found = self.suppressor.ranked_of(candidates).min(self.params.top_k_after);
        let capacity = Capacity { rows, candidates, ranked, found, extra };
        self.is_clear = false;
        self.buffers = None;
        self.buffers = Some(Buffers::new(stream, capacity)?);
        Ok(())
    }
}

/// How the kernels read the first `rows` frames of a batch, and what they gather of detections; checks the actual dimensions.
pub(super) fn packed(
    decoder: &Decoder,
    outputs: &[DeviceTensor<'_>],
    rows: usize,
) -> Result<(PackedLayout, Option<Gathered>), DetectError> {
    let outputs: Vec<_> = outputs.iter().map(|tensor| Output { tensor: *tensor, rows }).collect();
    let (layout, located) = decoder.locate(&outputs)?;
    let packed = PackedLayout::new(layout, &located, &outputs)?;
    let gathered = located.extra.map(|extra| Gathered::new(&extra, &outputs)).transpose()?;
    Ok((packed, gathered))
}
