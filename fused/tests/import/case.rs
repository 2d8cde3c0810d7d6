//! A small model, and its comparison with ONNX Runtime.

use std::path::Path;

use cudainfer_fused::graph::{self, Elements, Graph};
use cudainfer_fused::lower::lower;
use cudainfer_fused::{FusedError, import, reference};
use cudainfer_kernels::tensor::TensorType;
use cudainfer_model::onnx::proto::{self, Attribute, Model, Node, OperatorSet};
use cudainfer_model::onnx::samples;
use prost::Message;

use crate::runtime::{self, Array};

/// A model that a test builds.
#[derive(Clone)]
pub struct Case {
    /// The version of ONNX's operators.
    pub opset: i64,
    /// What it does.
    pub nodes: Vec<Node>,
    /// Values that a run is given, or that are weights in one of the comparisons.
    pub inputs: Vec<(String, Array)>,
    /// Values that are always weights.
    pub weights: Vec<(String, Array)>,
    /// Names of outputs.
    pub outputs: Vec<String>,
    /// How far numbers may be apart, of the larger one of 1 and the number: the runtime adds in float32, in another order.
    pub tolerance: f64,
}

/// Numbers between -2 and 2 that do not repeat soon, multiples of 1/64: exact in float16.
pub fn numbers(count: usize) -> Vec<f32> {
    let number =
        |at: usize| f32::from(u8::try_from((at * 167 + at / 7 * 31 + 40) % 256).unwrap()) / 64.0 - 2.0;
    (0..count).map(number).collect()
}

/// Float32 numbers of these dimensions.
pub fn floats(dims: &[usize]) -> Array {
    floats_of(dims, &numbers(dims.iter().product()))
}

/// These float32 numbers.
pub fn floats_of(dims: &[usize], values: &[f32]) -> Array {
    Array { ty: TensorType::Float32, dims: dims.to_vec(), elements: Elements::Floats(values.to_vec()) }
}

/// A list of int64 numbers.
pub fn integers(values: &[i64]) -> Array {
    integers_of(&[values.len()], values)
}

/// Int64 numbers of these dimensions.
pub fn integers_of(dims: &[usize], values: &[i64]) -> Array {
    Array { ty: TensorType::Int64, dims: dims.to_vec(), elements: Elements::Integers(values.to_vec()) }
}

impl Array {
    /// The same numbers in another type.
    pub fn cast(&self, ty: TensorType) -> Self {
        Self { ty, dims: self.dims.clone(), elements: self.elements.cast(ty) }
    }
}

/// ONNX's number of a type.
fn onnx(ty: TensorType) -> i32 {
    match ty {
        TensorType::Float32 => 1,
        TensorType::UInt8 => 2,
        TensorType::Int8 => 3,
        TensorType::Int32 => 6,
        TensorType::Int64 => 7,
        TensorType::Bool => 9,
        TensorType::Float16 => 10,
    }
}

/// A tensor of the file.
pub fn tensor(name: &str, array: &Array) -> proto::Tensor {
    let dims = array.dims.iter().map(|dim| i64::try_from(*dim).unwrap()).collect();
    let raw: Vec<u8> = match &array.elements {
        Elements::Floats(values) if array.ty == TensorType::Float16 => {
            values.iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect()
        }
        Elements::Floats(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Elements::Integers(values) => {
            let size = array.ty.size();
            values.iter().flat_map(|value| value.to_le_bytes()[..size].to_vec()).collect()
        }
    };
    proto::Tensor {
        name: Some(name.into()),
        dims,
        data_type: Some(onnx(array.ty)),
        raw_data: Some(raw),
        ..proto::Tensor::default()
    }
}

/// Attributes, by type.
pub fn int(name: &str, value: i64) -> Attribute {
    Attribute { name: name.into(), kind: Some(2), i: Some(value), ..Attribute::default() }
}

pub fn ints(name: &str, values: &[i64]) -> Attribute {
    Attribute { name: name.into(), kind: Some(7), ints: values.to_vec(), ..Attribute::default() }
}

pub fn float(name: &str, value: f32) -> Attribute {
    Attribute { name: name.into(), kind: Some(1), f: Some(value), ..Attribute::default() }
}

pub fn text(name: &str, value: &str) -> Attribute {
    Attribute { name: name.into(), kind: Some(3), s: Some(value.into()), ..Attribute::default() }
}

pub fn tensor_of(name: &str, array: &Array) -> Attribute {
    Attribute { name: name.into(), kind: Some(4), t: Some(tensor("", array)), ..Attribute::default() }
}

/// A node with attributes.
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str], attributes: Vec<Attribute>) -> Node {
    Node { attributes, ..samples::node(operator, inputs, outputs) }
}

