//! Runs kernels on the CPU (host.hpp) and compares what they compute with the reference.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use cudainfer_kernels::tensor::TensorType;
use libloading::Library;

use super::DEVICE;
use crate::emit::{Kernel, candidates, host_prelude, kernels};
use crate::plan::{Buffer, Content, Plan, Step, View};
use crate::reference::{Memory, run_step, write};

type Launch = unsafe extern "C" fn(u32, u32, *mut *mut u8, *const usize, usize);

/// Compares the kernels of all steps with the reference: see [`alternatives`].
pub(super) fn check(steps: &[Step]) {
    let all = alternatives(steps);
    let folder = tempfile::tempdir().unwrap();
    let library = build(&all.iter().flatten().flatten().collect::<Vec<_>>(), folder.path());
    for (step, alternatives) in steps.iter().zip(all) {
        let before = memory(step);
        let mut wanted = before.clone();
        run_step(step, &mut wanted).unwrap();
        for kernels in alternatives {
            let mut made = before.clone();
            kernels.iter().for_each(|kernel| launch(&library, kernel, &mut made));
            compare(step, &made, &wanted, &kernels);
        }
    }
}

/// The ways to run each step. Of a convolution's candidates it is the first of each kind, and a third of the others, other ones for each
/// step: all of them together, in three steps or more.
pub(super) fn alternatives(steps: &[Step]) -> Vec<Vec<Vec<Kernel>>> {
    let of_step = |(index, step): (usize, &Step)| match step {
        Step::Convolution(convolution) => {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            let is_tried = move |kernel: &Kernel| {
                let kind = kernel.name.rsplit_once('_').unwrap().0.to_owned();
                let count = counts.entry(kind).or_default();
                *count += 1;
                *count == 1 || (*count + index).is_multiple_of(steps.len().min(3))
            };
            candidates(convolution, DEVICE).into_iter().filter(is_tried).map(|kernel| vec![kernel]).collect()
        }
        _ => vec![kernels(step).unwrap()],
    };
    steps.iter().enumerate().map(of_step).collect()
}

/// Buffers of the views' sizes, with numbers that have few bits, so that sums in float16 and integers are nearly exact; float32 has all of
/// its bits.
fn memory(step: &Step) -> Memory {
    let (reads, writes) = step.views();
    let mut plan = Plan::default();
    for view in reads.into_iter().chain(writes) {
        while plan.buffers.len() <= view.buffer.0 {
            plan.buffer(Content::Intermediate, 0);
        }
        let reach =
            view.dims.iter().zip(&view.strides).map(|(dim, stride)| (dim - 1) * stride.unsigned_abs());
        let bytes = (view.offset + reach.sum::<usize>() + 1) * view.ty.size();
        let buffer = &mut plan.buffers[view.buffer.0];
        if bytes > buffer.bytes {
            *buffer = Buffer { content: Content::Constant(contents(view.ty, bytes)), bytes };
        }
    }
    Memory::new(&plan, &[]).unwrap()
}

fn contents(ty: TensorType, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    let mut state = 12345_u32;
    for index in 0..bytes / ty.size() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let number = f32::from(u8::try_from(state >> 27).unwrap());
        let below = f32::from(u8::try_from(state >> 19 & 255).unwrap()) / 256.0
            + f32::from(u16::try_from(state >> 8 & 2047).unwrap()) / 524_288.0;
        let number = match ty {
            TensorType::Float16 => number / 16.0 - 1.0,
            TensorType::Float32 => (number + below) / 16.0 - 1.0,
            TensorType::Int8 => f32::from(u8::try_from(state >> 24).unwrap()) - 128.0,
            TensorType::UInt8 => f32::from(u8::try_from(state >> 24).unwrap()),
            TensorType::Int32 | TensorType::Int64 => number - 8.0,
            TensorType::Bool => number,
        };
        write(&mut data, ty, index, number);
    }
    data
}

fn build(kernels: &[&Kernel], folder: &std::path::Path) -> Library {
    let sources: BTreeMap<&str, &Kernel> = kernels.iter().map(|kernel| (&kernel.name[..], *kernel)).collect();
    let mut source = format!("{}\n{}", include_str!("host.hpp"), host_prelude());
    for (name, Kernel { source: text, block, .. }) in sources {
        let _ = writeln!(
            source,
            "{text}\nextern \"C\" void launch_{name}(unsigned blocks, unsigned made, char** at, const size_t* bytes, size_t count) {{"
        );
        let _ = writeln!(source, "    launch({name}, {}, blocks, made, at, bytes, count);\n}}", block[0]);
    }
    let (file, library) = (folder.join("kernels.cpp"), folder.join("kernels.so"));
    std::fs::write(&file, source).unwrap();
    let made = Command::new("c++")
        .args([
            "-std=c++17",
            "-O1",
            "-w",
            "-fPIC",
            "-shared",
            "-fno-strict-aliasing",
            "-fno-gnu-unique",
            "-o",
        ])
        .args([&library, &file])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // SAFETY: the library has no initialisers but those of its static variables.
    unsafe { Library::new(library) }.unwrap()
}

fn launch(library: &Library, kernel: &Kernel, memory: &mut Memory) {
    let mut buffers: Vec<Vec<u8>> = kernel.buffers.iter().map(|id| memory.bytes(*id).to_vec()).collect();
    let sizes: Vec<usize> = buffers.iter().map(Vec::len).collect();
    let mut addresses: Vec<*mut u8> = buffers.iter_mut().map(Vec::as_mut_ptr).collect();
    // SAFETY: `build` made this function with this signature; the addresses are those of buffers of these sizes.
    unsafe {
        let function = library.get::<Launch>(format!("launch_{}", kernel.name).as_bytes()).unwrap();
        function(kernel.grid[0], kernel.count, addresses.as_mut_ptr(), sizes.as_ptr(), sizes.len());
    }
    for (id, buffer) in kernel.buffers.iter().zip(buffers) {
        memory.replace(*id, buffer);
    }
}

fn compare(step: &Step, made: &Memory, wanted: &Memory, kernels: &[Kernel]) {
    let names: Vec<&str> = kernels.iter().map(|kernel| &kernel.name[..]).collect();
    let (_, writes) = step.views();
    let mut made = made.clone();
    for view in &writes {
        // A difference in the order of sums may tip float16 to its neighbour.
        let tolerance = if view.ty == TensorType::Float16 { 2e-3 } else { 2e-5 };
        let (ours, theirs) = (made.read(view).unwrap(), wanted.read(view).unwrap());
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let same = ours == theirs || ours.is_nan() && theirs.is_nan();
            let close = same || (ours - theirs).abs() <= tolerance * theirs.abs().max(1.0);
            assert!(close, "{names:?}: {ours} for {theirs} at {index} of {step:?}\n{}", kernels[0].source);
        }
        made.write(view, &theirs).unwrap();
    }
    // Nothing else was written.
    for id in writes
        .iter()
        .map(|view: &&View| view.buffer)
        .chain(kernels.iter().flat_map(|kernel| kernel.buffers.clone()))
    {
        assert!(made.bytes(id) == wanted.bytes(id), "{names:?} writes elsewhere in {id:?}: {step:?}");
    }
}
