//! How fast the engine runs a model on a GPU, and how far it is from the results that are expected.
//!
//!     fused_speed MODEL.onnx --input NAME=1x3x640x640 [--libraries FOLDER]... [--engines N] [--forgone PERCENT] [--verbose]
//!                 [--values IN.bin] [--write FOLDER] [--single] [--reference] [--store FOLDER] [--steps]
//!
//! `--reference` computes it plainly on the CPU. `--store` keeps what was found for the next start. `--steps` times each step alone.
//! `--values` has the elements of all inputs, one after another, as the model takes them; without it they are noise from 0 to 1. `--write`
//! writes each output's elements to FOLDER/INDEX.bin.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program for measurements")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudainfer_fused::gpu::{Constants, Libraries, Network, Options, Store};
use cudainfer_fused::plan::{Plan, View};
use cudainfer_fused::{import, lower, reference};
use cudainfer_kernels::device::{Context, CudaStream, Event, Graph, Memory, probe};
use cudainfer_kernels::tensor::TensorType;
use half::f16;

struct Arguments {
    model: PathBuf,
    inputs: Vec<(String, Vec<usize>)>,
    folders: Vec<PathBuf>,
    options: Options,
    verbose: bool,
    reference: bool,
    values: Option<PathBuf>,
    write: Option<PathBuf>,
    store: Folder,
    steps: bool,
}

/// A folder that keeps what was found, or none.
struct Folder(Option<PathBuf>);

impl Store for Folder {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        std::fs::read(self.0.as_ref()?.join(key)).ok()
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        if let Some(folder) = &self.0 {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(key), bytes).unwrap();
        }
    }
}

fn main() {
    let arguments = arguments();
    let started = Instant::now();
    let bytes = std::fs::read(&arguments.model).unwrap();
    let folder = arguments.model.parent().unwrap_or(Path::new("."));
    let given: Vec<(&str, &[usize])> =
        arguments.inputs.iter().map(|(name, dims)| (name.as_str(), dims.as_slice())).collect();
    let graph = import::read(&bytes, folder, &given).unwrap_or_else(|e| panic!("{e}"));
    let plan = lower::lower(&graph).unwrap_or_else(|e| panic!("{e}"));
    println!("read {} nodes as {} steps in {:?}", graph.nodes.len(), plan.steps.len(), started.elapsed());
    if arguments.verbose {
        plan.steps.iter().enumerate().for_each(|(index, step)| println!("step {index}: {}", step.summary()));
    }

    if arguments.reference {
        let values = arguments.values.as_ref().map(|path| std::fs::read(path).unwrap());
        let mut rest = values.as_deref();
        let inputs: Vec<Vec<u8>> = plan.inputs.iter().map(|view| take(view, &mut rest)).collect();
        let outputs = reference::run(&plan, &inputs).unwrap_or_else(|e| panic!("{e}"));
        return write(arguments.write.as_deref(), &outputs);
    }
    let device = probe().unwrap().first().expect("a GPU");
    println!("device {}", device.name);
    let context = Context::new(device).unwrap();
    let stream = Arc::new(CudaStream::for_network(&context, &Arc::default()).unwrap());
    let libraries = Libraries::open(&arguments.folders).unwrap_or_else(|e| panic!("{e}"));
    println!("cuDNN {}", libraries.cudnn_version());
    let memory = |views: &[View]| -> Vec<Memory> {
        views.iter().map(|view| stream.allocate(plan.buffers[view.buffer.0].bytes).unwrap()).collect()
    };
    let (inputs, outputs) = (memory(&plan.inputs), memory(&plan.outputs));
    let values = arguments.values.as_ref().map(|path| std::fs::read(path).unwrap());
    fill(&stream, &plan, &inputs, values.as_deref());
    let [ins, outs] = [&inputs, &outputs].map(|all| all.iter().map(Memory::pointer).collect::<Vec<_>>());
    let started = Instant::now();
    // SAFETY: inputs and outputs live to the end of the program.
    let network = unsafe {
        Network::new(
            &plan,
            &libraries,
            &stream,
            [&ins, &outs],
            arguments.options,
            &arguments.store,
            &Constants::default(),
        )
    };
    let mut network = network.unwrap_or_else(|e| panic!("{e}"));
    let report = network.report.clone();
    if arguments.verbose {
        report.lines.iter().for_each(|line| println!("conv {line}"));
    }
    let stages: Vec<String> = report
        .stages
        .done
        .iter()
        .map(|(stage, took)| format!("{stage} {:.2} s", took.as_secs_f64()))
        .collect();
    println!(
        "made in {:?} ({}); {}, {:.1} us; convolutions alone {:.1} us, arena {:.1} MB, constants {:.1} MB",
        started.elapsed(),
        stages.join(", "),
        report.schedule,
        report.time as f64 / 1e3,
        report.convolutions as f64 / 1e3,
        report.arena as f64 / 1e6,
        report.constants as f64 / 1e6
    );
    network.enqueue(&stream).unwrap_or_else(|e| panic!("{e}"));
    stream.synchronize().unwrap();
    if arguments.steps {
        for (index, step) in plan.steps.iter().enumerate() {
            let graph = Graph::record(&stream, Duration::from_secs(5), || {
                (0..10).try_for_each(|_| network.enqueue_step(index, &stream))
            });
            let mut graph = graph.unwrap_or_else(|e| panic!("{e}")).unwrap();
            let times = [Event::with_time(&context).unwrap(), Event::with_time(&context).unwrap()];
            let mut least = u64::MAX;
            for _ in 0..3 {
                stream.record(&times[0]).unwrap();
                // SAFETY: the network and its inputs and outputs live.
                unsafe { stream.launch_graph(&mut graph) }.unwrap();
                stream.record(&times[1]).unwrap();
                stream.synchronize().unwrap();
                least = least.min(times[1].nanoseconds_since(&times[0]).unwrap());
            }
            println!("TIME {:.1} us: {index} {}", least as f64 / 1e4, step.summary());
        }
    }
    let graph = Graph::record(&stream, Duration::from_secs(5), || network.enqueue(&stream))
        .unwrap_or_else(|e| panic!("{e}"));
    let mut graph = graph.unwrap();
    let times = [Event::with_time(&context).unwrap(), Event::with_time(&context).unwrap()];
    let mut all = Vec::new();
    for _ in 0..9 {
        stream.record(&times[0]).unwrap();
        for _ in 0..100 {
            // SAFETY: the network and its inputs and outputs live.
            unsafe { stream.launch_graph(&mut graph) }.unwrap();
        }
        stream.record(&times[1]).unwrap();
        stream.synchronize().unwrap();
        all.push(times[1].nanoseconds_since(&times[0]).unwrap() as f64 / 100e3);
    }
    all.sort_by(f64::total_cmp);
    let batch = plan.inputs[0].dims[0] as f64;
    println!(
        "RES {} batch {batch}: {:.1} us a run, {:.0} frames/s",
        arguments.model.display(),
        all[4],
        batch / all[4] * 1e6
    );
    let read = |output: &Memory| {
        let mut pinned = stream.pin(output.bytes()).unwrap();
        stream.download(output.slice(), &mut pinned).unwrap();
        pinned.as_slice()[..output.bytes()].to_vec()
    };
    write(arguments.write.as_deref(), &outputs.iter().map(read).collect::<Vec<_>>());
}

