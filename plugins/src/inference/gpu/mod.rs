//! A session on the GPU: runs are enqueued in a stream, on memory of its own at fixed addresses.
//!
//! A run gathers the frames' tensors, which may be on the GPU or on the host, of another float type and with their channels in
//! another place, runs the model, and copies its outputs to pooled memory, which belongs to the frames from then on. What a
//! recurrent model remembers of a stream is such an output, and is gathered as the frames' tensors are: so one graph serves any
//! number of streams, whose states never leave the GPU. The copies
//! take some microseconds. Because of them, the model always runs at the same addresses, so that its run is captured as a CUDA
//! graph once for each number of rows, if the model permits it, and is launched as a whole from then on and not waited for.
//!
//! After a run of another number of rows ONNX Runtime prepares every convolution anew, which takes a second for a small
//! detector. So only powers of two are run (and the largest batch), all of them captured during warm-up; a batch in between is
//! padded. Without capturing, every run has the largest batch's rows.

mod arrange;
mod runner;
mod shape_runs;
mod staging;

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudainfer_kernels::copies::CudaCopies;
use cudainfer_kernels::device::{
    Context, Counters, CudaStream, Device, DevicePlane, DeviceSlice, Event, Graph, Memory,
};
use cudainfer_kernels::tensor::TensorDesc;

use self::arrange::Arrange;
pub(super) use self::runner::{RunMemory, Runner};
use self::shape_runs::{BoundRun, FedMemory, ShapeRuns};
use self::staging::{Staging, near};
use super::image::ImageOrder;
use super::pace::Pace;
use super::shape::{batch_dims, bytes};
use super::{FedTensors, InferenceError, Outlook, RunShape};
use crate::log::ENGINE as CAT;
use crate::memory::tensor::{DeviceMemory, TensorAllocator, device_memory};
use crate::meta::tensor::Tensor;
use crate::model::Joined;

/// Runs of a number of rows before graphs are captured: libraries choose algorithms and allocate their memory in the first.
pub(super) const WARM_UP: usize = 2;
/// How long a run that could be captured waits for others that must not meet it: networks that are loaded, and their first runs.
/// After that it is captured when they are done.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often capturing a run may fail before none is captured any more.
const CAPTURES: u32 = 3;
/// Shapes that memory and graphs are kept for, at most.
const MAX_SHAPES: usize = 4;
/// Runs that may be in progress on the GPU before the thread that enqueues them waits.
const MAX_RUNNING: usize = 8;
/// While this many runs are enqueued, frames gather for the next batch: one that runs, and one that follows without a gap.
const BUSY: usize = 2;

/// The stream that a session works in, and its runs there.
#[derive(Debug)]
pub(super) struct Gpu<Run> {
    stream: Arc<CudaStream>,
    allocator: TensorAllocator,
    /// Frames of a run, at most.
    batch: usize,
    /// In the order of their last use.
    shapes: Vec<ShapeRuns<Run>>,
    /// Whether runs can be captured.
    graphs: bool,
    staging: Staging,
    /// For tensors from the host that are not copied as they are.
    scratch: Option<Memory>,
    /// The order in which the image comes, and the kernel that brings it into that order.
    image: ImageOrder,
    arrange: Arrange,
    copies: CudaCopies,
    /// How long capturing took.
    capturing: Duration,
    running: VecDeque<Event>,
    reached: Vec<Event>,
    /// The pace of `running`.
    pace: Pace,
}

impl<Run> Gpu<Run> {
    /// A stream on `device`, whose work is counted in `counters`, for a session that takes the image in this order.
    ///
    /// # Errors
    /// The driver's words.
    pub(super) fn open(device: &Device, counters: &Arc<Counters>, image: ImageOrder) -> Result<Self, String> {
        let context = Context::new(device).map_err(|e| e.to_string())?;
        let stream = Arc::new(CudaStream::for_network(&context, counters).map_err(|e| e.to_string())?);
        Ok(Self {
            allocator: TensorAllocator::new(&stream).map_err(|e| e.to_string())?,
            batch: 1,
            shapes: Vec::new(),
            graphs: false,
            staging: Staging::default(),
            scratch: None,
            image,
            arrange: Arrange::new(&stream, image).map_err(|e| e.to_string())?,
            copies: CudaCopies::new(&stream).map_err(|e| e.to_string())?,
            capturing: Duration::ZERO,
            running: VecDeque::new(),
            reached: Vec::new(),
            pace: Pace::default(),
            stream,
        })
    }

    /// The stream.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// How long capturing CUDA graphs has taken so far.
    pub(super) fn capturing(&self) -> Duration {
        self.capturing
    }

    /// Sets whether runs may be captured as CUDA graphs.
    pub(super) fn allow_graphs(&mut self, allowed: bool) {
        self.graphs = allowed;
    }

