//! A session's side on the GPU: runs are enqueued in a stream, on tensors in device memory.
//!
//! Inputs and outputs have fixed addresses: a [`Slot`] is one place for the input with outputs of its own. The input of a single
//! frame is used where it lies; batches, and tensors from the host, are put together in the slot's own memory. Once the session is
//! warm, a slot's run is recorded as a CUDA graph, where the model allows it, and from then on launched as one and not
//! waited for.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use cudainfer_kernels::convert::CudaConvert;
use cudainfer_kernels::device::{
    Context, Counters, Device, DeviceSlice, Event, Graph, Pinned, SharedMemory, Stream,
};
use ort::session::RunOptions;

use super::binding::Binding;
use super::session::{CAT, failed};
use super::shape::{batch_dims, bytes};
use super::{EngineError, Session, Shape};
use crate::memory::tensor::{DeviceMemory, TensorAllocator, device_memory};
use crate::meta::tensor::Tensor;

/// Runs of a number of rows before graphs are recorded: ONNX Runtime chooses algorithms and allocates its memory in the first.
pub(super) const WARM_UP: usize = 2;
/// Slots of a shape at most; their outputs and graphs take device memory.
const MAX_SLOTS: usize = 24;
/// Shapes at most that slots are kept for.
const MAX_SHAPES: usize = 4;
/// Runs that may be under way on the GPU before the thread that enqueues them waits.
const MAX_RUNNING: usize = 8;
/// Runs behind which frames gather for the next batch: one that runs, and one that follows without a gap.
const BUSY: usize = 2;

/// The stream that a session works in.
#[derive(Debug)]
pub struct Gpu {
    stream: Arc<Stream>,
    allocator: TensorAllocator,
    /// Frames of a run, at most.
    batch: usize,
    /// The one that was used last is last.
    shapes: Vec<Shaped>,
    /// Whether ONNX Runtime can be recorded.
    graphs: bool,
    staging: Staging,
    /// For tensors from the host that are converted.
    scratch: Option<SharedMemory>,
    convert: CudaConvert,
    running: VecDeque<Event>,
    reached: Vec<Event>,
}

/// What runs of one shape need.
#[derive(Debug)]
struct Shaped {
    shape: Arc<Shape>,
    /// The other inputs' elements, by the number of rows.
    constants: HashMap<usize, Vec<SharedMemory>>,
    slots: Vec<Slot>,
    /// How many runs of a number of rows there were.
    runs: HashMap<usize, usize>,
}

/// A place for the input, and the outputs that belong to it.
#[derive(Debug)]
struct Slot {
    input: Place,
    outputs: Vec<Arc<SharedMemory>>,
    ways: Vec<Way>,
}

#[derive(Debug)]
enum Place {
    /// A frame's tensor, used where it lies.
    At(u64),
    /// The slot's own memory, for as many rows as a run may have.
    Own(SharedMemory),
}

