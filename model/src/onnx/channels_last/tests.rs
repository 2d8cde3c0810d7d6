//! The converted graphs. That they give the same results is tested with ONNX Runtime (inference/ort/image/tests.rs).

use super::super::proto::{Dimension, INT64, Tensor};
use super::super::samples::{convolution, node, tensor_value, weight};
use super::*;

fn form(model: &Model) -> Result<Graph, NoChannelsLastForm> {
    let bytes = channels_last_form(&model.encode_to_vec())?;
    Ok(Model::decode(bytes.as_slice()).unwrap().graph.unwrap())
}

/// The form of a graph with these inputs.
fn with_inputs(inputs: Vec<Value>) -> Result<Graph, NoChannelsLastForm> {
    let nodes = vec![node("Relu", &["image"], &["y"])];
    form(&Model { graph: Some(Graph { nodes, inputs, ..Graph::default() }), ..Model::default() })
}

fn dims(value: &Value) -> Vec<Dimension> {
    value.value_type().unwrap().tensor.unwrap().shape.unwrap().dims
}

#[test]
fn the_image_is_renamed_and_transposed_first_and_everything_else_stays() {
    let model = convolution(true);
    let (before, after) = (model.graph.clone().unwrap(), form(&model).unwrap());
    let [image] = &after.inputs[..] else { panic!("{:?}", after.inputs) };
    assert_eq!((image.name.as_str(), image.element()), ("image/channels-last", Some(FLOAT)));
    let [batch, channels, height, width] = dims(&before.inputs[0]).try_into().unwrap();
    assert_eq!(batch.name.as_deref(), Some("batch"));
    assert_eq!(dims(image), [batch, height, width, channels]);
    let first = &after.nodes[0];
    assert_eq!(first.operator, "Transpose");
    assert_eq!(
        (&first.inputs[..], &first.outputs[..]),
        (&[image.name.clone()][..], &["image".to_owned()][..])
    );
    assert_eq!(first.attribute("perm").unwrap().ints, [0, 3, 1, 2]);
    // Graphs inside of nodes are among these.
    assert_eq!(after.nodes[1..], before.nodes);
    assert_eq!(
        Graph { nodes: Vec::new(), inputs: Vec::new(), ..after },
        Graph { nodes: Vec::new(), inputs: Vec::new(), ..before }
    );
    assert_eq!(name_before(&channels_last_name("a/b")), Some("a/b"));
    assert_eq!(name_before("image"), None);
}

#[test]
fn other_inputs_and_weights_among_the_inputs_of_old_files_do_not_matter() {
    let mut model = convolution(false);
    let graph = model.graph.as_mut().unwrap();
    graph.inputs.insert(0, tensor_value("kernel", FLOAT, &["4", "3", "3", "3"]));
    graph.inputs.push(tensor_value("sizes", INT64, &["batch", "2"]));
    // Of a type that has no shape, and of none.
    graph.inputs.push(Value { name: "any".into(), ..Value::default() });
    let after = form(&model).unwrap();
    let names: Vec<_> = after.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["kernel", "image/channels-last", "sizes", "any"]);
}

#[test]
fn a_float16_image_of_open_size_is_one_as_well() {
    let after = with_inputs(vec![tensor_value("image", FLOAT16, &["n", "4", "h", "w"])]).unwrap();
    let wanted = tensor_value("image/channels-last", FLOAT16, &["n", "h", "w", "4"]);
    assert_eq!(after.inputs, [wanted]);
}

#[test]
fn what_has_no_such_form_is_reported() {
    let refusal = |inputs: Vec<Value>| with_inputs(inputs).unwrap_err();
    let image = |ty, channels: &str| tensor_value("image", ty, &["1", channels, "8", "8"]);
    for refused in [image(FLOAT, "1"), image(FLOAT, "8"), image(FLOAT, "channels"), image(INT64, "3")] {
        assert_eq!(refusal(vec![refused]), NoChannelsLastForm::NoImage("image".into()));
    }
    assert_eq!(refusal(vec![tensor_value("image", FLOAT, &["3", "8", "8"])]), NoChannelsLastForm::Images(0));
    let two = vec![image(FLOAT, "3"), tensor_value("mask", FLOAT, &["1", "1", "8", "8"])];
    assert_eq!(refusal(two), NoChannelsLastForm::Images(2));
    let mut model = convolution(false);
    let external = Tensor { data_location: Some(1), ..weight("elsewhere", &[1], Vec::new()) };
    model.graph.as_mut().unwrap().initializers.push(external);
    assert_eq!(form(&model), Err(NoChannelsLastForm::External));
    assert!(matches!(channels_last_form(&[0xff]), Err(NoChannelsLastForm::Unreadable(_))));
    assert!(matches!(channels_last_form(&[]), Err(NoChannelsLastForm::Unreadable(_))));
}
