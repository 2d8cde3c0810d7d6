//! Queries of transformers, against what the libraries' own post-processing makes of the same scores: transformers'
//! `post_process_object_detection` of DETR and of RT-DETR, rfdetr's `PostProcess`, Ultralytics' `RTDETRPredictor` of 8.3.

use super::*;

const INPUT: [usize; 2] = [64, 32];
/// Two queries: centre x, centre y, width, height in 0..1.
const BOXES: [f32; 8] = [0.5, 0.5, 0.25, 0.5, 0.25, 0.5, 0.125, 0.25];
/// The same on the tensor: x, y, width, height.
const RECTS: [[f32; 4]; 2] = [[24.0, 8.0, 16.0, 16.0], [12.0, 12.0, 8.0, 8.0]];

fn boxes(name: &'static str) -> Tensor {
    Tensor::new(name, &[1, 2, 4], &BOXES)
}

/// Logits whose softmax over each row are these shares.
fn shares(name: &'static str, rows: &[&[f32]; 2]) -> Tensor {
    let values: Vec<f32> = rows.concat().iter().map(|share| share.ln() + 2.0).collect();
    Tensor::new(name, &[1, 2, rows[0].len()], &values)
}

/// Logits whose sigmoids are these.
fn odds(name: &'static str, rows: &[&[f32]; 2]) -> Tensor {
    let values: Vec<f32> = rows.concat().iter().map(|p| (p / (1.0 - p)).ln()).collect();
    Tensor::new(name, &[1, 2, rows[0].len()], &values)
}

fn labelled(classes: usize) -> Hints {
    Hints { classes: Some(classes), ..Hints::default() }
}

/// Query, class and confidence of what is found with what is usual for the decoder.
fn found(tensors: &[Tensor], requested: Option<DecoderKind>, hints: &Hints) -> Vec<(usize, u32, f32)> {
    let decoder = choose(&descs(tensors), INPUT, requested, hints).unwrap();
    assert_eq!(decoder.kind(), DecoderKind::Queries);
    let params = DetectParams {
        nms: decoder.usual_nms(),
        multi_label: decoder.usual_multi_label(),
        top_k_after: decoder.usual_top_k_after(),
        ..DetectParams::default()
    };
    let (found, _) = run(&mut Detector::new(decoder, params).unwrap(), tensors, &Affine::IDENTITY, INPUT);
    let query = |d: &Detection| {
        RECTS.iter().position(|rect| [d.rect.x, d.rect.y, d.rect.w, d.rect.h] == *rect).unwrap()
    };
    found.iter().map(|d| (query(d), d.class, d.confidence)).collect()
}

#[track_caller]
fn assert_found(found: &[(usize, u32, f32)], expected: &[(usize, u32, f32)]) {
    let places = |list: &[(usize, u32, f32)]| list.iter().map(|(q, c, _)| (*q, *c)).collect::<Vec<_>>();
    assert_eq!(places(found), places(expected), "{found:?}");
    for ((.., a), (.., b)) in found.iter().zip(expected) {
        // An exponential, a sum and a division in float32.
        assert!((a - b).abs() < 1e-6, "{a} instead of {b}");
    }
}

#[test]
fn detr_takes_a_querys_best_class_beside_the_background_which_is_the_last_column() {
    // One column more than labels tells it, whatever the order of the outputs.
    let logits = shares("logits", &[&[0.125, 0.5, 0.28125, 0.09375], &[0.3125, 0.0625, 0.0625, 0.5625]]);
    let expected = [(0, 1, 0.5), (1, 0, 0.3125)];
    for tensors in [[logits.clone(), boxes("pred_boxes")], [boxes("pred_boxes"), logits.clone()]] {
        assert_found(&found(&tensors, None, &labelled(3)), &expected);
    }
    // So does the activation; without labels there are as many classes as columns but one.
    let softmax = Hints { activation: Some(Activation::Softmax), ..Hints::default() };
    let tensors = [logits, boxes("pred_boxes")];
    assert_found(&found(&tensors, None, &softmax), &expected);
    assert_eq!(choose(&descs(&tensors), INPUT, None, &softmax).unwrap().classes(), Some(3));
}

