//! Functions of single elements.

use cudainfer_fused::graph::{Operator, Unary};
use cudainfer_kernels::tensor::TensorType;
use cudainfer_model::onnx::proto::Attribute;

use crate::case::{Case, float, floats, floats_of, int, integers, integers_of, text};

#[test]
fn functions_of_one_number_are_those_of_onnx_runtime() {
    let plain: &[&str] = &[
        "Abs",
        "Neg",
        "Exp",
        "Reciprocal",
        "Erf",
        "Floor",
        "Ceil",
        "Round",
        "Sign",
        "Sin",
        "Cos",
        "Relu",
        "Sigmoid",
        "Tanh",
        "Softplus",
        "Softsign",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Celu",
        "ThresholdedRelu",
        "HardSigmoid",
        "Identity",
        "Shrink",
    ];
    for operator in plain {
        Case::of(operator, 13, Vec::new()).input(floats(&[2, 3, 5])).check();
    }
    for operator in ["Sqrt", "Log"] {
        Case::of(operator, 13, Vec::new()).input(floats_of(&[4], &[0.5, 1.0, 2.0, 10.0])).check();
    }
    Case::of("HardSwish", 14, Vec::new()).input(floats_of(&[5], &[-4.0, -2.0, 0.0, 1.5, 4.0])).check();
    Case::of("Mish", 18, Vec::new()).input(floats(&[50])).check();
    Case::of("Gelu", 20, Vec::new()).input(floats(&[50])).check();
    Case::of("Gelu", 20, vec![text("approximate", "tanh")]).input(floats(&[50])).check();
}

#[test]
fn attributes_of_functions_are_read() {
    let of =
        |operator: &str, attributes: Vec<Attribute>| Case::of(operator, 13, attributes).input(floats(&[40]));
    let graph = of("LeakyRelu", vec![float("alpha", 0.25)]).check();
    assert_eq!(graph.nodes[0].operator, Operator::Unary(Unary::LeakyRelu { slope: 0.25 }));
    of("LeakyRelu", vec![float("alpha", 0.0)]).check();
    of("Elu", vec![float("alpha", 0.5)]).check();
    of("Selu", vec![float("alpha", 1.5), float("gamma", 0.75)]).check();
    of("Celu", vec![float("alpha", 0.5)]).check();
    of("ThresholdedRelu", vec![float("alpha", 0.5)]).check();
    of("HardSigmoid", vec![float("alpha", 0.25), float("beta", 0.375)]).check();
    of("Shrink", vec![float("bias", 0.25), float("lambd", 1.0)]).check();
}

#[test]
fn functions_of_onnx_runtime_itself_are_read() {
    let of = |operator: &str| {
        let mut case = Case::of(operator, 13, Vec::new()).input(floats(&[2, 8]));
        case.nodes[0].domain = Some("com.microsoft".into());
        case
    };
    of("Gelu").check();
    of("QuickGelu").check();
    // The runtime's own approximation of tanh.
    of("FastGelu").within(1e-5).check();
    of("FastGelu").weight(floats(&[8])).within(1e-5).check();
    let refusal = of("FusedMatMulActivation").refusal().to_string();
    assert!(refusal.contains("FusedMatMulActivation"), "{refusal}");
}

#[test]
fn functions_of_two_tensors_are_broadcast() {
    for operator in ["Add", "Sub", "Mul", "Div", "Max", "Min"] {
        let of = |a: &[usize], b: &[usize]| {
            Case::of(operator, 13, Vec::new())
                .input(floats_of(a, &[1.5, -2.0, 0.25, 7.0, -0.5, 3.0]))
                .input(floats_of(b, &[0.5, -4.0]))
        };
        of(&[3, 2], &[2]).check();
        of(&[3, 2], &[1, 2]).check();
        of(&[2, 3], &[2, 1]).check();
        of(&[1, 6], &[2, 1, 1]).check();
    }
    for operator in ["Greater", "Less", "Equal"] {
        Case::of(operator, 13, Vec::new()).input(floats(&[4, 8])).input(floats(&[8])).check();
    }
    for operator in ["GreaterOrEqual", "LessOrEqual"] {
        Case::of(operator, 16, Vec::new()).input(floats(&[4, 8])).input(floats(&[8])).check();
    }
    let base = floats_of(&[4], &[0.5, 1.0, 2.0, 3.0]);
    Case::of("Pow", 13, Vec::new()).input(base.clone()).weight(floats_of(&[], &[1.5])).check();
    Case::of("Pow", 13, Vec::new()).input(floats(&[7])).weight(integers_of(&[], &[2])).check();
    Case::of("Pow", 13, Vec::new()).input(base).input(floats_of(&[2, 1], &[-1.0, 0.5])).check();
    Case::of("PRelu", 13, Vec::new()).input(floats(&[2, 3, 4, 5])).weight(floats(&[3, 1, 1])).check();
}

