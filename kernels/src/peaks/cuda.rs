//! The search on the GPU: `cuda/peaks.cu`, one launch a map.
//!
//! The kernel writes what it finds, refined but in no order, straight to pinned memory. [`CudaPeaks::finish`] waits for
//! it, and brings it into order, applies `top_k` and maps it to the frame by the CPU's own code. So everything is the
//! CPU's to the bit, save two things: with [`Activation::Sigmoid`] the refinement weighs by another exp (a rounding of
//! the last bit now and then), and with [`Mode::Global`] a score of 0 has no sign.

use super::announced::Announced;
use super::choose::{Candidate, choose, gate};
use super::grid::Shape;
use super::{Activation, Mode, Outcome, Params, Peak, PeaksError, Refinement};
use crate::device::{DeviceError, DeviceSlice, DeviceTensor, Event, Kernel, Memory, Pinned, Stream};
use crate::geometry::Affine;
use crate::preproc::Layout;
use crate::tensor::TensorDesc;

/// Threads of a block.
const THREADS: usize = 128;
/// The most loads that a thread of the local search takes.
const MOST: usize = 4;
/// Elements that a thread of the global search takes.
const EACH: usize = 8;
/// Loads under way that keep a large GPU's memory busy: with more, threads take several each.
const MANY_THREADS: usize = 1 << 16;
/// Records in pinned memory, more than maps with anything to see in them give. What is beyond is fetched afterwards.
const NEAR: usize = 8192;
/// Values a map may have: the kernels count elements, rounded up to what a block takes, in 32 bits.
const MOST_VALUES: usize = 1 << 28;

/// `Found` of the kernels as four words: element and value, dx, dy, launch.
type Record = [u64; 4];
const RECORD: usize = size_of::<Record>();
/// The element of a record that is no peak, but says that there are values that are not finite.
const NONE: u32 = u32::MAX;
/// `Header` of the kernels: records, values that are not finite, blocks done, unused.
type Header = [u32; 4];

/// `Params` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    map: u64,
    near: u64,
    far: u64,
    headers: u64,
    best: u64,
    launch: u64,
    near_size: u32,
    far_size: u32,
    elements: u32,
    channels: u32,
    width: u32,
    height: u32,
    step: u32,
    head: u32,
    vectors: u32,
    lanes: u32,
    gate: f32,
    refinement: u32,
}
const _: () = assert!(size_of::<Arguments>() == 96);

/// Finds the peaks of one output of a model that lies in device memory: [`super::PeakFinder`] on the GPU.
///
/// One map is under way at a time, and all of them in one stream, or in streams that wait for each other. A launch has
/// its number in its parameters, so it cannot be recorded in a [`crate::device::Graph`].
#[derive(Debug)]
pub struct CudaPeaks {
    announced: Announced,
    kernel: Kernel,
    /// Where the kernel writes records, and where those that find no room there go.
    near: Pinned,
    far: Memory,
    /// Two, in turns.
    headers: Memory,
    header: Pinned,
    /// [`Mode::Global`]: a key a channel.
    best: Memory,
    done: Event,
    launch: u64,
    pending: Option<(Shape, Affine)>,
    candidates: Vec<Candidate<(f64, f64)>>,
}

impl CudaPeaks {
    /// Prepares for the output `map` of a network whose input is `input` (width, height) pixels. Memory for a map with
    /// open dimensions is allocated when the first one arrives.
    ///
    /// # Errors
    /// As [`super::PeakFinder::new`], and [`PeaksError::TooLarge`] or [`PeaksError::Device`].
    pub fn new(
        map: &TensorDesc,
        input: [usize; 2],
        params: Params,
        stream: &Stream,
    ) -> Result<Self, PeaksError> {
        let announced = Announced::new(map, input, params)?;
        let mode = match params.mode {
            Mode::Local => "local",
            Mode::Global => "global",
        };
        let values = match params.activation {
            Activation::None => "scores",
            Activation::Sigmoid => "logits",
        };
        let kernel = format!("{mode}_{}_{values}", map.ty);
        let headers = stream.allocate(2 * size_of::<Header>())?;
        stream.fill(headers.slice(), 0)?;
        let mut this = Self {
            kernel: Kernel::load(stream.context(), "peaks", &kernel)?,
            near: stream.pin(NEAR * RECORD)?,
            far: stream.allocate(0)?,
            header: stream.pin(headers.bytes())?,
            headers,
            best: stream.allocate(0)?,
            done: Event::new(stream.context())?,
            launch: 0,
            pending: None,
            candidates: Vec::new(),
            announced,
        };
        if let Some(shape) = this.announced.shape {
            this.fit(stream, &shape)?;
        }
        Ok(this)
    }

