//! What a first start compiles with NVRTC, without a GPU:
//!
//!     first_start MODEL.onnx --input NAME=1x3x640x640 [--input NAME=4x3x640x640]... [--libraries FOLDER]...
//!
//! Each `--input` is a network, in one process: what the ones before it have compiled is there. Prints a row for each: kernels, those that are
//! new, how many CPU seconds these take in parts of sixteen, and the slowest ones and the sums of each kind, each by itself. cuDNN's part is not among it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program for measurements")]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use cudainfer_fused::plan::Step;
use cudainfer_fused::{emit, gpu, import, lower};

/// What is compiled for: an H100.
const CAPABILITY: (i32, i32) = (9, 0);

fn main() {
    let (mut model, mut networks, mut folders) = (PathBuf::new(), Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--input" => networks.push(arguments.next().expect("NAME=DIMS")),
            "--libraries" => folders.push(PathBuf::from(arguments.next().expect("FOLDER"))),
            path => model = path.into(),
        }
    }
    let bytes = std::fs::read(&model).unwrap();
    let mut known = HashSet::new();
    for network in &networks {
        let (name, dims) = network.rsplit_once('=').expect("NAME=DIMS");
        let dims: Vec<usize> = dims.split('x').map(|dim| dim.parse().unwrap()).collect();
        let kernels = kernels(&bytes, model.parent().unwrap_or(Path::new(".")), (name, &dims));
        let new: Vec<&emit::Kernel> =
            kernels.values().filter(|kernel| known.insert(kernel.name.clone())).collect();
        let seconds = |part: &[&emit::Kernel]| {
            let sources = part.iter().map(|kernel| kernel.source.as_str());
            let source: String = [emit::prelude()].into_iter().chain(sources).collect();
            let before = processor_seconds();
            gpu::compile(&source, CAPABILITY, &folders).unwrap_or_else(|e| panic!("{e}"));
            processor_seconds() - before
        };
        let all: f64 = new.chunks(16).map(seconds).sum();
        println!("{network}: {} kernels, {} new, {all:.1} s", kernels.len(), new.len());
        let mut alone: Vec<(f64, &str)> =
            new.iter().map(|kernel| (seconds(&[*kernel]), kernel.name.as_str())).collect();
        alone.sort_by(|a, b| b.0.total_cmp(&a.0));
        alone.iter().take(5).for_each(|(seconds, name)| println!("    {seconds:.2} s {name}"));
        let mut kinds: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for (seconds, name) in &alone {
            let kind = kinds.entry(emit::what(name)).or_default();
            *kind = (kind.0 + 1, kind.1 + seconds);
        }
        kinds.iter().for_each(|(kind, (count, sum))| println!("    {count} {kind}: {sum:.1} s alone"));
    }
}

/// The kernels that are tried and those of other steps, by name.
fn kernels(model: &[u8], folder: &Path, input: (&str, &[usize])) -> BTreeMap<String, emit::Kernel> {
    let graph = import::read(model, folder, &[input]).unwrap_or_else(|e| panic!("{e}"));
    let plan = lower::lower(&graph).unwrap_or_else(|e| panic!("{e}"));
    let of = |step: &Step| match step {
        Step::Convolution(convolution) => emit::candidates(convolution, emit::Device::default()),
        _ => emit::kernels(step).unwrap_or_else(|e| panic!("{e}")),
    };
    // Convolutions of one kind are tried once.
    let mut kinds = HashSet::new();
    let is_tried = |step: &&Step| match step {
        Step::Convolution(convolution) => kinds.insert(convolution.kind()),
        _ => true,
    };
    plan.steps.iter().filter(is_tried).flat_map(of).map(|kernel| (kernel.name.clone(), kernel)).collect()
}

/// What this process has taken of the processors, to a hundredth of a second.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks = |field: &str| field.parse::<f64>().unwrap();
    fields.split(' ').skip(11).take(2).map(ticks).sum::<f64>() / 100.0
}
