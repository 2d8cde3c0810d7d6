//! Each decoder against an f64 reference written from the families' own definitions, on odd and non-square sizes.
//!
//! Tolerance 2e-3 frame pixels: float32 holds coordinates of 1000 to 6e-5, exp and softmax lose a few units more and
//! the map to the frame multiplies by 3. Confidences: 1e-6, a few units in the last place of 1.

use super::*;

const MAP: Affine = Affine::upright([3.0, 2.5], [-20.0, 10.0]);
const FRAME: [usize; 2] = [900, 700];

/// Confidence, class and corners in tensor pixels.
type Expected = (f64, u32, [f64; 4]);

/// The tensors' boxes of at least `threshold`, in the frame, must be the expected ones.
fn compare(tensors: &[Tensor], input: [usize; 2], hints: &Hints, kind: DecoderKind, all: &[Expected]) {
    const THRESHOLD: f64 = 0.25;
    let decoder = choose(&descs(tensors), input, Some(kind), hints).unwrap();
    let mut detector = Detector::new(decoder, open_params(THRESHOLD as f32)).unwrap();
    let (found, outcome) = run(&mut detector, tensors, &MAP, FRAME);

    assert!(all.iter().all(|e| (e.0 - THRESHOLD).abs() > 1e-5), "a reference too close to call");
    let mut expected: Vec<_> = all.iter().filter(|e| e.0 > THRESHOLD).collect();
    assert_eq!(outcome.candidates, expected.len());
    assert!(expected.len() > 5, "nothing compared");
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(confidence, class, corners)| {
            let x = |v: f64| (v * MAP.scale[0] + MAP.offset[0]).clamp(0.0, FRAME[0] as f64);
            let y = |v: f64| (v * MAP.scale[1] + MAP.offset[1]).clamp(0.0, FRAME[1] as f64);
            (*confidence, *class, [x(corners[0]), y(corners[1]), x(corners[2]), y(corners[3])])
        })
        .filter(|(.., [x1, y1, x2, y2])| x2 > x1 && y2 > y1)
        .collect();
    assert_eq!(found.len(), expected.len());
    for (got, (confidence, class, corners)) in found.iter().zip(&expected) {
        assert!((f64::from(got.confidence) - confidence).abs() < 1e-6, "{got:?} {confidence}");
        assert_eq!(got.class, *class, "{got:?}");
        let r = got.rect;
        for (g, e) in [r.x, r.y, r.right(), r.bottom()].into_iter().zip(corners) {
            assert!((f64::from(g) - e).abs() < 2e-3, "{got:?} {corners:?}");
        }
    }
}

fn best(scores: &[f32]) -> (f64, u32) {
    let mut at = 0;
    for (i, s) in scores.iter().enumerate() {
        if *s > scores[at] {
            at = i;
        }
    }
    (f64::from(scores[at]), at as u32)
}

fn around(x: f64, y: f64, w: f64, h: f64) -> [f64; 4] {
    [x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0]
}

fn cells(input: [usize; 2], strides: &[usize]) -> Vec<(f64, f64, f64)> {
    let mut all = vec![];
    for &s in strides {
        for row in 0..input[1].div_ceil(s) {
            for column in 0..input[0].div_ceil(s) {
                all.push((column as f64, row as f64, s as f64));
            }
        }
    }
    all
}

fn logistic(v: f32) -> f64 {
    1.0 / (1.0 + (-f64::from(v)).exp())
}

#[test]
fn yolov5_equals_its_reference() {
    for (classes, input, seed) in
        [(2, [512, 512], 1), (1, [96, 64], 2), (17, [160, 96], 3), (80, [64, 64], 4)]
    {
        let mut random = Random(seed);
        let n = 3 * cells(input, &[8, 16, 32]).len();
        let (mut values, mut expected) = (vec![], vec![]);
        for _ in 0..n {
            let b = [random.within(0.0, 300.0), random.within(0.0, 300.0), random.within(1.0, 99.0), 31.5];
            let objectness = random.unit();
            let scores = random.scores(classes, 8);
            let (score, class) = best(&scores);
            let [x, y, w, h] = b.map(f64::from);
            expected.push((f64::from(objectness) * score, class, around(x, y, w, h)));
            values.extend(b);
            values.push(objectness);
            values.extend(scores);
        }
        let tensor = Tensor::new("output0", &[1, n, 5 + classes], &values);
        compare(&[tensor], input, &Hints::default(), DecoderKind::Yolov5, &expected);
    }
}

