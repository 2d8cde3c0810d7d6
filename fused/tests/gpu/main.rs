//! Networks on a GPU give what the reference gives: `scripts/test --gpu` runs these.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../networks/mod.rs"]
mod networks;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudainfer_fused::gpu::{Constants, Libraries, Network, NoStore, Options, Store};
use cudainfer_fused::graph::{Graph, simplify};
use cudainfer_fused::plan::{Plan, View};
use cudainfer_fused::{lower, reference};
use cudainfer_kernels::device::{self, Context, CudaStream, Memory, probe};
use cudainfer_kernels::tensor::TensorType;
use networks::{bytes, difference, network, numbers, quantized, wide};

/// Seeds of the networks that run: `CUDAINFER_NETWORKS` of them, which is for tools that make kernels a hundred times as slow.
fn seeds() -> u64 {
    std::env::var("CUDAINFER_NETWORKS").map_or(24, |count| count.parse().unwrap())
}

/// A GPU, and the libraries: those of Python's packages, unless the loader finds them.
struct Machine {
    stream: Arc<CudaStream>,
    libraries: Libraries,
    constants: Constants,
}

impl Machine {
    fn new() -> Self {
        let context = Context::new(probe().unwrap().first().expect("a GPU")).unwrap();
        let stream = Arc::new(CudaStream::for_network(&context, &Arc::default()).unwrap());
        Self { stream, libraries: Libraries::open(&folders()).unwrap(), constants: Constants::default() }
    }

    /// Inputs and outputs of a plan.
    fn memory(&self, plan: &Plan) -> [Vec<Memory>; 2] {
        let of = |view: &View| self.stream.allocate(plan.buffers[view.buffer.0].bytes).unwrap();
        [&plan.inputs, &plan.outputs].map(|views| views.iter().map(of).collect())
    }

    /// # Safety
    /// `memory` is that of the plan, and lives longer than the network.
    unsafe fn network(
        &self,
        plan: &Plan,
        memory: &[Vec<Memory>; 2],
        options: Options,
        store: &dyn Store,
    ) -> Network {
        let [ins, outs] = memory.each_ref().map(|all| all.iter().map(Memory::pointer).collect::<Vec<_>>());
        let (libraries, stream, constants) = (&self.libraries, &self.stream, &self.constants);
        // SAFETY: that is the caller's promise.
        let made = unsafe { Network::new(plan, libraries, stream, [&ins, &outs], options, store, constants) };
        made.unwrap()
    }

    /// Runs a plan twice, the second time as a CUDA graph, and returns what that gave. Before, other numbers have gone through it: what would
    /// be read too early is wrong then.
    fn run(&self, plan: &Plan, input: &[u8], options: Options, store: &dyn Store) -> Vec<Vec<u8>> {
        let stream = &self.stream;
        let memory = self.memory(plan);
        let [inputs, outputs] = &memory;
        let mut pinned = stream.pin(input.len()).unwrap();
        let mut upload = |bytes: &[u8]| {
            pinned.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
            stream.upload(&pinned, inputs[0].slice()).unwrap();
        };
        let mut other = input.to_vec();
        other.rotate_left(8.min(input.len()));
        upload(&other);
        // SAFETY: the memory lives longer than the network.
        let mut network = unsafe { self.network(plan, &memory, options, store) };
        if options.engines == 0 {
            assert_right(&network);
        }
        upload(input);
        network.enqueue(stream).unwrap();
        let read = || -> Vec<Vec<u8>> {
            let of = |output: &Memory| {
                let mut pinned = stream.pin(output.bytes()).unwrap();
                stream.download(output.slice(), &mut pinned).unwrap();
                pinned.as_slice()[..output.bytes()].to_vec()
            };
            outputs.iter().map(of).collect()
        };
        let first = read();
        outputs.iter().for_each(|output| stream.fill(output.slice(), 0xFF).unwrap());
        let graph =
            device::Graph::record(stream, Duration::from_secs(5), || network.enqueue(stream)).unwrap();
        // SAFETY: the network and its inputs and outputs live.
        unsafe { stream.launch_graph(&mut graph.unwrap()) }.unwrap();
        stream.synchronize().unwrap();
        let again = read();
        assert!(first == again, "each run gives the same");
        again
    }
}

fn folders() -> Vec<PathBuf> {
    let pythons = ["/usr/local/lib", "/usr/lib"].into_iter().flat_map(std::fs::read_dir).flatten().flatten();
    let packages =
        pythons.flat_map(|python| ["dist-packages", "site-packages"].map(|name| python.path().join(name)));
    let packages =
        packages.chain(std::env::var_os("VIRTUAL_ENV").map(|venv| Path::new(&venv).join("site-packages")));
    let nvidia = packages.flat_map(|packages| std::fs::read_dir(packages.join("nvidia"))).flatten().flatten();
    nvidia.map(|package| package.path().join("lib")).filter(|folder| folder.is_dir()).collect()
}

/// float16 is rounded between kernels; in float32 sums are in another order.
fn tolerance(ty: TensorType) -> f64 {
    if ty == TensorType::Float16 { 5e-3 } else { 2e-5 }
}