#[test]
fn independent_classes_are_ranked_over_all_queries_and_as_many_remain_as_there_are_queries() {
    // Two of one query are stronger than the other query's best.
    let logits = odds("logits", &[&[0.75, 0.5, 0.125], &[0.375, 0.25, 0.125]]);
    let tensors = [logits, boxes("pred_boxes")];
    for hints in [labelled(3), Hints { activation: Some(Activation::Sigmoid), ..Hints::default() }] {
        assert_found(&found(&tensors, None, &hints), &[(0, 0, 0.75), (0, 1, 0.5)]);
    }
    let decoder = choose(&descs(&tensors), INPUT, None, &labelled(3)).unwrap();
    assert_eq!((decoder.usual_multi_label(), decoder.usual_top_k_after()), (true, 2));
    let open: Vec<TensorDesc> =
        ["logits:float32:1x?x3", "pred_boxes:float32:1x?x4"].map(|t| t.parse().unwrap()).into();
    let decoder = choose(&open, INPUT, None, &labelled(3)).unwrap();
    assert_eq!((decoder.usual_multi_label(), decoder.usual_top_k_after()), (true, 300));
}

#[test]
fn rf_detrs_names_tell_that_its_classes_are_independent_and_labels_that_the_last_column_is_none() {
    let logits = odds("labels", &[&[0.125, 0.5, 0.25, 0.9375], &[0.0625, 0.125, 0.75, 0.125]]);
    let tensors = [boxes("dets"), logits];
    assert_found(&found(&tensors, None, &labelled(3)), &[(1, 2, 0.75), (0, 1, 0.5)]);
    assert_found(&found(&tensors, None, &labelled(4)), &[(0, 3, 0.9375), (1, 2, 0.75)]);
    assert_found(&found(&tensors, None, &Hints::default()), &[(0, 3, 0.9375), (1, 2, 0.75)]);
    // Masks and hidden states are left aside.
    let more = [
        boxes("dets"),
        tensors[1].clone(),
        Tensor::new("masks", &[1, 2, 4, 4], &[0.0; 32]),
        Tensor::new("hidden", &[1, 2, 8], &[0.0; 16]),
    ];
    assert_found(&found(&more, None, &labelled(3)), &[(1, 2, 0.75), (0, 1, 0.5)]);
}