    /// The number of channels, where the map's description tells it.
    pub fn channels(&self) -> Option<usize> {
        self.announced.channels
    }

    /// Enqueues the search in `map`; [`CudaPeaks::finish`] has the peaks. What was started before and not finished is
    /// given up. `to_frame` leads from the input tensor's pixels to the frame's.
    ///
    /// # Errors
    /// As [`super::PeakFinder::run`], and [`PeaksError::TooLarge`] or [`PeaksError::Device`].
    pub fn start(
        &mut self,
        stream: &Stream,
        map: &DeviceTensor<'_>,
        to_frame: &Affine,
    ) -> Result<(), PeaksError> {
        self.pending = None;
        let shape = self.announced.read(map.name, map.ty, &map.dims)?;
        self.fit(stream, &shape)?;
        let (arguments, blocks) = self.arguments(map, &shape);
        let [grid, block] = [[blocks, 1, 1], [number(THREADS), 1, 1]];
        // SAFETY: `Arguments` mirrors the kernel's struct. The map has as many values as its dimensions say, the
        // records and headers as many as the arguments say; all of it stays: `self` waits for the device when dropped,
        // and whoever made the map's slice promised so.
        unsafe { stream.launch(&self.kernel, grid, block, 0, &arguments) }?;
        self.launch = arguments.launch;
        stream.record(&self.done)?;
        self.pending = Some((shape, *to_frame));
        Ok(())
    }

    /// Waits for the map that was started last and replaces `peaks` by its own, as [`super::PeakFinder::run`] does.
    /// If none was, there are none. It waits once; once more for maps with values that are not finite, and for each
    /// 8192 peaks (before [`Params::top_k`]) beyond the first 8192, which counts as a fallback.
    ///
    /// # Errors
    /// [`PeaksError::Device`], also for faults of earlier work.
    pub fn finish(&mut self, stream: &Stream, peaks: &mut Vec<Peak>) -> Result<Outcome, PeaksError> {
        peaks.clear();
        let Some((shape, to_frame)) = self.pending.take() else { return Ok(Outcome::default()) };
        stream.wait_on_host(&self.done)?;
        self.candidates.clear();
        let (found, marked) = self.collect(NEAR, &shape);
        stream.counters().device_to_host.add_size(found * RECORD);
        let mut non_finite = 0;
        if marked || found == NEAR {
            stream.counters().fallbacks.add(1);
            non_finite = self.fetch(stream, &shape)?;
        }
        let params = &self.announced.params;
        let truncated = choose(&mut self.candidates, params, &shape, &to_frame, |found| found.at, peaks);
        Ok(Outcome { non_finite, truncated })
    }

    /// [`CudaPeaks::start`] and [`CudaPeaks::finish`].
    ///
    /// # Errors
    /// As they say.
    pub fn run(
        &mut self,
        stream: &Stream,
        map: &DeviceTensor<'_>,
        to_frame: &Affine,
        peaks: &mut Vec<Peak>,
    ) -> Result<Outcome, PeaksError> {
        peaks.clear();
        self.start(stream, map, to_frame)?;
        self.finish(stream, peaks)
    }

    /// Makes room for all records that a map of this shape can give.
    fn fit(&mut self, stream: &Stream, shape: &Shape) -> Result<(), PeaksError> {
        let Shape { channels, width, height, .. } = *shape;
        let values = width.checked_mul(height).and_then(|cells| cells.checked_mul(channels));
        if values.is_none_or(|values| values > MOST_VALUES) {
            return Err(PeaksError::TooLarge(self.announced.map.to_string()));
        }
        let most = match self.announced.params.mode {
            // Of two neighbours one is not a maximum, so a tile of 2x2 cells has one at most.
            Mode::Local => channels * width.div_ceil(2) * height.div_ceil(2),
            Mode::Global => channels,
        };
        // One more for the record that is no peak.
        let far = (most + 1).saturating_sub(NEAR) * RECORD;
        if self.far.bytes() < far {
            self.far = stream.allocate(far)?;
        }
        let best = channels * size_of::<u64>();
        if self.announced.params.mode == Mode::Global && self.best.bytes() < best {
            self.best = stream.allocate(best)?;
            stream.fill(self.best.slice(), 0)?;
        }
        Ok(())
    }

