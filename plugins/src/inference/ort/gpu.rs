//! A session on the GPU: runs are enqueued in a stream, on memory of its own at fixed addresses.
//!
//! A run gathers the frames' tensors, which may be on the GPU or on the host and of another float type, runs the model, and
//! copies its outputs to pooled memory, which belongs to the frames from then on. The copies take some microseconds. Because
//! of them, the model always runs at the same addresses, so that its run is recorded as a CUDA graph once for each number of
//! rows, if the model permits it, and is launched as a whole from then on and not waited for.
//!
//! After a run of another number of rows ONNX Runtime prepares every convolution anew, which takes a second for a small
//! detector. So only powers of two are run (and the largest batch), all of them recorded during warm-up; a batch in between is
//! padded. Without recording, every run has the largest batch's rows.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudainfer_kernels::convert::CudaConvert;
use cudainfer_kernels::device::{
    Context, Counters, CudaStream, Device, DeviceSlice, Event, Graph, Memory, Pinned, SharedMemory,
};
use cudainfer_kernels::tensor::TensorDesc;
use ort::session::RunOptions;

use super::binding::Binding;
use super::failure::failed;
use crate::inference::log::CAT;
use crate::inference::pace::Pace;
use crate::inference::shape::{batch_dims, bytes};
use crate::inference::stop::Interrupt;
use crate::inference::{InferenceError, Outlook, RunShape};
use crate::memory::tensor::{DeviceMemory, TensorAllocator, device_memory};
use crate::meta::tensor::Tensor;

/// Runs of a number of rows before graphs are recorded: ONNX Runtime chooses algorithms and allocates its memory in the first.
pub(super) const WARM_UP: usize = 2;
/// Shapes at most that memory and graphs are kept for.
const MAX_SHAPES: usize = 4;
/// Runs that may be under way on the GPU before the thread that enqueues them waits.
const MAX_RUNNING: usize = 8;
/// Runs behind which frames gather for the next batch: one that runs, and one that follows without a gap.
const BUSY: usize = 2;

/// The stream that a session works in.
#[derive(Debug)]
pub struct Gpu {
    stream: Arc<CudaStream>,
    allocator: TensorAllocator,
    /// Frames of a run, at most.
    batch: usize,
    /// The one that was used last is last.
    shapes: Vec<ShapeRuns>,
    /// Whether ONNX Runtime can be recorded.
    graphs: bool,
    staging: Staging,
    /// For tensors from the host that are converted.
    scratch: Option<Memory>,
    convert: CudaConvert,
    options: Arc<Options>,
    /// How long recording took.
    recording: Duration,
    running: VecDeque<Event>,
    reached: Vec<Event>,
    /// Of `running`.
    pace: Pace,
}

/// What runs of one shape need. Work in the stream is in order, so that one place is enough for all runs.
#[derive(Debug)]
struct ShapeRuns {
    shape: Arc<RunShape>,
    /// Room for the largest batch.
    input: Memory,
    outputs: Vec<Output>,
    /// By the number of rows.
    bound: HashMap<usize, BoundRun>,
}

/// An output: where the model writes it, and where it is kept.
#[derive(Debug)]
struct Output {
    memory: Memory,
    pool: Vec<Arc<SharedMemory>>,
}

/// How so many rows are run.
#[derive(Debug)]
struct BoundRun {
    binding: Binding,
    graph: Option<Graph>,
    runs: usize,
    /// The other inputs' elements, which the binding reads.
    _constants: Vec<Memory>,
}

/// Pinned memory in turns, for images that come from the host.
#[derive(Debug, Default)]
struct Staging {
    turns: VecDeque<(Pinned, Event)>,
    limit: usize,
}