/// Kernels that are wrong are left out, so that the network would be right all the same.
fn assert_right(network: &Network) {
    let wrong: Vec<_> = network.report.lines.iter().filter(|line| line.contains("off by")).collect();
    assert!(wrong.is_empty(), "own kernels give what the naive one gives: {wrong:#?}");
}

fn compare(machine: &Machine, seed: u64, ty: TensorType, options: Options) {
    compare_network(machine, seed, network(seed, ty), ty, options);
}

fn compare_network(
    machine: &Machine,
    seed: u64,
    (graph, input): (Graph, Vec<f32>),
    ty: TensorType,
    options: Options,
) {
    let plan = lower::lower(&graph).unwrap();
    let input = bytes(&input, ty);
    let expected = reference::run(&plan, std::slice::from_ref(&input)).unwrap();
    let found = machine.run(&plan, &input, options, &NoStore);
    for (expected, found) in expected.iter().zip(&found) {
        let off = difference(&numbers(expected, ty), &numbers(found, ty));
        assert!(off < tolerance(ty), "seed {seed}, {ty}: off by {off}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn own_kernels_give_what_the_reference_gives() {
    let machine = Machine::new();
    for seed in 0..seeds() {
        for ty in [TensorType::Float32, TensorType::Float16] {
            compare(&machine, seed, ty, Options { engines: 0, ..Options::default() });
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn own_kernels_of_many_channels_do_too() {
    let machine = Machine::new();
    let options = Options { engines: 0, ..Options::default() };
    for seed in 300..300 + seeds().div_ceil(4) {
        compare_network(&machine, seed, wide(seed, 14), TensorType::Float16, options);
    }
    // Large images have other tiles. They are compared with the naive kernel alone, where they are tried.
    for seed in (300..306).filter(|_| seeds() >= 24) {
        let plan = lower::lower(&wide(seed, 120).0).unwrap();
        let memory = machine.memory(&plan);
        // SAFETY: the memory lives longer than the network.
        assert_right(&unsafe { machine.network(&plan, &memory, options, &NoStore) });
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn cudnns_engines_give_it_too_beside_each_other_and_one_after_another() {
    let machine = Machine::new();
    for seed in 100..100 + seeds().div_ceil(4) {
        for ty in [TensorType::Float32, TensorType::Float16] {
            compare(&machine, seed, ty, Options::default());
            compare(&machine, seed, ty, Options { beside: false, ..Options::default() });
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn convolutions_of_integers_give_it_too() {
    let (machine, ty) = (Machine::new(), TensorType::Float32);
    for seed in 200..200 + seeds() {
        let (mut graph, input) = quantized(seed);
        simplify(&mut graph).unwrap();
        let (plan, input) = (lower::lower(&graph).unwrap(), bytes(&input, ty));
        let expected = reference::run(&plan, std::slice::from_ref(&input)).unwrap();
        let found = machine.run(&plan, &input, Options::default(), &NoStore);
        for (expected, found) in expected.iter().zip(&found) {
            // A number at the edge between two integers may become the other one, where a function's last bit differs.
            let off = difference(&numbers(expected, ty), &numbers(found, ty));
            assert!(off < 0.02, "seed {seed}: off by {off}");
        }
    }
}

/// Keeps what it is given.
#[derive(Default)]
struct Kept(Mutex<HashMap<String, Vec<u8>>>, Mutex<usize>);

impl Store for Kept {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(key).cloned()
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        self.0.lock().unwrap().insert(key.to_owned(), bytes.to_vec());
        *self.1.lock().unwrap() += 1;
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_was_found_is_taken_again_and_damage_is_found_anew() {
    let machine = Machine::new();
    let ty = TensorType::Float16;
    let (graph, input) = network(3, ty);
    let plan = lower::lower(&graph).unwrap();
    let (input, kept) = (bytes(&input, ty), Kept::default());
    let first = machine.run(&plan, &input, Options::default(), &kept);
    let written = *kept.1.lock().unwrap();
    assert!(written > 0);
    assert!(machine.run(&plan, &input, Options::default(), &kept) == first);
    assert_eq!(*kept.1.lock().unwrap(), written, "nothing is found anew");
    // Machine code is whole, or not there: whoever keeps it sees to that.
    kept.0.lock().unwrap().retain(|key, _| !key.starts_with("image"));
    kept.0.lock().unwrap().values_mut().for_each(|bytes| bytes.truncate(bytes.len() / 3));
    assert!(machine.run(&plan, &input, Options::default(), &kept).len() == first.len());
    assert!(*kept.1.lock().unwrap() > written, "what is damaged is found anew");
}

#[test]
#[ignore = "needs a CUDA device"]
fn networks_of_a_model_share_their_constants() {
    let machine = Machine::new();
    let plan = lower::lower(&network(5, TensorType::Float16).0).unwrap();
    let memory = machine.memory(&plan);
    let make = || {
        let options = Options { engines: 0, ..Options::default() };
        // SAFETY: the memory lives to the end.
        unsafe { machine.network(&plan, &memory, options, &NoStore) }
    };
    let (first, second) = (make(), make());
    assert!(first.report.constants > 0);
    assert_eq!(second.report.constants, 0, "they are there");
    drop(first);
    assert_eq!(make().report.constants, 0, "the second one keeps them");
    drop(second);
    assert!(make().report.constants > 0, "nobody kept them");
}
