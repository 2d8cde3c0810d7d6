//! The best of many.

use cudainfer_kernels::tensor::TensorType;

use crate::case::{Case, floats, floats_of, int, integers};

#[test]
fn the_best_come_first_and_of_equal_ones_the_first() {
    let equal =
        || floats_of(&[2, 7], &[1.0, 3.0, -0.0, 3.0, 0.0, 3.0, 1.0, -2.0, 0.0, -2.0, 5.0, -0.0, 5.0, -9.0]);
    for largest in [0, 1] {
        for count in [1, 3, 6, 7] {
            let case = Case::of("TopK", 11, vec![int("largest", largest)]).input(equal());
            case.weight(integers(&[count])).outputs(&["y", "indices"]).check_plan();
        }
        for axis in [0, 1, 2] {
            let case = Case::of("TopK", 11, vec![int("largest", largest), int("axis", axis)]);
            let case = case.input(floats(&[5, 6, 4])).weight(integers(&[3])).outputs(&["y", "indices"]);
            case.check_plan();
        }
    }
    let infinite = [f32::INFINITY, 1.0, f32::NEG_INFINITY, 2.0, f32::NEG_INFINITY, f32::INFINITY];
    let case = Case::of("TopK", 24, Vec::new()).input(floats_of(&[6], &infinite)).weight(integers(&[5]));
    case.outputs(&["y", "indices"]).check_plan();
}

#[test]
fn values_or_indices_alone_are_chosen_in_all_versions() {
    let old = Case::of("TopK", 9, vec![int("k", 2), int("axis", 0)]).input(floats(&[4, 3]));
    old.outputs(&["y", "indices"]).check_plan();
    for read in ["y", "indices"] {
        let mut case = Case::of("TopK", 13, Vec::new()).input(floats(&[4, 9])).weight(integers(&[4]));
        case.nodes[0].outputs = vec!["y".into(), "indices".into()];
        case.outputs = vec![read.to_owned()];
        case.check_plan();
    }
    let integers_of = floats(&[3, 8]).cast(TensorType::Int64);
    Case::of("TopK", 13, Vec::new())
        .input(integers_of)
        .weight(integers(&[5]))
        .outputs(&["y", "indices"])
        .check_plan();
}

#[test]
fn too_many_are_refused() {
    let of = |length: usize, count: i64| {
        Case::of("TopK", 13, Vec::new()).input(floats(&[length])).weight(integers(&[count])).refusal()
    };
    assert!(of(4, 5).to_string().contains("5 of 4 elements"), "{}", of(4, 5));
    assert!(of(8000, 7000).to_string().contains("7000 elements are chosen"), "{}", of(8000, 7000));
    let moving = Case::of("TopK", 13, Vec::new()).input(floats(&[4])).input(integers(&[1])).refusal();
    assert!(moving.to_string().contains("input 1 is no constant"), "{moving}");
}
