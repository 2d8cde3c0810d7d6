//! What passes make of graphs. Each comparison is with ONNX Runtime; the assertions are what remains of the graph.

use cudainfer_fused::graph::{Binary, Elements, Graph, Operator, PoolKind, Unary};
use cudainfer_kernels::tensor::TensorType;
use cudainfer_model::onnx::proto::Node;

use crate::case::{Case, check_graph, float, floats, floats_of, int, ints, node, text};
use crate::runtime::Array;

/// The operators of a graph, in order.
fn operators(graph: &Graph) -> Vec<&Operator> {
    graph.nodes.iter().map(|node| &node.operator).collect()
}

/// A case of nodes between `x`, which is `[1, 4, 5, 6]` (or other dimensions), and `y`.
fn case(dims: &[usize], nodes: Vec<Node>) -> Case {
    Case::of_nodes(13, nodes, &["y"]).named_input("x", floats(dims)).within(1e-5)
}

/// A node without attributes.
fn plain(operator: &str, inputs: &[&str], output: &str) -> Node {
    node(operator, inputs, &[output], Vec::new())
}

/// The case with a float32 number of this name.
fn with(case: Case, name: &str, number: f32) -> Case {
    case.named_weight(name, floats_of(&[], &[number]))
}

fn variances() -> Array {
    floats_of(&[3], &[0.25, 1.0, 2.5])
}

#[test]
fn a_batch_normalization_becomes_part_of_the_convolution_before_it() {
    for (operator, weights) in [("Conv", &[3, 4, 3, 3][..]), ("ConvTranspose", &[4, 3, 3, 3])] {
        for bias in [true, false] {
            let inputs: &[&str] = if bias { &["x", "w", "bias"] } else { &["x", "w"] };
            let nodes = vec![
                plain(operator, inputs, "sums"),
                plain("BatchNormalization", &["sums", "scale", "shift", "mean", "variance"], "normal"),
                plain("Relu", &["normal"], "y"),
            ];
            let case = case(&[1, 4, 5, 6], nodes)
                .named_weight("w", floats(weights))
                .named_weight("bias", floats(&[3]));
            let case = case
                .named_weight("scale", floats_of(&[3], &[1.5, -0.5, 2.0]))
                .named_weight("shift", floats(&[3]));
            let case = case.named_weight("mean", floats_of(&[3], &[0.5, 1.0, -1.0]));
            let graph = case.named_weight("variance", variances()).within(1e-4).check();
            assert_eq!(graph.nodes.len(), 2, "{:?}", operators(&graph));
            assert_eq!(graph.nodes[0].inputs.len(), 3);
        }
    }
}

#[test]
fn what_each_channel_is_combined_with_becomes_part_of_the_convolution_before_it() {
    let constants = [
        floats_of(&[], &[0.5]),
        floats_of(&[3, 1, 1], &[0.5, 2.0, -4.0]),
        floats_of(&[1, 3, 1, 1], &[1.0, 0.25, 3.0]),
    ];
    for constant in constants {
        for (operator, inputs) in [
            ("Mul", ["sums", "c"]),
            ("Mul", ["c", "sums"]),
            ("Add", ["sums", "c"]),
            ("Sub", ["sums", "c"]),
            ("Sub", ["c", "sums"]),
            ("Div", ["sums", "c"]),
        ] {
            let nodes = vec![plain("Conv", &["x", "w", "bias"], "sums"), plain(operator, &inputs, "y")];
            let case = case(&[1, 4, 5, 6], nodes).named_weight("w", floats(&[3, 4, 2, 2]));
            let case = case.named_weight("bias", floats(&[3])).named_weight("c", constant.clone());
            assert_eq!(case.within(1e-4).check().nodes.len(), 1, "{operator}");
        }
    }
}

#[test]
fn groups_of_a_transposed_convolution_have_their_own_factors() {
    let nodes = vec![
        node("ConvTranspose", &["x", "w"], &["sums"], vec![int("group", 2)]),
        plain("Mul", &["sums", "c"], "y"),
    ];
    let case = case(&[1, 4, 5, 6], nodes).named_weight("w", floats(&[4, 3, 2, 2]));
    let constant = floats_of(&[6, 1, 1], &[1.0, 2.0, 3.0, -1.0, 0.5, 0.25]);
    assert_eq!(case.named_weight("c", constant).check().nodes.len(), 1);
}