fn write(folder: Option<&Path>, outputs: &[Vec<u8>]) {
    let Some(folder) = folder else { return };
    std::fs::create_dir_all(folder).unwrap();
    for (index, output) in outputs.iter().enumerate() {
        std::fs::write(folder.join(format!("{index}.bin")), output).unwrap();
    }
}

/// The elements of an input, from those that are left, or noise.
fn take(view: &View, rest: &mut Option<&[u8]>) -> Vec<u8> {
    match rest {
        Some(left) => {
            let (own, after) = left.split_at(view.elements() * view.ty.size());
            *left = after;
            own.to_vec()
        }
        None => noise(view),
    }
}

fn fill(stream: &CudaStream, plan: &Plan, inputs: &[Memory], values: Option<&[u8]>) {
    let mut rest = values;
    for (view, memory) in plan.inputs.iter().zip(inputs) {
        let mut pinned = stream.pin(memory.bytes()).unwrap();
        let bytes = take(view, &mut rest);
        pinned.as_mut_slice()[..bytes.len()].copy_from_slice(&bytes);
        stream.upload(&pinned, memory.slice()).unwrap();
    }
}

fn noise(view: &View) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0
    };
    match view.ty {
        TensorType::Float16 => {
            (0..view.elements()).flat_map(|_| f16::from_f32(next()).to_ne_bytes()).collect()
        }
        TensorType::Float32 => (0..view.elements()).flat_map(|_| next().to_ne_bytes()).collect(),
        ty => vec![1; view.elements() * ty.size()],
    }
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        model: PathBuf::new(),
        inputs: Vec::new(),
        folders: Vec::new(),
        options: Options::default(),
        verbose: false,
        reference: false,
        values: None,
        write: None,
        store: Folder(None),
        steps: false,
    };
    let mut all = std::env::args().skip(1);
    while let Some(argument) = all.next() {
        let mut value = || all.next().expect("a value");
        match argument.as_str() {
            "--input" => {
                let text = value();
                let (name, dims) = text.rsplit_once('=').expect("NAME=DIMS");
                found.inputs.push((name.to_owned(), dims.split('x').map(|n| n.parse().unwrap()).collect()));
            }
            "--libraries" => found.folders.push(value().into()),
            "--engines" => found.options.engines = value().parse().unwrap(),
            "--forgone" => found.options.forgone = value().parse().unwrap(),
            "--store" => found.store.0 = Some(value().into()),
            "--steps" => found.steps = true,
            "--single" => found.options.beside = false,
            "--reference" => found.reference = true,
            "--verbose" => found.verbose = true,
            "--values" => found.values = Some(value().into()),
            "--write" => found.write = Some(value().into()),
            model => found.model = model.into(),
        }
    }
    found
}
