//! The search on the GPU: `cuda/peaks.cu`, one launch for the maps of a batch.
//!
//! [`Refinement::Dark`](super::Refinement::Dark) takes a second one: `cuda/dark.cu`.
//!
//! The kernel writes peaks, refined but in no order, straight to pinned memory. [`CudaPeaks::finish`] waits for it, sorts the
//! peaks, applies `top_k` and maps them to the frame by the CPU's own code. So results are those of the CPU to the bit, save
//! three things: with [`Activation::Sigmoid`] the refinement weighs by another exp (the last bit differs now and then), the
//! second kernel has another logarithm (likewise), and with [`Mode::Global`] a score of 0 has no sign.

mod arguments;
mod dark;
mod finder;
mod launch;
mod record;

pub(crate) use arguments::Records;
pub use finder::CudaPeaks;

use dark::Dark;
use finder::At;
use record::{Header, NONE, RECORD, Record, number, step};

use super::announced::Announced;
use super::choose::{Candidate, TensorPeak, choose};
use super::grid::MapShape;
use super::offsets::Offsets;
use super::{Activation, Mode, Outcome, Peak, PeakParams, PeaksError};
use crate::device::{CudaStream, DeviceError, DeviceSlice, DeviceTensor, Event, Kernel};
use crate::geometry::Affine;
use crate::tensor::TensorDesc;

/// Records in pinned memory, more than maps of real scenes give: for a few frames, and for each of many. Further records are
/// fetched afterwards.
const NEAR: usize = 8192;
const NEAR_A_FRAME: usize = 1024;
/// Further records in device memory, as long as no batch has had more. Room for all that maps can have would take hundreds of
/// megabytes, and maps of a trained model never need it.
const FAR: usize = 8192;
/// The most values of a map, and of a batch together: the kernels count elements, rounded up to whole blocks, in 32 bits.
const MOST_VALUES: usize = 1 << 28;
const MOST_VALUES_OF_ALL: usize = 1 << 31;

impl CudaPeaks {
    /// Prepares for the output `map`, described as that of one frame, of a network whose input is `input` (width, height)
    /// pixels. Memory for a map with open dimensions is allocated when the first one arrives, and that for batches when a
    /// larger one arrives than before.
    ///
    /// # Errors
    /// As [`super::PeakFinder::new`], and [`PeaksError::TooLarge`] or [`PeaksError::Device`].
    pub fn new(
        map: &TensorDesc,
        input: [usize; 2],
        params: PeakParams,
        stream: &CudaStream,
    ) -> Result<Self, PeaksError> {
        Self::with_records(map, None, input, params, stream, false)
    }

    /// As [`Self::new`], with the output that [`super::Refinement::Offsets`] reads.
    ///
    /// # Errors
    /// Those of [`Self::new`], [`PeaksError::NoOffsets`] and [`PeaksError::Offsets`].
    pub fn with_offsets(
        map: &TensorDesc,
        offsets: Option<&TensorDesc>,
        input: [usize; 2],
        params: PeakParams,
        stream: &CudaStream,
    ) -> Result<Self, PeaksError> {
        Self::with_records(map, offsets, input, params, stream, false)
    }

    /// As [`Self::new`]; if `for_kernel`, records stay in device memory, too.
    pub(crate) fn with_records(
        map: &TensorDesc,
        offsets: Option<&TensorDesc>,
        input: [usize; 2],
        params: PeakParams,
        stream: &CudaStream,
        for_kernel: bool,
    ) -> Result<Self, PeaksError> {
        let announced = Announced::new(map, input, params)?;
        let offsets = Offsets::announced(map, offsets, &params)?;
        let mode = match params.mode {
            Mode::Local => "local",
            Mode::Global => "global",
        };
        let values = match params.activation {
            Activation::None => "scores",
            Activation::Sigmoid => "logits",
        };
        let kernel = format!("{mode}_{}_{values}", map.ty);
        let dark = Dark::new(stream, &params, &format!("dark_{}_{values}", map.ty))?;
        let mut this = Self {
            kernel: Kernel::load(stream.context(), "peaks", &kernel)?,
            near: stream.pin(NEAR * RECORD)?,
            far: stream.allocate(0)?,
            far_records: FAR,
            copy: stream.allocate(0)?,
            for_kernel: for_kernel || dark.is_some(),
            dark,
            headers: stream.allocate(0)?,
            header: stream.pin(0)?,
            frames: 0,
            best: stream.allocate(0)?,
            done: Event::new(stream.context())?,
            launch: 0,
            pending: None,
            to_frame: Vec::new(),
            candidates: Vec::new(),
            announced,
            offsets,
        };
        if let Some(shape) = this.announced.shape {
            this.fit(stream, &shape, 1)?;
        }
        Ok(this)
    }