#[test]
fn what_multiplies_each_channel_before_a_convolution_becomes_part_of_it() {
    let factors = floats_of(&[4, 1, 1], &[0.5, 2.0, -4.0, 0.125]);
    for (operator, weights, groups) in
        [("Conv", &[6, 4, 3, 3][..], 1), ("Conv", &[6, 2, 3, 3], 2), ("ConvTranspose", &[4, 3, 3, 3], 2)]
    {
        for (product, inputs) in [("Mul", ["x", "c"]), ("Mul", ["c", "x"]), ("Div", ["x", "c"])] {
            let attributes = vec![int("group", groups), ints("pads", &[1, 1, 1, 1])];
            let nodes =
                vec![plain(product, &inputs, "p"), node(operator, &["p", "w", "bias"], &["y"], attributes)];
            let case = case(&[1, 4, 5, 6], nodes)
                .named_weight("w", floats(weights))
                .named_weight("bias", floats(&[6]));
            let graph = case.named_weight("c", factors.clone()).within(1e-4).check();
            assert_eq!(graph.nodes.len(), 1, "{operator} after {product}");
        }
    }
    // Float16 would lose digits, or all of them.
    let half = |array: Array| array.cast(TensorType::Float16);
    for (divisor, nodes) in [(4.0, 1), (255.0, 2)] {
        let chain = vec![plain("Div", &["x", "c"], "p"), plain("Conv", &["p", "w"], "y")];
        let case =
            Case::of_nodes(13, chain, &["y"]).named_input("x", half(floats(&[1, 4, 5, 6]))).within(0.02);
        let case = case
            .named_weight("w", half(floats(&[3, 4, 1, 1])))
            .named_weight("c", half(floats_of(&[], &[divisor])));
        assert_eq!(case.check().nodes.len(), nodes, "{divisor}");
        let chain = vec![plain("Conv", &["x", "w"], "p"), plain("Mul", &["p", "c"], "y")];
        let large = half(floats_of(&[], &[if divisor == 4.0 { 4.0 } else { 60_000.0 }]));
        let weights = vec![case.weights[0].clone(), ("c".into(), large)];
        assert_eq!(Case { nodes: chain, weights, ..case }.graph().nodes.len(), nodes, "{divisor}");
    }
    // A shift would be one of the border, too.
    let nodes =
        vec![plain("Add", &["x", "c"], "p"), node("Conv", &["p", "w"], &["y"], vec![ints("pads", &[1; 4])])];
    let case = case(&[1, 4, 5, 6], nodes).named_weight("w", floats(&[6, 4, 3, 3])).named_weight("c", factors);
    assert_eq!(case.within(1e-4).check().nodes.len(), 2);
}

#[test]
fn what_is_read_elsewhere_or_differs_by_place_stays() {
    let twice = vec![
        plain("Conv", &["x", "w"], "sums"),
        plain("Mul", &["sums", "c"], "scaled"),
        plain("Add", &["sums", "scaled"], "y"),
    ];
    let weights = || floats(&[3, 4, 1, 1]);
    let once = case(&[1, 4, 5, 6], twice).named_weight("w", weights()).named_weight("c", floats(&[3, 1, 1]));
    assert_eq!(once.check().nodes.len(), 3);
    for dims in [&[6][..], &[5, 1], &[1, 1, 5, 6]] {
        let nodes = vec![plain("Conv", &["x", "w"], "sums"), plain("Mul", &["sums", "c"], "y")];
        let case = case(&[1, 4, 5, 6], nodes).named_weight("w", weights()).named_weight("c", floats(dims));
        assert_eq!(case.check().nodes.len(), 2, "{dims:?}");
    }
    let nodes = vec![plain("Conv", &["x", "w"], "sums"), plain("Div", &["c", "sums"], "y")];
    let case =
        case(&[1, 4, 5, 6], nodes).named_weight("w", weights()).named_weight("c", floats_of(&[], &[2.0]));
    assert_eq!(case.within(1e-3).check().nodes.len(), 2);
}

