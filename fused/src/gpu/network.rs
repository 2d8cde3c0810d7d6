//! A plan with everything that it needs on a GPU.

use std::sync::Arc;

use cudainfer_kernels::device::{Context, CudaStream, Memory};

<<<<<<< HEAD
use super::choice::Chosen;
use super::choose::{Report, Trials};
use super::compiled::Compiled;
use super::cudnn::Handle;
use super::launch::{Bound, Launch};
use super::places::Places;
use super::schedule::Schedule;
use super::store::Store;
=======
use super::choose::{Chosen, Report, Trials};
use super::compiled::{Addresses, Compiled, addresses};
use super::cudnn::{Execution, Handle};
use super::scratch::upload;
>>>>>>> 6224f4195ca5367ca97c3cda7c434ffb5a3a315f
use super::{GpuError, Libraries};
use crate::emit;
use crate::plan::{Order, Plan};

/// How a network is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Ways of cuDNN's to run each convolution that are tried, at most; 0 leaves all to the engine's own kernels.
    pub engines: usize,
    /// How far kernels may be from the reference: a share of the numbers' size.
    pub tolerance: Tolerance,
    /// Whether branches may run beside each other, and kernels begin before those ahead of them are over, where that is faster.
    pub beside: bool,
}

/// How far results may be from those of plain sums in float32, as a share of the larger of the number and the tensor's root mean square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Of float32 tensors.
    pub float32: f32,
    /// Of float16 tensors.
    pub float16: f32,
}

impl Default for Options {
    fn default() -> Self {
        // Sums in another order differ by 1e-6 in float32, and TF32 by 5e-4; a float16 is rounded by 5e-4.
        Self { engines: 4, tolerance: Tolerance { float32: 2e-5, float16: 4e-3 }, beside: true }
    }
}

/// A network that runs.
#[derive(Debug)]
pub struct Network {
    steps: Vec<Launch>,
    schedule: Schedule,
    handle: Option<Handle>,
    /// What it took to make.
    pub report: Report,
    _arena: Memory,
    _constants: Memory,
    context: Arc<Context>,
}

impl Network {
    /// Makes a plan ready to run: compiles its kernels, tries ways to run its convolutions on noise, and uploads its constants.
    /// `places` are the addresses of its inputs and outputs, in order; `store` keeps what was found.
    ///
    /// # Safety
    /// `places` are memory of the device, as large as the plan's buffers, for as long as the network runs.
    ///
    /// # Errors
    /// [`GpuError`].
    pub unsafe fn new(
        plan: &Plan,
        libraries: &Libraries,
        stream: &Arc<CudaStream>,
        places: [&[u64]; 2],
        options: Options,
        store: &dyn Store,
    ) -> Result<Self, GpuError> {
        let context = Arc::clone(stream.context());
        let entered = context.enter()?;
        let mut trials = Trials::new(libraries, store, stream, options)?;
        let (chosen, report) = trials.choose(plan)?;
        let mut handle = trials.into_handle();

        let order = Order::of(plan);
        let memory = Places::new(plan, &order, &chosen, stream, places)?;
        let mut kernels: Vec<Vec<emit::Kernel>> = Vec::new();
        for (index, step) in plan.steps.iter().enumerate() {
            kernels.push(match &chosen[index] {
                Chosen::Own(kernel) => vec![(**kernel).clone()],
                Chosen::Cudnn { .. } => Vec::new(),
                Chosen::Plain => emit::kernels(step)
                    .map_err(|why| GpuError::NoKernel { step: index, why: why.to_string() })?,
            });
        }
        let compiled = Compiled::new(&libraries.nvrtc, &context, kernels.iter().flatten(), store)?;
        let mut steps = Vec::new();
        for (index, (of, chosen)) in kernels.into_iter().zip(chosen).enumerate() {
            steps.push(match chosen {
                Chosen::Cudnn { graph, engine } => {
                    let addresses: Vec<u64> = graph
                        .tensors()
                        .iter()
                        .map(|view| memory.of(view.buffer) + (view.offset * view.ty.size()) as u64)
                        .collect();
                    Launch::Cudnn(graph.on(&engine, &addresses, memory.workspace(index))?)
                }
                _ => Launch::Kernels(
                    of.iter()
                        .map(|kernel| Bound::new(&compiled, kernel, |buffer| memory.of(buffer)))
                        .collect::<Result<_, _>>()?,
                ),
            });
        }
        let (schedule, time) = Schedule::fastest(&order, stream, options, |schedule| {
            schedule.enqueue(&steps, handle.as_mut(), stream)
        })?;
        let report = Report {
            arena: memory.arena.bytes(),
            constants: memory.constants.bytes(),
            schedule: schedule.name(),
            time,
            ..report
        };
        drop(entered);
        let Places { arena, constants, .. } = memory;
        Ok(Self { steps, schedule, handle, report, _arena: arena, _constants: constants, context })
    }

    /// Enqueues a run: in `stream`, and in streams that begin after what is in it and that it waits for.
    ///
    /// # Errors
    /// cuDNN's or the driver's.
    pub fn enqueue(&mut self, stream: &CudaStream) -> Result<(), GpuError> {
<<<<<<< HEAD
        let _entered = self.context.enter()?;
        self.schedule.enqueue(&self.steps, self.handle.as_mut(), stream)
    }

