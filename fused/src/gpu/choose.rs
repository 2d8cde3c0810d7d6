//! The fastest right way to run each convolution, found by running them on noise.
//!
//! Candidates are the engine's own kernels and cuDNN's engines. Each must write what the reference writes, within the tolerance, and
//! nothing else; of those that do, the fastest is taken. Convolutions of the same dimensions, layout and epilogue are tried once, and
//! what was found is kept for later starts.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, Kernel};
use cudainfer_kernels::tensor::TensorType;

use super::check::Check;
use super::choice::{Choice, Chosen, Way};
use super::compiled::{Compiled, Parameter};
use super::cudnn::{ConvolutionGraph, Engine, Execution, Handle};
use super::engines::{Engines, engines_of};
use super::network::Options;
use super::report::Report;
use super::scratch::Scratch;
use super::store::{Store, key};
use super::timing::Stopwatch;
use super::{GpuError, Libraries};
use crate::emit;
use crate::graph::Unary;
use crate::graph::number::is_byte;
use crate::plan::{Convolution, Epilogue, Plan, Step, View};

/// The one compute capability whose warp groups multiply.
const WARP_GROUPS: (i32, i32) = (9, 0);

/// Runs of a candidate that are timed together.
const RUNS: usize = 10;

/// Where candidates are tried.
pub(super) struct Trials<'a> {
    libraries: &'a Libraries,
    store: &'a dyn Store,
    stream: Arc<CudaStream>,
    options: Options,
    device: emit::Device,
    check: Check,
    /// cuDNN's, once it was needed.
    handle: Option<Handle>,
    stopwatch: Arc<Stopwatch>,
}

/// A kind of convolution, while its candidates are tried.
struct Kind<'a> {
    name: String,
    index: usize,
    /// How many of the plan's steps are of this kind.
    steps: u64,
    convolution: &'a Convolution,
    own: Vec<emit::Kernel>,
    loaded: Vec<(emit::Kernel, Kernel)>,
    contest: Contest,
}

impl<'a> Trials<'a> {
    pub fn new(
        libraries: &'a Libraries,
        store: &'a dyn Store,
        stream: &Arc<CudaStream>,
        options: Options,
    ) -> Result<Self, GpuError> {
        let context = stream.context();
        Ok(Self {
            libraries,
            store,
            check: Check::new(context, &libraries.nvrtc, stream, store)?,
            handle: None,
            stopwatch: Arc::new(Stopwatch::new(stream)?),
            stream: Arc::clone(stream),
            options,
            device: emit::Device { warp_groups: context.device().capability == WARP_GROUPS },
        })
    }

    /// cuDNN's handle, if one of these runs there: it takes memory on the device, for as long as it lives.
    pub fn into_handle(self, chosen: &[Chosen]) -> Option<Handle> {
        self.handle.filter(|_| chosen.iter().any(|chosen| matches!(chosen, Chosen::Cudnn { .. })))
    }

    /// cuDNN's handle, which is made when it is first needed.
    fn handle(&mut self) -> Result<&mut Handle, GpuError> {
        let made = match self.handle.take() {
            Some(handle) => handle,
            None => Handle::new(&self.libraries.cudnn, self.stream.context())?,
        };
        Ok(self.handle.insert(made))
    }

