//! Lists of boxes that the model has chosen itself, in all the forms that libraries write them in, against values written
//! down by hand.

use super::*;

const INPUT: [usize; 2] = [64, 48];

fn integers(name: &'static str, ty: TensorType, dims: &[usize], values: &[i64]) -> Tensor {
    let bytes = values.iter().flat_map(|v| match ty {
        TensorType::Int32 => (*v as i32).to_le_bytes().to_vec(),
        _ => v.to_le_bytes().to_vec(),
    });
    Tensor { name, ty, dims: dims.into(), bytes: bytes.collect() }
}

/// Class, confidence and box of what is found in a frame that is the input tensor.
fn found(
    tensors: &[Tensor],
    kind: Option<DecoderKind>,
    hints: &Hints,
    nms: Nms,
) -> (Vec<(u32, f32, [f32; 4])>, Outcome) {
    let decoder = choose(&descs(tensors), INPUT, kind, hints).unwrap();
    let params = DetectParams { nms, ..open_params(0.25) };
    let (found, outcome) =
        run(&mut Detector::new(decoder, params).unwrap(), tensors, &Affine::IDENTITY, INPUT);
    let found = found.iter().map(|d| (d.class, d.confidence, [d.rect.x, d.rect.y, d.rect.w, d.rect.h]));
    (found.collect(), outcome)
}

const LEFT: [f32; 4] = [4.0, 6.0, 20.0, 30.0];
const RIGHT: [f32; 4] = [30.0, 8.0, 60.0, 40.0];
/// Class 2 with 0.75 on the left, class 0 with 0.5 on the right, which the third, below the threshold, covers.
const SCORES: [f32; 3] = [0.5, 0.75, 0.125];

fn boxes(dims: &[usize]) -> Tensor {
    Tensor::new("boxes", dims, &[RIGHT, LEFT, RIGHT].concat())
}

fn expected() -> Vec<(u32, f32, [f32; 4])> {
    vec![(2, 0.75, [4.0, 6.0, 16.0, 24.0]), (0, 0.5, [30.0, 8.0, 30.0, 32.0])]
}

#[test]
fn boxes_scores_and_labels_are_read_in_any_order_type_and_shape() {
    for (batch, ty) in [
        (false, TensorType::Int64),
        (true, TensorType::Int64),
        (true, TensorType::Int32),
        (false, TensorType::Int32),
    ] {
        let dims = if batch { vec![1, 3] } else { vec![3] };
        let scores = Tensor::new("s", &dims, &SCORES);
        let labels = integers("l", ty, &dims, &[0, 2, 1]);
        let boxes = boxes(&[&dims[..], &[4]].concat());
        for tensors in [
            [boxes.clone(), scores.clone(), labels.clone()],
            [labels.clone(), boxes.clone(), scores.clone()],
            [scores, labels, boxes],
        ] {
            let (found, outcome) = found(&tensors, None, &Hints::default(), Nms::None);
            assert_eq!(found, expected());
            assert_eq!(outcome, Outcome { candidates: 2, ..Outcome::default() });
        }
    }
    // Names distinguish floats.
    let tensors = [
        Tensor::new("classes", &[1, 3], &[0.0, 2.0, 1.0]),
        boxes(&[1, 3, 4]),
        Tensor::new("confidences", &[1, 3], &SCORES),
    ];
    assert_eq!(found(&tensors, None, &Hints::default(), Nms::None).0, expected());
    let tensors = tensors.map(|t| Tensor { name: "o", ..t });
    let error =
        choose(&descs(&tensors), INPUT, Some(DecoderKind::Detections), &Hints::default()).unwrap_err();
    assert!(error.to_string().contains("'label' or 'class' must be in their name"), "{error}");
}

#[test]
fn a_box_may_be_written_with_its_score() {
    let rows: Vec<f32> = [(RIGHT, 0.5), (LEFT, 0.75), (RIGHT, 0.125)]
        .iter()
        .flat_map(|(b, s)| b.iter().copied().chain([*s]))
        .collect();
    let tensors =
        [Tensor::new("dets", &[1, 3, 5], &rows), integers("labels", TensorType::Int64, &[1, 3], &[0, 2, 1])];
    assert_eq!(found(&tensors, None, &Hints::default(), Nms::None).0, expected());
}

