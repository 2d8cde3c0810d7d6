//! Every class of an anchor as a candidate, against what YOLOv5's and v8's validation makes of the same scores.

use super::*;

const INPUT: [usize; 2] = [64, 64];
/// Boxes of 8x8 beside each other.
const CENTERS: [f32; 4] = [10.0, 25.0, 40.0, 55.0];
/// By anchor: two classes that pass, one, none, one that is broken.
const SCORES: [[f32; 3]; 4] =
    [[0.5, 0.75, 0.125], [0.25, 0.0625, 0.3125], [0.125, 0.0, 0.125], [f32::NAN, 0.75, 0.875]];

fn params() -> DetectParams {
    DetectParams { multi_label: true, ..open_params(0.25) }
}

/// Anchor, class and confidence of what is found.
fn found(
    tensors: &[Tensor],
    kind: DecoderKind,
    hints: &Hints,
    params: DetectParams,
) -> (Vec<(usize, u32, f32)>, Outcome) {
    let decoder = choose(&descs(tensors), INPUT, Some(kind), hints).unwrap();
    let (found, outcome) =
        run(&mut Detector::new(decoder, params).unwrap(), tensors, &Affine::IDENTITY, INPUT);
    let anchor = |d: &Detection| {
        let center = d.rect.x + d.rect.w / 2.0;
        CENTERS.iter().position(|c| (c - center).abs() < 0.01).unwrap()
    };
    (found.iter().map(|d| (anchor(d), d.class, d.confidence)).collect(), outcome)
}

fn table(rows: impl Iterator<Item = Vec<f32>>, transposed: bool) -> Tensor {
    let rows: Vec<_> = rows.collect();
    let (n, width) = (rows.len(), rows[0].len());
    if transposed {
        let values: Vec<f32> = (0..n * width).map(|i| rows[i % n][i / n]).collect();
        return Tensor::new("o", &[1, width, n], &values);
    }
    Tensor::new("o", &[1, n, width], &rows.concat())
}

fn boxes() -> impl Iterator<Item = Vec<f32>> {
    CENTERS.iter().map(|x| vec![*x, 32.0, 8.0, 8.0])
}

fn raw(transposed: bool) -> Tensor {
    // More anchors than channels, or columns: a score of 0 is an anchor's that is left over.
    let more = (0..6).map(|_| vec![10.0, 32.0, 8.0, 8.0, 0.0, 0.0, 0.0]);
    table(boxes().zip(SCORES).map(|(b, s)| [b, s.to_vec()].concat()).chain(more), transposed)
}

#[test]
fn every_class_above_the_threshold_is_a_candidate_strongest_first() {
    let expected = [(0, 1, 0.75), (0, 0, 0.5), (1, 2, 0.3125), (1, 0, 0.25)];
    let hints = Hints { classes: Some(3), ..Hints::default() };
    for transposed in [true, false] {
        let (found, outcome) = found(&[raw(transposed)], DecoderKind::Yolov8, &hints, params());
        assert_eq!(found, expected, "{transposed}");
        // A broken anchor counts once, whatever its other classes are.
        assert_eq!(outcome, Outcome { candidates: 4, non_finite: 1, ..Outcome::default() });
    }
    let corners = CENTERS.iter().flat_map(|x| [x - 4.0, 28.0, x + 4.0, 36.0]).collect::<Vec<_>>();
    let tensors =
        [Tensor::new("boxes", &[1, 4, 4], &corners), Tensor::new("scores", &[1, 4, 3], &SCORES.concat())];
    let hints = Hints { normalized: Some(false), ..Hints::default() };
    assert_eq!(found(&tensors, DecoderKind::BoxesScores, &hints, params()).0, expected);
}

#[test]
fn without_it_the_best_class_alone_is_one() {
    assert!(!DetectParams::default().multi_label);
    let hints = Hints { classes: Some(3), ..Hints::default() };
    let best = DetectParams { multi_label: false, ..params() };
    assert_eq!(found(&[raw(true)], DecoderKind::Yolov8, &hints, best).0, [(0, 1, 0.75), (1, 2, 0.3125)]);
}

