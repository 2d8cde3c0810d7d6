//! Masks of single objects, against those that Ultralytics, rfdetr and torchvision make: tools/cudainfer_tools/reference/instances.py.

use super::super::{Activation, InstanceMasks, Instances, SegmentError, Window};
use crate::detect::Extent;
use crate::geometry::{Affine, Rect};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};

const REFERENCE: &str = include_str!("instances.txt");

/// The reference's masks of this name, with their width.
fn wanted(name: &str) -> Vec<(usize, Vec<u8>)> {
    let cases = REFERENCE.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let masks: Vec<_> = cases
        .map(|case| {
            let (width, samples) = case.split_once(' ').unwrap();
            (width.parse().unwrap(), samples.bytes().map(|byte| byte - b'0').collect())
        })
        .collect();
    assert!(!masks.is_empty(), "{name}");
    masks
}

/// As in the reference's script.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let number = |i: u32| {
        let steps = (i.wrapping_add(seed)).wrapping_mul(2_654_435_761) >> 8;
        steps as f32 / 8_388_608.0 - 1.0
    };
    (0..u32::try_from(count).unwrap()).map(number).collect()
}

const BOXES: [[f32; 4]; 4] =
    [[8.0, 4.0, 40.5, 30.25], [-3.5, -2.0, 20.0, 50.0], [33.3, 10.7, 33.9, 11.2], [50.0, 20.0, 90.0, 40.0]];

