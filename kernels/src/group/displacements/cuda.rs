//! The walks on the GPU: `cuda/group.cu`, one launch after that of the peaks.
//!
//! The search leaves its records in device memory, too; a thread of the second kernel takes each as a root and writes the
//! points of its instance to pinned memory, at the number of the record. [`CudaDisplacementGrouper::finish`] waits once
//! for both, and the CPU's own code selects instances, so results are those of the CPU to the bit.

use super::decode::{DisplacedPoint, Root};
use super::params::MOST_PARTS;
use super::plan::DisplacementPlan;
use super::suppress::Suppression;
use super::{DisplacementOutputs, DisplacementParams};
use crate::device::{CudaStream, DeviceError, DeviceSlice, DeviceTensor, Kernel, Memory, Pinned};
use crate::geometry::Affine;
use crate::group::{GroupError, Pose, Strides};
use crate::peaks::{CudaPeaks, MapShape, Outcome, PeakParams, PeaksError, Records};
use crate::tensor::{TensorDesc, TensorType};

/// Threads of a block.
const THREADS: u32 = 64;
/// Blocks that keep a large GPU busy.
const BLOCKS: u32 = 264;
/// Roots in pinned memory: for a few frames, and for each of many. Further roots are fetched afterwards.
const NEAR: usize = 1024;
const NEAR_A_FRAME: usize = 256;
const PART: usize = size_of::<DisplacedPoint>();

/// `Roots` of the kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    records: Records,
    /// Maps, offsets, forward and backward displacements.
    outputs: [u64; 4],
    near: u64,
    far: u64,
    scale: [f64; 2],
    first: [f64; 2],
    strides: [Strides; 4],
    width: u32,
    height: u32,
    points: u32,
    edges: u32,
    near_size: u32,
    far_size: u32,
    from: [u8; MOST_PARTS],
    to: [u8; MOST_PARTS],
}
const _: () = assert!(size_of::<Arguments>() == 384);

/// [`super::DisplacementGrouper`] on the GPU, for all frames of a batch at once. A frame alone is a batch of one. As with
/// [`CudaPeaks`], one batch is in flight at a time.
#[derive(Debug)]
pub struct CudaDisplacementGrouper {
    peaks: CudaPeaks,
    plan: DisplacementPlan,
    kernel: Kernel,
    /// The points of roots by record; those that find no room here are in device memory.
    near: Pinned,
    far: Memory,
    /// The part of `far` that was fetched.
    more: Pinned,
    points: usize,
    to_frame: Vec<Affine>,
    roots: Vec<Vec<Root>>,
}

impl CudaDisplacementGrouper {
    /// As [`super::DisplacementGrouper::new`]. All four outputs are of the same type.
    ///
    /// # Errors
    /// Those of that function, and [`GroupError::Device`].
    pub fn new(
        outputs: &DisplacementOutputs<&TensorDesc>,
        input: [usize; 2],
        peaks: PeakParams,
        params: &DisplacementParams,
        stream: &CudaStream,
    ) -> Result<Self, GroupError> {
        let plan = DisplacementPlan::new(outputs, input, peaks, params)?;
        let ty: TensorType = outputs.maps.ty;
        if let Some((what, other)) = outputs.further().into_iter().find(|(_, desc)| desc.ty != ty) {
            return Err(GroupError::Types { what, got: other.to_string(), wanted: ty });
        }
        let peaks = CudaPeaks::with_records(outputs.maps, None, input, plan.peaks, stream, true)?;
        plan.check_announced(&peaks.announced)?;
        Ok(Self {
            kernel: Kernel::load(stream.context(), "group", &format!("displacements_{ty}"))?,
            peaks,
            plan,
            near: stream.pin(0)?,
            far: stream.allocate(0)?,
            more: stream.pin(0)?,
            points: 0,
            to_frame: Vec::new(),
            roots: Vec::new(),
        })
    }

    /// Enqueues the grouping of the frames of a batch; [`CudaDisplacementGrouper::finish`] returns the instances. All outputs
    /// have as many rows as there are `to_frame`, or more.
    ///
    /// # Errors
    /// As [`CudaPeaks::start`] for each output, and for open dimensions those of [`CudaDisplacementGrouper::new`].
    pub fn start(
        &mut self,
        stream: &CudaStream,
        outputs: &DisplacementOutputs<DeviceTensor<'_>>,
        to_frame: &[Affine],
    ) -> Result<(), GroupError> {
        let read = |(i, (what, tensor)): (usize, (&'static str, &DeviceTensor<'_>))| {
            let shape = self.plan.further[i].read_rows(tensor, to_frame.len());
            shape.map_err(|error| GroupError::Output(what, error))
        };
        let further: Vec<MapShape> =
            outputs.further().into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let Some((shape, records)) = self.peaks.launch(stream, &outputs.maps, None, to_frame)? else {
            return Ok(());
        };
        let launched = self.launch(stream, outputs, (&shape, &further), records);
        if launched.is_err() {
            self.peaks.give_up();
        }
        launched?;
        self.to_frame.clear();
        self.to_frame.extend_from_slice(to_frame);
        Ok(self.peaks.mark(stream)?)
    }

