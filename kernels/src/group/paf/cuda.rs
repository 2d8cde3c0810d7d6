//! The scores on the GPU: `cuda/group.cu`, one launch after that of the peaks.
//!
//! The search leaves its records in device memory, too, where the second kernel finds them; it writes the scores of all
//! lines straight to pinned memory. [`CudaPafGrouper::finish`] waits once for both, brings the peaks into order as
//! [`CudaPeaks`] does, and assembles the instances by the CPU's own code. A line's place follows from its edge and the
//! ranks of its peaks, which host and device number alike: the strongest first. So results are those of the CPU to the bit.

use super::lines::{LimbLine, Scale};
use super::plan::PafPlan;
use super::{MOST_EDGES, MOST_SAMPLES, PafConvention, PafParams, Parts, assemble, of_points};
use crate::device::{CudaStream, DeviceError, DeviceSlice, DeviceTensor, Kernel, Memory, Pinned};
use crate::geometry::Affine;
use crate::group::{GroupError, Pose, Strides};
use crate::peaks::{Announced, CudaPeaks, MapShape, Outcome, PeakParams, PeaksError, Records};
use crate::tensor::TensorDesc;

/// Threads of a block.
const THREADS: u32 = 256;
/// Lines a frame in pinned memory: 18 times 18 for each of 19 edges. Further lines are fetched afterwards.
const NEAR: usize = 19 * 18 * 18;
const LINE: usize = size_of::<LimbLine>();

/// `Edge` of the kernel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Edge {
    from: u16,
    to: u16,
    channel: u32,
}

/// `Lines` of the kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    records: Records,
    fields: u64,
    near: u64,
    far: u64,
    counts: u64,
    scale: [f64; 2],
    first: [f64; 2],
    field_scale: [f64; 2],
    field_first: [f64; 2],
    strides: Strides,
    field_size: [u32; 2],
    max_length: f32,
    length_weight: f32,
    min_sample: f32,
    points: u32,
    edges: u32,
    top_k: u32,
    samples: u32,
    interpolate: u32,
    near_size: u32,
    far_size: u32,
    at: [f32; MOST_SAMPLES],
    edge: [Edge; MOST_EDGES],
}
const _: () = assert!(size_of::<Arguments>() == 1376);

/// [`super::PafGrouper`] on the GPU, for all frames of a batch at once. A frame alone is a batch of one. As with
/// [`CudaPeaks`], one batch is in flight at a time.
#[derive(Debug)]
pub struct CudaPafGrouper {
    peaks: CudaPeaks,
    fields: Announced,
    plan: PafPlan,
    kernel: Kernel,
    top_k: usize,
    /// Lines, the same number for each frame; those that find no room here are in device memory.
    near: Pinned,
    far: Memory,
    /// Peaks by frame and point.
    counts: Pinned,
    /// The part of `far` that was fetched.
    more: Pinned,
    parts: Vec<Parts>,
}

impl CudaPafGrouper {
    /// As [`super::PafGrouper::new`].
    ///
    /// # Errors
    /// Those of that function, and [`GroupError::Device`].
    pub fn new(
        maps: &TensorDesc,
        fields: &TensorDesc,
        input: [usize; 2],
        peaks: PeakParams,
        paf: &PafParams,
        stream: &CudaStream,
    ) -> Result<Self, GroupError> {
        let plan = PafPlan::of_fields(paf, maps.name == fields.name)?;
        let peaks = of_points(peaks, paf);
        let kernel = format!("paf_{}", fields.ty);
        let fields = Announced::new(fields, input, peaks).map_err(PafPlan::unreadable)?;
        let finder = CudaPeaks::with_records(maps, None, input, peaks, stream, true)?;
        plan.check(&finder.announced, &fields)?;
        Ok(Self {
            kernel: Kernel::load(stream.context(), "group", &kernel)?,
            top_k: peaks.top_k,
            peaks: finder,
            fields,
            plan,
            near: stream.pin(0)?,
            far: stream.allocate(0)?,
            counts: stream.pin(0)?,
            more: stream.pin(0)?,
            parts: Vec::new(),
        })
    }

