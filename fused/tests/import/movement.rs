//! Operators that move elements.

use cudainfer_fused::graph::Operator;
use cudainfer_kernels::tensor::TensorType;

use crate::case::{Case, floats, floats_of, int, integers, integers_of, ints, text};

#[test]
fn tensors_are_reshaped() {
    let of =
        |dims: &[i64]| Case::of("Reshape", 13, Vec::new()).input(floats(&[2, 3, 4])).weight(integers(dims));
    for dims in [&[6, 4][..], &[-1], &[0, -1], &[2, 0, 2, -1], &[0, 0, 0], &[1, 24, 1]] {
        of(dims).check();
    }
    for dims in [&[5, 5][..], &[-1, -1], &[-2, 12], &[0, 0, 0, 0], &[7, -1]] {
        assert!(of(dims).refusal().to_string().contains("Reshape"), "{dims:?}: {}", of(dims).refusal());
    }
    let zero =
        Case::of("Reshape", 14, vec![int("allowzero", 1)]).input(floats(&[2, 3])).weight(integers(&[3, 2]));
    zero.check();
}

#[test]
fn axes_of_1_come_and_go() {
    for axis in [0, 1, 2, 3, -1] {
        Case::of("Flatten", 13, vec![int("axis", axis)]).input(floats(&[2, 3, 4])).check();
    }
    let x = || floats(&[1, 3, 1, 4]);
    Case::of("Squeeze", 11, Vec::new()).input(x()).check();
    Case::of("Squeeze", 11, vec![ints("axes", &[2])]).input(x()).check();
    Case::of("Squeeze", 13, Vec::new()).input(x()).weight(integers(&[0, -2])).check();
    Case::of("Unsqueeze", 11, vec![ints("axes", &[0, 4])]).input(floats(&[2, 3, 4])).check();
    Case::of("Unsqueeze", 13, Vec::new()).input(floats(&[2, 3])).weight(integers(&[-1, 1])).check();
    let refused = Case::of("Squeeze", 13, Vec::new()).input(x()).weight(integers(&[1]));
    assert!(refused.refusal().to_string().contains("Squeeze"), "{}", refused.refusal());
}

#[test]
fn axes_change_places() {
    Case::of("Transpose", 13, Vec::new()).input(floats(&[2, 3, 4])).check();
    for order in [[0, 1, 2], [2, 0, 1], [1, 0, 2]] {
        Case::of("Transpose", 13, vec![ints("perm", &order)]).input(floats(&[2, 3, 4])).check();
    }
    let refused = Case::of("Transpose", 13, vec![ints("perm", &[0, 0, 1])]).input(floats(&[2, 3, 4]));
    assert!(refused.refusal().to_string().contains("order"), "{}", refused.refusal());
}

#[test]
fn parts_are_cut_out() {
    let old = |attributes| Case::of("Slice", 9, attributes).input(floats(&[5, 6])).check();
    old(vec![ints("starts", &[1, 2]), ints("ends", &[4, 100])]);
    old(vec![ints("starts", &[-3]), ints("ends", &[-1]), ints("axes", &[1])]);
    let new = |starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]| {
        let case = Case::of("Slice", 13, Vec::new()).input(floats(&[5, 6])).weight(integers(starts));
        case.weight(integers(ends)).weight(integers(axes)).weight(integers(steps)).check()
    };
    new(&[0, 1], &[5, 6], &[0, 1], &[2, 3]);
    new(&[-1], &[i64::MIN], &[1], &[-1]);
    new(&[3], &[0], &[-2], &[-2]);
    new(&[100], &[1], &[0], &[-1]);
    new(&[1], &[i64::MAX], &[0], &[i64::MAX]);
    let case = Case::of("Slice", 13, Vec::new())
        .input(floats(&[5, 6]))
        .weight(integers(&[1]))
        .weight(integers(&[3]));
    case.check();
    let empty =
        Case::of("Slice", 13, Vec::new()).input(floats(&[5])).weight(integers(&[3])).weight(integers(&[3]));
    assert!(empty.refusal().to_string().contains("no elements"), "{}", empty.refusal());
}

#[test]
fn tensors_are_split_and_joined() {
    let three = ["a", "b", "c"];
    let x = || floats(&[2, 7]);
    Case::of("Split", 11, vec![int("axis", 1), ints("split", &[1, 4, 2])]).input(x()).outputs(&three).check();
    Case::of("Split", 11, vec![int("axis", -1)]).input(floats(&[2, 6])).outputs(&three).check();
    let lengths = integers(&[2, 2, 3]);
    Case::of("Split", 13, vec![int("axis", 1)]).input(x()).weight(lengths).outputs(&three).check();
    // The last one is shorter.
    let attributes = vec![int("axis", 1), int("num_outputs", 3)];
    Case::of("Split", 18, attributes).input(x()).outputs(&three).check();
    for axis in [0, 1, -1] {
        let other = if axis == 0 { [4, 3] } else { [2, 5] };
        Case::of("Concat", 13, vec![int("axis", axis)]).input(floats(&[2, 3])).input(floats(&other)).check();
    }
    let refused = Case::of("Concat", 13, vec![int("axis", 0)]).input(floats(&[2, 3])).input(floats(&[2, 4]));
    assert!(refused.refusal().to_string().contains("cannot be joined"), "{}", refused.refusal());
}