#[test]
fn weights_of_float16_are_rounded_once_and_biases_not_at_all() {
    let half = |array: Array| array.cast(TensorType::Float16);
    let nodes = vec![
        plain("Conv", &["x", "w"], "sums"),
        plain("BatchNormalization", &["sums", "scale", "shift", "mean", "variance"], "y"),
    ];
    let numbers = |values: &[f32]| half(floats_of(&[values.len()], values));
    let case = Case::of_nodes(13, nodes, &["y"]).named_input("x", half(floats(&[1, 1, 2, 2])));
    let case = case.named_weight("w", half(floats_of(&[1, 1, 1, 2], &[0.3, -1.7])));
    let case = case.named_weight("scale", numbers(&[1.3])).named_weight("shift", numbers(&[0.7]));
    let graph = case.named_weight("mean", numbers(&[0.9])).named_weight("variance", numbers(&[0.6])).graph();
    let [_, weights, bias] = graph.nodes[0].inputs[..] else { panic!("{:?}", graph.nodes) };
    let of = |value: f64| f64::from(half::f16::from_f64(value).to_f32());
    let factor = of(1.3) / (of(0.6) + 1e-5).sqrt();
    let made = |id| graph.value(id).constant.clone().unwrap().numbers();
    assert_eq!(made(weights), [of(of(0.3) * factor), of(of(-1.7) * factor)]);
    assert!((made(bias)[0] - (of(0.7) - of(0.9) * factor)).abs() < 1e-6);
    assert_eq!(graph.value(bias).ty, TensorType::Float16);
}

/// One function remains of nodes between `x` and `y`.
fn becomes(function: Unary, nodes: Vec<Node>, numbers: &[(&str, f32)]) {
    let case = numbers.iter().fold(case(&[3, 50], nodes), |case, (name, number)| with(case, name, *number));
    let graph = case.check();
    assert_eq!(operators(&graph), [&Operator::Unary(function)]);
}

#[test]
fn products_with_a_gate_are_one_function() {
    becomes(Unary::Silu, vec![plain("Sigmoid", &["x"], "s"), plain("Mul", &["x", "s"], "y")], &[]);
    becomes(Unary::Silu, vec![plain("Sigmoid", &["x"], "s"), plain("Mul", &["s", "x"], "y")], &[]);
    let mish =
        vec![plain("Softplus", &["x"], "p"), plain("Tanh", &["p"], "t"), plain("Mul", &["x", "t"], "y")];
    becomes(Unary::Mish, mish, &[]);
    let softplus =
        vec![plain("Exp", &["x"], "e"), plain("Add", &["e", "one"], "p"), plain("Log", &["p"], "y")];
    becomes(Unary::Softplus, softplus, &[("one", 1.0)]);
    let hard = || vec![float("alpha", 1.0 / 6.0), float("beta", 0.5)];
    let swish = vec![node("HardSigmoid", &["x"], &["s"], hard()), plain("Mul", &["x", "s"], "y")];
    becomes(Unary::HardSwish, swish, &[]);
}