impl Case {
    /// A model of one node, which makes `y` of `x`, `b`, `c`, ...; those that are missing have an empty name.
    pub fn of(operator: &str, opset: i64, attributes: Vec<Attribute>) -> Self {
        Self {
            opset,
            nodes: vec![node(operator, &[], &["y"], attributes)],
            inputs: Vec::new(),
            weights: Vec::new(),
            outputs: vec!["y".into()],
            tolerance: 2e-6,
        }
    }

    /// A model of these nodes, whose outputs are `outputs`.
    pub fn of_nodes(opset: i64, nodes: Vec<Node>, outputs: &[&str]) -> Self {
        let outputs = outputs.iter().map(|name| (*name).to_owned()).collect();
        Self { nodes, outputs, ..Self::of("", opset, Vec::new()) }
    }

    /// With another input of its node, which a run is given.
    pub fn input(mut self, array: Array) -> Self {
        let name = self.next();
        self.inputs.push((name, array));
        self
    }

    /// With another input of its node, which is a weight.
    pub fn weight(mut self, array: Array) -> Self {
        let name = self.next();
        self.weights.push((name, array));
        self
    }

    /// With a weight of this name.
    pub fn named_weight(mut self, name: &str, array: Array) -> Self {
        self.weights.push((name.into(), array));
        self
    }

    /// With an input of this name.
    pub fn named_input(mut self, name: &str, array: Array) -> Self {
        self.inputs.push((name.into(), array));
        self
    }

    /// With an input of its node that is left out.
    pub fn missing(mut self) -> Self {
        self.nodes[0].inputs.push(String::new());
        self
    }

    /// With other outputs.
    pub fn outputs(mut self, names: &[&str]) -> Self {
        self.outputs = names.iter().map(|name| (*name).to_owned()).collect();
        self.nodes[0].outputs.clone_from(&self.outputs);
        self
    }