    /// What to launch, and in how many blocks.
    fn arguments(&self, map: &DeviceTensor<'_>, shape: &Shape) -> (Arguments, u32) {
        let Shape { channels, width, height, layout, .. } = *shape;
        let Params { mode, refinement, .. } = self.announced.params;
        let elements = channels * width * height;
        let step = step(shape);
        let load = 16 / map.ty.size();
        let misaligned = map.pointer() % 16;
        let head = (16 - misaligned) % 16 / map.ty.size() as u64;
        let head = usize::try_from(head).unwrap_or(0).min(elements);
        let loads = (elements - head) / load;
        let vectors = (loads / MANY_THREADS).clamp(1, MOST);
        let lanes = match layout {
            Layout::Nchw => THREADS,
            Layout::Nhwc => step * (THREADS / step).max(1),
        };
        let blocks = match mode {
            Mode::Local => loads.div_ceil(THREADS * vectors).max(1),
            Mode::Global => {
                let threads = (width * height * step).div_ceil(lanes * EACH) * lanes;
                channels / step * threads.div_ceil(THREADS)
            }
        };
        let arguments = Arguments {
            map: map.pointer(),
            near: self.near.pointer(),
            far: self.far.pointer(),
            headers: self.headers.pointer(),
            best: self.best.pointer(),
            launch: self.launch + 1,
            near_size: number(NEAR),
            far_size: number(self.far.bytes() / RECORD),
            elements: number(elements),
            channels: number(channels),
            width: number(width),
            height: number(height),
            step: number(step),
            head: number(head),
            vectors: number(vectors),
            lanes: number(lanes),
            gate: gate(&self.announced.params),
            refinement: match refinement {
                Refinement::None => 0,
                Refinement::Quadratic => 1,
                Refinement::Integral => 2,
            },
        };
        (arguments, number(blocks))
    }

    /// Takes this launch's records, `most` at most, out of the pinned memory: how many there are, and whether the one
    /// that is no peak is among them.
    fn collect(&mut self, most: usize, shape: &Shape) -> (usize, bool) {
        let records = self.near.as_slice().chunks_exact(RECORD).take(most);
        let records = records.map(bytemuck::pod_read_unaligned::<Record>);
        let (cells, step) = (shape.width * shape.height, step(shape));
        let (mut count, mut marked) = (0, false);
        for [word, dx, dy, _] in records.take_while(|record| record[3] == self.launch) {
            count += 1;
            let [element, bits]: [u32; 2] = bytemuck::cast(word);
            if element == NONE {
                marked = true;
                continue;
            }
            let element = element as usize;
            let (plane, within) = (element / (cells * step), element % (cells * step));
            self.candidates.push(Candidate {
                channel: plane * step + within % step,
                cell: within / step,
                value: f32::from_bits(bits),
                at: (f64::from_bits(dx), f64::from_bits(dy)),
            });
        }
        (count, marked)
    }

    /// Fetches what did not fit into the pinned memory; returns the number of values that are not finite.
    fn fetch(&mut self, stream: &Stream, shape: &Shape) -> Result<usize, DeviceError> {
        stream.start_download(self.headers.slice(), &self.header)?;
        stream.record(&self.done)?;
        stream.wait_on_host(&self.done)?;
        let [even, odd]: [Header; 2] = bytemuck::pod_read_unaligned(self.header.as_slice());
        let [found, non_finite, ..] = if self.launch.is_multiple_of(2) { even } else { odd };
        let more = (found as usize).saturating_sub(NEAR).min(self.far.bytes() / RECORD);
        for first in (0..more).step_by(NEAR) {
            let count = (more - first).min(NEAR);
            let from = self.far.pointer() + (first * RECORD) as u64;
            // SAFETY: so many records lie there, in memory that `self` holds, and the stream is waited for.
            let records = unsafe { DeviceSlice::from_raw(from, count * RECORD) };
            stream.start_download(records, &self.near)?;
            stream.record(&self.done)?;
            stream.wait_on_host(&self.done)?;
            self.collect(count, shape);
        }
        Ok(non_finite as usize)
    }
}

/// Channels side by side in a row.
fn step(shape: &Shape) -> usize {
    match shape.layout {
        Layout::Nchw => 1,
        Layout::Nhwc => shape.channels,
    }
}

/// For numbers of at most [`MOST_VALUES`] or so.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