    /// How each step of a plan runs. `others`, the kernels of other steps, are compiled beside those that are tried.
    pub fn choose(
        &mut self,
        plan: &Plan,
        others: &[emit::Kernel],
        report: &mut Report,
    ) -> Result<Vec<Chosen>, GpuError> {
        let mut known: HashMap<String, Choice> = HashMap::new();
        let mut unknown: Vec<Kind<'_>> = Vec::new();
        let mut chosen: Vec<Option<Chosen>> = plan.steps.iter().map(|_| None).collect();
        for (index, convolution) in convolutions(plan) {
            let name = convolution.kind();
            if let Some(kind) = unknown.iter_mut().find(|kind| kind.name == name) {
                kind.steps += 1;
                continue;
            }
            if known.contains_key(&name) {
                continue;
            }
            let own = emit::candidates(convolution, self.device);
            let kept = self.store.get(&key("convolution", &name)).and_then(|bytes| Choice::read(&bytes));
            chosen[index] = kept.as_ref().and_then(|kept| self.chosen(kept, convolution, &own));
            match kept.filter(|_| chosen[index].is_some()) {
                Some(kept) => {
                    known.insert(name, kept);
                }
                None => {
                    let contest = Contest { line: name.clone(), best: None };
                    let loaded = Vec::new();
                    unknown.push(Kind { name, index, steps: 1, convolution, own, loaded, contest });
                }
            }
        }
        report.stages.end("read what is kept");
        self.try_kinds(plan, unknown, others, &mut known, report)?;
        for (index, convolution) in convolutions(plan) {
            // The naive kernel would be right, and hundreds of times as slow.
            let none = || GpuError::NoKernel {
                step: index,
                why: "what was found for its kind does not fit it".into(),
            };
            let choice = known.get(&convolution.kind()).ok_or_else(none)?;
            report.convolutions += choice.time;
            if chosen[index].is_none() {
                let own = emit::candidates(convolution, self.device);
                chosen[index] = Some(self.chosen(choice, convolution, &own).ok_or_else(none)?);
            }
        }
        Ok(chosen.into_iter().map(|chosen| chosen.unwrap_or(Chosen::Plain)).collect())
    }

    /// A choice for a convolution, which has these candidates of ours; nothing where it does not fit.
    fn chosen(&mut self, choice: &Choice, convolution: &Convolution, own: &[emit::Kernel]) -> Option<Chosen> {
        choice.chosen(own, |text| {
            let handle = (self.options.engines > 0).then(|| self.handle().ok()).flatten()?;
            let graph = ConvolutionGraph::new(handle, convolution).ok()??;
            let engine = Arc::new(graph.restore(handle, text).ok()?);
            Some(Chosen::Cudnn { graph, engine })
        })
    }

    /// Tries the candidates of these kinds: our own kernels first, and cuDNN's engines for those that are farthest from what the device can do.
    fn try_kinds(
        &mut self,
        plan: &Plan,
        kinds: Vec<Kind<'_>>,
        others: &[emit::Kernel],
        known: &mut HashMap<String, Choice>,
        report: &mut Report,
    ) -> Result<(), GpuError> {
        if kinds.is_empty() {
            return Ok(());
        }
        let context = Arc::clone(self.stream.context());
        let all = kinds.iter().flat_map(|kind| &kind.own).chain(others);
        let compiled = Compiled::new(&self.libraries.nvrtc, &context, all, self.store)?;
        report.stages.end("compile");
        let mut tried = Vec::new();
        for mut kind in kinds {
            let load = |kernel: &emit::Kernel| Ok((kernel.clone(), compiled.kernel(kernel)?));
            kind.loaded = kind.own.iter().map(load).collect::<Result<Vec<_>, GpuError>>()?;
            self.try_own(plan, &mut kind)?;
            tried.push(kind);
        }
        report.stages.end("try");
        let most = self.options.engines;
        let kinds = if most == 0 { &[] } else { worth_engines(&mut tried, self.options.forgone) };
        let convolutions: Vec<&Convolution> = kinds.iter().map(|kind| kind.convolution).collect();
        let engines = engines_of(&self.libraries.cudnn, &context, &convolutions, most)?;
        report.stages.end("compile cuDNN's");
        for (kind, engines) in tried.iter_mut().zip(engines) {
            if let Some(engines) = engines {
                self.try_cudnn(plan, kind, &engines)?;
            }
        }
        report.stages.end("try cuDNN's");
        for kind in tried {
            let Kind { name, contest: Contest { line, best }, index, .. } = kind;
            let none = || GpuError::NoKernel { step: index, why: format!("no candidate is right: {line}") };
            let best = best.ok_or_else(none)?;
            self.store.put(&key("convolution", &name), &best.bytes());
            report.lines.push(line);
            known.insert(name, best);
        }
        Ok(())
    }