#[test]
fn objectness_and_softmax_count_for_each_class() {
    let hints = Hints { classes: Some(3), ..Hints::default() };
    // Halves: 0.375, 0.25; the second anchor's fall below the threshold.
    let rows = boxes().zip(SCORES).map(|(b, s)| [b, vec![0.5], s.to_vec()].concat());
    let more = (0..8).map(|_| vec![0.0; 8]);
    let tensor = table(rows.chain(more), false);
    let (found_, outcome) = found(&[tensor], DecoderKind::Yolov5, &hints, params());
    assert_eq!(found_, [(0, 1, 0.375), (0, 0, 0.25)]);
    assert_eq!(outcome.non_finite, 1);
    // Logits of the shares 1/8, 2/8, 4/8 and 1/8, the first of them the background's.
    let logits = [1.0f32, 2.0, 4.0, 1.0].map(f32::ln).repeat(4);
    let corners = CENTERS.iter().flat_map(|x| [x - 4.0, 28.0, x + 4.0, 36.0]).collect::<Vec<_>>();
    let tensors = [Tensor::new("boxes", &[1, 4, 4], &corners), Tensor::new("scores", &[1, 4, 4], &logits)];
    let hints = Hints {
        normalized: Some(false),
        activation: Some(Activation::Softmax),
        background: Some(Background::First),
        ..Hints::default()
    };
    let lower = DetectParams { confidence: 0.1875, ..params() };
    let (found, outcome) = found(&tensors, DecoderKind::BoxesScores, &hints, lower);
    assert_eq!((found.len(), outcome.candidates), (8, 8));
    for (i, (anchor, class, confidence)) in found.iter().enumerate() {
        let expected = if i < 4 { (1, 0.5) } else { (0, 0.25) };
        assert_eq!((*anchor, *class), (i % 4, expected.0));
        assert!((confidence - expected.1).abs() < 1e-6, "{confidence}");
    }
}

#[test]
fn classes_thresholds_and_suppression_look_at_each_class_by_itself() {
    let hints = Hints { classes: Some(3), ..Hints::default() };
    let of = |params| found(&[raw(true)], DecoderKind::Yolov8, &hints, params).0;
    assert_eq!(of(DetectParams { classes: vec![0], ..params() }), [(0, 0, 0.5), (1, 0, 0.25)]);
    let by_class = vec![(1, 0.8), (0, 0.3)];
    assert_eq!(of(DetectParams { class_confidence: by_class, ..params() }), [(0, 0, 0.5), (1, 2, 0.3125)]);
    // The same box of another class is suppressed across classes only.
    assert_eq!(of(DetectParams { nms: Nms::ClassWise, ..params() }).len(), 4);
    assert_eq!(of(DetectParams { nms: Nms::Agnostic, ..params() }), [(0, 1, 0.75), (1, 2, 0.3125)]);
}

#[test]
fn equal_confidences_of_an_anchor_are_ordered_by_class_and_limits_cut_the_last() {
    let rows = boxes().map(|b| [b, vec![0.5; 3]].concat());
    let more = (0..6).map(|_| vec![0.0; 7]);
    let tensor = table(rows.chain(more), true);
    let hints = Hints { classes: Some(3), ..Hints::default() };
    for nms in [Nms::None, Nms::ClassWise, Nms::SoftLinear] {
        let params = DetectParams { nms, ..params() };
        let (all, _) = found(std::slice::from_ref(&tensor), DecoderKind::Yolov8, &hints, params.clone());
        let expected: Vec<_> = (0..12u32).map(|i| (i as usize / 3, i % 3, 0.5)).collect();
        assert_eq!(all, expected, "{nms:?}");
        let (some, outcome) = found(
            std::slice::from_ref(&tensor),
            DecoderKind::Yolov8,
            &hints,
            DetectParams { top_k_before: 4, ..params },
        );
        assert_eq!((some, outcome.truncated), (expected[..4].to_vec(), 8), "{nms:?}");
    }
}

#[test]
fn each_candidate_has_the_keypoints_of_its_anchor() {
    let rows = boxes().zip(SCORES).enumerate().map(|(i, (b, s))| {
        let points = [i as f32, 1.0, 0.5, 2.0, i as f32, 0.25];
        [b, s.to_vec(), points.to_vec()].concat()
    });
    let more = (0..12).map(|_| vec![0.0; 13]);
    let tensor = table(rows.chain(more), true);
    let hints = Hints { classes: Some(3), keypoints: Some(2), ..Hints::default() };
    let decoder = choose(&[tensor.desc()], INPUT, Some(DecoderKind::YoloPose), &hints).unwrap();
    let mut detector = Detector::new(decoder, params()).unwrap();
    let (found, _) = run(&mut detector, &[tensor], &Affine::IDENTITY, INPUT);
    assert_eq!(found.len(), 4);
    let first: Vec<_> = detector.attached().keypoints.iter().step_by(2).map(|p| p[0]).collect();
    assert_eq!(first, [0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn boxes_that_have_one_label_refuse_it() {
    for (text, kind) in [
        ("o:float32:1x300x6", DecoderKind::EndToEnd),
        ("b:float32:?x4 s:float32:? l:int64:?", DecoderKind::Detections),
    ] {
        let descs: Vec<TensorDesc> = text.split(' ').map(|t| t.parse().unwrap()).collect();
        let decoder = choose(&descs, [640, 640], Some(kind), &Hints::default()).unwrap();
        let error = Detector::new(decoder, params()).unwrap_err().to_string();
        assert!(error.contains("'multi-label' does not apply to decoder"), "{error}");
    }
}
