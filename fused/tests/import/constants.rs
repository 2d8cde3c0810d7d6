//! What does not depend on the numbers of the inputs.

use cudainfer_kernels::tensor::TensorType;
use cudainfer_model::onnx::proto::Attribute;

use crate::case::{Case, float, floats, floats_of, int, integers, integers_of, ints, node, tensor_of};

#[test]
fn dimensions_are_known() {
    for operator in ["Shape", "Size"] {
        Case::of(operator, 13, Vec::new()).input(floats(&[2, 3, 4])).check();
    }
    for (start, end) in [(1, 3), (-2, 100), (0, -1), (2, 1)] {
        Case::of("Shape", 15, vec![int("start", start), int("end", end)]).input(floats(&[2, 3, 4])).check();
    }
}

#[test]
fn constants_are_in_several_attributes() {
    let floats_in = |values: &[f32]| Attribute {
        name: "value_floats".into(),
        kind: Some(6),
        floats: values.to_vec(),
        ..Attribute::default()
    };
    for attribute in [
        tensor_of("value", &floats(&[2, 3])),
        tensor_of("value", &integers(&[7, -9]).cast(TensorType::Int32)),
        float("value_float", 1.5),
        floats_in(&[1.0, 2.0]),
        int("value_int", 7),
        ints("value_ints", &[1, 2, 3]),
    ] {
        Case::of("Constant", 13, vec![attribute]).check();
    }
}

#[test]
fn constants_are_made() {
    Case::of("ConstantOfShape", 13, Vec::new()).weight(integers(&[2, 3])).check();
    Case::of("ConstantOfShape", 13, vec![tensor_of("value", &integers(&[5]))]).weight(integers(&[4])).check();
    let range = |start: f32, limit: f32, delta: f32| {
        let of = |value: f32| floats_of(&[], &[value]);
        Case::of("Range", 13, Vec::new()).weight(of(start)).weight(of(limit)).weight(of(delta)).check();
    };
    range(0.0, 5.0, 1.0);
    range(1.0, 2.1, 0.25);
    range(5.0, -1.0, -2.0);
    let whole = |value: i64| integers_of(&[], &[value]);
    Case::of("Range", 13, Vec::new()).weight(whole(3)).weight(whole(11)).weight(whole(3)).check();
    Case::of("NonZero", 13, Vec::new()).weight(floats_of(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 0.0, 0.0])).check();
}

#[test]
fn what_is_calculated_from_dimensions_leaves_nothing() {
    // Half of the rows and columns, as an upsampling to another tensor's size calculates it: Reshape to [N, C * H, -1].
    let nodes = vec![
        node("Shape", &["x"], &["shape"], Vec::new()),
        node("Gather", &["shape", "zero"], &["batch"], vec![int("axis", 0)]),
        node("Slice", &["shape", "one", "three"], &["inner"], Vec::new()),
        node("ReduceProd", &["inner"], &["product"], vec![int("keepdims", 1)]),
        node("Unsqueeze", &["batch", "first"], &["batches"], Vec::new()),
        node("Concat", &["batches", "product", "rest"], &["dims"], vec![int("axis", 0)]),
        node("Cast", &["dims"], &["floats"], vec![int("to", 1)]),
        node("Floor", &["floats"], &["floored"], Vec::new()),
        node("Cast", &["floored"], &["wanted"], vec![int("to", 7)]),
        node("Reshape", &["x", "wanted"], &["y"], Vec::new()),
    ];
    let case = Case::of_nodes(13, nodes, &["y"]).named_input("x", floats(&[2, 3, 4, 5]));
    let case = case.named_weight("zero", integers_of(&[], &[0])).named_weight("first", integers(&[0]));
    let case = case.named_weight("one", integers(&[1])).named_weight("three", integers(&[3]));
    let graph = case.named_weight("rest", integers(&[-1])).check();
    assert_eq!(graph.nodes.len(), 1);
}

#[test]
fn quantised_constants_are_dequantised() {
    let whole = integers_of(&[2, 3], &[0, 100, 255, 7, 128, 64]).cast(TensorType::UInt8);
    let zero = integers_of(&[], &[128]).cast(TensorType::UInt8);
    let scale = floats_of(&[], &[0.25]);
    let case = Case::of("DequantizeLinear", 13, Vec::new()).weight(whole).weight(scale.clone());
    case.clone().check();
    case.weight(zero.clone()).check();
    let signed = integers_of(&[2, 3], &[0, 100, -128, 7, 12, -64]).cast(TensorType::Int8);
    for (axis, scales) in [(0, &[0.5, 2.0][..]), (1, &[0.25, 0.5, 3.0])] {
        let scales = floats_of(&[scales.len()], scales);
        Case::of("DequantizeLinear", 13, vec![int("axis", axis)])
            .weight(signed.clone())
            .weight(scales)
            .check();
    }
    let x = floats_of(&[2, 3], &[-100.0, -0.125, 0.125, 0.375, 1.0, 31.0]);
    Case::of("QuantizeLinear", 13, Vec::new()).weight(x).weight(scale).weight(zero).check();
}