#[test]
fn labels_that_begin_with_the_background_are_counted_from_the_next() {
    // torchvision: 1 is the first class; a background that got through is no object.
    let tensors = [
        boxes(&[3, 4]),
        integers("labels", TensorType::Int64, &[3], &[1, 3, 0]),
        Tensor::new("scores", &[3], &[0.5, 0.75, 0.5]),
    ];
    let hints = Hints { background: Some(Background::First), classes: Some(3), ..Hints::default() };
    let (found, outcome) = found(&tensors, None, &hints, Nms::None);
    assert_eq!((found, outcome.non_finite), (expected(), 0));
    let last = Hints { background: Some(Background::Last), ..Hints::default() };
    let error = choose(&descs(&tensors), INPUT, None, &last).unwrap_err();
    assert!(error.to_string().contains("'background last' does not apply to decoder detections"), "{error}");
}

#[test]
fn tensorflows_boxes_are_fractions_with_y_first_and_its_classes_count_from_one() {
    let fraction = |[x1, y1, x2, y2]: [f32; 4]| [y1 / 48.0, x1 / 64.0, y2 / 48.0, x2 / 64.0];
    let rows = [LEFT, RIGHT, [0.0; 4], LEFT].map(fraction).concat();
    // The fourth is after the last of the three.
    let tensors = [
        Tensor::new("detection_boxes", &[1, 4, 4], &rows),
        Tensor::new("detection_classes", &[1, 4], &[3.0, 1.0, 1.0, 1.0]),
        Tensor::new("detection_scores", &[1, 4], &[0.75, 0.5, 0.0, 0.5]),
        Tensor::new("num_detections", &[1], &[3.0]),
        Tensor::new("raw_detection_boxes", &[1, 4, 4], &rows),
    ];
    let (found, outcome) = found(&tensors, None, &Hints::default(), Nms::None);
    assert_eq!(outcome, Outcome { candidates: 2, ..Outcome::default() });
    for (got, expected) in found.iter().zip(expected()) {
        assert_eq!((got.0, got.1), (expected.0, expected.1));
        // Thirds of a side are no float32: 64 times half a unit in the last place of 1.
        assert!(got.2.iter().zip(expected.2).all(|(a, b)| (a - b).abs() < 8e-6), "{got:?} {expected:?}");
    }
    assert_eq!(found.len(), 2);
}

/// EfficientNMS, which says how many there are.
fn efficient(count: i64) -> [Tensor; 4] {
    [
        integers("num_dets", TensorType::Int32, &[1, 1], &[count]),
        Tensor { name: "det_boxes", ..boxes(&[1, 3, 4]) },
        Tensor::new("det_scores", &[1, 3], &[0.5, 0.75, 0.5]),
        integers("det_classes", TensorType::Int32, &[1, 3], &[0, 2, 1]),
    ]
}

#[test]
fn only_as_many_boxes_count_as_the_model_says() {
    for (count, boxes, bad) in
        [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 3, 1), (i64::from(i32::MAX), 3, 1), (-1, 0, 1)]
    {
        let (found, outcome) = found(&efficient(count), None, &Hints::default(), Nms::None);
        assert_eq!((found.len(), outcome.non_finite), (boxes, bad), "{count}");
    }
    let [_, boxes, scores, labels] = efficient(0);
    for count in [f32::NAN, f32::NEG_INFINITY, f32::INFINITY] {
        let tensors =
            [Tensor::new("num_dets", &[1], &[count]), boxes.clone(), scores.clone(), labels.clone()];
        let (found, outcome) = found(&tensors, None, &Hints::default(), Nms::None);
        assert_eq!((found.len(), outcome.non_finite), (if count > 0.0 { 3 } else { 0 }, 1), "{count}");
    }
}

#[test]
fn labels_of_no_class_and_numbers_that_are_none_are_counted_and_dropped() {
    let far = i64::MAX;
    let labels = [1, 3, -2, far, i64::MIN, -1, 0];
    let scores = [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, f32::NAN];
    let tensors = [
        Tensor::new("boxes", &[7, 4], &LEFT.repeat(7)),
        integers("labels", TensorType::Int64, &[7], &labels),
        Tensor::new("scores", &[7], &scores),
    ];
    let hints = Hints { classes: Some(3), ..Hints::default() };
    let (found_, outcome) = found(&tensors, None, &hints, Nms::None);
    // -1 is padding, as EfficientNMS writes it.
    assert_eq!((found_.len(), found_[0].0, outcome.non_finite), (1, 1, 5));
    let [boxes, _, _] = &tensors;
    let tensors = [
        boxes.clone(),
        Tensor::new("labels", &[7], &[f32::NAN, f32::INFINITY, 0.0, 1e30, -1.0, 2.4, 3.0]),
        Tensor::new("scores", &[7], &[0.9; 7]),
    ];
    let (found, outcome) = found(&tensors, None, &hints, Nms::None);
    let classes: Vec<_> = found.iter().map(|d| d.0).collect();
    assert_eq!((classes, outcome.non_finite), (vec![0, 2], 4));
}