/// How a slot runs so many rows.
#[derive(Debug)]
struct Way {
    rows: usize,
    binding: Binding,
    graph: Option<Graph>,
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
        let stream = Arc::new(Stream::new(&context, counters).map_err(|e| e.to_string())?);
        Ok(Self {
            allocator: TensorAllocator::new(&stream).map_err(|e| e.to_string())?,
            batch: 1,
            shapes: Vec::new(),
            graphs: false,
            staging: Staging::default(),
            scratch: None,
            convert: CudaConvert::new(&stream).map_err(|e| e.to_string())?,
            running: VecDeque::new(),
            reached: Vec::new(),
            stream,
        })
    }

    /// The stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
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

    /// Waits until less than [`BUSY`] runs are under way.
    pub(super) fn wait_for_turn(&mut self) -> Result<(), EngineError> {
        self.limit(BUSY)
    }

    /// Enqueues a run. The outputs, whose dimensions are known, are in device memory, and not written yet: their memory says
    /// when.
    pub(super) fn run(
        &mut self,
        session: &mut ort::session::Session,
        shape: &Arc<Shape>,
        images: &[&gst::BufferRef],
    ) -> Result<Vec<Tensor>, EngineError> {
        self.limit(MAX_RUNNING)?;
        let mut shaped = self.shaped(shape);
        // Taken out, so that `self` can be used beside it.
        let done = self.enqueue(session, &mut shaped, images);
        self.shapes.push(shaped);
        done
    }

    fn shaped(&mut self, shape: &Arc<Shape>) -> Shaped {
        if let Some(index) = self.shapes.iter().position(|s| Arc::ptr_eq(&s.shape, shape)) {
            return self.shapes.remove(index);
        }
        if self.shapes.len() >= MAX_SHAPES {
            self.shapes.remove(0);
        }
        let shape = Arc::clone(shape);
        Shaped { shape, constants: HashMap::new(), slots: Vec::new(), runs: HashMap::new() }
    }

    fn enqueue(
        &mut self,
        session: &mut ort::session::Session,
        shaped: &mut Shaped,
        images: &[&gst::BufferRef],
    ) -> Result<Vec<Tensor>, EngineError> {
        let stream = Arc::clone(&self.stream);
        let shape = Arc::clone(&shaped.shape);
        let rows = shape.rows(images.len());
        // A frame alone is used where it lies.
        let alone = match images {
            [image] if rows == 1 && shape.is_given() => {
                near(&stream, image).map(|memory| memory.slice().pointer())
            }
            _ => None,
        };
        let index = self.slot(shaped, alone)?;
        self.bind(session, shaped, index, rows, alone)?;
        let (slot, runs) = (&mut shaped.slots[index], shaped.runs.entry(rows).or_default());
        let way = slot.ways.iter_mut().find(|way| way.rows == rows);
        let way = way.ok_or_else(|| EngineError::Run("a run has no binding".into()))?;
        let lone = match (&slot.input, images) {
            (Place::At(_), [image]) => near(&stream, image),
            _ => None,
        };
        if let Place::Own(memory) = &slot.input {
            self.gather(&shape, memory, images)?;
        }
        if let Some(memory) = &lone {
            memory.begin_read(&stream)?;
        }
        slot.outputs.iter().try_for_each(|output| output.begin_write(&stream))?;
        if self.graphs && *runs >= WARM_UP && way.graph.is_none() {
            let options = options(true)?;
            let recorded = Graph::record(&stream, || way.binding.run(session, &options).map_err(failed));
            match recorded {
                Ok(graph) => way.graph = Some(graph),
                Err(e) => {
                    gst::info!(CAT, "runs are not recorded as CUDA graphs: {e}");
                    self.graphs = false;
                }
            }
        }
        let graphs = self.graphs;
        let mut run = || match &mut way.graph {
            Some(graph) => stream.launch_graph(graph).map_err(EngineError::from),
            None => {
                stream.counters().launches.add(1);
                stream.counters().host_waits.add(u64::from(!graphs));
                way.binding.run(session, &options(graphs)?).map_err(failed)
            }
        };
        // The first runs take longer by far, which would be all that a mean shows.
        let ran = if *runs < WARM_UP { run() } else { stream.sampled(run) };
        // In any case: part of the work may have been enqueued.
        slot.outputs.iter().try_for_each(|output| output.end_write(&stream))?;
        if let Some(memory) = &lone {
            memory.end_read(&stream)?;
        }
        ran?;
        *runs += 1;
        let event = match self.reached.pop() {
            Some(event) => event,
            None => Event::new(stream.context())?,
        };
        stream.record(&event)?;
        self.running.push_back(event);
        shape
            .outputs
            .iter()
            .zip(&slot.outputs)
            .map(|(desc, memory)| {
                let dims = batch_dims(desc, rows);
                let data = self.allocator.buffer(memory, bytes(desc) * rows);
                let data = data.ok_or_else(|| EngineError::Run("an output has no stream".into()))?;
                Ok(Tensor {
                    desc: cudainfer_kernels::tensor::TensorDesc::fixed(&desc.name, desc.ty, &dims),
                    data,
                })
            })
            .collect()
    }

    /// Enqueues the copies of the images to a slot's memory.
    fn gather(
        &mut self,
        shape: &Shape,
        memory: &SharedMemory,
        images: &[&gst::BufferRef],
    ) -> Result<(), EngineError> {
        let stream = Arc::clone(&self.stream);
        let size = shape.image_bytes();
        let convert = |from: DeviceSlice<'_>, to| {
            let done = self.convert.start(&stream, from, shape.given, to, shape.image.ty);
            done.map_err(|e| EngineError::Run(e.to_string()))
        };
        memory.begin_write(&stream)?;
        for (row, image) in images.iter().enumerate() {
            let place = memory.slice().after(row * size).first(size);
            if let Some(near) = near(&stream, image) {
                near.begin_read(&stream)?;
                let converted = convert(near.slice(), place);
                near.end_read(&stream)?;
                converted?;
                continue;
            }
            stream.counters().fallbacks.add(1);
            if shape.is_given() {
                self.staging.upload(&stream, image, place)?;
            } else {
                let bytes = shape.given_bytes();
                let fits = |memory: &SharedMemory| memory.slice().bytes() == bytes;
                let scratch = match self.scratch.take().filter(fits) {
                    Some(scratch) => scratch,
                    None => SharedMemory::new(&stream, bytes)?,
                };
                self.staging.upload(&stream, image, scratch.slice())?;
                convert(scratch.slice(), place)?;
                self.scratch = Some(scratch);
            }
        }
        memory.end_write(&stream)?;
        Ok(())
    }

    /// A slot whose outputs nobody uses; a new one if there is none.
    fn slot(&self, shaped: &mut Shaped, alone: Option<u64>) -> Result<usize, EngineError> {
        let serves = |slot: &Slot| match (&slot.input, alone) {
            (Place::At(address), Some(alone)) => *address == alone,
            (Place::Own(_), None) => true,
            _ => false,
        };
        let free = |slot: &Slot| slot.outputs.iter().all(|output| Arc::strong_count(output) == 1);
        if let Some(index) = shaped.slots.iter().position(|slot| serves(slot) && free(slot)) {
            return Ok(index);
        }
        let most = if alone.is_some() { 1 } else { shaped.shape.rows(self.batch) };
        let output = |desc| SharedMemory::new(&self.stream, bytes(desc) * most).map(Arc::new);
        let outputs = shaped.shape.outputs.iter().map(output).collect::<Result<_, _>>()?;
        let input = match alone {
            Some(address) => Place::At(address),
            None => {
                let memory = SharedMemory::new(&self.stream, shaped.shape.image_bytes() * most)?;
                // Rows that a model with a fixed batch runs without a frame.
                memory.begin_write(&self.stream)?;
                self.stream.fill(memory.slice(), 0)?;
                memory.end_write(&self.stream)?;
                Place::Own(memory)
            }
        };
        if shaped.slots.len() >= MAX_SLOTS {
            // The oldest goes; whoever still has outputs of it keeps them.
            shaped.slots.remove(0);
        }
        shaped.slots.push(Slot { input, outputs, ways: Vec::new() });
        Ok(shaped.slots.len() - 1)
    }

    /// Binds a slot's memory for so many rows, if it is not yet.
    fn bind(
        &self,
        session: &ort::session::Session,
        shaped: &mut Shaped,
        index: usize,
        rows: usize,
        alone: Option<u64>,
    ) -> Result<(), EngineError> {
        let Shaped { shape, constants, slots, .. } = shaped;
        let slot = &mut slots[index];
        if slot.ways.iter().any(|way| way.rows == rows) {
            return Ok(());
        }
        let constants = match constants.entry(rows) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let uploaded = shape.constants(rows).map(|input| self.upload(&input.data));
                place.insert(uploaded.collect::<Result<_, _>>()?)
            }
        };
        let mut binding = Binding::new(session, self.stream.context().device().ordinal).map_err(failed)?;
        let size = shape.image_bytes() * rows;
        let memory = match (&slot.input, alone) {
            (Place::Own(memory), _) => memory.slice().first(size),
            // SAFETY: the frame's tensor is as large as the caps say, which `Session::run` was given; the slot is run only
            // while a frame's tensor lies there.
            (Place::At(address), _) => unsafe { DeviceSlice::from_raw(*address, size) },
        };
        let image = &shape.image;
        // SAFETY: the memory is as large as `image_dims` says and stays as long as the slot is run with it.
        unsafe { binding.input(&image.name, image.ty, &shape.image_dims(rows), memory) }.map_err(failed)?;
        for (input, memory) in shape.constants(rows).zip(&*constants) {
            // SAFETY: `constants` keeps the memory as long as the slots, and it holds what the input holds.
            unsafe { binding.input(input.name, input.ty, &input.dims, memory.slice()) }.map_err(failed)?;
        }
        for (desc, memory) in shape.outputs.iter().zip(&slot.outputs) {
            let dims = batch_dims(desc, rows);
            // SAFETY: the slot keeps the memory as long as the binding, and it has room for that many rows.
            unsafe { binding.output(&desc.name, desc.ty, &dims, memory.slice()) }.map_err(failed)?;
        }
        slot.ways.push(Way { rows, binding, graph: None });
        Ok(())
    }

    /// An input that stays the same, in memory of our own: ONNX Runtime's would be used again by what is recorded.
    fn upload(&self, data: &[u8]) -> Result<SharedMemory, EngineError> {
        let mut pinned = self.stream.pin(data.len())?;
        pinned.as_mut_slice().copy_from_slice(data);
        let memory = SharedMemory::new(&self.stream, data.len())?;
        self.stream.start_upload(&pinned, memory.slice())?;
        self.stream.synchronize()?;
        Ok(memory)
    }

    /// Waits for the oldest runs while `most` or more are under way. Elements behind that wait for results have done that
    /// already.
    fn limit(&mut self, most: usize) -> Result<(), EngineError> {
        while let Some(oldest) = self.running.front() {
            if !oldest.done()? {
                if self.running.len() < most {
                    break;
                }
                self.stream.wait_on_host(oldest)?;
            }
            self.reached.extend(self.running.pop_front());
        }
        Ok(())
    }
}

