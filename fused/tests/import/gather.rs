//! Elements by indices, read and written.

use cudainfer_fused::graph::Operator;
use cudainfer_kernels::tensor::TensorType;

use crate::case::{Case, floats, int, integers, integers_of, text};
use crate::runtime::Array;

/// Places from `-length` to before `length`, that do not repeat soon.
fn indices(dims: &[usize], length: i64) -> Array {
    let count = i64::try_from(dims.iter().product::<usize>()).unwrap();
    integers_of(dims, &(0..count).map(|at| (at * 7 + at / 3 + 1) % (2 * length) - length).collect::<Vec<_>>())
}

#[test]
fn computed_indices_choose_along_an_axis() {
    let dims = [3, 4, 5];
    for (axis, length) in [(0, 3), (1, 4), (-1, 5)] {
        for of in [&[][..], &[1], &[6], &[2, 3]] {
            let case = Case::of("Gather", 13, vec![int("axis", axis)]).input(floats(&dims));
            case.input(indices(of, length)).check_plan();
        }
    }
    let narrow = indices(&[6], 3).cast(TensorType::Int32);
    Case::of("Gather", 13, Vec::new())
        .input(floats(&[3, 2]).cast(TensorType::Float16))
        .input(narrow)
        .check_plan();
    // Constants are chosen from as well.
    Case::of("Gather", 13, Vec::new()).weight(floats(&[3, 2])).input(indices(&[4], 3)).check_plan();
    let refused = Case::of("Gather", 13, Vec::new()).input(floats(&[3, 2])).input(floats(&[1]));
    assert!(refused.refusal().to_string().contains("indices are of float32"), "{}", refused.refusal());
}

#[test]
fn constant_indices_in_disorder_are_read_by_one_kernel() {
    let disorder = [0, 5, 1, 1, 6, 2, 19, -1, 3, 3, 12, 4, 0, 18, 7, 7, 10];
    let case = Case::of("Gather", 13, vec![int("axis", 1)]).input(floats(&[2, 20, 3]));
    let graph = case.weight(integers(&disorder)).check_plan();
    let gathers = graph.nodes.iter().filter(|node| node.operator == Operator::Gather { axis: 1 });
    assert_eq!((gathers.count(), graph.nodes.len()), (1, 1), "{:?}", graph.nodes);
}

#[test]
fn each_element_has_an_index() {
    for (axis, of, length) in [(0, [5, 4, 2], 3), (1, [3, 2, 2], 4), (-1, [2, 4, 7], 2)] {
        let case = Case::of("GatherElements", 13, vec![int("axis", axis)]).input(floats(&[3, 4, 2]));
        case.input(indices(&of, length)).check_plan();
    }
    let wide = Case::of("GatherElements", 13, vec![int("axis", 0)]).input(floats(&[3, 2]));
    let wide = wide.input(indices(&[3, 3], 3));
    assert!(wide.refusal().to_string().contains("does not fit"), "{}", wide.refusal());
}

#[test]
fn places_along_several_axes_are_chosen() {
    let of = |x: &[usize], batch: i64, indices: Array| {
        Case::of("GatherND", 13, vec![int("batch_dims", batch)]).input(floats(x)).input(indices)
    };
    of(&[3, 3, 5], 0, indices(&[4, 2], 3)).check_plan();
    of(&[3, 3, 3], 0, indices(&[2, 2, 3], 3)).check_plan();
    of(&[5, 4], 0, indices(&[2, 3, 1], 5)).check_plan();
    of(&[2, 3, 3, 4], 1, indices(&[2, 5, 2], 3)).check_plan();
    of(&[2, 2, 3], 2, indices(&[2, 2, 4, 1], 3)).check_plan();
    let deep = of(&[3, 3], 0, indices(&[4, 3], 3));
    assert!(deep.refusal().to_string().contains("does not fit"), "{}", deep.refusal());
}

#[test]
fn rows_and_elements_are_replaced_at_constant_places() {
    let of = |operator: &str, opset, attributes, indices: Array, updates: &[usize]| {
        let case = Case::of(operator, opset, attributes).input(floats(&[4, 3, 2])).weight(indices);
        case.input(floats(updates))
    };
    of("ScatterND", 13, vec![], integers_of(&[2, 1], &[2, 0]), &[2, 3, 2]).check_plan();
    of("ScatterND", 18, vec![], integers_of(&[3, 2], &[0, 2, -1, 0, 1, -1]), &[3, 2]).check_plan();
    of("ScatterND", 13, vec![], integers_of(&[1, 2, 3], &[3, 2, 1, 0, 0, 0]), &[1, 2]).check_plan();
    of("ScatterElements", 13, vec![int("axis", 1)], integers_of(&[2, 2, 1], &[2, 0, -1, 1]), &[2, 2, 1])
        .check_plan();
    of("ScatterElements", 13, vec![], integers_of(&[1, 1, 2], &[-1, 2]), &[1, 1, 2]).check_plan();
    let add = vec![text("reduction", "add")];
    let added = of("ScatterND", 18, add, integers_of(&[2, 1], &[2, 0]), &[2, 3, 2]);
    assert!(added.refusal().to_string().contains("reduction is 'add'"), "{}", added.refusal());
    let outside = of("ScatterND", 13, vec![], integers_of(&[1, 1], &[4]), &[1, 3, 2]);
    assert!(outside.refusal().to_string().contains("ScatterND"), "{}", outside.refusal());
    let moving = Case::of("ScatterND", 13, vec![]).input(floats(&[4])).input(integers_of(&[1, 1], &[0]));
    let moving = moving.input(floats(&[1])).refusal();
    assert!(moving.to_string().contains("input 1 is no constant"), "{moving}");
}