    /// The number of channels, where the map's description has it.
    pub fn channels(&self) -> Option<usize> {
        self.announced.channels
    }

    /// Enqueues the search in `map`; [`CudaPeaks::finish`] returns the peaks. A batch that was started before and not finished
    /// is dropped.
    ///
    /// The first of the map's four dimensions counts the frames. There are as many as `to_frame`, each of which leads from the
    /// input tensor's pixels to its frame's; further ones are ignored. A map of three dimensions is one frame's.
    ///
    /// # Errors
    /// As [`super::PeakFinder::run`] for one frame's map, [`PeaksError::Rows`] where it holds too few, and
    /// [`PeaksError::TooLarge`] or [`PeaksError::Device`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        map: &DeviceTensor<'_>,
        to_frame: &[Affine],
    ) -> Result<(), PeaksError> {
        self.start_with(stream, map, None, to_frame)
    }

    /// As [`CudaPeaks::start`], with the offsets that [`CudaPeaks::with_offsets`] describes, which must stay until
    /// [`CudaPeaks::finish`].
    ///
    /// # Errors
    /// Those of [`CudaPeaks::start`], and [`PeaksError::Offsets`].
    pub fn start_with(
        &mut self,
        stream: &CudaStream,
        map: &DeviceTensor<'_>,
        offsets: Option<&DeviceTensor<'_>>,
        to_frame: &[Affine],
    ) -> Result<(), PeaksError> {
        if self.launch(stream, map, offsets, to_frame)?.is_some() {
            self.mark(stream)?;
        }
        Ok(())
    }

    /// [`CudaPeaks::start`] without the mark that [`CudaPeaks::finish`] waits for: [`CudaPeaks::mark`] sets it, after further
    /// work. Returns how the map's dimensions are read, and where the records are; `None` if there is no frame.
    pub(crate) fn launch(
        &mut self,
        stream: &CudaStream,
        map: &DeviceTensor<'_>,
        offsets: Option<&DeviceTensor<'_>>,
        to_frame: &[Affine],
    ) -> Result<Option<(MapShape, Records)>, PeaksError> {
        self.pending = None;
        let wanted = to_frame.len();
        let shape = self.announced.read_rows(map, wanted)?;
        if wanted == 0 {
            return Ok(None);
        }
        let of_map = &self.announced.map;
        let offsets = self.offsets.map(|each| each.pointer(offsets, of_map, &shape, wanted)).transpose()?;
        self.fit(stream, &shape, wanted)?;
        let (arguments, blocks) = self.arguments(map, &shape, offsets.unwrap_or(0), wanted);
        let [grid, block] = [[blocks, 1, 1], [number(arguments::THREADS), 1, 1]];
        // SAFETY: `Arguments` mirrors the kernel's struct. The map and the offsets have as many values as their dimensions say, the
        // records and headers as many as the arguments say; all memory stays: `self` waits for the device when dropped,
        // and the maker of the map's slice promised it.
        unsafe { stream.launch(&self.kernel, grid, block, 0, &arguments) }?;
        if let Some(dark) = &self.dark {
            dark.launch(stream, map, &shape, &arguments, self.most(&shape, wanted))?;
        }
        self.launch = arguments.launch;
        self.to_frame.clear();
        self.to_frame.extend_from_slice(to_frame);
        self.pending = Some(shape);
        Ok(Some((shape, arguments.records(&shape))))
    }

    /// See [`CudaPeaks::launch`].
    pub(crate) fn mark(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        stream.record(&self.done)
    }

    /// Drops the batch that was launched.
    pub(crate) fn give_up(&mut self) {
        self.pending = None;
    }

    /// Waits for the batch that was started last and replaces `peaks` by those of its frames, each as
    /// [`super::PeakFinder::run`] does, and returns the outcomes, frame by frame. If no batch was started, there are
    /// none. It waits once; once more for maps with values that are not finite, and for each 8192 peaks (before
    /// [`PeakParams::top_k`]; 1024 a frame, in larger batches) beyond the first 8192, which counts as a fallback.
    ///
    /// # Errors
    /// [`PeaksError::NoRoom`] where the batch has more peaks than any before: start it again. [`PeaksError::Device`], also
    /// for faults of earlier work. After an error there are no peaks.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        peaks: &mut Vec<Vec<Peak>>,
    ) -> Result<Vec<Outcome>, PeaksError> {
        peaks.resize_with(self.under_way(), Vec::new);
        peaks.iter_mut().for_each(Vec::clear);
        self.finish_with(stream, |frame, peak, _, _| peaks[frame].push(peak))
    }

    /// The frames that [`CudaPeaks::finish`] has peaks of.
    pub(crate) fn under_way(&self) -> usize {
        if self.pending.is_some() { self.to_frame.len() } else { 0 }
    }

    /// [`CudaPeaks::finish`] that passes on each peak with its frame, its place in the tensor and its record's number.
    pub(crate) fn finish_with(
        &mut self,
        stream: &CudaStream,
        mut emit: impl FnMut(usize, Peak, TensorPeak, usize),
    ) -> Result<Vec<Outcome>, PeaksError> {
        let frames = self.under_way();
        let Some(shape) = self.pending.take() else { return Ok(Vec::new()) };
        stream.wait_on_host(&self.done)?;
        self.candidates.resize_with(frames, Vec::new);
        self.candidates.iter_mut().for_each(Vec::clear);
        let near = self.near.bytes() / RECORD;
        let (found, marked) = self.collect(0, near, &shape);
        stream.counters().device_to_host.add_size(found * RECORD);
        let mut non_finite = Vec::new();
        if marked || found == near {
            stream.counters().fallbacks.add(1);
            non_finite = self.fetch(stream, &shape)?;
        }
        let params = &self.announced.params;
        let rows = self.candidates.iter_mut().zip(&self.to_frame).enumerate();
        let outcomes = rows.map(|(frame, (candidates, to_frame))| Outcome {
            non_finite: non_finite.get(frame).map_or(0, |count| *count as usize),
            truncated: choose(
                candidates,
                params,
                &shape,
                to_frame,
                |found| found.at.offset,
                |peak, place, found| emit(frame, peak, place, found.at.record),
            ),
            limited: false,
        });
        Ok(outcomes.collect())
    }

    /// [`CudaPeaks::start`] and [`CudaPeaks::finish`], repeated where there was no room.
    ///
    /// # Errors
    /// Theirs; after an error there are no peaks.
    pub fn run(
        &mut self,
        stream: &CudaStream,
        map: &DeviceTensor<'_>,
        to_frame: &[Affine],
        peaks: &mut Vec<Vec<Peak>>,
    ) -> Result<Vec<Outcome>, PeaksError> {
        peaks.clear();
        let mut run = || {
            self.start(stream, map, to_frame)?;
            self.finish(stream, peaks)
        };
        match run() {
            Err(PeaksError::NoRoom) => run(),
            done => done,
        }
    }

    /// Makes room for the records of `frames` maps of this shape: for all that they can give, or as many as a batch has had.
    fn fit(&mut self, stream: &CudaStream, shape: &MapShape, frames: usize) -> Result<(), PeaksError> {
        let MapShape { channels, width, height, .. } = *shape;
        let values = width.checked_mul(height).and_then(|cells| cells.checked_mul(channels));
        let of_all = values.filter(|values| *values <= MOST_VALUES).and_then(|v| v.checked_mul(frames));
        if of_all.is_none_or(|values| values > MOST_VALUES_OF_ALL) {
            return Err(PeaksError::TooLarge(self.announced.map.to_string()));
        }
        if self.frames < frames {
            self.frames = 0;
            self.headers = stream.allocate(2 * (size_of::<Header>() + frames * size_of::<u32>()))?;
            stream.fill(self.headers.slice(), 0)?;
            self.header = stream.pin(self.headers.bytes())?;
            self.frames = frames;
        }
        let near = NEAR.max(frames * NEAR_A_FRAME) * RECORD;
        if self.near.bytes() < near {
            self.near = stream.pin(near)?;
        }
        if self.for_kernel && self.copy.bytes() < self.near.bytes() {
            self.copy = stream.allocate(self.near.bytes())?;
        }
        // One more for the record that is no peak.
        let beyond = (self.most(shape, frames) + 1).saturating_sub(self.near.bytes() / RECORD);
        let far = beyond.min(self.far_records) * RECORD;
        if self.far.bytes() < far {
            self.far = stream.allocate(far)?;
        }
        let best = frames * channels * size_of::<u64>();
        if self.announced.params.mode == Mode::Global && self.best.bytes() < best {
            self.best = stream.allocate(best)?;
            stream.fill(self.best.slice(), 0)?;
        }
        Ok(())
    }

    /// The most peaks that `frames` maps of this shape can have.
    fn most(&self, shape: &MapShape, frames: usize) -> usize {
        let MapShape { channels, width, height, .. } = *shape;
        match self.announced.params.mode {
            // Of two neighbours one is not a maximum, so a tile of 2x2 cells has one at most.
            Mode::Local => frames * channels * width.div_ceil(2) * height.div_ceil(2),
            Mode::Global => frames * channels,
        }
    }

    /// Takes this launch's records from number `first` on, at most `most`, out of the pinned memory. Returns their number, and
    /// whether the record that is no peak is among them.
    fn collect(&mut self, first: usize, most: usize, shape: &MapShape) -> (usize, bool) {
        let records = self.near.as_slice().chunks_exact(RECORD).take(most);
        let records = records.map(bytemuck::pod_read_unaligned::<Record>);
        let (cells, step) = (shape.width * shape.height, step(shape));
        let frame_elements = cells * shape.channels;
        let (mut count, mut marked) = (0, false);
        for [word, dx, dy, _] in records.take_while(|record| record[3] == self.launch) {
            let record = first + count;
            count += 1;
            let [element, bits]: [u32; 2] = bytemuck::cast(word);
            if element == NONE {
                marked = true;
                continue;
            }
            let (frame, element) = (element as usize / frame_elements, element as usize % frame_elements);
            let (plane, within) = (element / (cells * step), element % (cells * step));
            let Some(candidates) = self.candidates.get_mut(frame) else { continue };
            candidates.push(Candidate {
                channel: plane * step + within % step,
                cell: within / step,
                value: f32::from_bits(bits),
                at: At { offset: (f64::from_bits(dx), f64::from_bits(dy)), record },
            });
        }
        (count, marked)
    }

    /// Fetches the records that did not fit into the pinned memory; returns the number of values that are not finite, by frame.
    /// Where there was no room in device memory either, the next launch makes it.
    fn fetch(&mut self, stream: &CudaStream, shape: &MapShape) -> Result<Vec<u32>, PeaksError> {
        // SAFETY: the copy is waited for just below, before the memory is read.
        unsafe { stream.start_download(self.headers.slice(), &mut self.header)? };
        stream.record(&self.done)?;
        stream.wait_on_host(&self.done)?;
        let (headers, counts) = self.header.as_slice().split_at(2 * size_of::<Header>());
        let [even, odd]: [Header; 2] = bytemuck::pod_read_unaligned(headers);
        let (even_counts, odd_counts) = counts.split_at(counts.len() / 2);
        let even_turn = self.launch.is_multiple_of(2);
        let ([found, ..], counts) = if even_turn { (even, even_counts) } else { (odd, odd_counts) };
        let non_finite = counts.chunks_exact(size_of::<u32>()).map(bytemuck::pod_read_unaligned).collect();
        let near = self.near.bytes() / RECORD;
        let more = (found as usize).saturating_sub(near);
        if more > self.far.bytes() / RECORD {
            // Rounded up, for batches that have a few more.
            self.far_records = more.next_power_of_two();
            return Err(PeaksError::NoRoom);
        }
        for first in (0..more).step_by(near) {
            let count = (more - first).min(near);
            let from = self.far.pointer() + (first * RECORD) as u64;
            // SAFETY: this many records lie there, in memory that `self` holds, and the stream is waited for.
            let records = unsafe { DeviceSlice::from_raw(from, count * RECORD) };
            // SAFETY: as above.
            unsafe { stream.start_download(records, &mut self.near)? };
            stream.record(&self.done)?;
            stream.wait_on_host(&self.done)?;
            self.collect(near + first, count, shape);
        }
        Ok(non_finite)
    }
}
