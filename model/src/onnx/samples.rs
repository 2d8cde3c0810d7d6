//! Files as the tests write them, also those of other crates.

#![allow(clippy::unwrap_used, dead_code)]

use std::path::PathBuf;

use prost::Message;

use super::proto::{
    Attribute, BOOL, Dimension, FLOAT, Graph, Model, Node, Shape, Tensor, TensorType, Type, Value,
};

/// A field of less than 128 bytes.
pub(super) fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

/// A file with these bytes in the folder for temporary ones.
pub fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("cudainfer-onnx-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A node of ONNX's own operators.
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> Node {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Node { operator: operator.into(), inputs: owned(inputs), outputs: owned(outputs), ..Node::default() }
}

/// A tensor's name and type; dimensions are numbers, or names of what is open.
pub fn tensor_value(name: &str, element: i32, dims: &[&str]) -> Value {
    let dimension = |dim: &&str| match dim.parse() {
        Ok(size) => Dimension { size: Some(size), ..Dimension::default() },
        Err(_) => Dimension { name: Some((*dim).to_owned()), ..Dimension::default() },
    };
    let shape = Some(Shape { dims: dims.iter().map(dimension).collect() });
    let kind = Type { tensor: Some(TensorType { element: Some(element), shape }), ..Type::default() };
    Value { name: name.into(), kind: Some(kind.encode_to_vec()), ..Value::default() }
}

/// A float32 weight.
pub fn weight(name: &str, dims: &[i64], values: Vec<f32>) -> Tensor {
    let (name, dims) = (Some(name.to_owned()), dims.to_vec());
    Tensor { name, dims, data_type: Some(FLOAT), float_data: values, ..Tensor::default() }
}

/// A model of a convolution, of images `[batch, 3, 6, 5]`; and, if it branches, twice the image as well, from a graph inside of
/// a node that reads it by its name.
pub(super) fn convolution(branches: bool) -> Model {
    let kernel = (0u16..4 * 3 * 3 * 3).map(|i| f32::from(i * 37 % 101) / 50.0 - 1.0).collect();
    let mut graph = Graph {
        name: Some("convolution".into()),
        nodes: vec![node("Conv", &["image", "kernel"], &["sums"]), node("Relu", &["sums"], &["y"])],
        initializers: vec![weight("kernel", &[4, 3, 3, 3], kernel)],
        inputs: vec![tensor_value("image", FLOAT, &["batch", "3", "6", "5"])],
        outputs: vec![tensor_value("y", FLOAT, &["batch", "4", "4", "3"])],
        ..Graph::default()
    };
    if branches {
        let branch = |name: &str, node: Node| {
            let outputs = vec![tensor_value(&node.outputs[0], FLOAT, &["batch", "3", "6", "5"])];
            let graph = Graph { name: Some(name.into()), nodes: vec![node], outputs, ..Graph::default() };
            let (name, g) = (name.to_owned(), Some(graph.encode_to_vec()));
            Attribute { name, kind: Some(5), g, ..Attribute::default() }
        };
        let yes = Tensor {
            name: Some("yes".into()),
            data_type: Some(BOOL),
            int32_data: vec![1],
            ..Tensor::default()
        };
        graph.initializers.push(yes);
        let mut either = node("If", &["yes"], &["twice"]);
        either.attributes = vec![
            branch("then_branch", node("Add", &["image", "image"], &["sum"])),
            branch("else_branch", node("Neg", &["image"], &["negative"])),
        ];
        graph.nodes.push(either);
        graph.outputs.push(tensor_value("twice", FLOAT, &["batch", "3", "6", "5"]));
    }
    // `OperatorSetIdProto { version: 13 }`.
    let opset = vec![2 << 3, 13];
    Model { ir_version: Some(8), opset_import: vec![opset], graph: Some(graph), ..Model::default() }
}

/// The file of a model of a convolution, of images `[batch, 3, 6, 5]`; if it `branches`, with twice the image as a second output,
/// and, if it `is_masked`, with a mask of such images as a second input.
pub fn convolution_file(branches: bool, is_masked: bool) -> Vec<u8> {
    let mut model = convolution(branches);
    let mask = is_masked.then(|| tensor_value("mask", FLOAT, &["1", "1", "6", "5"]));
    model.graph.get_or_insert_default().inputs.extend(mask);
    model.encode_to_vec()
}
