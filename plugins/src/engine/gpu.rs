//! A session's side on the GPU: runs are enqueued in a stream, on tensors in device memory.
//!
//! Inputs and outputs have fixed addresses: a [`Slot`] is one input address with outputs of its own. Once the session is
//! warm, a slot's run is recorded as a CUDA graph, where the model allows it, and from then on launched as one and not
//! waited for.

use std::collections::VecDeque;
use std::sync::Arc;

use cudainfer_kernels::device::{Context, Counters, Device, Event, Graph, Pinned, SharedMemory, Stream};
use cudainfer_kernels::tensor::TensorDesc;
use gst::prelude::*;
use ort::session::RunOptions;

use super::binding::Binding;
use super::session::{CAT, Input, words};
use super::{EngineError, Session};
use crate::memory::tensor::{TensorAllocator, device_memory};
use crate::meta::tensor::Tensor;

/// Runs before graphs are recorded: ONNX Runtime chooses algorithms and allocates its memory in the first.
const WARM_UP: usize = 2;
/// Slots at most; their outputs and graphs take device memory.
const MAX_SLOTS: usize = 24;
/// Runs that may be under way on the GPU before the thread that enqueues them waits.
const MAX_RUNNING: usize = 8;

/// The stream that a session works in.
#[derive(Debug)]
pub struct Gpu {
    stream: Arc<Stream>,
    allocator: TensorAllocator,
    slots: Vec<Slot>,
    /// What the slots were made for.
    shape: Shape,
    /// The other inputs' elements.
    constants: Vec<SharedMemory>,
    runs: usize,
    /// Whether ONNX Runtime can be recorded.
    graphs: bool,
    staging: Staging,
    running: VecDeque<Event>,
    reached: Vec<Event>,
}

/// What must be the same for a slot to serve.
#[derive(Debug, Default, PartialEq)]
struct Shape {
    image: Vec<usize>,
    /// The other inputs, by their buffers: a stream makes them once.
    others: Vec<gst::Buffer>,
    outputs: Vec<TensorDesc>,
}

/// An input address, and the outputs that belong to it.
#[derive(Debug)]
struct Slot {
    address: u64,
    outputs: Vec<gst::Buffer>,
    binding: Binding,
    graph: Option<Graph>,
}

/// For images that come from the host: pinned memory in turns, and one place on the device.
#[derive(Debug, Default)]
struct Staging {
    device: Option<SharedMemory>,
    pinned: [Option<(Pinned, Event)>; 2],
    turn: usize,
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
            stream,
            slots: Vec::new(),
            shape: Shape::default(),
            constants: Vec::new(),
            runs: 0,
            graphs: false,
            staging: Staging::default(),
            running: VecDeque::new(),
            reached: Vec::new(),
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