fn boxes() -> Vec<Rect> {
    BOXES.map(|[x1, y1, x2, y2]| Rect::from_corners(x1, y1, x2, y2)).to_vec()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// All masks, each as large as `size`.
fn run(
    plan: &InstanceMasks,
    dims: &[usize],
    values: &[f32],
    coefficients: &[f32],
    windows: &[Window],
    [w, h]: [usize; 2],
) -> Vec<(usize, Vec<u8>)> {
    let data = bytes(values);
    let view = TensorView::new("values", TensorType::Float32, dims, &data).unwrap();
    let room = windows.iter().map(|window| (window.width * window.height) as usize).sum();
    let mut masks = vec![9; room];
    plan.run(&view, coefficients, windows, &mut masks).unwrap();
    let whole = |window: &Window| {
        let mut mask = vec![0; w * h];
        for i in 0..(window.width * window.height) as usize {
            let (x, y) = (i % window.width as usize, i / window.width as usize);
            mask[(window.y as usize + y) * w + window.x as usize + x] = masks[window.offset as usize + i];
        }
        (w, mask)
    };
    windows.iter().map(whole).collect()
}

#[track_caller]
fn assert_same(got: &[(usize, Vec<u8>)], name: &str) {
    let wanted = wanted(name);
    assert_eq!(got.len(), wanted.len(), "{name}");
    for (i, ((_, got), (width, wanted))) in got.iter().zip(&wanted).enumerate() {
        let wrong = got.iter().zip(wanted).position(|(a, b)| a != b).map(|at| [at % width, at / width]);
        assert_eq!((got.len(), wrong), (wanted.len(), None), "{name} {i}");
    }
    assert!(wanted.iter().any(|(_, mask)| mask.contains(&1)));
}

#[test]
fn interpolated_prototypes_give_the_masks_of_ultralytics() {
    let (values, coefficients) = (numbers(5 * 9 * 17, 1), numbers(4 * 5, 1000));
    let by_cell: Vec<f32> = (0..9 * 17 * 5).map(|i| values[i % 5 * 153 + i / 5]).collect();
    for (layout, dims, values) in
        [(Layout::Nchw, [1, 5, 9, 17], values.clone()), (Layout::Nhwc, [1, 9, 17, 5], by_cell)]
    {
        let desc = TensorDesc::fixed("values", TensorType::Float32, &dims);
        let plan = InstanceMasks::of_prototypes(&desc, [68, 36], Some(layout)).unwrap();
        assert_eq!((plan.size(), plan.coefficients()), ([17, 9], 5));
        let objects = Instances { boxes: &boxes(), rows: &[], to_frame: Affine::IDENTITY, frame: [68, 36] };
        let mut windows = Vec::new();
        plan.pixels(&objects, &mut windows).unwrap();
        // Only pixels in the box have bytes.
        assert_eq!(
            windows.iter().map(|w| [w.x, w.y, w.width, w.height]).collect::<Vec<_>>(),
            [[8, 4, 33, 27], [0, 0, 20, 36], [34, 11, 0, 0], [50, 20, 18, 16]]
        );
        assert_same(&run(&plan, &dims, &values, &coefficients, &windows, [68, 36]), "ultralytics");
    }
}

#[test]
fn maps_of_the_input_are_interpolated_to_the_frame_and_not_cut() {
    let values = numbers(6 * 9 * 12, 2);
    for (dims, announced) in [
        (vec![1, 6, 9, 12], vec![Some(1), Some(6), Some(9), Some(12)]),
        (vec![6, 1, 9, 12], vec![None, Some(1), Some(9), Some(12)]),
        (vec![6, 9, 12], vec![None, Some(9), Some(12)]),
    ] {
        let desc = TensorDesc { name: "values".into(), ty: TensorType::Float32, dims: announced };
        let plan = InstanceMasks::of_maps(&desc, [48, 36], Extent::Input, Activation::Sigmoid, 0.5).unwrap();
        let to_frame = Affine::upright([50.0 / 48.0, 29.0 / 36.0], [0.0; 2]);
        let boxes = &boxes()[..2];
        let objects = Instances { boxes, rows: &[4, 1], to_frame, frame: [50, 29] };
        let mut windows = Vec::new();
        assert_eq!(plan.pixels(&objects, &mut windows).unwrap(), 2 * 50 * 29);
        assert_same(&run(&plan, &dims, &values, &[], &windows, [50, 29]), "rfdetr");
        assert_eq!(plan.cells(&[4, 1], &mut windows), 2 * 12 * 9);
        assert_same(&run(&plan, &dims, &values, &[], &windows, [12, 9]), "cells");
    }
}

#[test]
fn maps_of_boxes_are_pasted_as_torchvision_does() {
    let values: Vec<f32> = numbers(4 * 7 * 7, 3).into_iter().map(|v| (v + 1.0) / 2.0).collect();
    let desc = TensorDesc::fixed("values", TensorType::Float32, &[4, 1, 7, 7]);
    let plan = InstanceMasks::of_maps(&desc, [640, 640], Extent::Box, Activation::None, 0.5).unwrap();
    let objects =
        Instances { boxes: &boxes(), rows: &[0, 1, 2, 3], to_frame: Affine::IDENTITY, frame: [68, 36] };
    let mut windows = Vec::new();
    plan.pixels(&objects, &mut windows).unwrap();
    assert_same(&run(&plan, &[4, 1, 7, 7], &values, &[], &windows, [68, 36]), "torchvision");
    // The smallest box has a single pixel across.
    assert_eq!((windows[2].width, windows[2].height), (1, 2));
}

#[test]
fn maps_that_are_none_and_rows_that_are_not_there_are_refused() {
    let of = |dims: &[usize], ty| {
        let desc = TensorDesc::fixed("values", ty, dims);
        InstanceMasks::of_maps(&desc, [64, 64], Extent::Input, Activation::None, 0.5)
    };
    assert!(matches!(of(&[1, 6, 9, 12], TensorType::Int64), Err(SegmentError::Type(_))));
    for dims in [&[2, 6, 9, 12][..], &[9, 12], &[1, 6, 9, 0]] {
        assert!(matches!(of(dims, TensorType::Float32), Err(SegmentError::Maps(_))), "{dims:?}");
    }
    let desc = TensorDesc::fixed("values", TensorType::Float32, &[1, 2, 2, 2]);
    let softmax = InstanceMasks::of_maps(&desc, [4, 4], Extent::Input, Activation::Softmax, 0.5);
    assert!(matches!(softmax, Err(SegmentError::Softmax(_))));
    let nothing = InstanceMasks::of_maps(&desc, [4, 4], Extent::Input, Activation::None, f32::NAN);
    assert!(matches!(nothing, Err(SegmentError::Threshold)));

    let plan = of(&[1, 2, 2, 2], TensorType::Float32).unwrap();
    let data = [0; 32];
    let view = TensorView::new("values", TensorType::Float32, &[1, 2, 2, 2], &data).unwrap();
    let mut windows = Vec::new();
    assert_eq!(plan.cells(&[1, 2], &mut windows), 8);
    let error = plan.run(&view, &[], &windows, &mut [0; 8]).unwrap_err();
    assert!(matches!(error, SegmentError::Row { row: 2, rows: 2, .. }), "{error}");
    plan.cells(&[1, 0], &mut windows);
    plan.run(&view, &[], &windows, &mut [0; 8]).unwrap();
    for (coefficients, room) in [(1, 8), (0, 9)] {
        let error = plan.run(&view, &vec![0.0; coefficients], &windows, &mut vec![0; room]).unwrap_err();
        assert!(matches!(error, SegmentError::Instances { .. }), "{error}");
    }
    windows[1].across[2] = f64::NAN;
    assert!(plan.run(&view, &[], &windows, &mut [0; 8]).is_err());
    let other = TensorView::new("values", TensorType::Float32, &[2, 1, 2, 2], &data).unwrap();
    assert!(matches!(plan.run(&other, &[], &[], &mut []), Err(SegmentError::Changed { .. })));
    // A tensor that lies in no area of the frame.
    let flat = Affine::upright([0.0, 1.0], [0.0; 2]);
    let objects = Instances { boxes: &boxes()[..1], rows: &[0], to_frame: flat, frame: [8, 8] };
    assert!(matches!(plan.pixels(&objects, &mut windows), Err(SegmentError::Map { .. })));
}

#[test]
fn a_value_that_is_not_finite_only_counts_where_it_has_weight() {
    let desc = TensorDesc::fixed("values", TensorType::Float32, &[1, 1, 1, 3]);
    let plan = InstanceMasks::of_maps(&desc, [3, 1], Extent::Input, Activation::None, 0.5).unwrap();
    let mut windows = Vec::new();
    plan.cells(&[0], &mut windows);
    let got = run(&plan, &[1, 1, 1, 3], &[1.0, f32::NAN, f32::INFINITY], &[], &windows, [3, 1]);
    assert_eq!(got, [(3, vec![1, 0, 1])]);
}
