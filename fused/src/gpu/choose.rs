//! The fastest right way to run each convolution, found by running them on noise.
//!
//! Candidates are the engine's own kernels and cuDNN's engines. Each must write what the reference writes, within the tolerance, and
//! nothing else; of those that do, the fastest is taken. Convolutions of the same dimensions, layout and epilogue are tried once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudainfer_kernels::device::{CudaStream, Event, Graph, Kernel};
use cudainfer_kernels::tensor::TensorType;

use super::check::Check;
use super::compiled::{Compiled, addresses};
use super::cudnn::{ConvolutionGraph, Engine, Execution, Handle};
use super::network::Options;
use super::scratch::Scratch;
use super::{GpuError, Libraries};
use crate::emit;
use crate::graph::Window;
use crate::plan::{Convolution, Epilogue, Plan, Step, View};

/// Runs that are timed together, as a CUDA graph; and how often.
const RUNS: usize = 10;
const ROUNDS: usize = 3;

/// How a step runs.
#[derive(Debug)]
pub(super) enum Chosen {
    /// As the only kernels that there are for it.
    Plain,
    /// As this kernel of ours.
    Own(Box<emit::Kernel>),
    /// As an engine of cuDNN's.
    Cudnn { graph: ConvolutionGraph, engine: Arc<Engine> },
}

impl Chosen {
    /// Bytes of memory that it needs while it runs.
    pub fn workspace(&self) -> usize {
        match self {
            Self::Cudnn { engine, .. } => engine.workspace,
            Self::Plain | Self::Own(_) => 0,
        }
    }
}

/// What was tried, and what it took.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// A line for each kind of convolution: what it is, and each candidate's time or why it is left out.
    pub lines: Vec<String>,
    /// The sum of the chosen ones' times, in nanoseconds, one after another.
    pub convolutions: u64,
    /// How long trying took.
    pub took: Duration,
    /// Bytes of memory for what steps hand on.
    pub arena: usize,
    /// Bytes of constants.
    pub constants: usize,
}

/// Where candidates are tried.
pub(super) struct Trials<'a> {
    libraries: &'a Libraries,
    stream: Arc<CudaStream>,
    options: Options,
    check: Check,
    handle: Option<Handle>,
    times: [Event; 2],
}

/// Which of the candidates a convolution runs as: that of this index among our own, or of cuDNN's.
#[derive(Clone, Copy, Debug)]
enum Winner {
    Own(usize),
    Cudnn(usize),
}

impl<'a> Trials<'a> {
    pub fn new(
        libraries: &'a Libraries,
        stream: &Arc<CudaStream>,
        options: Options,
    ) -> Result<Self, GpuError> {
        let context = stream.context();
        Ok(Self {
            libraries,
            check: Check::new(context, &libraries.nvrtc, stream)?,
            handle: (options.engines > 0).then(|| Handle::new(&libraries.cudnn)).transpose()?,
            times: [Event::with_time(context)?, Event::with_time(context)?],
            stream: Arc::clone(stream),
            options,
        })
    }

    pub fn into_handle(self) -> Option<Handle> {
        self.handle
    }