    /// Enqueues one step of the plan, for measurements.
    ///
    /// # Errors
    /// As [`Network::enqueue`]; there is no such step.
    pub fn enqueue_step(&mut self, index: usize, stream: &CudaStream) -> Result<(), GpuError> {
        let _entered = self.context.enter()?;
        let none = || GpuError::NoKernel { step: index, why: "there is no such step".into() };
        self.steps.get(index).ok_or_else(none)?.enqueue(self.handle.as_mut(), stream, false)
=======
        let context = Arc::clone(&self.context);
        let _entered = context.enter()?;
        stream.record(&self.begin)?;
        let mut begun = vec![false; self.lanes.count];
        begun[0] = true;
        for (index, lane) in self.lanes.steps.iter().enumerate() {
            let of = |lane: usize| lane.checked_sub(1).map_or(stream, |other| &*self.streams[other]);
            let on = of(lane.index);
            if !begun[lane.index] {
                on.wait(&self.begin)?;
                begun[lane.index] = true;
            }
            for end in lane.waits.iter().filter_map(|waited| self.ends[*waited].as_ref()) {
                on.wait(end)?;
            }
            match (&self.steps[index], &mut self.handle) {
                (Launch::Kernels(kernels), _) => {
                    for bound in kernels {
                        bound.launch(on)?;
                    }
                }
                // SAFETY: the addresses are those of tensors that live as long as `self`, and of the caller's of `new`.
                (Launch::Cudnn(execution), Some(handle)) => unsafe { handle.execute(execution, on.raw()) }?,
                (Launch::Cudnn(_), None) => return Err(GpuError::Library("cuDNN is not open".into())),
            }
            if let Some(end) = &self.ends[index] {
                on.record(end)?;
            }
        }
        for end in self.lanes.ends().iter().filter_map(|step| self.ends[*step].as_ref()) {
            stream.wait(end)?;
        }
        Ok(())
    }
}

impl Bound {
    fn new(
        compiled: &Compiled,
        kernel: &emit::Kernel,
        at: impl Fn(BufferId) -> u64,
    ) -> Result<Self, GpuError> {
        let loaded = compiled.kernel(kernel)?;
        let emit::Kernel { grid, block, shared, .. } = *kernel;
        Ok(Self { kernel: loaded, grid, block, shared, addresses: addresses(kernel, at) })
    }

    fn launch(&self, stream: &CudaStream) -> Result<(), GpuError> {
        // SAFETY: `Addresses` is the kernel's parameter, `Buffers` in its source; the memory lives as long as the network.
        Ok(unsafe { stream.launch(&self.kernel, self.grid, self.block, self.shared, &self.addresses) }?)
    }
}

/// Where the buffers of a plan are.
struct Places {
    /// By buffer.
    addresses: Vec<u64>,
    /// By step.
    workspaces: Vec<u64>,
    arena: Memory,
    constants: Memory,
}

impl Places {
    fn new(
        plan: &Plan,
        order: &Order,
        chosen: &[Chosen],
        stream: &CudaStream,
        [inputs, outputs]: [&[u64]; 2],
    ) -> Result<Self, GpuError> {
        let users = plan.users();
        let mut pieces: Vec<Piece> = Vec::new();
        // By buffer: which piece it is, or where among the constants.
        let (mut piece_of, mut constant_at) = (vec![None; plan.buffers.len()], vec![0; plan.buffers.len()]);
        let mut constants = 0;
        for (index, buffer) in plan.buffers.iter().enumerate() {
            match &buffer.content {
                Content::Intermediate => {
                    piece_of[index] = Some(pieces.len());
                    pieces.push(Piece { bytes: buffer.bytes, steps: users[index].clone() });
                }
                Content::Constant(_) => {
                    constant_at[index] = constants;
                    constants += buffer.bytes.next_multiple_of(Arena::ALIGNMENT);
                }
                Content::Input(_) | Content::Output(_) => {}
            }
        }
        let workspace_of: Vec<Option<usize>> = chosen
            .iter()
            .enumerate()
            .map(|(step, chosen)| {
                let bytes = chosen.workspace();
                (bytes > 0).then(|| {
                    pieces.push(Piece { bytes, steps: vec![step] });
                    pieces.len() - 1
                })
            })
            .collect();
        let laid = Arena::of(&pieces, order);
        let arena = stream.allocate(laid.bytes)?;
        let memory = stream.allocate(constants)?;
        let mut bytes = vec![0_u8; constants];
        let mut addresses = Vec::new();
        for (index, buffer) in plan.buffers.iter().enumerate() {
            addresses.push(match &buffer.content {
                Content::Input(of) => inputs.get(*of).copied().unwrap_or(0),
                Content::Output(of) => outputs.get(*of).copied().unwrap_or(0),
                Content::Constant(content) => {
                    bytes[constant_at[index]..constant_at[index] + content.len()].copy_from_slice(content);
                    memory.pointer() + constant_at[index] as u64
                }
                Content::Intermediate => {
                    piece_of[index].map_or(0, |piece| arena.pointer() + laid.offsets[piece] as u64)
                }
            });
        }
        if constants > 0 {
            upload(stream, &bytes, memory.slice())?;
        }
        let at =
            |piece: &Option<usize>| piece.map_or(0, |piece| arena.pointer() + laid.offsets[piece] as u64);
        let workspaces = workspace_of.iter().map(at).collect();
        Ok(Self { addresses, workspaces, arena, constants: memory })
    }

    fn of(&self, buffer: BufferId) -> u64 {
        self.addresses[buffer.0]
    }

    fn workspace(&self, step: usize) -> u64 {
        self.workspaces[step]
>>>>>>> 6224f4195ca5367ca97c3cda7c434ffb5a3a315f
    }
}