#[test]
fn gates_of_six_are_hard_functions() {
    let numbers = [("three", 3.0), ("zero", 0.0), ("six", 6.0)];
    let gate = || vec![plain("Add", &["x", "three"], "a"), plain("Clip", &["a", "zero", "six"], "c")];
    let sigmoid = Unary::HardSigmoid { slope: 1.0 / 6.0, offset: 0.5 };
    becomes(sigmoid, [gate(), vec![plain("Div", &["c", "six"], "y")]].concat(), &numbers);
    let last = [plain("Mul", &["x", "c"], "m"), plain("Div", &["m", "six"], "y")].to_vec();
    becomes(Unary::HardSwish, [gate(), last].concat(), &numbers);
    let last = [plain("Div", &["c", "six"], "m"), plain("Mul", &["m", "x"], "y")].to_vec();
    becomes(Unary::HardSwish, [gate(), last].concat(), &numbers);
    // Relu and Min instead of Clip.
    let relu = vec![
        plain("Add", &["x", "three"], "a"),
        plain("Relu", &["a"], "r"),
        plain("Min", &["r", "six"], "c"),
    ];
    becomes(sigmoid, [relu, vec![plain("Div", &["c", "six"], "y")]].concat(), &numbers);
    // A sixth of few digits is what the file says.
    let few = [gate(), vec![plain("Mul", &["x", "c"], "m"), plain("Mul", &["m", "sixth"], "y")]].concat();
    let few = numbers.iter().fold(case(&[60], few), |case, (name, number)| with(case, name, *number));
    let graph = with(few, "sixth", 0.166_626).check();
    let wanted = [Operator::Unary(Unary::HardSwish), Operator::Binary(Binary::Multiply)];
    assert!(operators(&graph).into_iter().eq(&wanted), "{:?}", operators(&graph));
    // Another number is another function.
    let other = [gate(), vec![plain("Mul", &["x", "c"], "m"), plain("Div", &["m", "three"], "y")]].concat();
    let case = numbers.iter().fold(case(&[60], other), |case, (name, number)| with(case, name, *number));
    assert!(case.check().nodes.len() > 1);
}

#[test]
fn chains_of_erf_and_tanh_are_gelu() {
    let root = std::f32::consts::SQRT_2;
    let numbers = [("root", root), ("inverse", 1.0 / root), ("one", 1.0), ("half", 0.5)];
    let divided = plain("Div", &["x", "root"], "d");
    let multiplied = plain("Mul", &["x", "inverse"], "d");
    for scaled in [divided, multiplied] {
        let gate = || vec![scaled.clone(), plain("Erf", &["d"], "e"), plain("Add", &["e", "one"], "g")];
        for last in [
            [plain("Mul", &["x", "g"], "m"), plain("Mul", &["m", "half"], "y")],
            [plain("Mul", &["x", "half"], "m"), plain("Mul", &["m", "g"], "y")],
            [plain("Mul", &["g", "half"], "m"), plain("Mul", &["x", "m"], "y")],
        ] {
            becomes(Unary::Gelu, [gate(), last.to_vec()].concat(), &numbers);
        }
    }
    let numbers = [("c", 0.044_715), ("k", 0.797_884_6), ("one", 1.0), ("half", 0.5), ("three", 3.0)];
    let cubed = vec![
        plain("Pow", &["x", "three"], "p"),
        plain("Mul", &["p", "c"], "q"),
        plain("Add", &["x", "q"], "s"),
        plain("Mul", &["s", "k"], "d"),
    ];
    let squared = vec![
        plain("Mul", &["x", "x"], "p"),
        plain("Mul", &["c", "p"], "q"),
        plain("Add", &["one", "q"], "s"),
        plain("Mul", &["x", "k"], "r"),
        plain("Mul", &["r", "s"], "d"),
    ];
    for inner in [cubed, squared] {
        let last = vec![
            plain("Tanh", &["d"], "t"),
            plain("Add", &["t", "one"], "g"),
            plain("Mul", &["x", "g"], "m"),
            plain("Mul", &["m", "half"], "y"),
        ];
        becomes(Unary::GeluTanh, [inner, last].concat(), &numbers);
    }
}

#[test]
fn bounds_are_joined() {
    let numbers = [("low", -1.0), ("high", 1.5), ("zero", 0.0)];
    let clip = Unary::Clip { low: -1.0, high: 1.5 };
    becomes(clip, vec![plain("Max", &["x", "low"], "m"), plain("Min", &["m", "high"], "y")], &numbers);
    becomes(clip, vec![plain("Min", &["high", "x"], "m"), plain("Max", &["low", "m"], "y")], &numbers);
    becomes(Unary::Relu, vec![plain("Max", &["x", "zero"], "y")], &numbers);
    let twice = vec![plain("Relu", &["x"], "r"), plain("Clip", &["r", "low", "high"], "y")];
    becomes(Unary::Clip { low: 0.0, high: 1.5 }, twice, &numbers);
    // Bounds that exclude each other are a number, which is not said by one function.
    let nodes = vec![plain("Min", &["x", "low"], "m"), plain("Max", &["m", "high"], "y")];
    with(with(case(&[30], nodes), "low", -1.0), "high", 1.5).check();
}