    /// Sets how many frames a run has at most.
    pub(super) fn reserve(&mut self, batch: usize) {
        self.batch = batch.max(1);
        self.staging.limit = 2 * self.batch;
    }

    /// Waits until less than [`BUSY`] runs are in progress, and returns what is known of the one that is.
    pub(super) fn wait_for_turn(&mut self) -> Result<Outlook, InferenceError> {
        self.limit(BUSY)?;
        Ok(self.pace.outlook())
    }

    /// Waits until everything that was enqueued is done.
    pub(super) fn finish(&mut self) -> Result<(), InferenceError> {
        self.limit(1)?;
        Ok(self.stream.synchronize()?)
    }

    /// The numbers of rows that are run, where the model leaves them open.
    pub(super) fn sizes(&self) -> Vec<usize> {
        if !self.graphs {
            return vec![self.batch];
        }
        let powers = (0..).map(|power| 1 << power).take_while(|size| *size < self.batch);
        powers.chain([self.batch]).collect()
    }

    /// Rows of a run of this many frames.
    pub(super) fn rows(&self, shape: &RunShape, frames: usize) -> usize {
        let fits = |size: &usize| *size >= frames;
        shape.fixed.or_else(|| self.sizes().into_iter().find(fits)).unwrap_or(frames)
    }

    /// Enqueues a run. The outputs, whose dimensions are known, are in device memory, and not written yet: their memory says
    /// when.
    pub(super) fn run(
        &mut self,
        runner: &mut impl Runner<Run = Run>,
        shape: &Arc<RunShape>,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        self.limit(MAX_RUNNING)?;
        if self.shapes.last().is_some_and(|last| !Arc::ptr_eq(&last.shape, shape)) {
            self.pace.forget();
        }
        // Taken out, so that `self` can be used beside it.
        let mut shaped = self.runs_of(shape)?;
        let done = self.enqueue(runner, &mut shaped, images, fed);
        self.shapes.push(shaped);
        done
    }

    fn runs_of(&mut self, shape: &Arc<RunShape>) -> Result<ShapeRuns<Run>, InferenceError> {
        if let Some(index) = self.shapes.iter().position(|s| Arc::ptr_eq(&s.shape, shape)) {
            return Ok(self.shapes.remove(index));
        }
        let full = self.shapes.len() >= MAX_SHAPES;
        let shaped = match ShapeRuns::allocate(&self.stream, shape, self.batch) {
            // The memory may be held by the oldest run.
            Err(e) if e.is_memory() && full => {
                self.shapes.remove(0);
                ShapeRuns::allocate(&self.stream, shape, self.batch)?
            }
            allocated => allocated?,
        };
        if self.shapes.len() >= MAX_SHAPES {
            self.shapes.remove(0);
        }
        Ok(shaped)
    }

