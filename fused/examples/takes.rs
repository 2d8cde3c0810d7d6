//! Which models the engine takes, and how far its plans are from ONNX Runtime:
//!
//!     cargo run -p cudainfer-fused --example takes -- [--compare] [NAME=1x3x320x320 ...] FILE...
//!
//! Prints a row for each file, with tabs: `taken`, nodes, steps, and with `--compare` what [`difference`] finds; or `refused`, the first
//! reason, and how many more there are. `scripts/evaluate zoo --fused` makes a table of it. Inputs are the elements in FILE's folder in
//! input.bin, all inputs' one after another, or else noise. Plans are computed by the reference on the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program for measurements")]

#[path = "../tests/import/runtime.rs"]
mod runtime;

use std::path::Path;

use cudainfer_fused::graph::{Elements, Graph};
use cudainfer_fused::plan::Plan;
use cudainfer_fused::{FusedError, import, lower, reference};
use cudainfer_kernels::tensor::TensorType;

fn main() {
    let (options, rest): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let (dims, files): (Vec<String>, Vec<String>) =
        rest.into_iter().partition(|argument| argument.contains('='));
    let given: Vec<(String, Vec<usize>)> = dims
        .iter()
        .map(|text| {
            let (name, dims) = text.split_once('=').unwrap();
            (name.to_owned(), dims.split('x').map(|dim| dim.parse().unwrap()).collect())
        })
        .collect();
    let given: Vec<(&str, &[usize])> = given.iter().map(|(name, dims)| (name.as_str(), &dims[..])).collect();
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let folder = Path::new(&file).parent().unwrap();
        match taken(&bytes, folder, &given) {
            Ok((graph, plan)) => {
                let compared = if options.contains(&"--compare".to_owned()) {
                    compare(&file, &graph, &plan)
                } else {
                    String::new()
                };
                println!("{file}\ttaken\t{}\t{}\t{compared}", graph.nodes.len(), plan.steps.len());
            }
            Err(why) => {
                let all = import::unsupported(&bytes, folder, &given).map_or(1, |all| all.len());
                println!("{file}\trefused\t{why}\t{}", all.saturating_sub(1));
            }
        }
    }
}

fn taken(bytes: &[u8], folder: &Path, given: &[(&str, &[usize])]) -> Result<(Graph, Plan), FusedError> {
    let graph = import::read(bytes, folder, given)?;
    let plan = lower::lower(&graph)?;
    Ok((graph, plan))
}

/// For each output, its name and its [`difference`] from ONNX Runtime's.
fn compare(file: &str, graph: &Graph, plan: &Plan) -> String {
    let file = std::fs::canonicalize(file).unwrap();
    let own = std::fs::read(file.with_file_name("input.bin")).ok();
    let mut rest = own.as_deref();
    let arrays = graph.inputs.iter().map(|id| {
        let value = graph.value(*id);
        let count = value.dims.iter().product::<usize>();
        let numbers = match &mut rest {
            Some(left) => {
                let (bytes, after) = left.split_at(count * value.ty.size());
                *left = after;
                numbers(bytes, value.ty)
            }
            None => noise(count),
        };
        let elements = Elements::of_numbers(&numbers, value.ty);
        (value.name.clone(), runtime::Array { ty: value.ty, dims: value.dims.clone(), elements })
    });
    let arrays: Vec<_> = arrays.collect();
    // The runtime finds weights beside the model in the working directory.
    std::env::set_current_dir(file.parent().unwrap()).unwrap();
    let wanted = runtime::run(&std::fs::read(&file).unwrap(), &arrays).unwrap();
    let given: Vec<Vec<u8>> = arrays.iter().map(|(_, array)| bytes(array)).collect();
    let made = reference::run(plan, &given).unwrap();
    let outputs = graph.outputs.iter().zip(&made).zip(&wanted);
    let texts = outputs.map(|((id, made), wanted)| {
        let value = graph.value(*id);
        assert_eq!((&value.dims, value.ty), (&wanted.dims, wanted.ty), "{}", value.name);
        let text = difference(&numbers(made, value.ty), &wanted.elements.numbers());
        format!("{} {text}", value.name)
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// The largest difference, and the root of the mean square of all, as shares of the root of the mean square of what is wanted.
fn difference(made: &[f64], wanted: &[f64]) -> String {
    let size =
        (wanted.iter().map(|wanted| wanted * wanted).sum::<f64>() / wanted.len() as f64).sqrt().max(1e-30);
    let off = made.iter().zip(wanted).map(|(made, wanted)| {
        let same = made == wanted || made.is_nan() && wanted.is_nan();
        if same { 0.0 } else { (made - wanted).abs() / size }
    });
    let most = off.clone().fold(0.0, |most: f64, off| if off > most || off.is_nan() { off } else { most });
    let mean = (off.map(|off| off * off).sum::<f64>() / wanted.len() as f64).sqrt();
    format!("{most:.1e} {mean:.1e}")
}

fn noise(count: usize) -> Vec<f64> {
    let mut state = 1u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 40).unwrap()) / f64::from(1 << 24)
    };
    (0..count).map(|_| number()).collect()
}

fn bytes(array: &runtime::Array) -> Vec<u8> {
    let count = array.elements.len();
    let mut bytes = vec![0; count * array.ty.size()];
    (0..count).for_each(|at| reference::write(&mut bytes, array.ty, at, array.elements.number(at) as f32));
    bytes
}

fn numbers(bytes: &[u8], ty: TensorType) -> Vec<f64> {
    (0..bytes.len() / ty.size()).map(|at| f64::from(reference::read(bytes, ty, at))).collect()
}