#[test]
fn a_border_of_0_is_part_of_the_window() {
    let border = || node("Pad", &["x"], &["p"], vec![ints("pads", &[0, 0, 1, 2, 0, 0, 2, 1])]);
    let old = |nodes| Case { opset: 9, ..case(&[1, 4, 5, 6], nodes) };
    let conv = node("Conv", &["p", "w"], &["y"], vec![ints("pads", &[1, 0, 0, 1]), ints("strides", &[2, 2])]);
    let graph = old(vec![border(), conv]).named_weight("w", floats(&[3, 4, 3, 3])).check();
    let [Operator::Convolution { window, .. }] = operators(&graph)[..] else {
        panic!("{:?}", operators(&graph))
    };
    assert_eq!((window.begin, window.end), ([2, 2], [2, 2]));
    let pool = |operator: &str| node(operator, &["p"], &["y"], vec![ints("kernel_shape", &[3, 3])]);
    let graph = old(vec![border(), pool("AveragePool")]).check();
    let [Operator::Pool { kind, .. }] = operators(&graph)[..] else { panic!("{:?}", operators(&graph)) };
    assert_eq!(*kind, PoolKind::Average { count_padding: true });
    // The largest of numbers that may be negative is not that of them and 0.
    assert_eq!(old(vec![border(), pool("MaxPool")]).check().nodes.len(), 2);
    let positive =
        vec![plain("Relu", &["x"], "r"), Node { inputs: vec!["r".into()], ..border() }, pool("MaxPool")];
    assert_eq!(old(positive).check().nodes.len(), 2);
    // A border of batch, channels or other numbers stays.
    for attributes in [
        vec![ints("pads", &[0, 1, 1, 2, 0, 0, 2, 1])],
        vec![ints("pads", &[0, 0, 1, 2, 0, 0, 2, 1]), float("value", 1.0)],
        vec![ints("pads", &[0, 0, 1, 2, 0, 0, 2, 1]), text("mode", "edge")],
        vec![ints("pads", &[0, 0, -1, 2, 0, 0, 2, 1])],
    ] {
        let channels = if attributes[0].ints[1] == 1 { 5 } else { 4 };
        let conv = plain("Conv", &["p", "w"], "y");
        let graph = old(vec![node("Pad", &["x"], &["p"], attributes), conv])
            .named_weight("w", floats(&[3, channels, 3, 3]))
            .check();
        assert_eq!(graph.nodes.len(), 2);
    }
}

#[test]
fn nodes_that_change_nothing_are_left_out() {
    let nodes = vec![
        node("Transpose", &["x"], &["a"], vec![ints("perm", &[0, 1])]),
        node("Cast", &["a"], &["b"], vec![int("to", 1)]),
        plain("Mul", &["b", "one"], "c"),
        plain("Add", &["zero", "c"], "d"),
        plain("Sub", &["d", "zero"], "e"),
        plain("Div", &["e", "one"], "f"),
        plain("Identity", &["f"], "g"),
        node("Flatten", &["g"], &["h"], vec![int("axis", 1)]),
        plain("Tanh", &["h"], "y"),
    ];
    let graph = with(with(case(&[3, 4], nodes), "one", 1.0), "zero", 0.0).check();
    assert_eq!(operators(&graph), [&Operator::Unary(Unary::Tanh)]);
    // What is cut off at one end and added at the other one is a change.
    let moved = case(&[3, 4], vec![node("Pad", &["x"], &["y"], vec![ints("pads", &[-1, 0, 1, 0])])]);
    assert_eq!(Case { opset: 9, ..moved }.check().nodes.len(), 1);
    // With a number of more dimensions, the output has more.
    let case =
        case(&[3, 4], vec![plain("Add", &["x", "c"], "y")]).named_weight("c", floats_of(&[1, 1, 1], &[0.0]));
    assert_eq!(case.check().nodes.len(), 1);
}

