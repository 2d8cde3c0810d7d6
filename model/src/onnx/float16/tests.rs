//! The converted graphs, by their nodes.

use super::super::proto::{Attribute, INT64};
use super::super::samples::node;
use super::*;

/// A value of a tensor's type: `TypeProto { tensor_type { elem_type } }`.
fn value(name: &str, element: u8) -> Value {
    Value { name: name.into(), kind: Some(vec![1 << 3 | 2, 2, 1 << 3, element]), ..Value::default() }
}

fn weight(name: &str, values: &[f32]) -> Tensor {
    let dims = vec![i64::try_from(values.len()).unwrap()];
    let (name, data_type, float_data) = (Some(name.into()), Some(FLOAT), values.to_vec());
    Tensor { name, dims, data_type, float_data, ..Tensor::default() }
}

/// The float16 form of a graph with the input `image` and these outputs.
fn form(
    nodes: Vec<Node>,
    weights: Vec<Tensor>,
    outputs: &[&str],
) -> Result<(Graph, Float16Form), NoFloat16Form> {
    let outputs = outputs.iter().map(|name| value(name, 1)).collect();
    let graph =
        Graph { nodes, initializers: weights, inputs: vec![value("image", 1)], outputs, ..Graph::default() };
    let model = Model { ir_version: Some(8), graph: Some(graph), ..Model::default() };
    let form = float16_form(&model.encode_to_vec())?.expect("it has weights");
    let model = Model::decode(form.bytes.as_slice()).unwrap();
    assert_eq!(model.ir_version, Some(8));
    Ok((model.graph.unwrap(), form))
}

/// The nodes in words: `Cast image -> image/float16`.
fn words(graph: &Graph) -> Vec<String> {
    let words =
        |node: &Node| format!("{} {} -> {}", node.operator, node.inputs.join(" "), node.outputs.join(" "));
    graph.nodes.iter().map(words).collect()
}

fn types(graph: &Graph) -> Vec<(&str, i32)> {
    graph.initializers.iter().map(|tensor| (tensor.name(), tensor.data_type.unwrap())).collect()
}

#[test]
fn weights_become_float16_and_inputs_and_outputs_stay_by_casts() {
    let nodes = vec![node("Conv", &["image", "w"], &["x"]), node("Relu", &["x"], &["y"])];
    let (graph, form) = form(nodes, vec![weight("w", &[0.5, -2.0])], &["y"]).unwrap();
    assert_eq!(
        words(&graph),
        [
            "Cast image -> image/float16",
            "Conv image/float16 w/float16 -> x",
            "Relu x -> y/float16",
            "Cast y/float16 -> y"
        ]
    );
    assert_eq!(types(&graph), [("w/float16", FLOAT16)]);
    // 0.5 and -2 in float16, little-endian.
    assert_eq!(graph.initializers[0].raw_data.as_deref(), Some(&[0x00, 0x38, 0x00, 0xc0][..]));
    assert_eq!((form.weights, form.without_float16, form.out_of_range), (1, 0, 0));
    assert_eq!(graph.inputs[0].element(), Some(FLOAT));
    assert_eq!(graph.outputs[0].element(), Some(FLOAT));
}

#[test]
fn scales_of_resize_stay_float32_also_where_they_are_weights_of_others() {
    let nodes = vec![node("Resize", &["image", "", "scales"], &["x"]), node("Mul", &["x", "scales"], &["y"])];
    let (graph, _) = form(nodes, vec![weight("scales", &[1.0, 2.0])], &["y"]).unwrap();
    assert!(words(&graph).contains(&"Resize image/float16  scales -> x".to_owned()), "{:?}", words(&graph));
    assert!(words(&graph).contains(&"Mul x scales/float16 -> y/float16".to_owned()), "{:?}", words(&graph));
    assert_eq!(types(&graph), [("scales", FLOAT), ("scales/float16", FLOAT16)]);
}

#[test]
fn operators_without_float16_and_weights_beyond_its_range_stay_float32_between_casts() {
    let nodes = vec![
        node("Mul", &["image", "w"], &["x"]),
        node("Add", &["x", "mask"], &["masked"]),
        node("Softmax", &["masked"], &["y"]),
        node("GridSample", &["x", "x"], &["z"]),
    ];
    let weights = vec![weight("w", &[1.0]), weight("mask", &[0.0, -1e9])];
    let (graph, form) = form(nodes, weights, &["y", "z"]).unwrap();
    assert_eq!(
        words(&graph),
        [
            "Cast image -> image/float16",
            "Mul image/float16 w/float16 -> x",
            "Cast x -> x/float32",
            "Add x/float32 mask -> masked/float32",
            "Cast masked/float32 -> masked/float16",
            "Softmax masked/float16 -> y/float16",
            "GridSample x/float32 x/float32 -> z/float32",
            "Cast z/float32 -> z/float16",
            "Cast y/float16 -> y",
            "Cast z/float32 -> z"
        ]
    );
    assert_eq!((form.weights, form.without_float16, form.out_of_range), (1, 1, 1));
}

#[test]
fn no_weight_but_zero_becomes_zero() {
    let nodes = vec![node("Max", &["image", "least"], &["y"])];
    let (graph, _) = form(nodes, vec![weight("least", &[1e-12, -1e-12, 0.0])], &["y"]).unwrap();
    // The least that float16 has, with its sign.
    assert_eq!(graph.initializers[0].raw_data.as_deref(), Some(&[0x01, 0x00, 0x01, 0x80, 0x00, 0x00][..]));
}