#[test]
fn integers_are_divided_as_in_c() {
    let (a, b) = (integers(&[7, -7, 7, -7, 0]), integers(&[2, 2, -2, -3, 5]));
    for operator in ["Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less"] {
        Case::of(operator, 14, Vec::new()).input(a.clone()).input(b.clone()).check();
    }
    let narrow = |array: &crate::runtime::Array| array.cast(TensorType::Int32);
    Case::of("Div", 14, Vec::new()).input(narrow(&a)).input(narrow(&b)).check();
    for fmod in [0, 1] {
        let case = Case::of("Mod", 13, vec![int("fmod", fmod)]).input(a.clone()).input(b.clone());
        case.check_plan();
    }
    let of_floats = Case::of("Mod", 13, vec![int("fmod", 1)]).input(floats(&[3])).input(floats(&[3]));
    let refusal = of_floats.refusal().to_string();
    assert!(refusal.contains("Mod") && refusal.contains("constants"), "{refusal}");
}

#[test]
fn what_is_no_number_is_found() {
    let x = floats_of(&[5], &[1.0, f32::NAN, f32::INFINITY, -f32::NAN, 0.0]);
    Case::of("IsNaN", 13, Vec::new()).input(x).check_plan();
}

#[test]
fn booleans_are_combined() {
    let bits = |values: &[i64]| integers(values).cast(TensorType::Bool);
    for operator in ["And", "Or", "Xor"] {
        Case::of(operator, 13, Vec::new()).input(bits(&[0, 0, 1, 1])).input(bits(&[0, 1, 0, 1])).check();
    }
    Case::of("Not", 13, Vec::new()).input(bits(&[0, 1])).check();
    let condition = integers_of(&[2, 1], &[1, 0]).cast(TensorType::Bool);
    Case::of("Where", 13, Vec::new())
        .input(condition.clone())
        .input(floats(&[3]))
        .input(floats(&[1, 1]))
        .check();
    Case::of("Where", 13, Vec::new()).input(condition).input(integers(&[5])).input(integers(&[6, 7])).check();
}

#[test]
fn many_tensors_become_one() {
    for operator in ["Sum", "Mean", "Max", "Min"] {
        let case = Case::of(operator, 13, Vec::new()).input(floats(&[2, 3]));
        case.check();
        case.clone().input(floats(&[3])).input(floats(&[2, 1])).check();
    }
}

#[test]
fn a_clip_has_attributes_or_inputs_and_either_bound() {
    let x = floats(&[30]);
    let bound = |value: f32| floats_of(&[], &[value]);
    let old = |attributes| Case::of("Clip", 7, attributes).input(x.clone());
    old(Vec::new()).check();
    let graph = old(vec![float("min", 0.0), float("max", 1.5)]).check();
    assert_eq!(graph.nodes[0].operator, Operator::Unary(Unary::Clip { low: 0.0, high: 1.5 }));
    old(vec![float("max", 0.5)]).check();
    let new = || Case::of("Clip", 13, Vec::new()).input(x.clone());
    new().check();
    new().weight(bound(-0.5)).weight(bound(1.5)).check();
    new().missing().weight(bound(1.5)).check();
    new().weight(bound(-0.5)).check();
    let graph = new().weight(bound(0.0)).check();
    assert_eq!(graph.nodes[0].operator, Operator::Unary(Unary::Relu));
    // Bounds that a run is given, and such in the wrong order.
    new().input(bound(-0.5)).input(bound(1.0)).check();
    new().weight(bound(1.0)).weight(bound(-1.0)).check();
    Case::of("Clip", 13, Vec::new()).input(integers(&[-5, 0, 5])).weight(integers_of(&[], &[-2])).check();
}

#[test]
fn casts_cut_off_and_refuse_what_is_not_computed_with() {
    let x = floats_of(&[7], &[-2.7, -0.5, 0.0, 0.5, 0.25, 2.5, 100.9]);
    for to in [1, 6, 7, 9, 10] {
        Case::of("Cast", 13, vec![int("to", to)]).input(x.clone()).check();
    }
    let whole = integers(&[0, 1, -3, 200]);
    for to in [1, 6, 9, 2, 3] {
        Case::of("Cast", 13, vec![int("to", to)]).input(whole.clone()).check();
    }
    Case::of("CastLike", 15, Vec::new()).input(x.clone()).weight(whole).check();
    let refusal = Case::of("Cast", 13, vec![int("to", 11)]).input(x).refusal().to_string();
    assert!(refusal.contains("double"), "{refusal}");
}

#[test]
fn numbers_of_float16_are_rounded_to_it() {
    let half = |dims: &[usize]| floats(dims).cast(TensorType::Float16);
    for operator in ["Add", "Mul"] {
        // Both are correctly rounded.
        Case::of(operator, 13, Vec::new()).input(half(&[40])).input(half(&[40])).within(0.0).check();
    }
}

#[test]
fn dropout_changes_nothing_in_inference() {
    Case::of("Dropout", 12, Vec::new()).input(floats(&[5])).check();
    Case::of("Dropout", 7, vec![float("ratio", 0.3)]).input(floats(&[5])).check();
    let training = integers_of(&[], &[1]).cast(TensorType::Bool);
    let case = Case::of("Dropout", 12, Vec::new()).input(floats(&[5])).missing().weight(training);
    assert!(case.refusal().to_string().contains("training"));
    let masked = Case::of("Dropout", 12, Vec::new()).input(floats(&[5])).outputs(&["y", "mask"]);
    assert!(masked.refusal().to_string().contains("output 1 is read"), "{}", masked.refusal());
}