#[test]
fn each_output_keeps_its_name_and_its_node() {
    let nodes = vec![
        plain("Relu", &["x"], "a"),
        plain("Identity", &["a"], "b"),
        plain("Identity", &["x"], "c"),
        plain("Relu", &["x"], "d"),
        plain("Add", &["k", "k"], "e"),
        plain("Identity", &["b"], "f"),
    ];
    let case =
        Case { outputs: ["b", "a", "c", "d", "e", "f", "k"].map(String::from).to_vec(), ..case(&[3], nodes) };
    let graph = case.named_weight("k", floats(&[2])).check();
    check_graph(&graph);
}

#[test]
fn moves_are_joined() {
    let nodes = vec![
        node("Transpose", &["x"], &["a"], vec![ints("perm", &[0, 2, 3, 1])]),
        node("Transpose", &["a"], &["b"], vec![ints("perm", &[0, 2, 3, 1])]),
        node("Transpose", &["b"], &["y"], vec![ints("perm", &[0, 3, 1, 2])]),
    ];
    let graph = case(&[2, 3, 4, 5], nodes).check();
    assert_eq!(operators(&graph), [&Operator::Transpose { order: vec![0, 2, 3, 1] }]);
    let slice = |from: &str, to: &str, starts: &[i64], ends: &[i64]| {
        node("Slice", &[from], &[to], vec![ints("starts", starts), ints("ends", ends)])
    };
    let nodes = vec![slice("x", "a", &[1, 2], &[5, 8]), slice("a", "y", &[1, 1], &[3, 4])];
    let graph = Case { opset: 9, ..case(&[6, 9], nodes) }.check();
    assert_eq!(operators(&graph), [&Operator::Slice { starts: vec![2, 3], steps: vec![1, 1] }]);
    // Axes of 1 change places without moving anything.
    let nodes = vec![
        node("Transpose", &["x"], &["a"], vec![ints("perm", &[0, 2, 3, 1])]),
        plain("Squeeze", &["a"], "y"),
    ];
    assert_eq!(operators(&case(&[2, 7, 1, 1], nodes).check()), [&Operator::Reshape]);
}

#[test]
fn axes_that_are_moved_back_later_are_not_moved() {
    let to_last = |from: &str, to: &str| node("Transpose", &[from], &[to], vec![ints("perm", &[0, 2, 3, 1])]);
    let to_second =
        |from: &str, to: &str| node("Transpose", &[from], &[to], vec![ints("perm", &[0, 3, 1, 2])]);
    let nodes = vec![
        to_last("x", "a"),
        plain("Relu", &["a"], "b"),
        plain("Add", &["b", "c"], "d"),
        node("Pad", &["d"], &["e"], vec![ints("pads", &[0, 1, 2, 0, 0, 0, 1, 0])]),
        node("Concat", &["d", "d"], &["f"], vec![int("axis", 3)]),
        node("Slice", &["f"], &["g"], vec![ints("starts", &[1]), ints("ends", &[5]), ints("axes", &[3])]),
        node("ReduceMean", &["g"], &["h"], vec![ints("axes", &[1, 2])]),
        to_second("e", "y"),
        to_second("h", "z"),
    ];
    let case = Case { opset: 9, outputs: vec!["y".into(), "z".into()], ..case(&[1, 3, 4, 5], nodes) };
    let graph = case.named_weight("c", floats(&[3])).check();
    assert!(
        !graph.nodes.iter().any(|node| matches!(node.operator, Operator::Transpose { .. })),
        "{:?}",
        operators(&graph)
    );
}

#[test]
fn a_line_stays_an_image_between_convolutions() {
    let nodes = vec![
        plain("Conv", &["x", "w"], "a"),
        plain("BatchNormalization", &["a", "scale", "shift", "mean", "variance"], "b"),
        plain("Relu", &["b"], "c"),
        plain("Conv", &["c", "v"], "y"),
    ];
    let case =
        case(&[1, 4, 12], nodes).named_weight("w", floats(&[3, 4, 3])).named_weight("v", floats(&[2, 3, 3]));
    let case =
        case.named_weight("scale", floats_of(&[3], &[1.5, -0.5, 2.0])).named_weight("shift", floats(&[3]));
    let case =
        case.named_weight("mean", floats_of(&[3], &[0.5, 1.0, -1.0])).named_weight("variance", variances());
    let graph = case.within(1e-3).check();
    let names = operators(&graph).into_iter().map(|operator| format!("{operator:?}"));
    let names: Vec<String> = names.map(|name| name.split([' ', '(']).next().unwrap().to_owned()).collect();
    assert_eq!(names, ["Reshape", "Convolution", "Unary", "Convolution", "Reshape"]);
}

