//! Tensors that are enlarged or shrunk.

use cudainfer_model::onnx::proto::Attribute;

use crate::case::{Case, float, floats, floats_of, int, integers, ints, text};

/// A Resize of version 19 by scales of the last two axes.
fn scaled(scales: [f32; 2], attributes: Vec<Attribute>) -> Case {
    let case = Case::of("Resize", 19, attributes).input(floats(&[1, 2, 6, 5])).missing();
    case.weight(floats_of(&[4], &[1.0, 1.0, scales[0], scales[1]])).within(1e-5)
}

/// A Resize of version 19 to sizes of the last two axes.
fn sized(sizes: [i64; 2], attributes: Vec<Attribute>) -> Case {
    let case = Case::of("Resize", 19, attributes).input(floats(&[1, 2, 6, 5])).missing().missing();
    case.weight(integers(&[1, 2, sizes[0], sizes[1]])).within(1e-5)
}

const COORDINATES: [&str; 4] = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"];

#[test]
fn the_nearest_sample_is_that_of_the_mode() {
    for coordinates in COORDINATES {
        for nearest in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] {
            let attributes =
                || vec![text("coordinate_transformation_mode", coordinates), text("nearest_mode", nearest)];
            for scales in [[2.0, 2.0], [1.5, 3.0], [0.5, 0.7]] {
                scaled(scales, attributes()).check();
            }
            for sizes in [[12, 10], [7, 13], [3, 1], [1, 4]] {
                sized(sizes, attributes()).check();
            }
        }
    }
    scaled([2.0, 2.0], Vec::new()).check();
}

#[test]
fn samples_are_interpolated() {
    for mode in ["linear", "cubic"] {
        for coordinates in COORDINATES {
            let attributes = || vec![text("mode", mode), text("coordinate_transformation_mode", coordinates)];
            for scales in [[2.0, 2.0], [1.5, 3.0], [0.5, 0.75]] {
                scaled(scales, attributes()).check();
            }
            for sizes in [[12, 10], [7, 13], [3, 2]] {
                sized(sizes, attributes()).check();
            }
        }
    }
    scaled([2.0, 2.0], vec![text("mode", "cubic"), float("cubic_coeff_a", -0.5)]).check();
}

#[test]
fn older_versions_have_no_offset() {
    for mode in ["nearest", "linear"] {
        let scales = floats_of(&[4], &[1.0, 1.0, 2.0, 3.0]);
        let x = || floats(&[1, 2, 3, 4]);
        Case::of("Resize", 10, vec![text("mode", mode)])
            .input(x())
            .weight(scales.clone())
            .within(1e-5)
            .check();
        Case::of("Upsample", 9, vec![text("mode", mode)]).input(x()).weight(scales).within(1e-5).check();
        let list = Attribute {
            name: "scales".into(),
            kind: Some(6),
            floats: vec![1.0, 1.0, 2.0, 3.0],
            ..Attribute::default()
        };
        Case::of("Upsample", 7, vec![text("mode", mode), list]).input(x()).within(1e-5).check();
    }
}

#[test]
fn version_11_may_have_an_empty_region_and_empty_scales() {
    let sizes = integers(&[1, 2, 9, 5]);
    let empty = || floats_of(&[0], &[]);
    let case = Case::of("Resize", 11, vec![text("mode", "linear")]).input(floats(&[1, 2, 6, 5]));
    case.weight(empty()).weight(empty()).weight(sizes).within(1e-5).check();
}

#[test]
fn some_axes_may_be_stated_and_proportions_kept() {
    let axes = || ints("axes", &[2, 3]);
    for policy in ["stretch", "not_larger", "not_smaller"] {
        let attributes = vec![axes(), text("keep_aspect_ratio_policy", policy), text("mode", "linear")];
        let case = Case::of("Resize", 18, attributes).input(floats(&[1, 2, 6, 5])).missing().missing();
        case.weight(integers(&[9, 11])).within(1e-5).check();
    }
    let case = Case::of("Resize", 18, vec![axes()]).input(floats(&[1, 2, 6, 5])).missing();
    case.weight(floats_of(&[2], &[2.0, 0.5])).check();
}

#[test]
fn symmetric_coordinates_are_half_pixels_where_lengths_are_whole() {
    let attributes =
        || vec![text("coordinate_transformation_mode", "half_pixel_symmetric"), text("mode", "linear")];
    scaled([2.0, 2.0], attributes()).check();
    sized([9, 11], attributes()).check();
    let refusal = scaled([1.3, 1.3], attributes()).refusal().to_string();
    assert!(refusal.contains("half_pixel_symmetric"), "{refusal}");
}

#[test]
fn what_is_shrunk_may_be_filtered() {
    for mode in ["linear", "cubic"] {
        for (antialias, exclude) in [(1, 0), (1, 1), (0, 1)] {
            let attributes =
                || vec![int("antialias", antialias), int("exclude_outside", exclude), text("mode", mode)];
            if antialias == 0 && mode == "linear" {
                // The runtime knows it of cubic ones alone.
                continue;
            }
            for scales in [[0.5, 0.5], [0.34, 0.7], [2.0, 1.5], [1.0, 0.25]] {
                scaled(scales, attributes()).check();
            }
            for sizes in [[3, 2], [5, 4], [1, 1], [9, 3]] {
                sized(sizes, attributes()).check();
            }
        }
    }
}

#[test]
fn what_is_not_known_of_resizing_is_refused() {
    for (attribute, word) in [
        (text("coordinate_transformation_mode", "tf_crop_and_resize"), "tf_crop_and_resize"),
        (text("coordinate_transformation_mode", "tf_half_pixel_for_nn"), "tf_half_pixel_for_nn"),
    ] {
        let case = scaled([0.5, 0.5], vec![attribute, text("mode", "linear")]);
        assert!(case.refusal().to_string().contains(word), "{}", case.refusal());
    }
    let attributes = vec![
        text("coordinate_transformation_mode", "align_corners"),
        int("antialias", 1),
        text("mode", "linear"),
    ];
    let case = scaled([0.5, 0.5], attributes);
    assert!(case.refusal().to_string().contains("AlignCorners"), "{}", case.refusal());
    let case = scaled([f32::NAN, 2.0], Vec::new());
    assert!(case.refusal().to_string().contains("scales"), "{}", case.refusal());
}
