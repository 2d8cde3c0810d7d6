//! One number of many.

use cudainfer_kernels::tensor::TensorType;

use crate::case::{Case, floats, floats_of, int, integers, integers_of, ints};

const OPERATORS: [&str; 9] = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceL2",
    "ReduceL1",
    "ReduceSumSquare",
    "ReduceLogSumExp",
    "ReduceProd",
];

#[test]
fn axes_are_an_attribute_or_an_input() {
    for operator in OPERATORS {
        let x = || floats(&[2, 3, 4]);
        for keep in [0, 1] {
            let old = |axes: &[i64]| {
                Case::of(operator, 11, vec![ints("axes", axes), int("keepdims", keep)]).input(x())
            };
            old(&[1]).within(1e-5).check();
            old(&[-1, 0]).within(1e-5).check();
            let new = || Case::of(operator, 18, vec![int("keepdims", keep)]).input(x()).within(1e-5);
            new().weight(integers(&[2])).check();
            new().weight(integers(&[0, -2])).check();
        }
        Case::of(operator, 11, Vec::new()).input(x()).within(1e-4).check();
        Case::of(operator, 18, Vec::new()).input(x()).within(1e-4).check();
    }
    Case::of("ReduceSum", 13, vec![int("keepdims", 0)]).input(floats(&[2, 3])).weight(integers(&[1])).check();
    Case::of("ReduceLogSum", 13, vec![ints("axes", &[0])])
        .input(floats_of(&[2, 2], &[1.0, 2.0, 0.5, 3.0]))
        .check();
}

#[test]
fn no_axes_are_all_or_none() {
    for noop in [0, 1] {
        for operator in ["ReduceMean", "ReduceMax", "ReduceL2"] {
            let case = Case::of(operator, 18, vec![int("noop_with_empty_axes", noop)]).input(floats(&[2, 3]));
            case.clone().check();
            case.weight(integers(&[])).check();
        }
    }
}

#[test]
fn integers_are_reduced() {
    for operator in ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"] {
        Case::of(operator, 13, vec![int("keepdims", 0)]).input(integers(&[3, -2, 7])).check();
    }
}

#[test]
fn the_first_of_the_largest_is_found() {
    let x = floats_of(&[2, 3, 2], &[1.0, 5.0, 1.0, 5.0, 0.0, 4.0, -1.0, -3.0, 2.0, -2.0, 2.0, -2.0]);
    for operator in ["ArgMax", "ArgMin"] {
        for (axis, keep) in [(0, 1), (1, 0), (-1, 0), (2, 1)] {
            Case::of(operator, 13, vec![int("axis", axis), int("keepdims", keep)]).input(x.clone()).check();
        }
        let last = Case::of(operator, 13, vec![int("select_last_index", 1)]).input(x.clone());
        assert!(last.refusal().to_string().contains("select_last_index"), "{}", last.refusal());
    }
}

#[test]
fn a_softmax_is_along_one_axis_or_all_from_one_on() {
    for operator in ["Softmax", "LogSoftmax"] {
        let of = |opset, attributes| Case::of(operator, opset, attributes).input(floats(&[2, 3, 4])).check();
        for opset in [11, 13] {
            of(opset, Vec::new());
            for axis in [0, 1, 2, -1] {
                of(opset, vec![int("axis", axis)]);
            }
        }
    }
    let half = floats(&[4, 5]).cast(TensorType::Float16);
    Case::of("Softmax", 13, Vec::new()).input(half).within(1e-3).check();
}

#[test]
fn running_sums_go_both_ways() {
    for (axis, exclusive, reverse) in [(0, 0, 0), (1, 1, 0), (-1, 0, 1), (1, 1, 1)] {
        let attributes = || vec![int("exclusive", exclusive), int("reverse", reverse)];
        let of =
            |x| Case::of("CumSum", 14, attributes()).input(x).weight(integers_of(&[], &[axis])).within(1e-5);
        of(floats(&[3, 4, 5])).check_plan();
        of(floats(&[3, 4, 5]).cast(TensorType::Int32)).check_plan();
    }
    let long = Case::of("CumSum", 11, vec![]).input(floats(&[3000])).weight(integers_of(&[], &[0])).refusal();
    assert!(long.to_string().contains("adds up 3000 numbers"), "{long}");
}