#[test]
fn yolov8_equals_its_reference() {
    // 65 anchors fill no tile, 8400 fill several and a rest; 1 class and 80.
    for (classes, n, seed) in [(1, 65, 1), (80, 8400, 2), (17, 513, 3), (9, 17, 4)] {
        let mut random = Random(seed);
        let mut values = vec![0.0; (4 + classes) * n];
        let mut expected = vec![];
        for a in 0..n {
            let b = [random.within(0.0, 300.0), random.within(0.0, 300.0), 44.25, random.within(1.0, 99.0)];
            let scores = random.scores(classes, 2);
            let (score, class) = best(&scores);
            let [x, y, w, h] = b.map(f64::from);
            expected.push((score, class, around(x, y, w, h)));
            for (k, v) in b.into_iter().chain(scores).enumerate() {
                values[k * n + a] = v;
            }
        }
        let tensor = Tensor::new("output0", &[1, 4 + classes, n], &values);
        compare(&[tensor], [640, 640], &Hints::default(), DecoderKind::Yolov8, &expected);
    }
}

#[test]
fn a_transposed_yolov8_equals_its_reference_whatever_the_boxes_are() {
    // More anchors than channels; RTMDet writes corners, Ultralytics centre and size.
    for (classes, n, format, seed) in
        [(1, 65, None, 1), (80, 8400, Some(BoxFormat::Corners), 2), (9, 17, Some(BoxFormat::CenterSize), 3)]
    {
        let mut random = Random(seed);
        let (mut values, mut expected) = (vec![], vec![]);
        for _ in 0..n {
            let (x, y) = (random.within(0.0, 200.0), random.within(0.0, 200.0));
            let (w, h) = (random.within(1.0, 99.0), random.within(1.0, 99.0));
            let corners = format == Some(BoxFormat::Corners);
            let b = if corners { [x, y, x + w, y + h] } else { [x, y, w, h] };
            let scores = random.scores(classes, 2);
            let (score, class) = best(&scores);
            let d = b.map(f64::from);
            expected.push((score, class, if corners { d } else { around(d[0], d[1], d[2], d[3]) }));
            values.extend(b.into_iter().chain(scores));
        }
        let tensor = Tensor::new("output0", &[1, n, 4 + classes], &values);
        let hints = Hints { classes: Some(classes), box_format: format, ..Hints::default() };
        compare(&[tensor], [640, 640], &hints, DecoderKind::Yolov8, &expected);
    }
}

#[test]
fn yolov6s_decoded_boxes_of_one_anchor_a_cell_are_read_as_yolov5s() {
    // YOLOv6 writes an objectness that is always 1: confidences are the class scores.
    let mut random = Random(6);
    let n = cells([96, 64], &[8, 16, 32]).len();
    let (mut values, mut expected) = (vec![], vec![]);
    for _ in 0..n {
        let b = [random.within(0.0, 96.0), random.within(0.0, 64.0), random.within(1.0, 50.0), 31.5];
        let scores = random.scores(20, 2);
        let (score, class) = best(&scores);
        let [x, y, w, h] = b.map(f64::from);
        expected.push((score, class, around(x, y, w, h)));
        values.extend(b.into_iter().chain([1.0]).chain(scores));
    }
    let tensor = Tensor::new("outputs", &[1, n, 25], &values);
    let unasked = choose(&[tensor.desc()], [96, 64], None, &Hints::default());
    assert!(matches!(unasked, Err(DetectError::Ambiguous { .. })), "raw YOLOX looks the same: {unasked:?}");
    compare(&[tensor], [96, 64], &Hints::default(), DecoderKind::Yolov5, &expected);
}

#[test]
fn yolox_equals_its_reference_on_grids_that_do_not_divide() {
    for (input, strides) in
        [([416, 416], &[8, 16, 32][..]), ([100, 65], &[8, 16, 32]), ([128, 96], &[16, 64])]
    {
        let mut random = Random(5);
        let (mut values, mut expected) = (vec![], vec![]);
        let cells = cells(input, strides);
        for &(column, row, stride) in &cells {
            let b = [random.unit(), random.unit(), random.within(-1.0, 2.0), random.within(-1.0, 2.0)];
            let objectness = random.unit();
            let scores = random.scores(80, 4);
            let (score, class) = best(&scores);
            let [x, y, w, h] = b.map(f64::from);
            let corners =
                around((x + column) * stride, (y + row) * stride, w.exp() * stride, h.exp() * stride);
            expected.push((f64::from(objectness) * score, class, corners));
            values.extend(b);
            values.push(objectness);
            values.extend(scores);
        }
        let hints = Hints { strides: strides.into(), ..Hints::default() };
        let tensor = Tensor::new("output", &[1, cells.len(), 85], &values);
        compare(&[tensor], input, &hints, DecoderKind::Yolox, &expected);
    }
}