#[test]
fn the_same_is_done_once() {
    let nodes = vec![
        plain("Tanh", &["x"], "a"),
        plain("Tanh", &["x"], "b"),
        plain("Add", &["a", "c"], "d"),
        plain("Add", &["b", "e"], "f"),
        plain("Mul", &["d", "f"], "y"),
    ];
    let case = case(&[3, 4], nodes).named_weight("c", floats(&[4])).named_weight("e", floats(&[4]));
    let graph = case.check();
    let wanted =
        [Operator::Unary(Unary::Tanh), Operator::Binary(Binary::Add), Operator::Binary(Binary::Multiply)];
    assert!(operators(&graph).into_iter().eq(&wanted), "{:?}", operators(&graph));
    assert_eq!(graph.values.len(), 5);
}

#[test]
fn constants_that_are_broadcast_are_small() {
    let same: Vec<f32> = [1.5, 2.5].iter().flat_map(|value| [*value; 12]).collect();
    let case = case(&[2, 3, 4], vec![plain("Add", &["x", "c"], "y")])
        .named_weight("c", floats_of(&[2, 3, 4], &same));
    let graph = case.check();
    let constant = graph.values.iter().find(|value| value.constant.is_some()).unwrap();
    assert_eq!(
        (&constant.dims[..], &constant.constant),
        (&[2, 1, 1][..], &Some(Elements::Floats(vec![1.5, 2.5])))
    );
}

#[test]
fn what_no_output_needs_is_removed() {
    let nodes = vec![plain("Tanh", &["x"], "a"), plain("Exp", &["x"], "y"), plain("Add", &["a", "c"], "b")];
    let graph = case(&[3], nodes).named_weight("c", floats(&[3])).check();
    assert_eq!((graph.nodes.len(), graph.values.len()), (1, 2));
}

#[test]
fn a_block_of_convnext_is_one_of_convolutions_although_its_layers_have_their_channels_last() {
    let nodes = vec![
        plain("Conv", &["x", "depthwise"], "deep"),
        node("Transpose", &["deep"], &["last"], vec![ints("perm", &[0, 2, 3, 1])]),
        plain("LayerNormalization", &["last", "scale", "shift"], "normal"),
        plain("MatMul", &["normal", "up"], "wide"),
        plain("Add", &["wide", "bias"], "sums"),
        plain("Relu", &["sums"], "active"),
        plain("MatMul", &["active", "down"], "narrow"),
        plain("Add", &["shift", "narrow"], "moved"),
        node("Transpose", &["moved"], &["first"], vec![ints("perm", &[0, 3, 1, 2])]),
        plain("Mul", &["gamma", "first"], "scaled"),
        plain("Add", &["scaled", "x"], "y"),
    ];
    let case = Case::of_nodes(17, nodes, &["y"]).named_input("x", floats(&[2, 4, 5, 6])).within(1e-4);
    let case = case.named_weight("depthwise", floats(&[4, 4, 1, 1])).named_weight("scale", floats(&[4]));
    let case = case.named_weight("shift", floats_of(&[4], &[0.5, -1.0, 2.0, 0.25]));
    let case = case.named_weight("up", floats(&[4, 8])).named_weight("bias", floats(&[8]));
    let graph = case.named_weight("down", floats(&[8, 4])).named_weight("gamma", floats(&[4, 1, 1])).check();
    let convolution = |of: &&&Operator| matches!(of, Operator::Convolution { .. });
    let operators = operators(&graph);
    assert_eq!(operators.iter().filter(convolution).count(), 3, "{operators:?}");
    assert!(
        operators.iter().any(|of| matches!(of, Operator::Normalize { axes, .. } if axes[..] == [1])),
        "{operators:?}"
    );
    assert_eq!(operators.len(), 6, "{operators:?}");
}