#[test]
fn there_may_be_no_box_at_all_and_another_number_in_each_frame() {
    let open = |text: &str| text.parse::<TensorDesc>().unwrap();
    let descs = ["boxes:float32:?x4", "labels:int64:?", "scores:float32:?"].map(open);
    let decoder = choose(&descs, INPUT, None, &Hints::default()).unwrap();
    let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
    for n in [0, 3, 1, 0, 7] {
        let tensors = [
            Tensor::new("boxes", &[n, 4], &LEFT.repeat(n)),
            integers("labels", TensorType::Int64, &[n], &vec![2; n]),
            Tensor::new("scores", &[n], &vec![0.5; n]),
        ];
        let (found, outcome) = run(&mut detector, &tensors, &Affine::IDENTITY, INPUT);
        assert_eq!((found.len(), outcome.candidates), (n, n));
    }
    // Lists of different lengths are no boxes.
    let tensors = [
        boxes(&[3, 4]),
        integers("labels", TensorType::Int64, &[2], &[0, 0]),
        Tensor::new("scores", &[3], &SCORES),
    ];
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let error = detector.run(&views, &Affine::IDENTITY, INPUT, &mut vec![]).unwrap_err().to_string();
    assert!(error.contains("'labels' has the shape [2], but decoder detections needs [1, 3]"), "{error}");
}

#[test]
fn final_boxes_are_suppressed_only_if_that_is_asked_for() {
    let tensors = [
        Tensor::new("boxes", &[2, 4], &LEFT.repeat(2)),
        integers("labels", TensorType::Int64, &[2], &[1, 1]),
        Tensor::new("scores", &[2], &[0.5, 0.75]),
    ];
    // Candidates in the order of end-to-end, as libreyolo's EfficientDet writes them: the third is of another class.
    let row = |confidence, class| [&LEFT[..], &[confidence, class]].concat();
    let rows = [Tensor::new("o", &[1, 3, 6], &[row(0.75, 1.0), row(0.5, 1.0), row(0.25, 0.0)].concat())];
    let cases = [(&tensors[..], None, [2, 1, 1]), (&rows, Some(DecoderKind::EndToEnd), [3, 2, 1])];
    for (tensors, kind, left) in cases {
        let decoder = choose(&descs(tensors), INPUT, kind, &Hints::default()).unwrap();
        assert_eq!(decoder.usual_nms(), Nms::None);
        for (nms, left) in [Nms::None, Nms::ClassWise, Nms::Agnostic].into_iter().zip(left) {
            assert_eq!(found(tensors, kind, &Hints::default(), nms).0.len(), left, "{kind:?} {nms:?}");
        }
    }
}

#[test]
fn rows_of_six_or_seven_numbers_are_read_in_the_order_that_names_or_the_sidecar_tell() {
    let rows = |place: [usize; 3], columns: usize| -> Vec<f32> {
        let all = [(RIGHT, 0.5, 0.0), (LEFT, 0.75, 2.0), (RIGHT, 0.125, 1.0)];
        let row = |(b, score, class): &([f32; 4], f32, f32)| {
            let mut row = vec![0.0; columns];
            row[place[0]..place[0] + 4].copy_from_slice(b);
            (row[place[1]], row[place[2]]) = (*score, *class);
            row
        };
        all.iter().flat_map(row).collect()
    };
    let hinted = |format| Hints { row_format: Some(format), ..Hints::default() };
    let paddle = rows([2, 1, 0], 6);
    let count = integers("multiclass_nms3_0.tmp_2", TensorType::Int32, &[1], &[3]);
    let named = [Tensor::new("multiclass_nms3_0.tmp_0", &[3, 6], &paddle), count.clone()];
    assert_eq!(found(&named, None, &Hints::default(), Nms::None).0, expected());
    let unnamed = [Tensor::new("o", &[3, 6], &paddle), count];
    assert_eq!(found(&unnamed, None, &hinted(RowFormat::ClassScoreBox), Nms::None).0, expected());
    let usual = [Tensor::new("o", &[3, 6], &rows([0, 4, 5], 6))];
    assert_eq!(found(&usual, None, &hinted(RowFormat::BoxScoreClass), Nms::None).0, expected());
    let seven = [Tensor::new("output", &[3, 7], &rows([1, 6, 5], 7))];
    assert_eq!(found(&seven, None, &hinted(RowFormat::BatchBoxClassScore), Nms::None).0, expected());
    for (tensors, kind) in [(&unnamed[..], None), (&seven, Some(DecoderKind::EndToEnd))] {
        let error = choose(&descs(tensors), INPUT, kind, &Hints::default()).unwrap_err();
        assert!(matches!(error, DetectError::RowFormat { .. }), "{error}");
        assert!(error.to_string().contains("\"class-score-box\" for PaddleDetection"), "{error}");
    }
    let v8 = "o:float32:1x84x8400".parse::<TensorDesc>().unwrap();
    let error = choose(&[v8], [640, 640], None, &hinted(RowFormat::ClassScoreBox)).unwrap_err();
    assert!(error.to_string().contains("'row format' does not apply to decoder yolov8"), "{error}");
}

