//! Statistics of outputs that are written by hand.

use super::*;
use crate::sanity::{self, Expected, Survey};

fn survey(tensors: &[Tensor], kind: DecoderKind, hints: &Hints) -> (Survey, Expected) {
    let decoder = choose(&descs(tensors), [64, 64], Some(kind), hints).unwrap();
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let params = DetectParams { confidence: 0.4, ..DetectParams::default() };
    (decoder.survey(&views, &params, [64, 64]).unwrap(), decoder.expected(&params, 2))
}

#[test]
fn every_anchor_counts_with_its_best_class_and_its_box() {
    // Two classes and 84 anchors, all zeros but three.
    let mut values = vec![0.0; 6 * 84];
    let mut set = |anchor: usize, column: [f32; 6]| {
        column.iter().enumerate().for_each(|(row, v)| values[row * 84 + anchor] = *v);
    };
    set(0, [16.0, 16.0, 16.0, 24.0, 0.75, 0.25]);
    set(1, [300.0, 32.0, 8.0, 8.0, -3.0, -2.0]);
    set(2, [16.0, 16.0, 16.0, 24.0, f32::NAN, 0.25]);
    let tensors = [Tensor::new("out", &[1, 6, 84], &values)];
    let (survey, expected) = survey(&tensors, DecoderKind::Yolov8, &Hints::default());
    let want = Survey {
        finite: 83,
        non_finite: 1,
        lowest: -2.0,
        highest: 0.75,
        places: 2,
        far_places: 1,
        farthest: 304.0,
        class: Some(0),
        ..Survey::default()
    };
    assert_eq!(survey, want);
    assert_eq!((expected.normalized, expected.threshold, expected.labels), (Some(false), Some(0.4), Some(2)));
    assert_eq!((expected.activation, expected.twice), (sanity::Activation::None, None));
}

#[test]
fn confidences_are_surveyed_after_the_activation() {
    // Objectness and scores of 0: a product of two halves.
    let tensors = [Tensor::new("out", &[1, 252, 7], &[0.0; 252 * 7])];
    let hints = Hints { activation: Some(Activation::Sigmoid), ..Hints::default() };
    let (survey, expected) = survey(&tensors, DecoderKind::Yolov5, &hints);
    assert_eq!((survey.finite, survey.lowest, survey.highest), (252, 0.25, 0.25));
    assert_eq!(survey.places, 0, "none has a size");
    assert_eq!(expected.twice, Expected::of_probabilities(sanity::Activation::Sigmoid, 2, None));
}

#[test]
fn boxes_and_scores_are_normalized_and_their_softmax_has_the_background_in_it() {
    let mut boxes = vec![0.0; 4 * 84];
    boxes[..4].copy_from_slice(&[0.25, 0.25, 0.5, 0.75]);
    let tensors =
        [Tensor::new("boxes", &[1, 84, 4], &boxes), Tensor::new("scores", &[1, 84, 3], &[0.0; 252])];
    let hints = Hints {
        activation: Some(Activation::Softmax),
        background: Some(Background::First),
        ..Hints::default()
    };
    let (survey, expected) = survey(&tensors, DecoderKind::BoxesScores, &hints);
    assert_eq!((survey.places, survey.farthest), (1, 48.0));
    assert!((survey.highest - 1.0 / 3.0).abs() < 1e-6, "{survey:?}");
    assert_eq!(expected.normalized, Some(true));
    assert_eq!(expected.twice, Expected::of_probabilities(sanity::Activation::Softmax, 1, Some(3)));
}

#[test]
fn the_activation_is_the_one_that_is_applied_even_if_no_hint_says_it() {
    let logits = Tensor::new("logits", &[1, 4, 3], &[-4.0; 12]);
    let tensors = [logits, Tensor::new("pred_boxes", &[1, 4, 4], &[0.5; 16])];
    for (classes, activation, columns) in
        [(3, sanity::Activation::Sigmoid, 3), (2, sanity::Activation::Softmax, 3)]
    {
        let hints = Hints { classes: Some(classes), ..Hints::default() };
        let (survey, expected) = survey(&tensors, DecoderKind::Queries, &hints);
        assert_eq!(expected.activation, activation);
        assert_eq!(expected.twice, Expected::of_probabilities(activation, 1, Some(columns)));
        assert_eq!((expected.normalized, expected.final_scores, survey.finite), (Some(true), false, 4));
    }
}

#[test]
fn a_label_that_no_class_has_is_no_score_that_is_not_finite() {
    let tensors = [
        Tensor::new("boxes", &[1, 2, 4], &[8.0, 8.0, 24.0, 24.0, 0.0, 0.0, 9.0, 9.0]),
        Tensor::new("scores", &[1, 2], &[0.5, 0.25]),
        Tensor::new("labels", &[1, 2], &[7.0, 9.0]),
    ];
    let hints = Hints { classes: Some(2), ..Hints::default() };
    let (survey, expected) = survey(&tensors, DecoderKind::Detections, &hints);
    assert_eq!((survey.finite, survey.non_finite, survey.class), (0, 0, None));
    assert!(expected.final_scores);
}
