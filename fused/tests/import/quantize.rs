//! Integers of 8 bits that stand for numbers.
//!
//! ONNX Runtime computes QuantizeLinear, DequantizeLinear and what lies between as the file says it, in float32. Where the engine adds up
//! integers instead, sums before the next QuantizeLinear differ in their last bits, so that a few of the integers may be neighbours.

use std::collections::HashSet;
use std::path::Path;

use cudainfer_fused::graph::{self, Elements, Graph, Operator, PoolKind, Quantization, Unary};
use cudainfer_fused::{import, lower, reference};
use cudainfer_kernels::tensor::TensorType::{self, Int8, Int32, UInt8};
use cudainfer_model::onnx::proto::{Attribute, Node};

use crate::case::{Case, floats, floats_of, int, integers_of, ints, node, text};
use crate::runtime::{self, Array};

/// Integers of this type.
fn bytes(ty: TensorType, dims: &[usize], values: &[i64]) -> Array {
    integers_of(dims, values).cast(ty)
}

/// Integers from -127 to 127 that do not repeat soon.
fn weights(dims: &[usize]) -> Array {
    let count = dims.iter().product::<usize>();
    let values = (0..count).map(|at| i64::try_from((at * 97 + at / 5 * 13) % 255).unwrap() - 127);
    let values: Vec<i64> = values.collect();
    bytes(Int8, dims, &values)
}

/// A node without attributes.
fn plain(operator: &str, inputs: &[&str], output: &str) -> Node {
    node(operator, inputs, &[output], Vec::new())
}

/// Nodes that make `to` of the integers that stand for `from`, by the scale and the zero point of this name.
fn through(from: &str, to: &str, by: &str) -> [Node; 2] {
    let (scale, zero, whole) = (format!("{by}_scale"), format!("{by}_zero"), format!("{to}_whole"));
    [
        plain("QuantizeLinear", &[from, &scale, &zero], &whole),
        plain("DequantizeLinear", &[&whole, &scale, &zero], to),
    ]
}

/// The case with a scale and a zero point of this name.
fn with(case: Case, by: &str, scale: f32, zero: i64, ty: TensorType) -> Case {
    case.named_weight(&format!("{by}_scale"), floats_of(&[], &[scale]))
        .named_weight(&format!("{by}_zero"), bytes(ty, &[], &[zero]))
}

/// The elements of a plan's output.
fn elements(bytes: &[u8], ty: TensorType) -> Vec<f64> {
    (0..bytes.len() / ty.size()).map(|at| reference::read(bytes, ty, at).into()).collect()
}

/// Compares what is read with ONNX Runtime, and its plan with it. The output's numbers may be a step apart from the runtime's, of which
/// there are few; a plan gives the graph's.
fn check(case: &Case, step: f64) -> Graph {
    let wanted = runtime::run(&case.file(false), &case.inputs).unwrap();
    let given: Vec<Elements> = case.inputs.iter().map(|(_, array)| array.elements.clone()).collect();
    let plain = import::read_plainly(&case.file(false), Path::new(""), &[]).unwrap();
    let simple = case.graph();
    for (how, graph) in [("plainly", &plain), ("simplified", &simple)] {
        for (made, wanted) in graph::run(graph, &given).unwrap().iter().zip(&wanted) {
            let (made, wanted) = (made.numbers(), wanted.elements.numbers());
            assert_eq!(made.len(), wanted.len());
            let apart: Vec<f64> =
                made.iter().zip(&wanted).map(|(made, wanted)| (made - wanted).abs()).collect();
            let most = apart.iter().copied().fold(0.0, f64::max);
            let count = apart.iter().filter(|apart| **apart > 0.01 * step).count();
            assert!(most <= 1.001 * step, "{how}: {most} apart, a step is {step}");
            assert!(100 * count <= apart.len(), "{how}: {count} of {} are others", apart.len());
            let different: HashSet<u64> = wanted.iter().map(|number| number.to_bits()).collect();
            assert!(different.len() > 20, "the case is too simple: {wanted:?}");
        }
    }
    let input: Vec<Vec<u8>> = case
        .inputs
        .iter()
        .map(|(_, array)| {
            let mut bytes = vec![0; array.elements.len() * array.ty.size()];
            let numbers = array.elements.numbers();
            numbers.iter().enumerate().for_each(|(at, number)| {
                reference::write(&mut bytes, array.ty, at, *number as f32);
            });
            bytes
        })
        .collect();
    let planned = reference::run(&lower::lower(&simple).unwrap(), &input).unwrap();
    let outputs = graph::run(&simple, &given).unwrap();
    for ((planned, graph), id) in planned.iter().zip(&outputs).zip(&simple.outputs) {
        assert_eq!(elements(planned, simple.value(*id).ty), graph.numbers(), "the plan's");
    }
    simple
}

