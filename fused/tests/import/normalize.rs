//! Normalisation.

use cudainfer_kernels::tensor::TensorType;

use crate::case::{Case, float, floats, floats_of, int};
use crate::runtime::Array;

/// Numbers that are not negative, as variances are.
fn variances(count: usize) -> Array {
    let values: Vec<f32> = (0..count).map(|at| 0.25 + f32::from(u8::try_from(at).unwrap()) / 4.0).collect();
    floats_of(&[count], &values)
}

#[test]
fn a_batch_normalization_is_a_product_and_a_sum() {
    for dims in [&[2, 3, 4, 5][..], &[2, 3, 7], &[2, 3]] {
        for opset in [7, 9, 15] {
            let case =
                Case::of("BatchNormalization", opset, vec![float("epsilon", 0.01)]).input(floats(dims));
            let case =
                case.weight(floats(&[3])).weight(floats(&[3])).weight(floats(&[3])).weight(variances(3));
            let graph = case.within(1e-5).check();
            assert_eq!(graph.nodes.len(), 2);
        }
    }
    let training = Case::of("BatchNormalization", 15, vec![int("training_mode", 1)]).input(floats(&[2, 3]));
    let training =
        training.weight(floats(&[3])).weight(floats(&[3])).weight(floats(&[3])).weight(variances(3));
    assert!(training.refusal().to_string().contains("training"), "{}", training.refusal());
}

#[test]
fn channels_and_groups_are_normalized() {
    let of = |operator: &str, opset, attributes, parameters: usize| {
        let case = Case::of(operator, opset, attributes).input(floats(&[2, 6, 4, 5]));
        case.weight(floats(&[parameters])).weight(floats(&[parameters])).within(2e-5).check();
    };
    of("InstanceNormalization", 13, Vec::new(), 6);
    of("InstanceNormalization", 13, vec![float("epsilon", 0.1)], 6);
    of("GroupNormalization", 21, vec![int("num_groups", 3)], 6);
}

#[test]
fn groups_have_one_scale_each_before_version_21() {
    let case = |opset, parameters: usize, numbers: &[f32]| {
        let case =
            Case::of("GroupNormalization", opset, vec![int("num_groups", 2)]).input(floats(&[2, 4, 3, 3]));
        let parameters = floats_of(&[parameters], numbers);
        case.weight(parameters.clone()).weight(parameters).within(2e-5)
    };
    // ONNX Runtime has the newer one alone.
    let new = case(21, 4, &[0.5, 0.5, 2.0, 2.0]);
    new.check();
    let old = case(18, 2, &[0.5, 2.0]);
    let run = |case: &Case| {
        let given: Vec<_> = case.inputs.iter().map(|(_, array)| array.elements.clone()).collect();
        cudainfer_fused::graph::run(&case.graph(), &given).unwrap()
    };
    assert_eq!(run(&new), run(&old));
}

#[test]
fn layers_are_normalized_from_an_axis_on() {
    for (axis, parameters) in [(-1, &[5][..]), (2, &[5]), (1, &[4, 5]), (-2, &[4, 5])] {
        let case = Case::of("LayerNormalization", 17, vec![int("axis", axis)]).input(floats(&[3, 4, 5]));
        let case = case.weight(floats(parameters)).within(2e-5);
        case.clone().check();
        let case = case.weight(floats(parameters));
        case.clone().check();
        case.outputs(&["y", "mean", "inverse"]).check();
    }
}

#[test]
fn lengths_become_1() {
    for power in [1, 2] {
        for axis in [-1, 0] {
            let x = floats_of(&[2, 3], &[0.0, 1.0, -2.0, 0.0, 3.0, 0.5]);
            Case::of("LpNormalization", 13, vec![int("p", power), int("axis", axis)]).input(x).check();
        }
    }
}

#[test]
fn neighbouring_channels_are_compared() {
    for size in [1, 3, 5, 7] {
        let attributes =
            vec![int("size", size), float("alpha", 0.5), float("beta", 0.75), float("bias", 2.0)];
        Case::of("LRN", 13, attributes).input(floats(&[2, 5, 3, 4])).within(1e-5).check();
    }
}

#[test]
fn an_epsilon_that_float16_does_not_hold_counts() {
    let half = |array: Array| array.cast(TensorType::Float16);
    let ones = || half(floats_of(&[1], &[1.0]));
    let zero = || half(floats_of(&[1], &[0.0]));
    let case =
        Case::of("BatchNormalization", 13, vec![float("epsilon", 1e-8)]).input(half(floats(&[1, 1, 3, 3])));
    let graph = case.weight(ones()).weight(zero()).weight(zero()).weight(zero()).graph();
    let factor = graph.nodes[0].inputs.iter().find_map(|id| graph.value(*id).constant.as_ref()).unwrap();
    assert!((factor.number(0) - 1e4).abs() < 8.0, "{factor:?}");
}