#[test]
fn elements_are_gathered_by_constant_indices() {
    let of = |axis, indices| {
        Case::of("Gather", 13, vec![int("axis", axis)]).input(floats(&[4, 5, 3])).weight(indices)
    };
    let count = |case: Case, slices: usize| {
        let graph = case.check();
        let found = graph.nodes.iter().filter(|node| matches!(node.operator, Operator::Slice { .. })).count();
        assert_eq!(found, slices);
    };
    count(of(0, integers_of(&[], &[2])), 1);
    count(of(1, integers_of(&[], &[-1])), 1);
    count(of(1, integers(&[0, 2, 4])), 1);
    count(of(1, integers(&[4, 3, 2, 1])), 1);
    count(of(2, integers(&[2, 0, 1])), 2);
    count(of(0, integers_of(&[2, 2], &[0, 1, 2, 3])), 0);
    // The second 0 is the first one again.
    count(of(0, integers_of(&[2, 2], &[3, 1, 0, 0])), 2);
    let outside = of(0, integers(&[4]));
    assert!(outside.refusal().to_string().contains("Gather"), "{}", outside.refusal());
}

#[test]
fn borders_are_numbers_mirrors_or_edges() {
    let x = || floats(&[3, 4, 5]);
    for mode in ["constant", "reflect", "edge"] {
        let pads = [0, 1, 2, 1, 0, 3];
        Case::of("Pad", 9, vec![text("mode", mode), ints("pads", &pads)]).input(x()).check();
        Case::of("Pad", 13, vec![text("mode", mode)]).input(x()).weight(integers(&pads)).check();
    }
    let value = floats_of(&[], &[1.5]);
    Case::of("Pad", 13, Vec::new())
        .input(x())
        .weight(integers(&[0, 1, 2, 1, 0, 3]))
        .weight(value.clone())
        .check();
    Case::of("Pad", 13, Vec::new())
        .input(x())
        .weight(integers(&[-1, 1, -2, 0, -1, 3]))
        .weight(value.clone())
        .check();
    let case = Case::of("Pad", 18, Vec::new()).input(x()).weight(integers(&[1, 2, 0, 1])).weight(value);
    case.weight(integers(&[-1, 0])).check();
    let wrap =
        Case::of("Pad", 19, vec![text("mode", "wrap")]).input(x()).weight(integers(&[0, 1, 0, 0, 0, 0]));
    assert!(wrap.refusal().to_string().contains("wrap"), "{}", wrap.refusal());
}

#[test]
fn tensors_are_repeated() {
    for (from, to) in [(&[3, 1][..], &[2, 3, 4][..]), (&[3, 1], &[1, 1]), (&[2], &[1, 2]), (&[2, 1], &[3])] {
        let to: Vec<i64> = to.iter().map(|dim| i64::from(*dim)).collect();
        Case::of("Expand", 13, Vec::new()).input(floats(from)).weight(integers(&to)).check();
    }
    for times in [[2, 1, 3], [1, 4, 1], [3, 2, 2]] {
        Case::of("Tile", 13, Vec::new()).input(floats(&[2, 1, 3])).weight(integers(&times)).check();
    }
}

#[test]
fn blocks_become_channels_and_back() {
    for mode in ["DCR", "CRD"] {
        let attributes = vec![int("blocksize", 2), text("mode", mode)];
        Case::of("DepthToSpace", 13, attributes).input(floats(&[2, 12, 3, 4])).check();
    }
    Case::of("DepthToSpace", 13, vec![int("blocksize", 3)]).input(floats(&[1, 18, 2, 2])).check();
    Case::of("SpaceToDepth", 13, vec![int("blocksize", 2)]).input(floats(&[2, 3, 4, 6])).check();
    let refused = Case::of("SpaceToDepth", 13, vec![int("blocksize", 4)]).input(floats(&[2, 3, 4, 6]));
    assert!(refused.refusal().to_string().contains("blocks"), "{}", refused.refusal());
}

#[test]
fn other_types_are_moved_as_well() {
    for ty in [TensorType::Float16, TensorType::Int64, TensorType::Int32, TensorType::UInt8, TensorType::Bool]
    {
        let x = integers_of(&[2, 3], &[0, 1, 1, 0, 1, 0]).cast(ty);
        Case::of("Transpose", 13, Vec::new()).input(x.clone()).check();
        Case::of("Concat", 13, vec![int("axis", 0)]).input(x.clone()).input(x).check();
    }
}