/// The operators of a graph, in order.
fn operators(graph: &Graph) -> Vec<&Operator> {
    graph.nodes.iter().map(|node| &node.operator).collect()
}

#[test]
fn integers_are_rounded_to_even_and_saturate_in_all_versions() {
    // Ties, both ends, and far beyond them.
    let x = floats_of(
        &[2, 6],
        &[-1e9, -33.0, -32.25, -0.375, -0.125, 0.125, 0.375, 0.625, 31.75, 32.0, 64.0, 1e9],
    );
    let (scale, case) = (floats_of(&[], &[0.25]), |opset| Case::of("QuantizeLinear", opset, Vec::new()));
    for opset in [10, 13, 19, 21] {
        for (ty, zero) in [(UInt8, 0), (UInt8, 7), (Int8, 0), (Int8, -100)] {
            let zero = bytes(ty, &[], &[zero]);
            case(opset).input(x.clone()).weight(scale.clone()).weight(zero.clone()).within(0.0).check();
            let all: Vec<i64> = if ty == Int8 { (-128..=127).collect() } else { (0..=255).collect() };
            let back = Case::of("DequantizeLinear", opset, Vec::new()).input(bytes(ty, &[256], &all));
            back.weight(floats_of(&[], &[0.037])).weight(zero).within(0.0).check();
        }
        case(opset).input(x.clone()).weight(scale.clone()).within(0.0).check();
    }
    let stated = Case::of("QuantizeLinear", 21, vec![int("output_dtype", 3)]).input(x).weight(scale);
    let graph = stated.within(0.0).check();
    let by = Quantization { scale: 0.25, zero: 0, is_signed: true };
    assert_eq!(operators(&graph), [&Operator::Unary(Unary::Quantize(by))]);
}

#[test]
fn scales_by_axis_are_computed_as_the_file_says() {
    let x = floats(&[2, 3, 4, 5]);
    let (scales, zeros) = (floats_of(&[3], &[0.02, 0.5, 0.013]), bytes(Int8, &[3], &[0, -9, 30]));
    let forth = Case::of("QuantizeLinear", 13, Vec::new()).input(x.clone());
    forth.weight(scales.clone()).weight(zeros.clone()).within(0.0).check();
    let back = Case::of("DequantizeLinear", 13, Vec::new()).input(weights(&[2, 3, 4, 5]));
    back.weight(scales).weight(zeros).within(0.0).check();
}

#[test]
fn what_is_not_known_is_named() {
    let (x, scale) = (floats(&[4, 6]), floats_of(&[], &[0.25]));
    let says =
        |case: Case, text: &str| assert!(case.refusal().to_string().contains(text), "{}", case.refusal());
    let moving = Case::of("QuantizeLinear", 13, Vec::new()).input(x.clone()).input(scale.clone());
    says(moving, "its scale and zero point are no constants");
    let blocks = Case::of("QuantizeLinear", 21, vec![int("block_size", 2), int("axis", 1)]).input(x.clone());
    says(blocks.weight(floats(&[4, 3])), "block_size is set");
    let blocks = Case::of("DequantizeLinear", 21, vec![int("block_size", 2)]).input(weights(&[4, 6]));
    says(blocks.weight(floats(&[4, 3])), "block_size is set");
    let rough = Case::of("QuantizeLinear", 23, vec![int("precision", 10)]).input(x.clone());
    says(rough.weight(scale.clone()), "its precision is not float32");
    let half = Case::of("DequantizeLinear", 23, vec![int("output_dtype", 10)]).input(weights(&[4, 6]));
    says(half.weight(scale.clone()), "its output has another type than its scale");
    let wide = Case::of("QuantizeLinear", 21, vec![int("output_dtype", 5)]).input(x).weight(scale);
    says(wide, "its output has not 8 bits");
}

/// How the image of [`quantized`] becomes integers.
const IMAGE: f32 = 0.0157;
/// A step of the results of [`quantized`].
const STEP: f32 = 0.031;