    /// Waits for the batch that was started last and replaces `poses` by the instances of its frames, each as
    /// [`super::DisplacementGrouper::run`] does; returns the outcomes, frame by frame. If no batch was started, there are
    /// none. It waits once, and once more, which counts as a fallback, where [`CudaPeaks::finish`] does and where there are
    /// more than 1024 roots (256 a frame, in larger batches).
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
        self.roots.resize_with(frames, Vec::new);
        self.roots.iter_mut().for_each(Vec::clear);
        let roots = &mut self.roots;
        let mut last = 0;
        let mut outcomes = self.peaks.finish_with(stream, |frame, peak, place, record| {
            last = last.max(record);
            let channel = peak.channel as usize;
            roots[frame].push(Root { channel, cell: place.cell, value: place.value, record });
        })?;
        let size = self.points * PART;
        let room = self.near.bytes().checked_div(size).unwrap_or(0);
        if frames > 0 && last >= room {
            stream.counters().fallbacks.add(1);
            let bytes = (last + 1 - room) * size;
            if self.more.bytes() < bytes {
                self.more = stream.pin(bytes)?;
            }
            // SAFETY: this many points lie there, in memory that `self` holds, and the stream is waited for.
            let rest = unsafe { DeviceSlice::from_raw(self.far.pointer(), bytes) };
            stream.download(rest, &mut self.more)?;
        }
        let near: &[DisplacedPoint] = bytemuck::try_cast_slice(self.near.as_slice()).unwrap_or_default();
        let more: &[DisplacedPoint] = bytemuck::try_cast_slice(self.more.as_slice()).unwrap_or_default();
        let points = self.points;
        let parts = |record: usize| {
            let (from, at) = if record < room { (near, record) } else { (more, record - room) };
            from.get(at * points..(at + 1) * points).unwrap_or_default()
        };
        for (frame, (poses, outcome)) in poses.iter_mut().zip(&mut outcomes).enumerate() {
            let roots = &mut self.roots[frame];
            stream.counters().device_to_host.add_size(roots.len() * size);
            let suppression = Suppression { plan: &self.plan, points, to_frame: &self.to_frame[frame] };
            let walk = |root: &Root, to: &mut Vec<DisplacedPoint>| {
                to.clear();
                to.extend_from_slice(parts(root.record));
            };
            suppression.suppress(roots, poses, walk, outcome);
        }
        Ok(outcomes)
    }

    /// [`CudaDisplacementGrouper::start`] and [`CudaDisplacementGrouper::finish`], repeated where there was no room.
    ///
    /// # Errors
    /// Theirs; after an error there are no instances.
    pub fn run(
        &mut self,
        stream: &CudaStream,
        outputs: &DisplacementOutputs<DeviceTensor<'_>>,
        to_frame: &[Affine],
        poses: &mut Vec<Vec<Pose>>,
    ) -> Result<Vec<Outcome>, GroupError> {
        poses.clear();
        let mut run = || {
            self.start(stream, outputs, to_frame)?;
            self.finish(stream, poses)
        };
        match run() {
            Err(GroupError::Peaks(PeaksError::NoRoom)) => run(),
            done => done,
        }
    }

    fn launch(
        &mut self,
        stream: &CudaStream,
        outputs: &DisplacementOutputs<DeviceTensor<'_>>,
        (shape, further): (&MapShape, &[MapShape]),
        records: Records,
    ) -> Result<(), GroupError> {
        let [offsets, forward, backward] = further else { return Err(GroupError::NoEdges) };
        self.plan.check(shape, [offsets, forward, backward])?;
        self.points = shape.channels;
        let size = self.points * PART;
        let frames = self.peaks.under_way();
        let near = NEAR.max(frames * NEAR_A_FRAME);
        self.fit(stream, near * size, records.most().saturating_sub(near) * size)?;
        let [mut from, mut to] = [[0; MOST_PARTS]; 2];
        for (i, [parent, child]) in self.plan.params.tree.iter().enumerate() {
            // A tree has fewer edges than points, of which there are at most `MOST_PARTS`.
            let point = |point: &usize| u8::try_from(*point).unwrap_or(0);
            (from[i], to[i]) = (point(parent), point(child));
        }
        let arguments = Arguments {
            records,
            outputs: [&outputs.maps, &outputs.offsets, &outputs.forward, &outputs.backward]
                .map(DeviceTensor::pointer),
            near: self.near.pointer(),
            far: self.far.pointer(),
            scale: shape.scale,
            first: shape.first,
            strides: [shape, offsets, forward, backward].map(Strides::of),
            width: number(shape.width),
            height: number(shape.height),
            points: number(self.points),
            edges: number(self.plan.params.tree.len()),
            near_size: number(self.near.bytes() / size),
            far_size: number(self.far.bytes() / size),
            from,
            to,
        };
        let grid = [number(records.most()).div_ceil(THREADS).clamp(1, BLOCKS), 1, 1];
        // SAFETY: `Arguments` mirrors the kernel's struct. The records are those of the previous launch in the same stream,
        // and there is room for their points; the outputs have as many values as their dimensions say. All memory stays:
        // `self` waits for the device when dropped, and the makers of the outputs' slices promised it.
        unsafe { stream.launch(&self.kernel, grid, [THREADS, 1, 1], 0, &arguments) }?;
        Ok(())
    }

    /// Makes room for `near` and `far` bytes.
    fn fit(&mut self, stream: &CudaStream, near: usize, far: usize) -> Result<(), DeviceError> {
        if self.near.bytes() < near {
            self.near = stream.pin(near)?;
        }
        if self.far.bytes() < far {
            self.far = stream.allocate(far)?;
        }
        Ok(())
    }
}

/// For numbers that the checks keep small.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