/// Two points of each of the boxes, with what is third: that of the box on the left, and a point that is not finite.
const POINTS: [[f32; 6]; 3] =
    [[31.0, 9.0, 0.5, 59.0, 39.0, 0.25], [5.0, 7.0, 0.875, 19.0, f32::NAN, 0.75], [0.0; 6]];

/// The keypoints of what is found, in a frame of twice the width, three pixels to the right.
fn keypoints(tensors: &[Tensor], hints: &Hints) -> (Vec<u32>, Vec<[f32; 3]>) {
    let decoder = choose(&descs(tensors), INPUT, None, hints).unwrap();
    assert_eq!((decoder.kind(), decoder.keypoints()), (DecoderKind::Detections, 2));
    assert!(decoder.is_proven());
    let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
    let (found, _) = run(&mut detector, tensors, &Affine::upright([2.0, 1.0], [3.0, 0.0]), [200, 48]);
    (found.iter().map(|d| d.class).collect(), detector.attached().keypoints.clone())
}

#[test]
fn boxes_may_have_keypoints_beside_them_and_then_no_labels() {
    // RTMO as MMDeploy exports it: corners and score, then x, y and visibility.
    let rows = [(RIGHT, 0.5), (LEFT, 0.75), (RIGHT, 0.125)].map(|(b, s)| [b[0], b[1], b[2], b[3], s]);
    let rtmo = [
        Tensor::new("keypoints", &[1, 3, 2, 3], &POINTS.concat()),
        Tensor::new("dets", &[1, 3, 5], &rows.concat()),
    ];
    let points = [[13.0, 7.0, 0.875], [0.0; 3], [65.0, 9.0, 0.5], [121.0, 39.0, 0.25]];
    assert_eq!(keypoints(&rtmo, &Hints::default()), (vec![0, 0], points.to_vec()));
    let hints = Hints { classes: Some(1), keypoints: Some(2), ..Hints::default() };
    assert_eq!(keypoints(&rtmo, &hints), (vec![0, 0], points.to_vec()));
    // Without a third number every point is sure.
    let pairs: Vec<f32> =
        POINTS.iter().flatten().copied().enumerate().filter(|(i, _)| i % 3 < 2).map(|p| p.1).collect();
    let [_, dets] = &rtmo;
    let apart = [Tensor::new("simcc_kpts", &[1, 3, 2, 2], &pairs), dets.clone()];
    let sure = points.map(|[x, y, score]| [x, y, if score > 0.0 { 1.0 } else { 0.0 }]);
    assert_eq!(keypoints(&apart, &Hints::default()).1, sure);
    // The batch format of super-gradients' export of YOLO-NAS-Pose.
    let nas = [
        integers("num_predictions", TensorType::Int64, &[1, 1], &[3]),
        Tensor::new("pred_boxes", &[1, 3, 4], &[RIGHT, LEFT, RIGHT].concat()),
        Tensor::new("pred_scores", &[1, 3], &SCORES),
        Tensor::new("pred_joints", &[1, 3, 2, 3], &POINTS.concat()),
    ];
    assert_eq!(keypoints(&nas, &Hints::default()), (vec![0, 0], points.to_vec()));
    // A name that only ends so is none of a pose.
    let tensors = [
        Tensor::new("Transpose_1", &[1, 1, 4], &LEFT),
        integers("labels", TensorType::Int64, &[1, 1], &[2]),
        Tensor::new("transpose_2:0", &[1, 1], &[0.75]),
    ];
    assert_eq!(found(&tensors, None, &Hints::default(), Nms::None).0, expected()[..1]);
}