impl Gpu {
    /// A stream on `device`, whose work is counted in `counters`.
    ///
    /// # Errors
    /// The driver's words.
    pub fn open(device: &Device, counters: &Arc<Counters>) -> Result<Self, String> {
        let context = Context::new(device).map_err(|e| e.to_string())?;
        let stream = Arc::new(CudaStream::for_network(&context, counters).map_err(|e| e.to_string())?);
        Ok(Self {
            allocator: TensorAllocator::new(&stream).map_err(|e| e.to_string())?,
            batch: 1,
            shapes: Vec::new(),
            graphs: false,
            staging: Staging::default(),
            scratch: None,
            convert: CudaConvert::new(&stream).map_err(|e| e.to_string())?,
            options: Arc::new(Options::new().map_err(|e| e.to_string())?),
            recording: Duration::ZERO,
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

    /// How long recording CUDA graphs took so far.
    pub(super) fn recording(&self) -> Duration {
        self.recording
    }

    /// Ends its runs from another thread.
    pub(super) fn interrupt(&self) -> Interrupt {
        let options = Arc::clone(&self.options);
        Box::new(move || {
            for options in [&options.enqueued, &options.waited] {
                if let Err(e) = options.terminate() {
                    gst::debug!(CAT, "a run is not interrupted: {e}");
                }
            }
        })
    }

    /// Says whether runs may be recorded as CUDA graphs.
    pub(super) fn allow_graphs(&mut self, allowed: bool) {
        self.graphs = allowed;
    }

    /// Says how many frames a run has at most.
    pub(super) fn reserve(&mut self, batch: usize) {
        self.batch = batch.max(1);
        self.staging.limit = 2 * self.batch;
    }

    /// Waits until less than [`BUSY`] runs are under way, and says what is known of the one that is.
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

    /// Rows of a run of so many frames.
    pub(super) fn rows(&self, shape: &RunShape, frames: usize) -> usize {
        let fits = |size: &usize| *size >= frames;
        shape.fixed.or_else(|| self.sizes().into_iter().find(fits)).unwrap_or(frames)
    }

    /// Enqueues a run. The outputs, whose dimensions are known, are in device memory, and not written yet: their memory says
    /// when.
    pub(super) fn run(
        &mut self,
        session: &mut ort::session::Session,
        shape: &Arc<RunShape>,
        images: &[&gst::BufferRef],
    ) -> Result<Vec<Tensor>, InferenceError> {
        self.limit(MAX_RUNNING)?;
        if self.shapes.last().is_some_and(|last| !Arc::ptr_eq(&last.shape, shape)) {
            self.pace.forget();
        }
        // Taken out, so that `self` can be used beside it.
        let mut shaped = self.runs_of(shape)?;
        let done = self.enqueue(session, &mut shaped, images);
        self.shapes.push(shaped);
        done
    }

    fn runs_of(&mut self, shape: &Arc<RunShape>) -> Result<ShapeRuns, InferenceError> {
        if let Some(index) = self.shapes.iter().position(|s| Arc::ptr_eq(&s.shape, shape)) {
            return Ok(self.shapes.remove(index));
        }
        let full = self.shapes.len() >= MAX_SHAPES;
        let shaped = match self.allocate(shape) {
            // The oldest may be what takes the memory.
            Err(e) if e.is_memory() && full => {
                self.shapes.remove(0);
                self.allocate(shape)?
            }
            allocated => allocated?,
        };
        if self.shapes.len() >= MAX_SHAPES {
            self.shapes.remove(0);
        }
        Ok(shaped)
    }

    /// Memory for runs of a shape.
    fn allocate(&self, shape: &Arc<RunShape>) -> Result<ShapeRuns, InferenceError> {
        let most = shape.rows(self.batch);
        let input = self.stream.allocate(shape.image_bytes() * most)?;
        // Rows that are run without a frame.
        self.stream.fill(input.slice(), 0)?;
        let output = |desc| {
            let memory = self.stream.allocate(bytes(desc) * most)?;
            Ok(Output { memory, pool: Vec::new() })
        };
        let outputs = shape.outputs.iter().map(output).collect::<Result<_, InferenceError>>()?;
        Ok(ShapeRuns { shape: Arc::clone(shape), input, outputs, bound: HashMap::new() })
    }

    fn enqueue(
        &mut self,
        session: &mut ort::session::Session,
        shaped: &mut ShapeRuns,
        images: &[&gst::BufferRef],
    ) -> Result<Vec<Tensor>, InferenceError> {
        let stream = Arc::clone(&self.stream);
        let ShapeRuns { shape, input, outputs, bound } = shaped;
        let rows = self.rows(shape, images.len());
        self.gather(shape, input, images)?;
        // It stays where it is, whatever fails: to record it anew would hold the stream up.
        let run = match bound.entry(rows) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(self.bind(session, shape, input, outputs, rows)?),
        };
        let steady = run.runs > WARM_UP;
        let enqueued = Instant::now();
        self.launch(session, run)?;
        let outputs = shape.outputs.iter().zip(outputs);
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

    /// Enqueues the model's run: its graph, which is recorded first if it is time.
    fn launch(
        &mut self,
        session: &mut ort::session::Session,
        run: &mut BoundRun,
    ) -> Result<(), InferenceError> {
        let stream = Arc::clone(&self.stream);
        if self.graphs && run.runs >= WARM_UP && run.graph.is_none() {
            let started = Instant::now();
            let recorded =
                Graph::record(&stream, || run.binding.run(session, &self.options.enqueued).map_err(failed));
            self.recording += started.elapsed();
            match recorded {
                Ok(graph) => run.graph = Some(graph),
                Err(e) => {
                    gst::info!(CAT, "runs are not recorded as CUDA graphs: {e}");
                    self.graphs = false;
                }
            }
        }
        let graphs = self.graphs;
        let options = if graphs { &self.options.enqueued } else { &self.options.waited };
        let mut launch = || match &mut run.graph {
            Some(graph) => stream.launch_graph(graph).map_err(InferenceError::from),
            None => {
                stream.counters().launches.add(1);
                stream.counters().host_waits.add(u64::from(!graphs));
                run.binding.run(session, options).map_err(failed)
            }
        };
        // The first runs take longer by far, which would be all that a mean shows.
        if run.runs < WARM_UP { launch() } else { stream.sampled(launch) }?;
        run.runs += 1;
        Ok(())
    }

    /// Enqueues the copies of the images to where the model reads them, converted if need be.
    fn gather(
        &mut self,
        shape: &RunShape,
        input: &Memory,
        images: &[&gst::BufferRef],
    ) -> Result<(), InferenceError> {
        let stream = Arc::clone(&self.stream);
        let size = shape.image_bytes();
        let convert = |from: DeviceSlice<'_>, to| {
            let done = self.convert.start(&stream, from, shape.given, to, shape.image.ty);
            done.map_err(|e| InferenceError::Run(e.to_string()))
        };
        let mut row = 0;
        while let Some(image) = images.get(row) {
            let place = input.slice().after(row * size);
            row += 1;
            if let Some(mut near) = near(&stream, image) {
                // Regions of a frame lie side by side, and are one copy.
                while let Some(longer) = images.get(row).and_then(|i| near.join(&device_memory(i)?)) {
                    near = longer;
                    row += 1;
                }
                let rows = near.slice().bytes() / shape.given_bytes().max(1);
                near.begin_read(&stream)?;
                let converted = convert(near.slice(), place.first(rows * size));
                near.end_read(&stream)?;
                converted?;
                continue;
            }
            let place = place.first(size);
            stream.counters().fallbacks.add(1);
            if shape.is_given() {
                self.staging.bring(&stream, image, place)?;
            } else {
                let bytes = shape.given_bytes();
                let scratch = match self.scratch.take().filter(|scratch| scratch.bytes() == bytes) {
                    Some(scratch) => scratch,
                    None => stream.allocate(bytes)?,
                };
                self.staging.bring(&stream, image, scratch.slice())?;
                convert(scratch.slice(), place)?;
                self.scratch = Some(scratch);
            }
        }
        Ok(())
    }

    /// Binds a shape's memory for so many rows.
    fn bind(
        &self,
        session: &ort::session::Session,
        shape: &RunShape,
        input: &Memory,
        outputs: &[Output],
        rows: usize,
    ) -> Result<BoundRun, InferenceError> {
        let mut binding = Binding::new(session, self.stream.context().device().ordinal).map_err(failed)?;
        let image = &shape.image;
        let memory = input.slice().first(shape.image_bytes() * rows);
        // SAFETY: the memory is as large as `image_dims` says and stays as long as the `ShapeRuns` that keeps the binding.
        unsafe { binding.input(&image.name, image.ty, &shape.image_dims(rows), memory) }.map_err(failed)?;
        let mut constants = Vec::new();
        for input in shape.constants(rows)? {
            let memory = self.upload(&input.data)?;
            // SAFETY: the run keeps the memory as long as the binding, and it holds what the input holds.
            unsafe { binding.input(input.name, input.ty, &input.dims, memory.slice()) }.map_err(failed)?;
            constants.push(memory);
        }
        for (desc, output) in shape.outputs.iter().zip(outputs) {
            let dims = batch_dims(desc, rows);
            // SAFETY: as for the image; there is room for the largest batch.
            unsafe { binding.output(&desc.name, desc.ty, &dims, output.memory.slice()) }.map_err(failed)?;
        }
        Ok(BoundRun { binding, graph: None, runs: 0, _constants: constants })
    }

    /// An input that stays the same, in memory of our own: ONNX Runtime's would be used again by what is recorded.
    fn upload(&self, data: &[u8]) -> Result<Memory, InferenceError> {
        let mut pinned = self.stream.pin(data.len())?;
        pinned.as_mut_slice().copy_from_slice(data);
        let memory = self.stream.allocate(data.len())?;
        self.stream.upload(&pinned, memory.slice())?;
        Ok(memory)
    }

    /// Waits for the oldest runs while `most` or more are under way. Elements behind that wait for results have done that
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

impl Output {
    /// Enqueues the copy of the first `bytes` to memory of that size that nobody else has.
    fn keep(&mut self, stream: &CudaStream, bytes: usize) -> Result<Arc<SharedMemory>, InferenceError> {
        let fits = |memory: &&Arc<SharedMemory>| memory.slice().bytes() == bytes;
        let free = self.pool.iter().filter(fits).find(|memory| Arc::strong_count(memory) == 1);
        let kept = match free {
            Some(memory) => Arc::clone(memory),
            None => {
                let memory = Arc::new(SharedMemory::new(stream, bytes)?);
                self.pool.push(Arc::clone(&memory));
                memory
            }
        };
        kept.begin_write(stream)?;
        let copied = stream.copy_on_device(self.memory.slice().first(bytes), kept.slice());
        kept.end_write(stream)?;
        copied?;
        Ok(kept)
    }
}

/// The memory of an image that lies on the stream's GPU. One on another GPU is copied over.
fn near<'a>(stream: &CudaStream, image: &'a gst::BufferRef) -> Option<DeviceMemory<'a>> {
    let near = |memory: &DeviceMemory<'_>| memory.context().handle() == stream.context().handle();
    device_memory(image).filter(near)
}

impl Staging {
    /// Enqueues the copy of a tensor from the host, or from another GPU, to the device.
    fn bring(
        &mut self,
        stream: &CudaStream,
        data: &gst::BufferRef,
        target: DeviceSlice<'_>,
    ) -> Result<(), InferenceError> {
        match device_memory(data) {
            Some(far) => Ok(far.copy_over(stream, target)?),
            None => self.upload(stream, data, target),
        }
    }