    /// How each step of a plan runs.
    pub fn choose(&mut self, plan: &Plan) -> Result<(Vec<Chosen>, Report), GpuError> {
        let started = Instant::now();
        let (mut report, mut chosen) = (Report::default(), Vec::new());
        let own = self.compile(plan)?;
        let mut known: HashMap<String, (Winner, Option<Arc<Engine>>, u64)> = HashMap::new();
        for (index, step) in plan.steps.iter().enumerate() {
            let Step::Convolution(convolution) = step else {
                chosen.push(Chosen::Plain);
                continue;
            };
            let key = key(convolution);
            let graph = self.graph(convolution, &mut report);
            let (winner, engine, time) = match known.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let found =
                        self.try_all(plan, index, step, &own[index], graph.as_ref(), &key, &mut report)?;
                    known.insert(key, found.clone());
                    found
                }
            };
            report.convolutions += time;
            chosen.push(match (winner, graph, engine) {
                (Winner::Cudnn(_), Some(graph), Some(engine)) => Chosen::Cudnn { graph, engine },
                (Winner::Own(of), ..) => Chosen::Own(Box::new(own[index].kernels[of].0.clone())),
                (Winner::Cudnn(_), ..) => Chosen::Plain,
            });
        }
        report.took = started.elapsed();
        Ok((chosen, report))
    }

    fn graph(&self, convolution: &Convolution, report: &mut Report) -> Option<ConvolutionGraph> {
        match ConvolutionGraph::new(self.handle.as_ref()?, convolution) {
            Ok(graph) => graph,
            Err(e) => {
                report.lines.push(format!("{}: {e}", key(convolution)));
                None
            }
        }
    }

    /// Our own kernels for each convolution, compiled: the last one is the reference.
    fn compile(&self, plan: &Plan) -> Result<Vec<Own>, GpuError> {
        let kernels: Vec<Vec<emit::Kernel>> = plan.steps.iter().map(candidates).collect();
        let compiled = Compiled::new(&self.libraries.nvrtc, self.stream.context(), kernels.iter().flatten())?;
        let load = |kernel: emit::Kernel| Ok((kernel.clone(), compiled.kernel(&kernel)?));
        let own = |of: Vec<emit::Kernel>| {
            Ok(Own { kernels: of.into_iter().map(load).collect::<Result<_, GpuError>>()? })
        };
        kernels.into_iter().map(own).collect()
    }

    #[expect(clippy::too_many_arguments, reason = "all of a convolution that is tried")]
    fn try_all(
        &mut self,
        plan: &Plan,
        index: usize,
        step: &Step,
        own: &Own,
        graph: Option<&ConvolutionGraph>,
        name: &str,
        report: &mut Report,
    ) -> Result<(Winner, Option<Arc<Engine>>, u64), GpuError> {
        let scratch = Scratch::new(&self.stream, &self.check, plan, step)?;
        let share = match step.views().1.first().map(|view| view.ty) {
            Some(TensorType::Float16) => self.options.tolerance.float16,
            _ => self.options.tolerance.float32,
        };
        let too_large = || GpuError::NoKernel { step: index, why: format!("it is too large ({name})") };
        let reference = own.kernels.len().checked_sub(1).ok_or_else(too_large)?;
        scratch.clear(0)?;
        self.launch_own(own, reference, &scratch, 0)?;
        let mut line = name.to_owned();
        let mut best: Option<(Winner, Option<Arc<Engine>>, u64)> = None;
        for candidate in 0..reference {
            let tried = self.trial(&scratch, share, |trials| trials.launch_own(own, candidate, &scratch, 1));
            take(&mut best, &mut line, &format!("own{candidate}"), tried, (Winner::Own(candidate), None));
        }
        if let (Some(graph), Some(handle)) = (graph, &self.handle) {
            let engines = graph.engines(handle, self.options.engines);
            for (number, engine) in engines.into_iter().enumerate() {
                let engine = Arc::new(engine);
                let workspace = self.stream.allocate(engine.workspace)?;
                let addresses: Vec<u64> = graph
                    .tensors()
                    .iter()
                    .map(|view: &View| {
                        scratch.address(view.buffer, 1) + (view.offset * view.ty.size()) as u64
                    })
                    .collect();
                let tried = graph.on(&engine, &addresses, workspace.pointer()).and_then(|execution| {
                    self.trial(&scratch, share, |trials| trials.launch_cudnn(&execution))
                });
                take(
                    &mut best,
                    &mut line,
                    &format!("cudnn{number}"),
                    tried,
                    (Winner::Cudnn(number), Some(engine)),
                );
            }
        }
        if best.is_none() {
            let tried = self.trial(&scratch, share, |trials| trials.launch_own(own, reference, &scratch, 1));
            take(&mut best, &mut line, "reference", tried, (Winner::Own(reference), None));
        }
        report.lines.push(line);
        best.ok_or_else(|| GpuError::NoKernel { step: index, why: name.to_owned() })
    }

    /// A candidate's time in nanoseconds, or why it is left out.
    fn trial(
        &mut self,
        scratch: &Scratch,
        share: f32,
        mut launch: impl FnMut(&mut Self) -> Result<(), GpuError>,
    ) -> Result<Result<(u64, f32), String>, GpuError> {
        scratch.clear(1)?;
        launch(self)?;
        let (far, agrees) = scratch.compare(&self.check, share)?;
        if !agrees {
            return Ok(Err(format!("off by {far:.1e}")));
        }
        let stream = Arc::clone(&self.stream);
        let recorded =
            Graph::record(&stream, Duration::from_secs(5), || (0..RUNS).try_for_each(|_| launch(self)))?;
        let Some(mut graph) = recorded else { return Ok(Err("nothing could be recorded".into())) };
        let mut best = u64::MAX;
        for _ in 0..ROUNDS {
            stream.record(&self.times[0])?;
            // SAFETY: the scratch memory lives, and nothing else uses it.
            unsafe { stream.launch_graph(&mut graph) }?;
            stream.record(&self.times[1])?;
            stream.synchronize()?;
            best = best.min(self.times[1].nanoseconds_since(&self.times[0])? / RUNS as u64);
        }
        Ok(Ok((best, far)))
    }

    fn launch_own(
        &self,
        own: &Own,
        candidate: usize,
        scratch: &Scratch,
        writer: usize,
    ) -> Result<(), GpuError> {
        let (kernel, loaded) = &own.kernels[candidate];
        let addresses = addresses(kernel, |buffer| scratch.address(buffer, writer));
        // SAFETY: `Addresses` is the kernel's parameter; the scratch memory has all its tensors.
        Ok(unsafe { self.stream.launch(loaded, kernel.grid, kernel.block, kernel.shared, &addresses) }?)
    }

    fn launch_cudnn(&mut self, execution: &Execution) -> Result<(), GpuError> {
        let Some(handle) = &mut self.handle else {
            return Err(GpuError::Library("cuDNN is not open".into()));
        };
        // SAFETY: the scratch memory has all its tensors.
        unsafe { handle.execute(execution, self.stream.raw()) }
    }
}

