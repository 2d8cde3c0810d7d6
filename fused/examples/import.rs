//! Reads ONNX files, and prints which operators their graphs have, and what the engine does not know of them:
//!
//!     cargo run -p cudainfer-fused --example import -- [NAME=1x3x416x416 ...] FILE...
//!
//! With COMPARE=1 in the environment, it also computes the graph and compares its outputs with those of ONNX Runtime: build it with
//! `--config 'profile.dev.package.cudainfer-fused.opt-level=3'` for that.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../tests/import/runtime.rs"]
mod runtime;

use std::collections::BTreeMap;
use std::path::Path;

use cudainfer_fused::graph::{self, Elements, Graph, Operator};
use cudainfer_fused::import;

/// The dimensions of inputs, by name.
type Given = Vec<(String, Vec<usize>)>;

fn main() {
    let (dims, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.contains('='));
    let given: Given = dims
        .iter()
        .map(|text| {
            let (name, dims) = text.split_once('=').unwrap();
            (name.to_owned(), dims.split('x').map(|dim| dim.parse().unwrap()).collect())
        })
        .collect();
    for file in files {
        println!("{file}");
        print(&file, &given);
    }
}

fn print(file: &str, given: &Given) {
    let bytes = std::fs::read(file).unwrap();
    let folder = Path::new(file).parent().unwrap();
    let given: Vec<(&str, &[usize])> = given.iter().map(|(name, dims)| (name.as_str(), &dims[..])).collect();
    match import::unsupported(&bytes, folder, &given) {
        Ok(problems) => problems.iter().for_each(|problem| println!("    {problem}")),
        Err(error) => return println!("    {error}"),
    }
    let Ok(graph) = import::read(&bytes, folder, &given) else { return };
    let mut counts = BTreeMap::new();
    for node in &graph.nodes {
        let text = format!("{:?}", node.operator);
        let name = match node.operator {
            Operator::Unary(_) | Operator::Binary(_) => text.split(" {").next().unwrap().to_owned(),
            _ => text.split([' ', '(']).next().unwrap().to_owned(),
        };
        *counts.entry(name).or_insert(0) += 1;
    }
    println!("    {} nodes: {counts:?}", graph.nodes.len());
    if std::env::var_os("COMPARE").is_some() {
        compare(&bytes, &graph);
    }
}

/// Prints how far the graph's outputs are from those of ONNX Runtime, on numbers between 0 and 1.
fn compare(bytes: &[u8], graph: &Graph) {
    let mut state = 1u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(state >> 40).unwrap()) / f64::from(1 << 24)
    };
    let inputs = graph.inputs.iter().map(|id| {
        let value = graph.value(*id);
        let numbers: Vec<f64> = (0..value.dims.iter().product()).map(|_: usize| number()).collect();
        let elements = Elements::of_numbers(&numbers, value.ty);
        (value.name.clone(), runtime::Array { ty: value.ty, dims: value.dims.clone(), elements })
    });
    let inputs: Vec<_> = inputs.collect();
    let wanted = runtime::run(bytes, &inputs).unwrap();
    let given: Vec<Elements> = inputs.into_iter().map(|(_, array)| array.elements).collect();
    for ((made, wanted), id) in graph::run(graph, &given).unwrap().iter().zip(&wanted).zip(&graph.outputs) {
        let value = graph.value(*id);
        assert_eq!((&value.dims, value.ty), (&wanted.dims, wanted.ty), "{}", value.name);
        let (made, wanted) = (made.numbers(), wanted.elements.numbers());
        let most = made.iter().zip(&wanted).map(|(made, wanted)| (made - wanted).abs()).fold(0.0, f64::max);
        let largest = wanted.iter().map(|wanted| wanted.abs()).fold(0.0, f64::max);
        println!("    {}: at most {most:.2e} apart, of numbers up to {largest:.3}", value.name);
    }
}