    /// Enqueues the grouping of the frames of a batch; [`CudaPafGrouper::finish`] returns the instances. Both outputs have
    /// as many rows as there are `to_frame`, or more.
    ///
    /// # Errors
    /// As [`CudaPeaks::start`] for either output, and for open dimensions those of [`CudaPafGrouper::new`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        maps: &DeviceTensor<'_>,
        fields: &DeviceTensor<'_>,
        to_frame: &[Affine],
    ) -> Result<(), GroupError> {
        let shape = self.fields.read_rows(fields, to_frame.len()).map_err(PafPlan::unreadable)?;
        let Some((of_maps, records)) = self.peaks.launch(stream, maps, None, to_frame)? else {
            return Ok(());
        };
        let shape = self.fields.beside(shape, &of_maps);
        let launched = self.launch(stream, (maps.name, &of_maps), records, (fields, &shape), to_frame.len());
        if launched.is_err() {
            self.peaks.give_up();
        }
        launched?;
        Ok(self.peaks.mark(stream)?)
    }

    /// Waits for the batch that was started last and replaces `poses` by the instances of its frames, each as
    /// [`super::PafGrouper::run`] does; returns the outcomes, frame by frame. If no batch was started, there are none. It
    /// waits once, and once more, which counts as a fallback, where [`CudaPeaks::finish`] does and where a frame has more
    /// than 6156 pairs of peaks.
    ///
    /// # Errors
    /// That of [`CudaPeaks::finish`] where there was no room; [`GroupError::Device`], also for faults of earlier work. After an
    /// error there are no instances.
    pub fn finish(
        &mut self,
        stream: &CudaStream,
        poses: &mut Vec<Vec<Pose>>,
    ) -> Result<Vec<Outcome>, GroupError> {
        let frames = self.peaks.under_way();
        poses.resize_with(frames, Vec::new);
        poses.iter_mut().for_each(Vec::clear);
        self.parts.resize_with(frames, Parts::default);
        self.parts.iter_mut().for_each(|parts| parts.found.clear());
        let parts = &mut self.parts;
        let mut outcomes =
            self.peaks.finish_with(stream, |frame, peak, place, _| parts[frame].found.push((peak, place)))?;
        for (frame, (poses, outcome)) in poses.iter_mut().zip(&mut outcomes).enumerate() {
            self.parts[frame].index(self.plan.params.points);
            outcome.non_finite += self.assemble(stream, frame, poses)?;
        }
        Ok(outcomes)
    }

    /// [`CudaPafGrouper::start`] and [`CudaPafGrouper::finish`], repeated where there was no room.
    ///
    /// # Errors
    /// Theirs; after an error there are no instances.
    pub fn run(
        &mut self,
        stream: &CudaStream,
        maps: &DeviceTensor<'_>,
        fields: &DeviceTensor<'_>,
        to_frame: &[Affine],
        poses: &mut Vec<Vec<Pose>>,
    ) -> Result<Vec<Outcome>, GroupError> {
        poses.clear();
        let mut run = || {
            self.start(stream, maps, fields, to_frame)?;
            self.finish(stream, poses)
        };
        match run() {
            Err(GroupError::Peaks(PeaksError::NoRoom)) => run(),
            done => done,
        }
    }

    /// Lines a frame that may not find room in pinned memory.
    fn far_size(&self) -> usize {
        (self.plan.params.edges.len() * self.top_k * self.top_k).saturating_sub(NEAR)
    }

    fn launch(
        &mut self,
        stream: &CudaStream,
        (map, of_maps): (&str, &MapShape),
        records: Records,
        (fields, shape): (&DeviceTensor<'_>, &MapShape),
        frames: usize,
    ) -> Result<(), GroupError> {
        let first = self.plan.first_channel(map, of_maps, fields.name, shape)?;
        self.fit(stream, frames)?;
        let params = &self.plan.params;
        let mut at = [0.0; MOST_SAMPLES];
        at.iter_mut().zip(&self.plan.samples).for_each(|(to, t)| *to = *t);
        let mut edge = [Edge::default(); MOST_EDGES];
        for (i, (to, [a, b])) in edge.iter_mut().zip(&params.edges).enumerate() {
            // At most `MOST_POINTS`, and a channel that the fields have.
            let point = |point: &usize| u16::try_from(*point).unwrap_or(0);
            *to = Edge { from: point(a), to: point(b), channel: number(self.plan.channel(i, first)) };
        }
        let arguments = Arguments {
            records,
            fields: fields.pointer(),
            near: self.near.pointer(),
            far: self.far.pointer(),
            counts: self.counts.pointer(),
            scale: of_maps.scale,
            first: of_maps.first,
            field_scale: shape.scale,
            field_first: shape.first,
            strides: Strides::of(shape),
            field_size: [number(shape.width), number(shape.height)],
            max_length: Scale::new(params, shape).max_length,
            length_weight: params.length_weight,
            min_sample: params.min_sample,
            points: number(params.points),
            edges: number(params.edges.len()),
            top_k: number(self.top_k),
            samples: number(params.samples),
            interpolate: u32::from(params.convention == PafConvention::OpenPose),
            near_size: number(NEAR),
            far_size: number(self.far_size()),
            at,
            edge,
        };
        let grid = [arguments.edges, number(frames), 1];
        // SAFETY: `Arguments` mirrors the kernel's struct. The records are those of the previous launch in the same stream;
        // fields, lines and counts are as many as the arguments say, and stay: `self` waits for the device when dropped,
        // and the maker of the fields' slice promised it.
        unsafe { stream.launch(&self.kernel, grid, [THREADS, 1, 1], 0, &arguments) }?;
        Ok(())
    }

    /// Makes room for `frames` frames.
    fn fit(&mut self, stream: &CudaStream, frames: usize) -> Result<(), DeviceError> {
        let [near, far] = [NEAR, self.far_size()].map(|lines| frames * lines * LINE);
        if self.near.bytes() < near {
            self.near = stream.pin(near)?;
            self.counts = stream.pin(frames * self.plan.params.points * size_of::<u32>())?;
        }
        if self.far.bytes() < far {
            self.far = stream.allocate(far)?;
        }
        Ok(())
    }

    /// Assembles instances from the lines that the kernel wrote for a frame; returns the number of samples that are not finite.
    fn assemble(
        &mut self,
        stream: &CudaStream,
        frame: usize,
        poses: &mut Vec<Pose>,
    ) -> Result<usize, DeviceError> {
        let PafParams { points, ref edges, .. } = self.plan.params;
        let counts: &[u32] = bytemuck::try_cast_slice(self.counts.as_slice()).unwrap_or_default();
        let count = |point: usize| counts.get(frame * points + point).map_or(0, |count| *count as usize);
        let mut starts = vec![0];
        for [from, to] in edges {
            starts.push(starts.last().copied().unwrap_or(0) + count(*from) * count(*to));
        }
        let total = starts.last().copied().unwrap_or(0);
        let beyond = total.saturating_sub(NEAR);
        if beyond > 0 {
            stream.counters().fallbacks.add(1);
            if self.more.bytes() < beyond * LINE {
                self.more = stream.pin(beyond * LINE)?;
            }
            let from = self.far.pointer() + (frame * self.far_size() * LINE) as u64;
            // SAFETY: this many lines lie there, in memory that `self` holds, and the stream is waited for.
            let rest = unsafe { DeviceSlice::from_raw(from, beyond * LINE) };
            stream.download(rest, &mut self.more)?;
        }
        stream.counters().device_to_host.add_size(total.min(NEAR) * LINE);
        let near: &[LimbLine] = bytemuck::try_cast_slice(self.near.as_slice()).unwrap_or_default();
        let near = near.get(frame * NEAR..(frame + 1) * NEAR).unwrap_or_default();
        let more: &[LimbLine] = bytemuck::try_cast_slice(self.more.as_slice()).unwrap_or_default();
        let line = |at: usize| match at.checked_sub(NEAR) {
            None => near.get(at),
            Some(at) => more.get(at),
        };
        let parts = &self.parts[frame];
        let non_finite = assemble::assemble(&self.plan, parts, poses, |edge, matrix| {
            let [from, to] = edges[edge];
            // The kernel may have kept a few that are just below the threshold: the weakest, whose ranks are the last.
            for a in 0..parts.of(from).len() {
                let row = starts[edge] + a * count(to);
                let lines = (row..row + parts.of(to).len()).map(|at| line(at).copied());
                matrix.extend(lines.map(|line| line.unwrap_or(LimbLine::NONE)));
            }
        });
        Ok(non_finite)
    }
}

/// For numbers that the checks keep small.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