/// A convolution as quantisers write it: of the integers that stand for `x`, by weights with a scale for each output (or one in all), with
/// a bias of int32. Then `after`, from `sums` to `y`, whose quantisations are `y` (uint8) and `z` (int8).
fn quantized(
    [image, taps]: [&[usize]; 2],
    (ty, zero): (TensorType, i64),
    attributes: Vec<Attribute>,
    after: Vec<Node>,
) -> Case {
    let mut nodes = through("x", "image", "x").to_vec();
    nodes.push(node("DequantizeLinear", &["w", "w_scale", "w_zero"], &["weights"], vec![int("axis", 0)]));
    nodes.push(node("DequantizeLinear", &["b", "b_scale", "b_zero"], &["bias"], vec![int("axis", 0)]));
    nodes.push(node("Conv", &["image", "weights", "bias"], &["sums"], attributes));
    nodes.extend(after);
    let outputs = taps[0];
    let scales: Vec<f32> = (0..outputs).map(|k| 0.002 + 0.0007 * k as f32).collect();
    let products: Vec<f32> = scales.iter().map(|scale| scale * IMAGE).collect();
    let biases: Vec<i64> = (0..outputs).map(|k| i64::try_from(k * 5000 % 12_000).unwrap() - 6000).collect();
    let case = Case::of_nodes(13, nodes, &["y"]).named_input("x", floats(image));
    let case = case.named_weight("w", weights(taps)).named_weight("w_scale", floats_of(&[outputs], &scales));
    let case = case.named_weight("w_zero", bytes(Int8, &[outputs], &vec![0; outputs]));
    let case = case.named_weight("b", bytes(Int32, &[outputs], &biases));
    let case = case.named_weight("b_scale", floats_of(&[outputs], &products));
    let case = case.named_weight("b_zero", bytes(Int32, &[outputs], &vec![0; outputs]));
    let case = with(case, "x", IMAGE, zero, ty);
    with(with(case, "y", STEP, 120, UInt8), "z", 0.0213, 0, Int8)
}

/// A graph's convolutions: how many are of integers, and how many are not.
fn convolutions(graph: &Graph) -> [usize; 2] {
    let count = |of: fn(&&Operator) -> bool| operators(graph).into_iter().filter(of).count();
    [
        count(|operator| matches!(operator, Operator::QuantizedConvolution { .. })),
        count(|operator| matches!(operator, Operator::Convolution { .. })),
    ]
}

#[test]
fn a_convolution_of_integers_has_any_zero_point_padding_stride_and_group() {
    let shapes: [([&[usize]; 2], Vec<Attribute>); 5] = [
        ([&[2, 4, 7, 6], &[5, 4, 3, 3]], vec![ints("pads", &[1, 1, 1, 1])]),
        ([&[1, 20, 7, 9], &[8, 20, 3, 3]], vec![ints("pads", &[2, 0, 1, 1]), ints("strides", &[2, 2])]),
        ([&[1, 3, 8, 8], &[16, 3, 2, 4]], vec![ints("dilations", &[2, 1])]),
        ([&[1, 6, 7, 7], &[6, 1, 3, 3]], vec![int("group", 6), ints("pads", &[1, 1, 1, 1])]),
        ([&[1, 8, 5, 6], &[12, 4, 3, 3]], vec![int("group", 2), ints("pads", &[1, 1, 1, 1])]),
    ];
    for (dims, attributes) in shapes {
        for by in [(Int8, 0), (Int8, -31), (UInt8, 0), (UInt8, 128), (UInt8, 255)] {
            let after = through("sums", "y", "y").to_vec();
            let graph = check(&quantized(dims, by, attributes.clone(), after), STEP.into());
            assert_eq!(convolutions(&graph), [1, 0]);
            // From integers to integers, and both ends.
            assert_eq!(graph.nodes.len(), 4, "{:?}", operators(&graph));
        }
    }
}