#[test]
fn rows_of_yolo_nas_pose_begin_with_the_number_in_the_batch_and_have_no_class() {
    let row = |b: [f32; 4], score: f32, points: [f32; 6]| [&[0.0][..], &b, &[score], &points].concat();
    let rows =
        [row(RIGHT, 0.5, POINTS[0]), row(LEFT, 0.75, POINTS[1]), row(RIGHT, 0.125, POINTS[2])].concat();
    let tensors = [Tensor::new("graph2_flat_predictions", &[3, 12], &rows)];
    let hints = Hints { row_format: Some(RowFormat::BatchBoxScore), keypoints: Some(2), ..Hints::default() };
    for kind in [None, Some(DecoderKind::YoloPose)] {
        let decoder = choose(&descs(&tensors), INPUT, kind, &hints).unwrap();
        assert_eq!((decoder.kind(), decoder.keypoints()), (DecoderKind::YoloPose, 2));
        let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
        let (found, _) = run(&mut detector, &tensors, &Affine::IDENTITY, INPUT);
        let found: Vec<_> = found.iter().map(|d| (d.class, d.confidence, d.rect.x)).collect();
        assert_eq!(found, [(0, 0.75, 4.0), (0, 0.5, 30.0)]);
        let points = [[5.0, 7.0, 0.875], [0.0; 3], [31.0, 9.0, 0.5], [59.0, 39.0, 0.25]];
        assert_eq!(detector.attached().keypoints, points);
    }
    // Without points as well.
    let rows = [row(RIGHT, 0.5, [0.0; 6]), row(LEFT, 0.75, [0.0; 6])].map(|row| row[..6].to_vec()).concat();
    let tensors = [Tensor::new("o", &[2, 6], &rows)];
    let hints = Hints { row_format: Some(RowFormat::BatchBoxScore), ..Hints::default() };
    let (found, _) = found(&tensors, None, &hints, Nms::None);
    assert_eq!(found, expected().into_iter().map(|(_, score, rect)| (0, score, rect)).collect::<Vec<_>>());
}

#[test]
fn boxes_with_keypoints_may_have_masks_as_well() {
    let tensors = [
        boxes(&[3, 4]),
        integers("labels", TensorType::Int64, &[3], &[0, 2, 1]),
        Tensor::new("scores", &[3], &SCORES),
        Tensor::new("keypoints", &[3, 2, 3], &POINTS.concat()),
        Tensor::new("masks", &[3, 1, 28, 28], &[0.5; 3 * 784]),
    ];
    let points = vec![[13.0, 7.0, 0.875], [0.0; 3], [65.0, 9.0, 0.5], [121.0, 39.0, 0.25]];
    assert_eq!(keypoints(&tensors, &Hints::default()), (vec![2, 0], points));
    let decoder = choose(&descs(&tensors), INPUT, None, &Hints::default()).unwrap();
    assert_eq!(decoder.masks(), Some(Masks::Maps { output: 4, extent: Extent::Box }));
    let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
    run(&mut detector, &tensors, &Affine::IDENTITY, INPUT);
    assert_eq!(detector.attached().rows, [1, 0]);
}