#[test]
fn end_to_end_keeps_overlapping_boxes_and_skips_padding() {
    let mut random = Random(6);
    let (mut values, mut expected) = (vec![], vec![]);
    for i in 0..300u16 {
        let (x, y) = (random.within(0.0, 50.0), random.within(0.0, 50.0));
        let confidence = random.unit();
        let class = if i % 10 == 9 { -1.0 } else { f32::from(i % 7) };
        values.extend([x, y, x + 100.0, y + 100.0, confidence, class]);
        if class >= 0.0 {
            let [x, y] = [x, y].map(f64::from);
            expected.push((f64::from(confidence), class as u32, [x, y, x + 100.0, y + 100.0]));
        }
    }
    let tensor = Tensor::new("output0", &[1, 300, 6], &values);
    compare(std::slice::from_ref(&tensor), [640, 640], &Hints::default(), DecoderKind::EndToEnd, &expected);
    // Nothing is suppressed unless that is asked for.
    let decoder = choose(&[tensor.desc()], [640, 640], None, &Hints::default()).unwrap();
    for (nms, all) in [(decoder.usual_nms(), true), (Nms::ClassWise, false)] {
        let params = DetectParams { nms, ..DetectParams::default() };
        let mut detector = Detector::new(decoder.clone(), params).unwrap();
        let (found, _) = run(&mut detector, std::slice::from_ref(&tensor), &MAP, FRAME);
        assert_eq!(found.len() == expected.iter().filter(|e| e.0 > 0.25).count(), all, "{nms:?}");
    }
}

#[test]
fn nanodet_equals_its_reference_apart_in_any_order_and_joined() {
    let cases: [([usize; 2], &[usize], usize); 4] = [
        ([416, 416], &[8, 16, 32], 11),
        ([100, 65], &[8, 16, 32], 8),
        ([320, 192], &[8, 16, 32, 64], 8),
        ([64, 96], &[8, 16, 32], 17),
    ];
    for (input, strides, bins) in cases {
        let mut random = Random(7);
        let point = if strides.len() == 4 { 0.0 } else { 0.5 };
        let (mut expected, mut tensors, mut joined) = (vec![], vec![], vec![]);
        for stride in strides {
            let (mut all_scores, mut all_logits) = (vec![], vec![]);
            let cells = cells(input, std::slice::from_ref(stride));
            for &(column, row, stride) in &cells {
                let scores = random.scores(80, 4);
                let logits: Vec<_> = (0..4 * bins).map(|_| random.within(-8.0, 8.0)).collect();
                let sides: Vec<f64> = logits
                    .chunks(bins)
                    .map(|side| {
                        let weights: Vec<_> = side.iter().map(|l| f64::from(*l).exp()).collect();
                        let mean: f64 = weights.iter().enumerate().map(|(i, w)| i as f64 * w).sum();
                        stride * mean / weights.iter().sum::<f64>()
                    })
                    .collect();
                let (x, y) = ((column + point) * stride, (row + point) * stride);
                let (score, class) = best(&scores);
                expected.push((score, class, [x - sides[0], y - sides[1], x + sides[2], y + sides[3]]));
                joined.extend(scores.iter().chain(&logits));
                all_scores.extend(scores);
                all_logits.extend(logits);
            }
            tensors.push(Tensor::new("boxes", &[1, cells.len(), 4 * bins], &all_logits));
            tensors.insert(0, Tensor::new("scores", &[1, cells.len(), 80], &all_scores));
        }
        let hints = Hints { strides: strides.into(), classes: Some(80), ..Hints::default() };
        compare(&tensors, input, &hints, DecoderKind::Nanodet, &expected);
        tensors.reverse();
        tensors.rotate_left(1);
        compare(&tensors, input, &hints, DecoderKind::Nanodet, &expected);
        let dims = [1, joined.len() / (80 + 4 * bins), 80 + 4 * bins];
        compare(&[Tensor::new("output", &dims, &joined)], input, &hints, DecoderKind::Nanodet, &expected);
    }
}