#[test]
fn weights_that_are_no_such_integers_are_convolved_as_numbers() {
    let dims: [&[usize]; 2] = [&[1, 4, 7, 6], &[5, 4, 3, 3]];
    let case = |name: &str, array: Array| {
        let mut case = quantized(dims, (Int8, 0), Vec::new(), through("sums", "y", "y").to_vec());
        case.weights.iter_mut().filter(|(own, _)| own == name).for_each(|(_, own)| *own = array.clone());
        case
    };
    // From the zero point, -127 is as far as 155.
    let zeros = bytes(Int8, &[5], &[0, 0, 28, 0, 0]);
    assert_eq!(convolutions(&check(&case("w_zero", zeros), STEP.into())), [0, 1]);
    // One scale in all.
    let mut one = case("w_scale", floats_of(&[], &[0.003]));
    one.weights
        .iter_mut()
        .filter(|(own, _)| own == "w_zero")
        .for_each(|(_, zero)| *zero = bytes(Int8, &[], &[0]));
    assert_eq!(convolutions(&check(&one, STEP.into())), [1, 0]);
    // uint8 around 128 are int8 around 0.
    let w: Vec<i64> = weights(dims[1]).elements.numbers().iter().map(|w| *w as i64 + 128).collect();
    one.weights.iter_mut().for_each(|(name, own)| match name.as_str() {
        "w" => *own = bytes(UInt8, dims[1], &w),
        "w_zero" => *own = bytes(UInt8, &[], &[128]),
        _ => (),
    });
    assert_eq!(convolutions(&check(&one, STEP.into())), [1, 0]);
}

#[test]
fn functions_between_integers_are_computed_as_the_file_says() {
    let dims: [&[usize]; 2] = [&[1, 4, 7, 6], &[5, 4, 3, 3]];
    // SiLU as quantisers write it: the sigmoid's integers have steps of their own.
    let mut after = through("sums", "conv", "y").to_vec();
    after.push(plain("Sigmoid", &["conv"], "open"));
    after.extend(through("open", "gate", "gate"));
    after.push(plain("Mul", &["conv", "gate"], "product"));
    after.extend(through("product", "y", "z"));
    let case = quantized(dims, (UInt8, 117), vec![ints("pads", &[1, 1, 1, 1])], after);
    let case = with(case, "gate", 1.0 / 255.0, 0, UInt8);
    assert_eq!(convolutions(&check(&case, 0.0213)), [1, 0]);
    for function in ["Relu", "LeakyRelu", "Tanh", "HardSwish"] {
        let mut after = vec![plain(function, &["sums"], "f")];
        after.extend(through("f", "conv", "y"));
        after.push(plain(function, &["conv"], "g"));
        after.extend(through("g", "y", "z"));
        let mut case = quantized(dims, (Int8, 0), vec![ints("pads", &[1, 1, 1, 1])], after);
        case.opset = 14;
        // A step of the first integers may be two of the second.
        assert_eq!(convolutions(&check(&case, 0.0426)), [1, 0], "{function}");
    }
}

#[test]
fn a_shortcut_is_added_to_the_integers_of_a_convolution() {
    let dims: [&[usize]; 2] = [&[1, 4, 7, 6], &[4, 4, 3, 3]];
    for (operator, second) in [("Add", "image"), ("Mul", "image"), ("Add", "conv")] {
        let mut after = through("sums", "conv", "y").to_vec();
        after.push(plain(operator, &["conv", second], "both"));
        after.extend(through("both", "y", "z"));
        let case = quantized(dims, (Int8, 3), vec![ints("pads", &[1, 1, 1, 1])], after);
        // Two steps of the convolution's integers are three of these.
        assert_eq!(convolutions(&check(&case, 0.0213 * 4.0)), [1, 0], "{operator}");
    }
}

