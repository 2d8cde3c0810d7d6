//! Images at places between their pixels.

use crate::case::{Case, floats, floats_of, int, text};
use crate::runtime::Array;

/// Places in and around an image, from -1.6 to 1.6, and some on its edges and centres.
fn places(dims: &[usize]) -> Array {
    let count = dims.iter().product::<usize>();
    let at = |at: usize| match at % 13 {
        0 => 1.0,
        5 => -1.0,
        7 => 0.0,
        _ => f32::from(u16::try_from(at * 37 % 129).unwrap()) / 40.0 - 1.6,
    };
    floats_of(dims, &(0..count).map(at).collect::<Vec<_>>())
}

#[test]
fn images_are_sampled_in_all_modes() {
    for (opset, modes) in [(16, ["bilinear", "nearest"]), (20, ["linear", "nearest"])] {
        for mode in modes {
            for padding in ["zeros", "border", "reflection"] {
                for align in [0, 1] {
                    let attributes =
                        vec![text("mode", mode), text("padding_mode", padding), int("align_corners", align)];
                    let case = Case::of("GridSample", opset, attributes).input(floats(&[2, 3, 5, 4]));
                    case.input(places(&[2, 4, 6, 2])).within(2e-5).check_plan();
                }
            }
        }
    }
    Case::of("GridSample", 16, vec![])
        .input(floats(&[1, 2, 1, 1]))
        .input(places(&[1, 3, 3, 2]))
        .within(2e-5)
        .check_plan();
}

#[test]
fn places_that_are_no_numbers_are_none() {
    let odd = [f32::NAN, 0.0, 0.25, f32::NAN, 1e30, 0.0, f32::INFINITY, 0.5, -1e30, -1e30, 0.3, 0.2];
    let case = Case::of("GridSample", 16, vec![]).input(floats(&[1, 2, 4, 4]));
    case.input(floats_of(&[1, 2, 3, 2], &odd)).within(2e-5).check_plan();
}

#[test]
fn other_modes_and_volumes_are_refused() {
    let cubic = Case::of("GridSample", 20, vec![text("mode", "cubic")]).input(floats(&[1, 1, 4, 4]));
    let cubic = cubic.input(places(&[1, 2, 2, 2])).refusal();
    assert!(cubic.to_string().contains("mode is 'cubic'"), "{cubic}");
    let volume = Case::of("GridSample", 20, vec![]).input(floats(&[1, 1, 4, 4, 4]));
    let volume = volume.input(places(&[1, 2, 2, 2, 3])).refusal();
    assert!(volume.to_string().contains("its grid is 1x2x2x2x3"), "{volume}");
}