    /// Enqueues a run. The first input is the image; `outputs` have known dimensions. The outputs are in device memory,
    /// and not written yet: their memory says when.
    pub(super) fn run(
        &mut self,
        session: &mut ort::session::Session,
        inputs: &[Input<'_>],
        outputs: &[TensorDesc],
    ) -> Result<Vec<Tensor>, EngineError> {
        let [image, others @ ..] = inputs else {
            return Err(EngineError::Run("the model has no input".into()));
        };
        self.adapt(image, others, outputs)?;
        self.limit()?;
        let stream = Arc::clone(&self.stream);
        // A tensor on another GPU comes by way of the host, too.
        let near = |memory: &&SharedMemory| memory.context().handle() == stream.context().handle();
        let near = device_memory(image.data).filter(near);
        if near.is_none() {
            stream.counters().fallbacks.add(1);
            self.staging.fill(&stream, image.data)?;
        }
        // Taken out, so that `self` can be used beside it.
        let staging = self.staging.device.take();
        let memory = near.or(staging.as_ref());
        let done = memory
            .ok_or_else(|| EngineError::Run("the image has no memory".into()))
            .and_then(|memory| self.enqueue(session, memory, image, others, outputs));
        self.staging.device = staging;
        done
    }

    fn enqueue(
        &mut self,
        session: &mut ort::session::Session,
        memory: &SharedMemory,
        image: &Input<'_>,
        others: &[Input<'_>],
        outputs: &[TensorDesc],
    ) -> Result<Vec<Tensor>, EngineError> {
        let stream = Arc::clone(&self.stream);
        let slot = self.slot(session, memory, image, others, outputs)?;
        memory.begin_read(&stream)?;
        for output in &self.slots[slot].outputs {
            device_memory(output).map_or(Ok(()), |output| output.begin_write(&stream))?;
        }
        let warm = self.graphs && self.runs >= WARM_UP;
        let slot = &mut self.slots[slot];
        if warm && slot.graph.is_none() {
            let options = options(true)?;
            let recorded = Graph::record(&stream, || slot.binding.run(session, &options).map_err(failed));
            match recorded {
                Ok(graph) => slot.graph = Some(graph),
                Err(e) => {
                    gst::info!(CAT, "runs are not recorded as CUDA graphs: {e}");
                    self.graphs = false;
                }
            }
        }
        let mut run = || match &mut slot.graph {
            Some(graph) => stream.launch_graph(graph).map_err(EngineError::from),
            None => {
                stream.counters().launches.add(1);
                stream.counters().host_waits.add(u64::from(!self.graphs));
                slot.binding.run(session, &options(self.graphs)?).map_err(failed)
            }
        };
        // The first runs take longer by far, which would be all that a mean shows.
        let ran = if self.runs < WARM_UP { run() } else { stream.sampled(run) };
        // In any case: part of the work may have been enqueued.
        for output in &slot.outputs {
            device_memory(output).map_or(Ok(()), |output| output.end_write(&stream))?;
        }
        memory.end_read(&stream)?;
        ran?;
        let event = match self.reached.pop() {
            Some(event) => event,
            None => Event::new(stream.context())?,
        };
        stream.record(&event)?;
        self.running.push_back(event);
        self.runs += 1;
        let tensors = outputs.iter().zip(&slot.outputs);
        Ok(tensors.map(|(desc, data)| Tensor { desc: desc.clone(), data: data.clone() }).collect())
    }

    /// Drops the slots if they were made for other inputs or outputs.
    fn adapt(
        &mut self,
        image: &Input<'_>,
        others: &[Input<'_>],
        outputs: &[TensorDesc],
    ) -> Result<(), EngineError> {
        let same = self.shape.image == image.dims
            && self.shape.outputs == outputs
            && self.shape.others.iter().map(|b| b.as_ptr()).eq(others.iter().map(|o| o.data.as_ptr()));
        if !same {
            self.slots.clear();
            // ONNX Runtime chooses algorithms anew for another size.
            self.runs = 0;
            self.constants = others.iter().map(|other| self.upload(other)).collect::<Result<_, _>>()?;
            self.shape = Shape {
                image: image.dims.to_vec(),
                others: others.iter().map(|o| o.data.clone()).collect(),
                outputs: outputs.to_vec(),
            };
        }
        Ok(())
    }

    /// An input that stays the same, in memory of our own: ONNX Runtime's would be used again by what is recorded.
    fn upload(&self, input: &Input<'_>) -> Result<SharedMemory, EngineError> {
        let map = input.data.map_readable().map_err(|e| EngineError::Run(e.to_string()))?;
        let mut pinned = self.stream.pin(map.size())?;
        pinned.as_mut_slice().copy_from_slice(&map);
        let memory = SharedMemory::new(&self.stream, map.size())?;
        self.stream.start_upload(&pinned, memory.slice())?;
        self.stream.synchronize()?;
        Ok(memory)
    }

    /// The slot of this input address whose outputs nobody uses; a new one if there is none.
    fn slot(
        &mut self,
        session: &ort::session::Session,
        memory: &SharedMemory,
        image: &Input<'_>,
        others: &[Input<'_>],
        outputs: &[TensorDesc],
    ) -> Result<usize, EngineError> {
        let address = memory.slice().pointer();
        let free = |slot: &mut Slot| slot.outputs.iter_mut().all(|output| output.get_mut().is_some());
        if let Some(index) = self.slots.iter_mut().position(|s| s.address == address && free(s)) {
            return Ok(index);
        }
        let made = self.make(session, memory, image, others, outputs)?;
        if self.slots.len() >= MAX_SLOTS {
            // The oldest goes; whoever still has outputs of it keeps them.
            self.slots.remove(0);
        }
        self.slots.push(made);
        Ok(self.slots.len() - 1)
    }

    fn make(
        &self,
        session: &ort::session::Session,
        memory: &SharedMemory,
        image: &Input<'_>,
        others: &[Input<'_>],
        outputs: &[TensorDesc],
    ) -> Result<Slot, EngineError> {
        let mut binding = Binding::new(session, self.stream.context().device().ordinal).map_err(failed)?;
        // SAFETY: the memory is as large as the caps say; it is borrowed only for a run, but a slot is run only with
        // memory at its address.
        unsafe { binding.input(image.name, image.ty, image.dims, memory.slice()) }.map_err(failed)?;
        for (other, memory) in others.iter().zip(&self.constants) {
            // SAFETY: `self` keeps the memory as long as the slots, and it holds what the input's buffer holds.
            unsafe { binding.input(other.name, other.ty, other.dims, memory.slice()) }.map_err(failed)?;
        }
        let buffers = outputs
            .iter()
            .map(|desc| {
                let dims: Vec<usize> = desc.dims.iter().map(|d| d.unwrap_or(0)).collect();
                let bytes = dims.iter().product::<usize>() * desc.ty.size();
                let memory = self.allocator.alloc(bytes, None).map_err(|_| {
                    EngineError::Run(format!(
                        "the GPU has no {bytes} bytes left for the output '{}'",
                        desc.name
                    ))
                })?;
                let mut buffer = gst::Buffer::new();
                if let Some(buffer) = buffer.get_mut() {
                    buffer.append_memory(memory);
                }
                let memory =
                    device_memory(&buffer).ok_or_else(|| EngineError::Run("no device memory".into()))?;
                // SAFETY: the slot keeps the buffer as long as the binding.
                unsafe { binding.output(&desc.name, desc.ty, &dims, memory.slice()) }.map_err(failed)?;
                Ok(buffer)
            })
            .collect::<Result<_, EngineError>>()?;
        Ok(Slot { address: memory.slice().pointer(), outputs: buffers, binding, graph: None })
    }

    /// Waits for the oldest run if too many are under way. Elements behind that wait for results have done that
    /// already.
    fn limit(&mut self) -> Result<(), EngineError> {
        while let Some(oldest) = self.running.front() {
            if !oldest.done()? {
                if self.running.len() < MAX_RUNNING {
                    break;
                }
                self.stream.wait_on_host(oldest)?;
            }
            self.reached.extend(self.running.pop_front());
        }
        Ok(())
    }
}

impl Staging {
    /// Enqueues the copy of a tensor to the device.
    fn fill(&mut self, stream: &Stream, data: &gst::BufferRef) -> Result<(), EngineError> {
        let map = data.map_readable().map_err(|e| EngineError::Run(e.to_string()))?;
        let bytes = map.as_slice();
        self.turn = (self.turn + 1) % self.pinned.len();
        let turn = &mut self.pinned[self.turn];
        // Of another model input.
        let (mut pinned, event) = match turn.take().filter(|(pinned, _)| pinned.bytes() == bytes.len()) {
            Some((pinned, event)) => {
                if !event.done()? {
                    stream.wait_on_host(&event)?;
                }
                (pinned, event)
            }
            None => (stream.pin(bytes.len())?, Event::new(stream.context())?),
        };
        pinned.as_mut_slice().copy_from_slice(bytes);
        let device = match self.device.take().filter(|device| device.slice().bytes() == bytes.len()) {
            Some(device) => device,
            None => SharedMemory::new(stream, bytes.len())?,
        };
        device.begin_write(stream)?;
        stream.start_upload(&pinned, device.slice())?;
        device.end_write(stream)?;
        stream.record(&event)?;
        *turn = Some((pinned, event));
        self.device = Some(device);
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

fn failed(error: ort::Error) -> EngineError {
    EngineError::Run(words(&error))
}
