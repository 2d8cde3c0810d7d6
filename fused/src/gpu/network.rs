//! A plan with everything that it needs on a GPU.

use std::sync::Arc;

use cudainfer_kernels::device::{Context, CudaStream, Memory};

use super::choice::Chosen;
use super::choose::Trials;
use super::compiled::Compiled;
use super::constants::Constants;
use super::cudnn::Handle;
use super::launch::{Bound, Launch};
use super::places::Places;
use super::report::Report;
use super::schedule::Schedule;
use super::store::Store;
use super::{GpuError, Libraries};
use crate::emit;
use crate::plan::{Order, Plan, Step};

/// How a network is made.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Ways of cuDNN's to run each convolution that are tried, at most; 0 leaves all to the engine's own kernels.
    pub engines: usize,
    /// Percent of the time of the convolutions that are tried which cuDNN's engines could gain at most, and are not compiled for: they
    /// take longer to compile than all of our kernels.
    pub forgone: u64,
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
        Self { engines: 2, forgone: 3, tolerance: Tolerance { float32: 2e-5, float16: 4e-3 }, beside: true }
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
    _constants: Vec<Arc<Memory>>,
    context: Arc<Context>,
}

impl Network {
    /// Makes a plan ready to run: compiles its kernels, tries ways to run its convolutions on noise, and uploads its constants.
    /// `places` are the addresses of its inputs and outputs, in order; `store` keeps what was found, and `constants`
    /// has those of the model's other networks on this device.
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
        constants: &Constants,
    ) -> Result<Self, GpuError> {
        let context = Arc::clone(stream.context());
        let entered = context.enter()?;
        let mut report = Report::default();
        let mut trials = Trials::new(libraries, store, stream, options)?;
        let mut kernels: Vec<Vec<emit::Kernel>> = Vec::new();
        for (index, step) in plan.steps.iter().enumerate() {
            kernels.push(match step {
                Step::Convolution(_) => Vec::new(),
                _ => emit::kernels(step)
                    .map_err(|why| GpuError::NoKernel { step: index, why: why.to_string() })?,
            });
        }
        report.stages.end("begin");
        let chosen = trials.choose(plan, &kernels.concat(), &mut report)?;
        let mut handle = trials.into_handle(&chosen);

        let order = Order::of(plan);
        let memory = Places::new(plan, &order, &chosen, stream, constants, places)?;
        report.stages.end("place");
        for (of, chosen) in kernels.iter_mut().zip(&chosen) {
            if let Chosen::Own(kernel) = chosen {
                of.push((**kernel).clone());
            }
        }
        let compiled = Compiled::new(&libraries.nvrtc, &context, kernels.iter().flatten(), store)?;
        report.stages.end("compile what was chosen");
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
        report.stages.end("schedule");
        report.arena = memory.arena.bytes();
        report.constants = memory.constants.uploaded;
        report.schedule = schedule.name();
        report.time = time;
        drop(entered);
        let Places { arena, constants, .. } = memory;
        Ok(Self { steps, schedule, handle, report, _arena: arena, _constants: constants.memory, context })
    }

    /// Enqueues a run: in `stream`, and in streams that begin after what is in it and that it waits for.
    ///
    /// # Errors
    /// cuDNN's or the driver's.
    pub fn enqueue(&mut self, stream: &CudaStream) -> Result<(), GpuError> {
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
    }
}