#[test]
fn boxes_scores_equal_their_reference_in_every_format_and_activation() {
    let (n, classes, input) = (150, 9, [320usize, 200usize]);
    let formats = [BoxFormat::CenterSize, BoxFormat::Corners, BoxFormat::CornersYx, BoxFormat::TopLeftSize];
    let activations = [Activation::None, Activation::Sigmoid, Activation::Softmax];
    let backgrounds = [Background::None, Background::First, Background::Last];
    for (format, normalized) in formats.into_iter().flat_map(|f| [(f, true), (f, false)]) {
        for (activation, background) in activations.into_iter().flat_map(|a| backgrounds.map(|b| (a, b))) {
            let mut random = Random(8);
            let (mut boxes, mut scores, mut expected) = (vec![], vec![], vec![]);
            let unit = if normalized { input.map(|v| v as f64) } else { [1.0; 2] };
            for _ in 0..n {
                let (x1, y1) = (random.within(0.0, 250.0), random.within(0.0, 150.0));
                let (x2, y2) = (x1 + random.within(5.0, 60.0), y1 + random.within(5.0, 60.0));
                let raw = match format {
                    BoxFormat::CenterSize => [(x1 + x2) / 2.0, (y1 + y2) / 2.0, x2 - x1, y2 - y1],
                    BoxFormat::Corners => [x1, y1, x2, y2],
                    BoxFormat::CornersYx => [y1, x1, y2, x2],
                    BoxFormat::TopLeftSize => [x1, y1, x2 - x1, y2 - y1],
                };
                let axes = if format == BoxFormat::CornersYx { [1, 0, 1, 0] } else { [0, 1, 0, 1] };
                boxes.extend(raw.iter().zip(axes).map(|(v, axis)| v / unit[axis] as f32));
                let mut row = random.scores(classes, 3);
                if activation != Activation::None {
                    row.iter_mut().for_each(|v| *v = *v * 9.0 - 4.3);
                }
                let (score, class) = best(&row);
                let void = random.within(-4.0, 2.0);
                match background {
                    Background::None => {}
                    Background::First => row.insert(0, void),
                    Background::Last => row.push(void),
                }
                let confidence = match activation {
                    Activation::None => score,
                    Activation::Sigmoid => logistic(score as f32),
                    Activation::Softmax => score.exp() / row.iter().map(|v| f64::from(*v).exp()).sum::<f64>(),
                };
                expected.push((confidence, class, [x1, y1, x2, y2].map(f64::from)));
                scores.extend(row);
            }
            let columns = scores.len() / n;
            let tensors = [
                Tensor::new("scores", &[1, n, columns], &scores),
                Tensor::new("boxes", &[1, n, 1, 4], &boxes),
            ];
            let hints = Hints {
                box_format: Some(format),
                normalized: Some(normalized),
                activation: Some(activation),
                background: Some(background),
                classes: Some(classes),
                ..Hints::default()
            };
            compare(&tensors, input, &hints, DecoderKind::BoxesScores, &expected);
            if (format, normalized) == (BoxFormat::Corners, true)
                && (activation, background) == (Activation::None, Background::None)
            {
                compare(&tensors, input, &Hints::default(), DecoderKind::BoxesScores, &expected);
            }
        }
    }
}

#[test]
fn sigmoid_hints_apply_to_objectness_and_class_scores_alike() {
    let row = [50.0, 50.0, 20.0, 20.0, 1.0, 2.0, -1.0];
    let expected = vec![(logistic(1.0) * logistic(2.0), 0, around(50.0, 50.0, 20.0, 20.0)); 9];
    let hints = Hints { activation: Some(Activation::Sigmoid), ..Hints::default() };
    let tensor = Tensor::new("output", &[1, 9, 7], &row.repeat(9));
    compare(&[tensor], [64, 64], &hints, DecoderKind::Yolov5, &expected);
}

#[test]
fn of_outputs_by_stride_the_one_that_is_of_no_stride_is_blamed() {
    let shapes = [("a", 64, 5), ("b", 16, 5), ("c", 4, 5), ("d", 64, 32), ("e", 16, 32), ("f", 4, 32)];
    let zeros = |(name, rows, columns): (&'static str, usize, usize)| {
        Tensor::new(name, &[1, rows, columns], &vec![0.0; rows * columns])
    };
    let tensors = shapes.map(zeros);
    let decoder = choose(&descs(&tensors), [64, 64], None, &Hints::default()).unwrap();
    assert_eq!(decoder.kind(), DecoderKind::Nanodet);
    let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
    for (wrong, columns) in [(0, 5), (2, 5), (4, 32)] {
        let mut tensors = tensors.clone();
        tensors[wrong] = zeros((shapes[wrong].0, 9, columns));
        let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
        let error = detector.run(&views, &MAP, FRAME, &mut vec![]).unwrap_err().to_string();
        let named = format!("output '{}' has the shape [1, 9, {columns}]", shapes[wrong].0);
        let wanted = format!("[1, Ns, {columns}], one output for each Ns of 64, 16, 4");
        assert!(error.contains(&named) && error.contains(&wanted), "{error}");
    }
}