    fn enqueue(
        &mut self,
        runner: &mut impl Runner<Run = Run>,
        shaped: &mut ShapeRuns<Run>,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        let stream = Arc::clone(&self.stream);
        let ShapeRuns { shape, memory, bound } = shaped;
        let rows = self.rows(shape, images.len() / shape.pictures());
        match &shape.joined {
            None => self.gather(shape, &memory.input, &nth(shape, images, 0))?,
            Some(joined) => self.gather_joined(shape, joined, &memory.input, images)?,
        }
        for (index, input) in memory.earlier.iter().enumerate() {
            self.gather(shape, input, &nth(shape, images, shape.joined_pictures() + index))?;
        }
        self.gather_fed(shape, &memory.fed, rows, fed)?;
        // The run stays in its place, whatever fails: to capture it anew would hold the stream up.
        let run = match bound.entry(rows) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(BoundRun::new(&stream, runner, shape, memory, rows)?),
        };
        let steady = run.runs > WARM_UP;
        let enqueued = Instant::now();
        self.launch(runner, run)?;
        let outputs = shape.outputs.iter().zip(&mut memory.outputs);
        let kept = outputs
            .map(|(desc, output)| {
                let kept = output.keep(&stream, bytes(desc) * rows)?;
                let data = self.allocator.buffer(&kept, bytes(desc) * rows);
                let data = data.ok_or_else(|| InferenceError::Run("an output has no stream".into()))?;
                Ok(Tensor { desc: TensorDesc::fixed(&desc.name, desc.ty, &batch_dims(desc, rows)), data })
            })
            .collect::<Result<_, InferenceError>>()?;
        let event = match self.reached.pop() {
            Some(event) => event,
            None => Event::new(stream.context())?,
        };
        stream.record(&event)?;
        self.running.push_back(event);
        self.pace.begin(rows, enqueued, steady);
        Ok(kept)
    }

    /// Enqueues the model's run: its graph, which is captured first if it is time.
    fn launch(
        &mut self,
        runner: &mut impl Runner<Run = Run>,
        run: &mut BoundRun<Run>,
    ) -> Result<(), InferenceError> {
        let stream = Arc::clone(&self.stream);
        let due = self.graphs && run.runs >= WARM_UP && run.graph.is_none();
        let spoilt = due && !self.capture(runner, run)?;
        let may_wait = !self.graphs;
        let _unrecorded = (run.runs < WARM_UP).then(|| stream.context().unrecorded());
        let mut launch = || match &mut run.graph {
            // SAFETY: it uses memory of the session and of the `ShapeRuns` that holds it (inputs, constants, states and outputs), which
            // live as long as the graph. Nobody else uses that memory: images and states are copied there, and outputs from there, in
            // this stream.
            Some(graph) => unsafe { stream.launch_graph(graph) }.map_err(InferenceError::from),
            None => {
                stream.counters().launches.add(1);
                stream.counters().host_waits.add(u64::from(may_wait));
                let mut run = || runner.enqueue(&stream, &mut run.run, may_wait);
                // What spoilt the recording stays the thread's last error in the CUDA runtime, and ONNX Runtime takes it for the next
                // run's.
                if spoilt { run().or_else(|_| run()) } else { run() }
            }
        };
        // The first runs take far longer, and would dominate a mean.
        if run.runs < WARM_UP { launch() } else { stream.sampled(launch) }?;
        run.runs += 1;
        Ok(())
    }

    /// Captures the model's run as a graph, unless others must not meet that now: then another run will be. Whether nothing failed.
    fn capture(
        &mut self,
        runner: &mut impl Runner<Run = Run>,
        run: &mut BoundRun<Run>,
    ) -> Result<bool, InferenceError> {
        let started = Instant::now();
        let patience = if run.runs == WARM_UP { PATIENCE } else { Duration::ZERO };
        let captured =
            Graph::record(&self.stream, patience, || runner.enqueue(&self.stream, &mut run.run, false));
        self.capturing += started.elapsed();
        match captured {
            Ok(graph) => run.graph = graph,
            // It will be captured at another run.
            Err(e) if runner.is_interrupted() => return Err(e),
            Err(e) => {
                // Another library may have waited for the whole device, which is no fault of the model.
                run.spoilt += 1;
                self.graphs = run.spoilt < CAPTURES;
                let then = if self.graphs { "will be tried again" } else { "is slower" };
                gst::info!(CAT, "a run was not recorded as a CUDA graph, and {then}: {e}");
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Enqueues the copies of images, one for each row, to where the model reads them, converted and with their channels last if need be.
    fn gather(
        &mut self,
        shape: &RunShape,
        input: &Memory,
        images: &[&gst::BufferRef],
    ) -> Result<(), InferenceError> {
        let stream = Arc::clone(&self.stream);
        let size = bytes(&shape.image);
        let is_given = self.image.is_given(shape);
        let mut copies = Copies::default();
        let mut row = 0;
        while let Some(image) = images.get(row) {
            let place = input.slice().after(row * size);
            row += 1;
            if let Some(mut near) = near(&stream, image) {
                // Regions of a frame are adjacent in memory, and one copy.
                while let Some(longer) = images.get(row).and_then(|i| near.join(&device_memory(i)?)) {
                    near = longer;
                    row += 1;
                }
                let rows = near.slice().bytes() / shape.picture_bytes().max(1);
                let place = place.first(rows * size);
                if is_given {
                    copies.add(near, place);
                    continue;
                }
                near.begin_read(&stream)?;
                let arranged = self.arrange.start(&stream, shape, near.slice(), place);
                near.end_read(&stream)?;
                arranged?;
                continue;
            }
            let place = place.first(size);
            stream.counters().fallbacks.add(1);
            if is_given {
                self.staging.bring(&stream, image, place)?;
            } else {
                let scratch = self.scratch(shape.picture_bytes())?;
                self.staging.bring(&stream, image, scratch.slice())?;
                self.arrange.start(&stream, shape, scratch.slice(), place)?;
                self.scratch = Some(scratch);
            }
        }
        copies.start(&self.copies, &stream)
    }

    /// Memory of this size for what is not copied as it is. It is given back to the session by whoever takes it.
    fn scratch(&mut self, bytes: usize) -> Result<Memory, InferenceError> {
        let known = self.scratch.take().filter(|scratch| scratch.bytes() == bytes);
        Ok(known.map_or_else(|| self.stream.allocate(bytes), Ok)?)
    }

    /// As [`Gpu::gather`], where the model reads the pictures of several frames together: each piece of them is a row of a plane.
    fn gather_joined(
        &mut self,
        shape: &RunShape,
        joined: &Joined,
        input: &Memory,
        images: &[&gst::BufferRef],
    ) -> Result<(), InferenceError> {
        let stream = Arc::clone(&self.stream);
        let [pieces, length] = shape.pieces(joined);
        let (size, whole, picture) = (shape.image_bytes(), shape.given_bytes(), shape.picture_bytes());
        let stride = length * joined.ago.len();
        for (row, frame) in images.chunks(shape.pictures()).enumerate() {
            let place = input.slice().after(row * size).first(size);
            // The pictures as they come, where they are converted, and after them one that comes from the host.
            let scratch = self.scratch(whole + picture)?;
            let is_given = self.image.is_given(shape);
            let target = if is_given { place } else { scratch.slice().first(whole) };
            for (index, image) in frame.iter().take(joined.ago.len()).enumerate() {
                let target = DevicePlane::new(target.after(index * length), stride);
                let copy =
                    |source| stream.copy_plane(DevicePlane::new(source, length), target, length, pieces);
                if let Some(near) = near(&stream, image) {
                    near.begin_read(&stream)?;
                    let copied = copy(near.slice());
                    near.end_read(&stream)?;
                    copied?;
                } else {
                    stream.counters().fallbacks.add(1);
                    let source = scratch.slice().after(whole).first(picture);
                    self.staging.bring(&stream, image, source)?;
                    copy(source)?;
                }
            }
            if !is_given {
                self.arrange.start(&stream, shape, scratch.slice().first(whole), place)?;
            }
            self.scratch = Some(scratch);
        }
        Ok(())
    }

    /// Enqueues the copies of what is remembered to where the model reads it; rows of which nothing is remembered are as at first.
    fn gather_fed(
        &mut self,
        shape: &RunShape,
        memory: &[FedMemory],
        rows: usize,
        fed: &[Option<FedTensors>],
    ) -> Result<(), InferenceError> {
        let stream = Arc::clone(&self.stream);
        let mut copies = Copies::default();
        for (index, (state, FedMemory { memory, at_first })) in shape.fed.iter().zip(memory).enumerate() {
            let bytes = state.bytes();
            for row in 0..if state.batched { rows } else { 1 } {
                let place = memory.slice().after(row * bytes).first(bytes);
                let remembered = fed.get(row).and_then(|fed| fed.as_ref()?.get(index));
                let Some(tensor) = remembered else {
                    copies.of.push((at_first.slice(), place));
                    continue;
                };
                if tensor.data.size() != bytes {
                    let (has, wants) = (&tensor.desc, &state.input);
                    return Err(InferenceError::Run(format!("the tensor {has} is not what {wants} reads")));
                }
                match near(&stream, &tensor.data) {
                    Some(near) => copies.add(near, place),
                    // Made by a session on the host, or on another GPU.
                    None => self.staging.bring(&stream, &tensor.data, place)?,
                }
            }
        }
        copies.start(&self.copies, &stream)
    }

    /// Waits for the oldest runs while `most` or more are in progress. Elements downstream that wait for results have done that
    /// already.
    fn limit(&mut self, most: usize) -> Result<(), InferenceError> {
        while let Some(oldest) = self.running.front() {
            let over = oldest.done()?;
            if !over {
                if self.running.len() < most {
                    break;
                }
                self.stream.wait_on_host(oldest)?;
            }
            self.reached.extend(self.running.pop_front());
            self.pace.end(!over, Instant::now());
        }
        Ok(())
    }
}

/// Copies that are enqueued together.
#[derive(Default)]
struct Copies<'a> {
    of: Vec<(DeviceSlice<'a>, DeviceSlice<'a>)>,
    /// Those of whose pieces others keep the order.
    ordered: Vec<DeviceMemory<'a>>,
}

impl<'a> Copies<'a> {
    fn add(&mut self, from: DeviceMemory<'a>, to: DeviceSlice<'a>) {
        self.of.push((from.slice(), to));
        self.ordered.push(from);
    }

    fn start(self, kernel: &CudaCopies, stream: &CudaStream) -> Result<(), InferenceError> {
        self.ordered.iter().try_for_each(|memory| memory.begin_read(stream))?;
        let copied = kernel.start(stream, &self.of);
        // All of them, whatever fails: one launch may read them all.
        let ended = self.ordered.iter().map(|memory| memory.end_read(stream)).fold(Ok(()), Result::and);
        Ok(copied.and(ended)?)
    }
}

/// This picture of every frame.
fn nth<'a>(shape: &RunShape, images: &[&'a gst::BufferRef], index: usize) -> Vec<&'a gst::BufferRef> {
    images.chunks(shape.pictures()).filter_map(|frame| frame.get(index).copied()).collect()
}

impl<Run> Drop for Gpu<Run> {
    fn drop(&mut self) {
        // ONNX Runtime gives pinned memory back in callbacks of the stream, which must not release the last reference to a
        // session.
        if let Err(e) = self.stream.synchronize() {
            gst::debug!(CAT, "the last runs failed: {e}");
        }
    }
}
