//! Which models the engine takes, and how far its plans are from ONNX Runtime on the CPU:
//!
//!     cargo run -p cudainfer-fused --example takes -- [--size WIDTHxHEIGHT] [--compare IMAGE.rgb] MODEL.onnx
//!
//! Where the model leaves the dimensions of its input open, they are those of one image of this size. Prints a row with tabs: `taken`, nodes
//! and steps; or `refused`, and why. With `--compare`, the reference computes the plan on an image of that size, whose bytes are scaled to 0
//! to 1, and three columns follow for each output: its name, its [`difference`], and that of the runtime's own output where the image is
//! multiplied by [`SLIGHTLY`], which is how exactly the model can be computed at all. `scripts/evaluate zoo --fused` makes a table of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program for measurements")]

#[path = "../tests/import/runtime.rs"]
mod runtime;

use std::fmt::Write as _;
use std::path::Path;

use cudainfer_fused::graph::{Elements, Graph};
use cudainfer_fused::plan::Plan;
use cudainfer_fused::{FusedError, import, lower, reference};
use cudainfer_kernels::tensor::TensorType;

/// Some roundings of float32 away from 1.
const SLIGHTLY: f64 = 1.0 + 1e-6;

fn main() {
    let (mut size, mut image, mut model) = ([0; 2], None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--size" => {
                let text = arguments.next().expect("WIDTHxHEIGHT");
                let (width, height) = text.split_once('x').expect("WIDTHxHEIGHT");
                size = [height, width].map(|length| length.parse().unwrap());
            }
            "--compare" => image = Some(std::fs::read(arguments.next().expect("IMAGE.rgb")).unwrap()),
            _ => model = Some(std::fs::canonicalize(argument).unwrap()),
        }
    }
    let path = model.expect("MODEL.onnx");
    // External weights lie beside the file; the runtime looks for them in the working directory.
    std::env::set_current_dir(path.parent().unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    match taken(&bytes, size) {
        Ok((graph, plan)) => {
            let compared = image.map(|image| compare(&bytes, &graph, &plan, &image, size));
            let row = [&graph.nodes.len().to_string(), &plan.steps.len().to_string()];
            println!("taken\t{}\t{}{}", row[0], row[1], compared.unwrap_or_default());
        }
        Err(why) => println!("refused\t{why}"),
    }
}

fn taken(bytes: &[u8], size: [usize; 2]) -> Result<(Graph, Plan), FusedError> {
    let [inputs, _] = import::signature(bytes)?;
    let own: Vec<(&str, Vec<usize>)> = inputs
        .iter()
        .map(|input| {
            let image = if input.dims.last() == Some(&Some(3)) {
                [1, size[0], size[1], 3]
            } else {
                [1, 3, size[0], size[1]]
            };
            let dims = input.dims.iter().enumerate().map(|(axis, dim)| dim.unwrap_or_else(|| image[axis]));
            (input.name.as_str(), dims.collect())
        })
        .collect();
    let given: Vec<(&str, &[usize])> = own.iter().map(|(name, dims)| (*name, &dims[..])).collect();
    let graph = import::read(bytes, Path::new(""), &given)?;
    let plan = lower::lower(&graph)?;
    Ok((graph, plan))
}

/// The columns of each output.
fn compare(model: &[u8], graph: &Graph, plan: &Plan, image: &[u8], size: [usize; 2]) -> String {
    let inputs = |factor: f64| -> Vec<(String, runtime::Array)> {
        let input = |id| {
            let value = graph.value(id);
            let numbers: Vec<f64> = scaled(image, size, &value.dims).iter().map(|x| x * factor).collect();
            let elements = Elements::of_numbers(&numbers, value.ty);
            (value.name.clone(), runtime::Array { ty: value.ty, dims: value.dims.clone(), elements })
        };
        graph.inputs.iter().map(|id| input(*id)).collect()
    };
    let wanted = runtime::run(model, &inputs(1.0)).unwrap();
    let other = runtime::run(model, &inputs(SLIGHTLY)).unwrap();
    let given: Vec<Vec<u8>> = inputs(1.0).iter().map(|(_, array)| bytes(array)).collect();
    let made = reference::run(plan, &given).unwrap();
    let mut text = String::new();
    for (at, (id, made)) in graph.outputs.iter().zip(&made).enumerate() {
        let (value, numbers_of) = (graph.value(*id), |of: &[runtime::Array]| of[at].elements.numbers());
        let (wanted, other) = (numbers_of(&wanted), numbers_of(&other));
        let ours = difference(&numbers(made, value.ty), &wanted);
        let _ = write!(text, "\t{}\t{ours:.1e}\t{:.1e}", value.name, difference(&other, &wanted));
    }
    text
}

/// The first image's samples from 0 to 1, as an input of these dimensions takes them: of the channel that it has, if it is one, and around
/// the image again where the input is larger.
fn scaled(image: &[u8], [height, width]: [usize; 2], dims: &[usize]) -> Vec<f64> {
    let is_last = dims.last() == Some(&3);
    let &[_, a, b, c] = dims else { panic!("an input is no image: {dims:?}") };
    let [channels, rows, columns] = if is_last { [c, a, b] } else { [a, b, c] };
    let count = channels * rows * columns;
    let place = |at: usize| match is_last {
        true => (at % channels, at / channels / columns, at / channels % columns),
        false => (at / (rows * columns), at / columns % rows, at % columns),
    };
    let sample = |at: usize| {
        let (channel, row, column) = place(at);
        let index = ((row % height) * width + column % width) * 3 + channel;
        f64::from(image[index]) / 255.0
    };
    (0..count).map(sample).collect()
}

/// The largest difference, as a share of the larger one of what is wanted there and the root of the mean square of all that is wanted.
fn difference(made: &[f64], wanted: &[f64]) -> f64 {
    let finite = wanted.iter().filter(|wanted| wanted.is_finite());
    let size = (finite.map(|wanted| wanted * wanted).sum::<f64>() / wanted.len() as f64).sqrt().max(1e-30);
    let off = made.iter().zip(wanted).map(|(made, wanted)| {
        let is_same = made == wanted || made.is_nan() && wanted.is_nan();
        if is_same { 0.0 } else { (made - wanted).abs() / wanted.abs().max(size) }
    });
    off.fold(0.0, |most, off| if off > most || off.is_nan() { off } else { most })
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