#[test]
fn infinity_is_no_reason_to_stay_float32() {
    let nodes = vec![node("Add", &["image", "mask"], &["y"])];
    let (graph, form) = form(nodes, vec![weight("mask", &[f32::NEG_INFINITY])], &["y"]).unwrap();
    assert_eq!((form.out_of_range, types(&graph)), (0, vec![("mask/float16", FLOAT16)]));
}

#[test]
fn integers_stay_and_constants_of_nodes_are_weights() {
    let attribute = |name: &str| Attribute { name: name.into(), ..Attribute::default() };
    let constant =
        |output: &str, attribute| Node { attributes: vec![attribute], ..node("Constant", &[], &[output]) };
    let nodes = vec![
        constant("half", Attribute { f: Some(0.5), ..attribute("value_float") }),
        constant("axes", Attribute { ints: vec![0, 1], ..attribute("value_ints") }),
        node("ArgMax", &["image"], &["best"]),
        Node {
            attributes: vec![Attribute { i: Some(1), ..attribute("to") }],
            ..node("Cast", &["best"], &["classes"])
        },
        node("Mul", &["classes", "half"], &["y"]),
    ];
    let (graph, _) = form(nodes, Vec::new(), &["y"]).unwrap();
    assert_eq!(types(&graph), [("axes", INT64), ("half/float16", FLOAT16)]);
    assert_eq!(
        words(&graph)[1..],
        [
            "ArgMax image/float16 -> best",
            "Cast best -> classes",
            "Mul classes half/float16 -> y/float16",
            "Cast y/float16 -> y"
        ]
    );
    assert_eq!(graph.nodes[2].attribute("to").unwrap().i, Some(10), "what was cast to float32");
}

#[test]
fn what_is_calculated_of_sizes_stays_float32_and_what_an_image_goes_into_does_not() {
    let cast = |to: i32, input: &str, output: &str| Node::cast(input, output, to);
    let nodes = vec![
        node("Shape", &["image"], &["shape"]),
        node("Gather", &["shape", "index"], &["height"]),
        cast(FLOAT, "height", "number"),
        node("Mul", &["number", "factor"], &["scaled"]),
        node("Floor", &["scaled"], &["whole"]),
        cast(INT64, "whole", "target"),
        node("Resize", &["image", "", "", "target"], &["larger"]),
        node("Div", &["larger", "whole"], &["x"]),
        node("Mul", &["x", "factor"], &["y"]),
    ];
    let index = Tensor { data_type: Some(INT64), int64_data: vec![2], ..weight("index", &[]) };
    // From 6 to 11 rows: in float16 10.998, which is 10.
    let (graph, _) = form(nodes, vec![index, weight("factor", &[11.0 / 6.0])], &["y"]).unwrap();
    assert_eq!(
        words(&graph)[1..],
        [
            "Shape image/float16 -> shape",
            "Gather shape index -> height",
            "Cast height -> number/float32",
            "Cast number/float32 -> number/float16",
            "Mul number/float32 factor -> scaled/float32",
            "Cast scaled/float32 -> scaled/float16",
            "Floor scaled/float32 -> whole/float32",
            "Cast whole/float32 -> whole/float16",
            "Cast whole/float32 -> target",
            "Resize image/float16   target -> larger",
            "Div larger whole/float16 -> x",
            "Mul x factor/float16 -> y/float16",
            "Cast y/float16 -> y"
        ]
    );
    assert_eq!(graph.nodes[3].attribute("to").unwrap().i, Some(FLOAT.into()));
    assert_eq!(types(&graph), [("index", INT64), ("factor", FLOAT), ("factor/float16", FLOAT16)]);
}

#[test]
fn what_cannot_be_converted_is_reported() {
    let refusal =
        |nodes: Vec<Node>, weights: Vec<Tensor>| form(nodes, weights, &["y"]).unwrap_err().to_string();
    let w = || vec![weight("w", &[1.0])];
    let refusal_of = |operator: &str| refusal(vec![node(operator, &["image", "w"], &["y"])], w());
    for operator in
        ["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "ConvInteger"]
    {
        assert!(refusal_of(operator).contains("quantised"), "{operator}");
    }
    let inner = Attribute { name: "body".into(), g: Some(Vec::new()), ..Attribute::default() };
    let looped = Node { attributes: vec![inner], ..node("Loop", &["image"], &["y"]) };
    assert!(refusal(vec![looped], w()).contains("the operator Loop"));
    let foreign = Node { domain: Some("com.example".into()), ..node("Gelu", &["image"], &["y"]) };
    assert!(refusal(vec![foreign], w()).contains("the operator Gelu"));
    let external = Tensor { data_location: Some(1), ..weight("w", &[]) };
    assert!(refusal(Vec::new(), vec![external]).contains("in files of their own"));
    assert!(matches!(float16_form(&[0xff]), Err(NoFloat16Form::Unreadable(_))));
}

#[test]
fn a_model_without_float32_weights_stays_as_it_is() {
    let graph = Graph {
        nodes: vec![node("Relu", &["image"], &["y"])],
        inputs: vec![value("image", 1)],
        ..Graph::default()
    };
    let model = Model { graph: Some(graph), ..Model::default() };
    assert_eq!(float16_form(&model.encode_to_vec()), Ok(None));
}