#[test]
fn keypoint_r_cnn_has_labels_and_its_scores_of_points_are_left_aside() {
    let mut visible = POINTS;
    visible.iter_mut().for_each(|p| (p[2], p[5]) = (1.0, 1.0));
    let tensors = [
        boxes(&[3, 4]),
        integers("labels", TensorType::Int64, &[3], &[1, 1, 1]),
        Tensor::new("scores", &[3], &SCORES),
        Tensor::new("keypoints", &[3, 2, 3], &visible.concat()),
        Tensor::new("keypoints_scores", &[3, 2], &[9.0; 6]),
    ];
    let hints = Hints { background: Some(Background::First), classes: Some(1), ..Hints::default() };
    let points = vec![[13.0, 7.0, 1.0], [0.0; 3], [65.0, 9.0, 1.0], [121.0, 39.0, 1.0]];
    assert_eq!(keypoints(&tensors, &hints), (vec![0, 0], points));
    // As it is exported, the number of its boxes is open, and there may be none.
    let open = |text: &str| text.parse::<TensorDesc>().unwrap();
    let names = ["boxes:float32:?x4", "labels:int64:?", "scores:float32:?", "keypoints:float32:?x17x3"];
    let all = [&names[..], &["keypoints_scores:float32:?x17"]].concat();
    let decoder = choose(&all.into_iter().map(open).collect::<Vec<_>>(), [640, 480], None, &hints).unwrap();
    assert_eq!((decoder.kind(), decoder.keypoints()), (DecoderKind::Detections, 17));
    let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
    let mut sized = |rows: [usize; 2]| {
        let [n, of_points] = rows;
        let tensors = [
            Tensor::new("boxes", &[n, 4], &LEFT.repeat(n)),
            integers("labels", TensorType::Int64, &[n], &vec![1; n]),
            Tensor::new("scores", &[n], &vec![0.5; n]),
            Tensor::new("keypoints", &[of_points, 17, 3], &vec![1.0; of_points * 51]),
            Tensor::new("keypoints_scores", &[n, 17], &vec![1.0; n * 17]),
        ];
        let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
        detector
            .run(&views, &Affine::IDENTITY, INPUT, &mut vec![])
            .map(|_| detector.attached().keypoints.len())
    };
    assert_eq!((sized([0, 0]), sized([2, 2])), (Ok(0), Ok(34)));
    let error = sized([2, 3]).unwrap_err().to_string();
    assert!(
        error.contains("'keypoints' has the shape [3, 17, 3], but decoder detections needs [1, 2, 17, 3]"),
        "{error}"
    );
}

#[test]
fn tensorflows_keypoints_are_fractions_with_y_first() {
    let fraction = |[x1, y1, x2, y2]: [f32; 4]| [y1 / 48.0, x1 / 64.0, y2 / 48.0, x2 / 64.0];
    let tensors = [
        Tensor::new("detection_boxes", &[1, 2, 4], &[LEFT, RIGHT].map(fraction).concat()),
        Tensor::new("detection_classes", &[1, 2], &[1.0, 1.0]),
        Tensor::new("detection_keypoint_scores", &[1, 2, 2], &[0.5; 4]),
        Tensor::new("detection_keypoints", &[1, 2, 2, 2], &[0.25, 0.5, 0.75, 0.125, 0.5, 0.5, 0.0, 1.0]),
        Tensor::new("detection_scores", &[1, 2], &[0.75, 0.5]),
        Tensor::new("num_detections", &[1], &[2.0]),
    ];
    let points = vec![[67.0, 12.0, 1.0], [19.0, 36.0, 1.0], [67.0, 24.0, 1.0], [131.0, 0.0, 1.0]];
    assert_eq!(keypoints(&tensors, &Hints::default()), (vec![0, 0], points));
}

#[test]
fn keypoints_that_are_expected_must_be_there_and_labels_are_missed_without_them() {
    let dets = Tensor::new("dets", &[1, 3, 5], &[0.0; 15]);
    let points = Tensor::new("keypoints", &[1, 3, 2, 3], &[0.0; 18]);
    let detections = Some(DecoderKind::Detections);
    let refused = |tensors: &[Tensor], hints: &Hints| {
        choose(&descs(tensors), INPUT, detections, hints).unwrap_err().to_string()
    };
    let pose = [dets.clone(), points.clone()];
    let expected = |keypoints, classes| Hints { keypoints, classes, ..Hints::default() };
    let error = refused(&pose, &expected(Some(17), None));
    assert!(
        error.contains("17 keypoints are expected") && error.contains("2 as detections reads them"),
        "{error}"
    );
    let error = refused(&pose, &expected(None, Some(2)));
    assert!(
        error.contains("2 labels are given") && error.contains("1 class as detections reads them"),
        "{error}"
    );
    let first = Hints { background: Some(Background::First), ..Hints::default() };
    assert!(refused(&pose, &first).contains("it needs boxes"), "no label, no background among the labels");
    assert!(
        refused(std::slice::from_ref(&dets), &Hints::default()).contains("may be missing beside keypoints")
    );
    let labels = integers("labels", TensorType::Int64, &[1, 3], &[0; 3]);
    let error = refused(&[dets.clone(), labels.clone()], &expected(Some(2), None));
    assert!(error.contains("needs boxes") && error.contains("keypoints [1, N, 2, 3]"), "{error}");
    // Labels that may be either of two are not left aside.
    let [one, more] = ["one", "more"].map(|name| Tensor { name, ..labels.clone() });
    assert!(refused(&[dets, points, one, more], &Hints::default()).contains("needs boxes"));
}