#[test]
fn rf_detrs_keypoints_are_fractions_of_the_input_and_their_scores_logits() {
    // x and y, the logit that the point can be found, that it can be seen, and three numbers of how exact it is.
    let point = |x: f32, y: f32, logit: f32| [x, y, logit, 9.0, 1.0, 2.0, 3.0];
    let points =
        [point(0.25, 0.5, 0.0), point(0.5, 0.25, 2.0), point(1.0, 0.0, -1.0), point(0.5, f32::NAN, 0.0)];
    let logits = odds("labels", &[&[0.125, 0.5], &[0.25, 0.75]]);
    let tensors = [boxes("dets"), logits, Tensor::new("keypoints", &[1, 2, 2, 7], &points.concat())];
    for keypoints in [None, Some(2)] {
        let hints = Hints { keypoints, ..labelled(2) };
        let decoder = choose(&descs(&tensors), INPUT, None, &hints).unwrap();
        assert_eq!((decoder.kind(), decoder.keypoints()), (DecoderKind::Queries, 2));
        let params = DetectParams { multi_label: true, ..open_params(0.375) };
        let mut detector = Detector::new(decoder, params).unwrap();
        let (found, _) = run(&mut detector, &tensors, &Affine::IDENTITY, INPUT);
        assert_eq!(found.iter().map(|d| d.class).collect::<Vec<_>>(), [1, 1]);
        // 1 / (1 + e) and 1 / (1 + e^-2) on 64x32 pixels, the surer query first. A point that is not finite is none.
        let wanted = [[64.0, 0.0, 0.268_941_4], [0.0; 3], [16.0, 16.0, 0.5], [32.0, 8.0, 0.880_797]];
        let points = &detector.attached().keypoints;
        assert_eq!(points.len(), 4);
        for (point, wanted) in points.iter().zip(&wanted) {
            assert!(point.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{points:?}");
        }
    }
    // Two classes' points side by side are not 17 of one, and points that are expected must be there.
    let expected = Hints { keypoints: Some(17), ..labelled(2) };
    for tensors in [&tensors[..], &tensors[..2]] {
        let error =
            choose(&descs(tensors), INPUT, Some(DecoderKind::Queries), &expected).unwrap_err().to_string();
        assert!(error.contains("17"), "{error}");
    }
}

#[test]
fn boxes_and_probabilities_side_by_side_are_read_if_that_is_asked_for() {
    let row = |query: usize, scores: [f32; 3]| [&BOXES[query * 4..][..4], &scores[..]].concat();
    let rows = [row(0, [0.75, 0.5, 0.125]), row(1, [0.125, 0.25, 0.375])].concat();
    let tensor = [Tensor::new("output0", &[1, 2, 7], &rows)];
    let asked = Some(DecoderKind::Queries);
    for hints in [labelled(3), Hints::default()] {
        assert_eq!(found(&tensor, asked, &hints), [(0, 0, 0.75), (1, 2, 0.375)]);
    }
    let unasked = choose(&descs(&tensor), INPUT, None, &Hints::default());
    assert!(!matches!(&unasked, Ok(decoder) if decoder.kind() == DecoderKind::Queries), "{unasked:?}");
    let wrong = labelled(80);
    let error = choose(&descs(&tensor), INPUT, asked, &wrong).unwrap_err().to_string();
    assert!(error.contains("3 classes as queries reads them"), "{error}");
    for hints in [
        Hints { activation: Some(Activation::Softmax), ..Hints::default() },
        Hints { background: Some(Background::Last), ..Hints::default() },
    ] {
        let error = choose(&descs(&tensor), INPUT, asked, &hints).unwrap_err().to_string();
        assert!(error.contains("[1, Q, 4 + C] without background"), "{error}");
    }
}

#[test]
fn hints_override_what_is_usual() {
    // Corners in pixels, probabilities, and the background before the classes.
    let corners = RECTS.map(|[x, y, w, h]| [x, y, x + w, y + h]).concat();
    let scores = [0.9375, 0.75, 0.25, 0.875, 0.125, 0.5];
    let tensors = [Tensor::new("b", &[1, 2, 4], &corners), Tensor::new("s", &[1, 2, 3], &scores)];
    let hints = Hints {
        box_format: Some(BoxFormat::Corners),
        normalized: Some(false),
        activation: Some(Activation::None),
        background: Some(Background::First),
        ..Hints::default()
    };
    assert_eq!(found(&tensors, Some(DecoderKind::Queries), &hints), [(0, 0, 0.75), (1, 1, 0.5)]);
}

#[test]
fn scores_of_which_nothing_is_known_are_an_error_and_other_names_are_no_queries() {
    let parse = |text: &str| -> Vec<TensorDesc> { text.split(' ').map(|t| t.parse().unwrap()).collect() };
    let named = parse("logits:float32:1x100x92 pred_boxes:float32:1x100x4");
    let unnamed = parse("a:float32:1x100x92 b:float32:1x100x4");
    let asked = Some(DecoderKind::Queries);
    for (descs, requested, classes) in
        [(&named, None, None), (&named, None, Some(80)), (&named, asked, None), (&unnamed, asked, None)]
    {
        let hints = Hints { classes, ..Hints::default() };
        let error = choose(descs, [640, 640], requested, &hints).unwrap_err();
        assert!(matches!(error, DetectError::Queries { .. }), "{error}");
        let message = error.to_string();
        for part in ["logits:float32:1x100x92", "Set activation", "softmax", "sigmoid"] {
            let part = if requested.is_some() { part.trim_start_matches("logits:") } else { part };
            assert!(message.contains(part), "'{part}' is not in: {message}");
        }
    }
    let other = choose(&unnamed, [640, 640], None, &Hints::default()).unwrap();
    assert_eq!(other.kind(), DecoderKind::BoxesScores);
    for (classes, multi_label) in [(91, false), (92, true)] {
        let decoder = choose(&unnamed, [640, 640], asked, &labelled(classes)).unwrap();
        assert_eq!((decoder.classes(), decoder.usual_multi_label()), (Some(classes), multi_label));
    }
}