    /// With another tolerance.
    pub fn within(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    fn next(&mut self) -> String {
        let name = format!("x{}", self.nodes[0].inputs.len());
        self.nodes[0].inputs.push(name.clone());
        name
    }

    /// The file. Its inputs are weights if they are `known`.
    pub fn file(&self, known: bool) -> Vec<u8> {
        let (weights, inputs) = if known { (&self.inputs[..], &[][..]) } else { (&[][..], &self.inputs[..]) };
        let initializers =
            self.weights.iter().chain(weights).map(|(name, array)| tensor(name, array)).collect();
        let value = |(name, array): &(String, Array)| {
            let dims: Vec<String> = array.dims.iter().map(ToString::to_string).collect();
            let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
            samples::tensor_value(name, onnx(array.ty), &dims)
        };
        let output = |name: &String| proto::Value { name: name.clone(), ..proto::Value::default() };
        let graph = proto::Graph {
            name: Some("case".into()),
            nodes: self.nodes.clone(),
            initializers,
            inputs: inputs.iter().map(value).collect(),
            outputs: self.outputs.iter().map(output).collect(),
            ..proto::Graph::default()
        };
        let own = OperatorSet { domain: String::new(), version: self.opset };
        let microsoft = OperatorSet { domain: "com.microsoft".into(), version: 1 };
        let opset_import = vec![own.encode_to_vec(), microsoft.encode_to_vec()];
        Model { ir_version: Some(8), opset_import, graph: Some(graph), ..Model::default() }.encode_to_vec()
    }

    /// The graph, as it is read and simplified.
    pub fn graph(&self) -> Graph {
        import::read(&self.file(false), Path::new(""), &[]).unwrap()
    }

    /// Why it is not read.
    pub fn refusal(&self) -> FusedError {
        import::read(&self.file(false), Path::new(""), &[]).unwrap_err()
    }

    /// Compares with ONNX Runtime: read plainly, simplified, and with all inputs as weights. Returns the simplified graph.
    pub fn check(&self) -> Graph {
        let wanted = runtime::run(&self.file(false), &self.inputs).unwrap();
        let given: Vec<Elements> = self.inputs.iter().map(|(_, array)| array.elements.clone()).collect();
        let plain = import::read_plainly(&self.file(false), Path::new(""), &[]).unwrap();
        self.compare("read plainly", &wanted, &plain, &given);
        let simple = self.graph();
        self.compare("simplified", &wanted, &simple, &given);
        let known = import::read(&self.file(true), Path::new(""), &[]).unwrap();
        assert!(
            known.nodes.iter().all(|node| known.value(node.inputs[0]).constant.is_some()),
            "{:?}",
            known.nodes
        );
        self.compare("of constants", &wanted, &known, &[]);
        simple
    }

    /// The same, and as a plan, which the reference runs: it reads and writes numbers as float32.
    pub fn check_plan(&self) -> Graph {
        let graph = self.check();
        let plan = lower(&graph).unwrap();
        let inputs = graph.inputs.iter().map(|id| {
            let name = &graph.value(*id).name;
            let (_, array) = self.inputs.iter().find(|(own, _)| own == name).unwrap();
            let count = array.elements.len();
            let mut bytes = vec![0; count * array.ty.size()];
            for at in 0..count {
                reference::write(&mut bytes, array.ty, at, array.elements.number(at) as f32);
            }
            bytes
        });
        let made = reference::run(&plan, &inputs.collect::<Vec<_>>()).unwrap();
        let wanted = runtime::run(&self.file(false), &self.inputs).unwrap();
        for (at, (array, bytes)) in wanted.iter().zip(&made).enumerate() {
            let numbers = (0..array.elements.len()).map(|of| reference::read(bytes, array.ty, of).into());
            self.compare_numbers("as a plan", at, &numbers.collect::<Vec<f64>>(), array);
        }
        graph
    }

    fn compare(&self, how: &str, wanted: &[Array], graph: &Graph, given: &[Elements]) {
        check_graph(graph);
        let made = graph::run(graph, given).unwrap();
        assert_eq!(made.len(), wanted.len());
        for (at, (array, elements)) in wanted.iter().zip(&made).enumerate() {
            let value = graph.value(graph.outputs[at]);
            assert_eq!(
                (&value.name, &value.dims, value.ty),
                (&self.outputs[at], &array.dims, array.ty),
                "{how}"
            );
            self.compare_numbers(how, at, &elements.numbers(), array);
        }
    }

    fn compare_numbers(&self, how: &str, output: usize, made: &[f64], wanted: &Array) {
        let operators: Vec<&str> = self.nodes.iter().map(|node| node.operator.as_str()).collect();
        let context = format!("{operators:?}, {how}, output {}", self.outputs[output]);
        let wanted = wanted.elements.numbers();
        assert_eq!(made.len(), wanted.len(), "{context}");
        for (at, (made, wanted)) in made.iter().zip(&wanted).enumerate() {
            let is_near = made == wanted || (made - wanted).abs() <= self.tolerance * wanted.abs().max(1.0);
            assert!(
                is_near || made.is_nan() && wanted.is_nan(),
                "{context}, {at}: {made} instead of {wanted}"
            );
        }
    }
}

/// What holds of every graph: nodes find their inputs made, each value is made once, and outputs are made by nodes of their own.
pub fn check_graph(graph: &Graph) {
    let mut is_made: Vec<bool> = graph.values.iter().map(|value| value.constant.is_some()).collect();
    graph.inputs.iter().for_each(|id| is_made[id.0] = true);
    for node in &graph.nodes {
        assert!(node.inputs.iter().all(|id| is_made[id.0]), "{}", node.name);
        assert!(!std::mem::replace(&mut is_made[node.output.0], true), "{}", node.name);
    }
    for (at, output) in graph.outputs.iter().enumerate() {
        assert!(graph.nodes.iter().any(|node| node.output == *output));
        assert!(!graph.outputs[..at].contains(output));
    }
    for value in &graph.values {
        let count = value.dims.iter().product::<usize>();
        assert!(value.constant.as_ref().is_none_or(|elements| elements.len() == count), "{}", value.name);
    }
}
