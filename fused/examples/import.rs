//! Reads ONNX files, and prints which operators their graphs have, and what the engine does not know of them:
//!
//!     cargo run -p cudainfer-fused --example import -- [NAME=1x3x416x416 ...] FILE...
//!
//! A NAME of `*` stands for every input.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

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
            cudainfer_fused::graph::Operator::Unary(_) | cudainfer_fused::graph::Operator::Binary(_) => {
                text.split(" {").next().unwrap().to_owned()
            }
            _ => text.split([' ', '(']).next().unwrap().to_owned(),
        };
        *counts.entry(name).or_insert(0) += 1;
    }
    println!("    {} nodes: {counts:?}", graph.nodes.len());
}