    /// Tries our own kernels: the last one is the reference, and only taken if no other is right.
    fn try_own(&mut self, plan: &Plan, kind: &mut Kind<'_>) -> Result<(), GpuError> {
        let scratch = Scratch::new(&self.stream, &self.check, plan, &plan.steps[kind.index])?;
        let share = self.share(kind);
        let Some((reference, fast)) = kind.loaded.split_last() else { return Ok(()) };
        scratch.clear(&self.check, 0)?;
        self.launch_own(reference, &scratch, 0)?;
        for (index, candidate) in fast.iter().enumerate() {
            let tried = self.trial(&scratch, share, |trials| trials.launch_own(candidate, &scratch, 1));
            let way = || Ok(Way::Own(index, candidate.0.name.clone()));
            kind.contest.enter(&format!("own{index}"), tried, way);
        }
        if kind.contest.best.is_none() {
            let tried = self.trial(&scratch, share, |trials| trials.launch_own(reference, &scratch, 1));
            let way = || Ok(Way::Own(fast.len(), reference.0.name.clone()));
            kind.contest.enter("reference", tried, way);
        }
        Ok(())
    }

    /// Tries cuDNN's engines, which must write what the best of our own kernels writes.
    fn try_cudnn(&mut self, plan: &Plan, kind: &mut Kind<'_>, engines: &Engines) -> Result<(), GpuError> {
        let scratch = Scratch::new(&self.stream, &self.check, plan, &plan.steps[kind.index])?;
        let share = self.share(kind);
        let best = match &kind.contest.best {
            Some(Choice { way: Way::Own(index, _), .. }) => kind.loaded.get(*index),
            _ => kind.loaded.last(),
        };
        let Some(reference) = best else { return Ok(()) };
        scratch.clear(&self.check, 0)?;
        self.launch_own(reference, &scratch, 0)?;
        for (index, engine) in engines.engines.iter().enumerate() {
            let tried = self.try_engine(&engines.graph, engine, &scratch, share);
            kind.contest.enter(&format!("cudnn{index}"), tried, || Ok(Way::Cudnn(engine.text()?)));
        }
        Ok(())
    }

    /// How far a candidate may be off. Sums of integers are the same in any order, and so are the integers that are made of them, but where
    /// functions lie between.
    fn share(&self, kind: &Kind<'_>) -> f32 {
        let Convolution { epilogue, output, .. } = kind.convolution;
        match output.ty {
            ty if is_byte(ty) => {
                let is_exact =
                    |part: &Epilogue| !matches!(part, Epilogue::Unary(function) if !is_exact(*function));
                if epilogue.iter().all(is_exact) { 0.0 } else { STEP }
            }
            TensorType::Float16 => self.options.tolerance.float16,
            _ => self.options.tolerance.float32,
        }
    }

    fn try_engine(
        &mut self,
        graph: &ConvolutionGraph,
        engine: &Arc<Engine>,
        scratch: &Scratch,
        share: f32,
    ) -> Result<Result<(u64, f32), String>, GpuError> {
        let workspace = self.stream.allocate(engine.workspace)?;
        let at = |view: &View| scratch.address(view.buffer, 1) + (view.offset * view.ty.size()) as u64;
        let addresses: Vec<u64> = graph.tensors().iter().map(at).collect();
        let execution = graph.on(engine, &addresses, workspace.pointer())?;
        self.trial(scratch, share, |trials| trials.launch_cudnn(&execution))
    }

    /// A candidate's time in nanoseconds and its largest difference, or why it is left out.
    fn trial(
        &mut self,
        scratch: &Scratch,
        share: f32,
        mut launch: impl FnMut(&mut Self) -> Result<(), GpuError>,
    ) -> Result<Result<(u64, f32), String>, GpuError> {
        scratch.clear(&self.check, 1)?;
        launch(self)?;
        let (far, agrees) = scratch.compare(&self.check, share)?;
        if !agrees {
            return Ok(Err(format!("off by {far:.1e}")));
        }
        let (stream, stopwatch) = (Arc::clone(&self.stream), Arc::clone(&self.stopwatch));
        // SAFETY: the scratch memory lives, and nothing else uses it.
        let time = unsafe { stopwatch.time(&stream, RUNS, || launch(self)) }?;
        Ok(time.map(|time| (time, far)).ok_or_else(|| "nothing could be recorded".into()))
    }

