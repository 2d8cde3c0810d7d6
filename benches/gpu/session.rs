//! The bare session loop: the model alone, on a tensor that lies on the GPU, as fast as it runs. tools/cudainfer_tools/bench/gpu/lines.py compares pipelines
//! with this.
//!
//! `session [--batch N] [--variant NAME] [--provider cuda|fused] MODEL.onnx…` prints one JSON object a model and way: `graph`, as trtinfer runs it, and
//! `binding`, ONNX Runtime with IO binding and nothing else, both in the variant of this name (default: the fastest one).
//! N is how many frames a run takes where the model leaves that open (default: 1); with `--batch` the rows contain it. `device_mb` is the device
//! memory that was not in use before the first way's model was opened, the libraries' own code included.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use cudainfer_kernels::device::{Choice, Context, Counters, probe};
use cudainfer_kernels::tensor::TensorType;
use gst::prelude::*;
use gstcudainfer::inference::{Config, Engine, EngineSearch, FrameTensors, Provider, RunShape, WarmUp};
use gstcudainfer::memory::tensor::{TensorAllocator, device_memory, part};

/// Runs that are enqueued before the oldest is waited for, as many as trtinfer has in flight.
const AHEAD: usize = 4;

fn main() {
    gst::init().unwrap();
    let mut words = std::env::args().skip(1);
    let (mut batch, mut variant, mut provider) = (None, None, Provider::Cuda);
    while let Some(word) = words.next() {
        if word == "--batch" {
            batch = words.next().map(|n| n.parse().unwrap());
        } else if word == "--variant" {
            variant = words.next();
        } else if word == "--provider" {
            provider = match words.next().as_deref() {
                Some("fused") => Provider::Fused,
                Some("cuda") => Provider::Cuda,
                other => panic!("--provider {other:?}: cuda and fused are known"),
            };
        } else if !word.starts_with('-') {
            // The engine fused has no other way.
            let before = free_memory();
            measure(&word, provider, true, batch, variant.as_deref(), Some(before));
            if provider == Provider::Cuda {
                measure(&word, provider, false, batch, variant.as_deref(), None);
            }
        }
    }
}

/// Unused bytes of the first GPU's memory.
fn free_memory() -> usize {
    let device = probe().unwrap().first().expect("a GPU");
    Context::new(device).unwrap().memory().unwrap().0
}

fn measure(
    model: &str,
    provider: Provider,
    graphs: bool,
    batch: Option<usize>,
    variant: Option<&str>,
    free_before: Option<usize>,
) {
    let (device, warm_up) = (Choice::Cuda(0), WarmUp::Complete);
    let search = variant.map_or_else(EngineSearch::default, |_| EngineSearch::Off);
    let config = Config { provider, device, graphs, search, warm_up, batch, ..Config::new(model) };
    let counters = Arc::new(Counters::default());
    let engine = Engine::open(&config, &counters, &|_| ()).unwrap();
    let input = &engine.input;
    let frames = input.batch.unwrap_or(engine.batch);
    let size =
        [input.width, input.height].map(|size| size.expect("the model leaves the size of its input open"));
    let tensors =
        FrameTensors::of(&engine.input, &engine.outputs, input.ty, size, Vec::new(), Vec::new(), Vec::new())
            .unwrap();
    // Without a name the fastest variant is used, as trtinfer does.
    let (shape, _) =
        engine.warm_up(RunShape::new(tensors, frames).unwrap(), &|_| (), &Default::default()).unwrap();
    if let Some(variant) = variant {
        engine.run_as(variant).unwrap().expect("device memory for two sessions");
    }
    let mut session = engine.sessions[0].lock().unwrap();
    let stream = Arc::clone(session.stream().unwrap());
    let bytes = shape.given_bytes();
    let pool = TensorAllocator::new(&stream).unwrap().pool(bytes * frames).unwrap();
    let whole: Vec<gst::Buffer> = (0..AHEAD).map(|_| pool.acquire_buffer(None).unwrap()).collect();
    whole.iter().for_each(|batch| fill(&stream, batch, shape.given));
    // A batch's frames lie side by side, so that they go to the model in one copy.
    let frames_of = |batch| (0..frames).map(move |row| part(batch, row * bytes, bytes).unwrap()).collect();
    let batches: Vec<Vec<gst::Buffer>> = whole.iter().map(frames_of).collect();
    let mut runs = std::collections::VecDeque::new();
    let mut times = Vec::new();
    let mut last = Instant::now();
    // Runs of large batches are long.
    let (warm_up, measured) = (50, (1000 / frames).max(150));
    for n in 0..warm_up + measured {
        let images: Vec<&gst::BufferRef> = batches[n % AHEAD].iter().map(AsRef::as_ref).collect();
        runs.push_back(session.run(&shape, &images, &[]).unwrap());
        if runs.len() == AHEAD {
            let outputs = runs.pop_front().unwrap();
            device_memory(&outputs[0].data).unwrap().wait_written(&stream).unwrap();
            if n >= warm_up {
                times.push(last.elapsed().as_secs_f64() * 1e3);
            }
            last = Instant::now();
        }
    }
    let used = free_before.map_or_else(String::new, |before| {
        format!(", \"device_mb\": {}", before.saturating_sub(free_memory()) >> 20)
    });
    let total: f64 = times.iter().sum();
    times.sort_by(f64::total_cmp);
    let name = PathBuf::from(model).file_stem().unwrap().to_string_lossy().into_owned();
    let batch = batch.map_or_else(String::new, |_| format!(" \"batch\": {frames},"));
    println!(
        "{{\"row\": \"{name}\",{batch} \"who\": \"{}\", \"variant\": \"{}\", \"fps\": {:.1}, \"median_ms\": {:.3}, \"p95_ms\": {:.3}{used}}}",
        if graphs { "session loop, CUDA graph" } else { "session loop, IO binding" },
        if provider == Provider::Fused { "fused" } else { engine.variant() },
        (times.len() * frames) as f64 / total * 1e3,
        times[times.len() / 2],
        times[times.len() * 95 / 100],
    );
}

/// Random values like those of a normalised picture.
fn fill(stream: &cudainfer_kernels::device::CudaStream, image: &gst::Buffer, ty: TensorType) {
    let memory = device_memory(image).unwrap();
    let mut pinned = stream.pin(memory.slice().bytes()).unwrap();
    let mut state = 1u64;
    for element in pinned.as_mut_slice().chunks_exact_mut(ty.size()) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unit = (state >> 40) as f32 / (1u64 << 24) as f32;
        match ty {
            TensorType::Float16 => element.copy_from_slice(&half::f16::from_f32(unit).to_ne_bytes()),
            TensorType::Float32 => element.copy_from_slice(&unit.to_ne_bytes()),
            _ => element.fill((unit * 255.0) as u8),
        }
    }
    memory.begin_write(stream).unwrap();
    stream.upload(&pinned, memory.slice()).unwrap();
    memory.end_write(stream).unwrap();
}
