//! Class numbers, which are the mask as they are.

use super::super::{Classes, Outcome, SegmentError, SegmentParams, Segmenter};
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// The numbers in a type's bytes; those that it does not have wrap around.
fn bytes(numbers: &[i64], ty: TensorType) -> Vec<u8> {
    let each = |number: &i64| {
        let all = number.to_ne_bytes();
        let size = ty.size();
        if cfg!(target_endian = "little") { all[..size].to_vec() } else { all[8 - size..].to_vec() }
    };
    numbers.iter().flat_map(each).collect()
}

fn run(numbers: &[i64], ty: TensorType, dims: &[usize], params: SegmentParams) -> (Vec<u8>, Outcome) {
    let desc = TensorDesc::fixed("classes", ty, dims);
    let data = bytes(numbers, ty);
    let view = TensorView::new("classes", ty, dims, &data).unwrap();
    let mut segmenter = Segmenter::new(&desc, [6, 4], params).unwrap();
    assert_eq!((segmenter.size(), segmenter.channels()), ([3, 2], 1), "{desc}");
    let mut mask = vec![9; 6];
    let outcome = segmenter.run(&view, &mut mask).unwrap();
    (mask, outcome)
}

#[test]
fn class_numbers_of_every_type_and_shape_are_the_mask() {
    let (mask, _) = run(&[0, 1, 1, 0, 1, 0], TensorType::Bool, &[1, 2, 3], SegmentParams::default());
    assert_eq!(mask, [0, 1, 1, 0, 1, 0]);
    for ty in [TensorType::Int64, TensorType::Int32, TensorType::UInt8, TensorType::Int8] {
        for dims in [&[1, 2, 3][..], &[1, 1, 2, 3], &[1, 2, 3, 1], &[2, 3]] {
            let (mask, outcome) = run(&[0, 1, 2, 3, 20, 127], ty, dims, SegmentParams::default());
            assert_eq!((mask, outcome), (vec![0, 1, 2, 3, 20, 127], Outcome::default()), "{ty} {dims:?}");
        }
    }
}

#[test]
fn numbers_that_a_byte_cannot_hold_are_counted_and_become_0() {
    let dims = [1, 2, 3];
    let numbers = [255, 256, -1, i64::MAX, 7, i64::MIN];
    let (mask, outcome) = run(&numbers, TensorType::Int64, &dims, SegmentParams::default());
    assert_eq!((mask, outcome.out_of_range, outcome.non_finite), (vec![255, 0, 0, 0, 7, 0], 4, 0));
    let numbers = [255, 256, -1, 65_536, 7, i64::from(i32::MIN)];
    let (mask, outcome) = run(&numbers, TensorType::Int32, &dims, SegmentParams::default());
    assert_eq!((mask, outcome.out_of_range), (vec![255, 0, 0, 0, 7, 0], 4));
    let (mask, outcome) = run(&[0, 1, 255, 128, 127, 2], TensorType::UInt8, &dims, SegmentParams::default());
    assert_eq!((mask, outcome.out_of_range), (vec![0, 1, 255, 128, 127, 2], 0));
    let (mask, outcome) = run(&[0, 1, -1, -128, 127, 2], TensorType::Int8, &dims, SegmentParams::default());
    assert_eq!((mask, outcome.out_of_range), (vec![0, 1, 0, 0, 127, 2], 2));
}

#[test]
fn areas_of_class_numbers_are_cleaned_as_those_of_logits() {
    let params = SegmentParams { min_area: 2, ..SegmentParams::default() };
    let (mask, _) = run(&[5, 0, 0, 0, 0, 4], TensorType::Int64, &[2, 3], params);
    assert_eq!(mask, [0; 6]);
    let (mask, _) = run(&[5, 5, 0, 0, 0, 4], TensorType::Int64, &[2, 3], params);
    assert_eq!(mask, [5, 5, 0, 0, 0, 0]);
}

#[test]
fn class_numbers_have_no_scores() {
    let desc: TensorDesc = "classes:int64:1x2x3".parse().unwrap();
    for params in [
        SegmentParams { smoothing: 0.5, ..SegmentParams::default() },
        SegmentParams { soft: true, ..SegmentParams::default() },
        SegmentParams { classes: Classes::Threshold(0.5), ..SegmentParams::default() },
    ] {
        let error = Segmenter::new(&desc, [6, 4], params).unwrap_err();
        assert!(matches!(error, SegmentError::NoScores(_)), "{error}");
    }
}