    /// Enqueues the copy of a tensor to the device.
    fn upload(
        &mut self,
        stream: &CudaStream,
        data: &gst::BufferRef,
        target: DeviceSlice<'_>,
    ) -> Result<(), InferenceError> {
        let map = data.map_readable().map_err(|e| InferenceError::Run(e.to_string()))?;
        let free = self.turns.len() >= self.limit.max(1);
        // Of another size, it was for another shape.
        let turn = if free { self.turns.pop_front() } else { None };
        let (mut pinned, event) = match turn.filter(|(pinned, _)| pinned.bytes() == map.size()) {
            Some((pinned, event)) => {
                if !event.done()? {
                    stream.wait_on_host(&event)?;
                }
                (pinned, event)
            }
            None => (stream.pin(map.size())?, Event::new(stream.context())?),
        };
        pinned.as_mut_slice().copy_from_slice(&map);
        // SAFETY: its turn comes again when the event behind the copy is reached.
        unsafe { stream.start_upload(&pinned, target)? };
        stream.record(&event)?;
        self.turns.push_back((pinned, event));
        Ok(())
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // ONNX Runtime gives pinned memory back in callbacks of the stream, which must not be the last to hold a session.
        if let Err(e) = self.stream.synchronize() {
            gst::debug!(CAT, "the last runs failed: {e}");
        }
    }
}

/// How ONNX Runtime is to run: never recording by itself, whose launches would wait for the device.
struct Options {
    /// Without waiting at the end, for runs that are going to be recorded.
    enqueued: RunOptions,
    /// Waiting at the end, for all others: ONNX Runtime gives back the pinned memory of a run only there. It would grow from run to
    /// run, and the last callbacks would find their session gone.
    waited: RunOptions,
}

impl Options {
    fn new() -> Result<Self, InferenceError> {
        let of = |waits: bool| {
            let mut options = RunOptions::new().map_err(failed)?;
            if !waits {
                options.disable_device_sync().map_err(failed)?;
            }
            options.set("gpu_graph_id", "-1").map_err(failed)?;
            Ok::<_, InferenceError>(options)
        };
        Ok(Self { enqueued: of(false)?, waited: of(true)? })
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}
