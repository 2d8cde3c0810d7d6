//! Convolutions and pooling.

use cudainfer_fused::graph::{Operator, Window};
use cudainfer_model::onnx::proto::Attribute;

use crate::case::{Case, floats, int, ints, text};

/// A convolution of an image `[2, 4, 7, 9]` with weights of these dimensions, and a bias of that many numbers.
fn convolution(operator: &str, weights: &[usize], bias: usize, attributes: Vec<Attribute>) -> Case {
    let case =
        Case::of(operator, 13, attributes).input(floats(&[2, 4, 7, 9])).weight(floats(weights)).within(2e-5);
    if bias == 0 { case } else { case.weight(floats(&[bias])) }
}

#[test]
fn convolutions_look_where_their_attributes_say() {
    let conv = |weights: &[usize], bias, attributes| convolution("Conv", weights, bias, attributes);
    conv(&[3, 4, 3, 3], 0, Vec::new()).check();
    conv(&[3, 4, 1, 1], 3, Vec::new()).check();
    conv(&[3, 4, 3, 2], 3, vec![ints("kernel_shape", &[3, 2]), ints("pads", &[1, 0, 2, 1])]).check();
    conv(
        &[3, 4, 3, 3],
        3,
        vec![ints("strides", &[2, 3]), ints("dilations", &[2, 1]), ints("pads", &[2, 1, 2, 1])],
    )
    .check();
    conv(&[4, 1, 3, 3], 4, vec![int("group", 4), ints("pads", &[1, 1, 1, 1])]).check();
    conv(&[6, 2, 3, 3], 6, vec![int("group", 2)]).check();
    for auto_pad in ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"] {
        for strides in [[1, 1], [2, 2], [3, 2]] {
            conv(&[3, 4, 4, 3], 0, vec![text("auto_pad", auto_pad), ints("strides", &strides)]).check();
        }
    }
}

#[test]
fn transposed_convolutions_spread_as_their_attributes_say() {
    let conv = |weights: &[usize], bias, attributes| convolution("ConvTranspose", weights, bias, attributes);
    conv(&[4, 3, 3, 3], 0, Vec::new()).check();
    conv(&[4, 3, 2, 2], 3, vec![ints("strides", &[2, 2])]).check();
    let uneven = vec![ints("strides", &[2, 3]), ints("pads", &[1, 0, 0, 2]), ints("output_padding", &[1, 2])];
    conv(&[4, 3, 3, 4], 3, uneven).check();
    conv(&[4, 3, 3, 3], 3, vec![ints("dilations", &[2, 1]), ints("strides", &[1, 2])]).check();
    conv(&[4, 2, 3, 3], 4, vec![int("group", 2), ints("strides", &[2, 2])]).check();
    conv(&[4, 1, 4, 4], 4, vec![int("group", 4), ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])])
        .check();
    for auto_pad in ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"] {
        let strides = ints("strides", &[2, 3]);
        conv(&[4, 3, 3, 4], 0, vec![text("auto_pad", auto_pad), strides.clone()]).check();
        if auto_pad != "VALID" {
            conv(
                &[4, 3, 3, 4],
                0,
                vec![text("auto_pad", auto_pad), strides, ints("output_shape", &[14, 26])],
            )
            .check();
        }
    }
}

#[test]
fn one_axis_is_two_of_which_one_is_1() {
    let line = || floats(&[2, 4, 11]);
    let conv = |operator: &str, weights: &[usize], attributes| {
        Case::of(operator, 13, attributes).input(line()).weight(floats(weights)).within(2e-5)
    };
    conv("Conv", &[3, 4, 3], vec![ints("strides", &[2]), ints("pads", &[1, 2]), ints("dilations", &[2])])
        .check();
    conv("Conv", &[3, 4, 3], vec![text("auto_pad", "SAME_UPPER")]).check();
    conv("ConvTranspose", &[4, 3, 3], vec![ints("strides", &[2]), ints("output_padding", &[1])]).check();
    for operator in ["MaxPool", "AveragePool"] {
        let attributes = vec![ints("kernel_shape", &[3]), ints("strides", &[2]), ints("pads", &[1, 1])];
        Case::of(operator, 12, attributes).input(line()).check();
    }
    for operator in ["GlobalMaxPool", "GlobalAveragePool"] {
        Case::of(operator, 12, Vec::new()).input(line()).check();
    }
}