/// Our own kernels for a step, if it is a convolution.
fn candidates(step: &Step) -> Vec<emit::Kernel> {
    match step {
        Step::Convolution(convolution) => emit::candidates(convolution),
        _ => Vec::new(),
    }
}

/// Kernels of ours for a convolution.
#[derive(Debug, Default)]
struct Own {
    kernels: Vec<(emit::Kernel, Kernel)>,
}

type Found = (Winner, Option<Arc<Engine>>, u64);

/// Takes a candidate if it is the fastest so far, and notes what came of it.
fn take(
    best: &mut Option<Found>,
    line: &mut String,
    name: &str,
    tried: Result<Result<(u64, f32), String>, GpuError>,
    (winner, engine): (Winner, Option<Arc<Engine>>),
) {
    let came = match tried {
        Ok(Ok((time, far))) => {
            if best.as_ref().is_none_or(|(.., least)| time < *least) {
                *best = Some((winner, engine, time));
            }
            format!("{:.1} us ({far:.0e})", time as f64 / 1e3)
        }
        Ok(Err(why)) => why,
        Err(e) => e.to_string(),
    };
    line.push_str(&format!("; {name} {came}"));
}

/// What decides how fast a convolution is: everything but where its tensors are.
fn key(convolution: &Convolution) -> String {
    let of = |view: &View| {
        let aligned = view.offset * view.ty.size() % 16;
        format!(
            "{:?}{:?}+{aligned}{}",
            view.dims,
            view.strides,
            if view.ty == TensorType::Float16 { "h" } else { "f" }
        )
    };
    let Convolution { input, weights, bias, window, groups, epilogue, output } = convolution;
    let parts = epilogue.iter().map(|part| match part {
        Epilogue::Unary(function) => format!("{function:?}"),
        Epilogue::Add(view) => format!("add{}", of(view)),
        Epilogue::Multiply(view) => format!("mul{}", of(view)),
    });
    let parts: Vec<String> = parts.collect();
    let &Window { kernel, strides, dilations, begin, end } = window;
    format!(
        "{} -> {} {:?} k{kernel:?} s{strides:?} d{dilations:?} p{begin:?}{end:?} g{groups} {}{}",
        of(input),
        of(output),
        weights.dims,
        if bias.is_some() { "bias " } else { "" },
        parts.join(" ")
    )
}