    fn launch_own(
        &self,
        (kernel, loaded): &(emit::Kernel, Kernel),
        scratch: &Scratch,
        writer: usize,
    ) -> Result<(), GpuError> {
        let parameter = Parameter::new(kernel, |buffer| scratch.address(buffer, writer));
        // SAFETY: `Parameter` is the kernel's; the scratch memory has all its tensors.
        Ok(unsafe { self.stream.launch(loaded, kernel.grid, kernel.block, kernel.shared, &parameter) }?)
    }

    fn launch_cudnn(&mut self, execution: &Execution) -> Result<(), GpuError> {
        let stream = self.stream.raw();
        // SAFETY: the scratch memory has all its tensors.
        unsafe { self.handle()?.execute(execution, stream) }
    }
}

/// The time in nanoseconds of a kernel that is so near to what fast devices can do that cuDNN's cannot gain much: an H100 moves 3 bytes
/// and computes 700 products and sums of float16 in a picosecond, a launch takes some microseconds, and no kernel of cuDNN's takes less than 4.5.
fn near(convolution: &Convolution) -> u64 {
    let Convolution { input, weights, epilogue, output, .. } = convolution;
    let added = epilogue.iter().filter(|part| !matches!(part, Epilogue::Unary(_))).count();
    let elements = input.elements() + weights.elements() + (1 + added) * output.elements();
    let moved = (elements * output.ty.size()) as f64 / 3e3;
    let computed = 2.0 * (output.elements() * weights.elements() / weights.dims[0].max(1)) as f64 / 7e5;
    (1.2 * moved.max(computed) + 3e3).max(4.5e3) as u64
}

/// Sorts kinds by how much cuDNN's engines could gain at most, and returns those for which these are worth compiling: without the others,
/// at most `forgone` percent of the convolutions' time are not gained.
fn worth_engines<'a, 'b>(kinds: &'a mut [Kind<'b>], forgone: u64) -> &'a [Kind<'b>] {
    let gain = |kind: &Kind<'_>| match &kind.contest.best {
        Some(best) => kind.steps * best.time.saturating_sub(near(kind.convolution)),
        None => u64::MAX,
    };
    kinds.sort_by_key(|kind| Reverse(gain(kind)));
    let time: u64 = kinds.iter().filter_map(|kind| Some(kind.steps * kind.contest.best.as_ref()?.time)).sum();
    let left = |from: usize| kinds[from..].iter().map(gain).fold(0, u64::saturating_add);
    let count = (0..kinds.len()).find(|from| left(*from) <= time * forgone / 100).unwrap_or(kinds.len());
    &kinds[..count]
}

/// A step of integers of 8 bits, as a share of their root mean square, which is some dozen on noise.
const STEP: f32 = 0.1;

/// Whether a function gives the same bits in all kernels. In others, the compiler may contract products and sums, here and not there.
fn is_exact(function: Unary) -> bool {
    matches!(
        function,
        Unary::Quantize(_)
            | Unary::Dequantize(_)
            | Unary::Relu
            | Unary::LeakyRelu { .. }
            | Unary::Clip { .. }
            | Unary::Abs
            | Unary::Negate
    )
}

fn convolutions(plan: &Plan) -> impl Iterator<Item = (usize, &Convolution)> {
    plan.steps.iter().enumerate().filter_map(|(index, step)| match step {
        Step::Convolution(convolution) => Some((index, convolution)),
        _ => None,
    })
}

/// Candidates so far.
struct Contest {
    /// What came of each.
    line: String,
    best: Option<Choice>,
}

impl Contest {
    /// Takes a candidate if it is the fastest so far.
    fn enter(
        &mut self,
        name: &str,
        tried: Result<Result<(u64, f32), String>, GpuError>,
        way: impl FnOnce() -> Result<Way, GpuError>,
    ) {
        let came = match tried {
            Ok(Ok((time, far))) => {
                let is_best = self.best.as_ref().is_none_or(|best| time < best.time);
                if let (true, Ok(way)) = (is_best, way()) {
                    self.best = Some(Choice { way, time });
                }
                format!("{:.1} us ({far:.0e})", time as f64 / 1e3)
            }
            Ok(Err(why)) => why,
            Err(e) => e.to_string(),
        };
        self.line.push_str(&format!("; {name} {came}"));
    }
}