#[test]
fn pooling_takes_its_windows() {
    let pool = |operator: &str, opset, attributes: Vec<Attribute>| {
        Case::of(operator, opset, attributes).input(floats(&[2, 3, 7, 8])).check()
    };
    for operator in ["MaxPool", "AveragePool"] {
        let kernel = || ints("kernel_shape", &[3, 2]);
        pool(operator, 12, vec![kernel()]);
        pool(operator, 12, vec![kernel(), ints("strides", &[2, 2]), ints("pads", &[1, 0, 1, 1])]);
        for auto_pad in ["SAME_UPPER", "SAME_LOWER", "VALID"] {
            pool(operator, 12, vec![kernel(), ints("strides", &[2, 3]), text("auto_pad", auto_pad)]);
        }
        pool(operator, 19, vec![kernel(), ints("dilations", &[2, 2]), ints("pads", &[1, 0, 1, 1])]);
        for operator in ["GlobalMaxPool", "GlobalAveragePool"] {
            pool(operator, 12, Vec::new());
        }
    }
}

#[test]
fn a_last_window_may_go_beyond_the_image() {
    for operator in ["MaxPool", "AveragePool"] {
        for (kernel, stride, pad) in
            [(2, 2, 0), (3, 2, 0), (3, 2, 1), (3, 3, 1), (2, 3, 0), (3, 4, 1), (4, 3, 2), (5, 5, 2)]
        {
            for length in 5..12 {
                for include in [0, 1] {
                    let mut attributes = vec![
                        ints("kernel_shape", &[kernel, kernel]),
                        ints("strides", &[stride, stride]),
                        ints("pads", &[pad; 4]),
                        int("ceil_mode", 1),
                    ];
                    if operator == "AveragePool" {
                        attributes.push(int("count_include_pad", include));
                    }
                    Case::of(operator, 19, attributes).input(floats(&[1, 1, length, 12])).check();
                }
            }
        }
    }
}

#[test]
fn padding_counts_where_the_model_wants_it() {
    for pads in [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 0]] {
        let attributes =
            vec![ints("kernel_shape", &[3, 3]), ints("pads", &pads), int("count_include_pad", 1)];
        Case::of("AveragePool", 11, attributes).input(floats(&[1, 2, 6, 7])).check();
    }
}

#[test]
fn pads_become_numbers_before_and_after() {
    let graph = convolution("Conv", &[3, 4, 3, 3], 0, vec![ints("pads", &[1, 2, 3, 4])]).check();
    let wanted = Window { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], begin: [1, 2], end: [3, 4] };
    assert_eq!(graph.nodes[0].operator, Operator::Convolution { window: wanted, groups: 1 });
}

#[test]
fn what_windows_cannot_be_is_refused() {
    let volume =
        Case::of("Conv", 13, Vec::new()).input(floats(&[1, 1, 4, 4, 4])).weight(floats(&[1, 1, 2, 2, 2]));
    assert!(volume.refusal().to_string().contains("Conv"), "{}", volume.refusal());
    let moving = Case::of("Conv", 13, Vec::new()).input(floats(&[1, 1, 4, 4])).input(floats(&[1, 1, 2, 2]));
    assert!(moving.refusal().to_string().contains("no constants"), "{}", moving.refusal());
    let indices = Case::of("MaxPool", 12, vec![ints("kernel_shape", &[2, 2])]).input(floats(&[1, 1, 4, 4]));
    let indices = indices.outputs(&["y", "places"]);
    assert!(indices.refusal().to_string().contains("Indices"), "{}", indices.refusal());
    for attributes in [
        vec![ints("kernel_shape", &[0, 2])],
        vec![ints("kernel_shape", &[9, 2])],
        vec![ints("kernel_shape", &[2, 2]), ints("strides", &[0, 1])],
        vec![ints("kernel_shape", &[2, 2]), ints("pads", &[i64::MAX; 4])],
        vec![ints("kernel_shape", &[2])],
        Vec::new(),
    ] {
        let case = Case::of("MaxPool", 12, attributes).input(floats(&[1, 1, 4, 4]));
        assert!(matches!(case.refusal(), cudainfer_fused::FusedError::Model(_)), "{}", case.refusal());
    }
}