/// The memory of an image that lies on the stream's GPU. One on another GPU comes by way of the host, as from there.
fn near<'a>(stream: &Stream, image: &'a gst::BufferRef) -> Option<DeviceMemory<'a>> {
    let near = |memory: &DeviceMemory<'_>| memory.context().handle() == stream.context().handle();
    device_memory(image).filter(near)
}

impl Staging {
    /// Enqueues the copy of a tensor to the device.
    fn upload(
        &mut self,
        stream: &Stream,
        data: &gst::BufferRef,
        target: DeviceSlice<'_>,
    ) -> Result<(), EngineError> {
        let map = data.map_readable().map_err(|e| EngineError::Run(e.to_string()))?;
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
        stream.start_upload(&pinned, target)?;
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

impl Session {
    /// The stream it works in, if that is a GPU's.
    pub fn stream(&self) -> Option<&Arc<Stream>> {
        self.gpu.as_ref().map(Gpu::stream)
    }
}

/// Never recording by ONNX Runtime, whose launches would wait for the device. No waiting at the end of a run either, where
/// runs are going to be recorded; where they are not, ONNX Runtime gives back the pinned memory of a run only there: it would
/// grow from run to run, and the last callbacks would find their session gone.
fn options(recorded: bool) -> Result<RunOptions, EngineError> {
    let mut options = RunOptions::new().map_err(failed)?;
    if recorded {
        options.disable_device_sync().map_err(failed)?;
    }
    options.set("gpu_graph_id", "-1").map_err(failed)?;
    Ok(options)
}