#[test]
fn what_is_moved_stays_integers() {
    let dims: [&[usize]; 2] = [&[1, 4, 8, 6], &[4, 4, 3, 3]];
    let mut after = through("sums", "conv", "y").to_vec();
    after.push(node(
        "MaxPool",
        &["conv"],
        &["pooled"],
        vec![ints("kernel_shape", &[3, 3]), ints("pads", &[1; 4])],
    ));
    after.extend(through("pooled", "most", "y"));
    let sizes = [
        text("mode", "nearest"),
        text("coordinate_transformation_mode", "asymmetric"),
        text("nearest_mode", "floor"),
    ];
    after.push(node("Resize", &["most", "", "factors"], &["large"], sizes.to_vec()));
    after.extend(through("large", "wide", "y"));
    after.push(node("Pad", &["wide", "pads", "nothing"], &["padded"], Vec::new()));
    after.extend(through("padded", "framed", "y"));
    after.push(node("Transpose", &["framed"], &["turned"], vec![ints("perm", &[0, 1, 3, 2])]));
    after.extend(through("turned", "sideways", "y"));
    after.push(node("Slice", &["sideways", "starts", "ends"], &["cut"], Vec::new()));
    after.extend(through("cut", "part", "y"));
    after.push(plain("Reshape", &["part", "shape"], "y"));
    let case = quantized(dims, (Int8, 0), vec![ints("pads", &[1, 1, 1, 1])], after);
    let case = case.named_weight("factors", floats_of(&[4], &[1.0, 1.0, 2.0, 2.0]));
    let case = case.named_weight("pads", integers_of(&[8], &[0, 0, 1, 0, 0, 0, 0, 2]));
    let case = case.named_weight("nothing", floats_of(&[], &[0.0]));
    let case = case
        .named_weight("starts", integers_of(&[2], &[0, 1]))
        .named_weight("ends", integers_of(&[2], &[1, 3]));
    let graph = check(&case.named_weight("shape", integers_of(&[2], &[2, -1])), STEP.into());
    let floats = graph.nodes.iter().filter(|node| graph.value(node.output).ty == TensorType::Float32).count();
    assert_eq!(floats, 2, "the convolution's sums, and the result: {:?}", operators(&graph));
    let is_maximum =
        |operator: &&Operator| matches!(operator, Operator::Pool { kind: PoolKind::Maximum, .. });
    assert!(operators(&graph).iter().any(is_maximum));
}

#[test]
fn parts_with_other_steps_are_joined_as_integers() {
    let dims: [&[usize]; 2] = [&[1, 4, 7, 6], &[4, 4, 3, 3]];
    let mut after = through("sums", "conv", "y").to_vec();
    after.push(node("Split", &["conv"], &["first", "second"], vec![int("axis", 1)]));
    after.push(node("Concat", &["image", "second", "first"], &["joined"], vec![int("axis", 1)]));
    after.extend(through("joined", "y", "z"));
    let case = quantized(dims, (UInt8, 128), vec![ints("pads", &[1, 1, 1, 1])], after);
    let graph = check(&case, 0.0213 * 2.0);
    let joined = graph.nodes.iter().find(|node| matches!(node.operator, Operator::Concat { .. })).unwrap();
    assert_eq!(graph.value(joined.output).ty, Int8);
}

#[test]
fn products_with_matrices_of_integers_are_sums_of_integers() {
    for (operator, taps, attributes) in [
        ("MatMul", [16, 10], Vec::new()),
        ("Gemm", [16, 10], Vec::new()),
        ("Gemm", [10, 16], vec![int("transB", 1)]),
    ] {
        let axis = usize::from(taps[0] == 16);
        let mut nodes = through("x", "image", "x").to_vec();
        let by_axis = vec![int("axis", i64::try_from(axis).unwrap())];
        nodes.push(node("DequantizeLinear", &["w", "w_scale", "w_zero"], &["weights"], by_axis));
        if operator == "MatMul" {
            nodes.push(plain("MatMul", &["image", "weights"], "product"));
            nodes.push(plain("Add", &["product", "b"], "sums"));
        } else {
            nodes.push(node("Gemm", &["image", "weights", "b"], &["sums"], attributes));
        }
        nodes.extend(through("sums", "inner", "y"));
        nodes.push(plain("Relu", &["inner"], "positive"));
        nodes.extend(through("positive", "y", "z"));
        let image: &[usize] = if operator == "MatMul" { &[2, 9, 16] } else { &[9, 16] };
        let scales: Vec<f32> = (0..10_u8).map(|column| 0.002 + 0.0007 * f32::from(column)).collect();
        let case = Case::of_nodes(13, nodes, &["y"]).named_input("x", floats(image));
        let case = case.named_weight("w", weights(&taps)).named_weight("w_scale", floats_of(&[10], &scales));
        let case = case.named_weight("w_zero", bytes(Int8, &[10], &[0; 10])).named_weight("b", floats(&[10]));
        let case = with(with(case, "x", IMAGE, 140, UInt8), "y", STEP, 0, Int8);
        let graph = check(&with(case, "z", 0.0213, 3, UInt8), 0.0426);
        assert_eq!(convolutions(&graph), [1, 0]);
        let plan = lower::lower(&graph).unwrap();
        assert_eq!(plan.steps.len(), 3, "integers, their products, what follows: {:?}", plan.steps);
    }
}
