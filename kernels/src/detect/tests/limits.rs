//! Thresholds, filters, limits, broken values, element types and shapes that are known only at run time.

use super::*;
use crate::device::{DeviceSlice, DeviceTensor};

const INPUT: [usize; 2] = [640, 640];

/// An end-to-end tensor.
fn rows(rows: &[[f32; 6]]) -> Tensor {
    Tensor::new("output0", &[1, rows.len(), 6], rows.as_flattened())
}

fn end_to_end(
    tensor: Tensor,
    params: DetectParams,
    map: &Affine,
    frame: [usize; 2],
) -> (Vec<Detection>, Outcome) {
    let params = DetectParams { nms: Nms::None, ..params };
    let decoder = choose(&[tensor.desc()], INPUT, Some(DecoderKind::EndToEnd), &Hints::default()).unwrap();
    run(&mut Detector::new(decoder, params).unwrap(), &[tensor], map, frame)
}

#[test]
fn the_threshold_itself_passes_and_a_class_may_have_its_own() {
    let at = |confidence: f32, class: f32| [0.0, 0.0, 9.0, 9.0, confidence, class];
    let tensor = rows(&[at(0.25, 0.0), at(0.2499, 0.0), at(0.2, 1.0), at(0.1, 1.0), at(0.5, 2.0)]);
    let params = DetectParams { class_confidence: vec![(1, 0.125), (2, 0.6)], ..DetectParams::default() };
    let (found, outcome) = end_to_end(tensor.clone(), params.clone(), &Affine::IDENTITY, INPUT);
    assert_eq!(found.iter().map(|d| (d.class, d.confidence)).collect::<Vec<_>>(), [(0, 0.25), (1, 0.2)]);
    assert_eq!(outcome, Outcome { candidates: 2, ..Outcome::default() });
    // With a filter, the other classes' thresholds do not let anything through.
    let filtered = DetectParams { classes: vec![2, 0], ..params };
    let (found, _) = end_to_end(tensor, filtered, &Affine::IDENTITY, INPUT);
    assert_eq!(found.iter().map(|d| d.class).collect::<Vec<_>>(), [0]);
}

#[test]
fn boxes_are_clamped_then_measured() {
    let at = |x1: f32, y1: f32, x2: f32, y2: f32| [x1, y1, x2, y2, 0.9, 0.0];
    let tensor = rows(&[
        at(-50.0, 10.0, 5.0, 20.0), // 10 x 20 frame pixels are left of it
        at(-50.0, 10.0, 4.9, 20.0), // too narrow
        at(10.0, 10.0, 20.0, 19.9), // too low
        at(-9.0, -9.0, 0.0, 0.0),   // outside
        at(30.0, 30.0, 20.0, 40.0), // inside out
        at(390.0, 290.0, 600.0, 600.0),
    ]);
    let map = Affine::upright([2.0, 2.0], [0.0, 0.0]);
    let params = DetectParams { min_size: [10.0, 20.0], ..DetectParams::default() };
    let (found, outcome) = end_to_end(tensor, params, &map, [800, 600]);
    let rects: Vec<_> = found.iter().map(|d| d.rect).collect();
    let rect = |x, y, w, h| Rect { x, y, w, h };
    assert_eq!(rects, [rect(0.0, 20.0, 10.0, 20.0), rect(780.0, 580.0, 20.0, 20.0)]);
    assert_eq!((outcome.candidates, outcome.non_finite), (6, 0));
}

#[test]
fn broken_values_are_dropped_and_counted_by_every_decoder() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    // Six anchors: good, NaN score, infinite score, NaN box, infinite box, and one below the threshold with a
    // NaN box, which nobody looks at.
    let boxes = [
        [50.0, 50.0, 60.0, 60.0],
        [50.0; 4],
        [50.0; 4],
        [50.0, nan, 60.0, 60.0],
        [50.0, 50.0, inf, 60.0],
        [nan; 4],
    ];
    let scores = [[0.1, 0.9], [nan, 0.9], [0.9, inf], [0.1, 0.8], [0.8, 0.1], [0.1, f32::NEG_INFINITY]];
    let row_major = |objectness: bool| -> Vec<f32> {
        let row = |(b, s): (&[f32; 4], &[f32; 2])| {
            let o = objectness.then_some(1.0);
            b.iter().copied().chain(o).chain(s.iter().copied()).collect::<Vec<_>>()
        };
        boxes.iter().zip(&scores).flat_map(row).collect()
    };
    let rows = row_major(false);
    let transposed: Vec<f32> = (0..36).map(|i| rows[i % 6 * 6 + i / 6]).collect();
    // Nanodet's and yolox's boxes: logits and cells that are as broken. 6 cells of stride 8 at 24x16.
    let logits: Vec<f32> = boxes.iter().flat_map(|b| b.iter().flat_map(|v| [0.0, *v])).collect();
    let small = [24, 16];
    let hints = Hints { classes: Some(2), strides: vec![8], ..Hints::default() };
    let cases = [
        (DecoderKind::Yolov5, vec![Tensor::new("o", &[1, 6, 7], &row_major(true))]),
        (DecoderKind::Yolov8, vec![Tensor::new("o", &[1, 6, 6], &transposed)]),
        (
            DecoderKind::Nanodet,
            vec![Tensor::new("b", &[1, 6, 8], &logits), Tensor::new("s", &[1, 6, 2], scores.as_flattened())],
        ),
        (
            DecoderKind::BoxesScores,
            vec![
                Tensor::new("b", &[1, 6, 4], boxes.as_flattened()),
                Tensor::new("s", &[1, 6, 2], scores.as_flattened()),
            ],
        ),
    ];
    for (kind, tensors) in cases {
        let decoder = choose(&descs(&tensors), small, Some(kind), &hints).unwrap();
        let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
        let (found, outcome) = run(&mut detector, &tensors, &Affine::IDENTITY, [6400, 6400]);
        assert_eq!(outcome, Outcome { candidates: 1, non_finite: 4, ..Outcome::default() }, "{kind}");
        assert_eq!(found.len(), 1, "{kind}");
        assert_eq!((found[0].class, found[0].confidence), (1, 0.9), "{kind}");
    }
    // exp(100) is infinite in float32: yolox.
    let x: Vec<f32> = [[0.5, 0.5, 100.0, 0.0, 1.0, 0.9, 0.0], [0.5, 0.5, 0.0, 0.0, nan, 0.9, 0.0]].concat();
    let tensor = Tensor::new("o", &[1, 2, 7], &x);
    let decoder = choose(&[tensor.desc()], [16, 8], Some(DecoderKind::Yolox), &hints).unwrap();
    let (_, outcome) = run(
        &mut Detector::new(decoder, DetectParams::default()).unwrap(),
        &[tensor],
        &Affine::IDENTITY,
        small,
    );
    assert_eq!(outcome, Outcome { non_finite: 2, ..Outcome::default() });
    // End-to-end: NaN confidence, NaN class of a box that counts, infinite corner.
    let e2e = [
        [0.0, 0.0, 9.0, 9.0, nan, 0.0],
        [0.0, 0.0, 9.0, 9.0, 0.9, nan],
        [0.0, 0.0, inf, 9.0, 0.9, 0.0],
        [0.0, 0.0, 9.0, 9.0, 0.1, nan],
    ];
    let (found, outcome) = end_to_end(self::rows(&e2e), DetectParams::default(), &Affine::IDENTITY, INPUT);
    assert_eq!((found.len(), outcome.non_finite), (0, 3));
}

#[test]
fn a_broken_score_in_any_position_is_noticed() {
    // 81 classes: whole lanes and a rest.
    for bad in [f32::NAN, f32::INFINITY] {
        for position in 0..81 {
            let mut scores = vec![0.5; 81];
            scores[position] = bad;
            let tensors =
                [Tensor::new("b", &[1, 1, 4], &[0.1, 0.1, 0.2, 0.2]), Tensor::new("s", &[1, 1, 81], &scores)];
            let decoder = choose(&descs(&tensors), INPUT, None, &Hints::default()).unwrap();
            let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
            let (_, outcome) = run(&mut detector, &tensors, &Affine::IDENTITY, INPUT);
            assert_eq!((outcome.candidates, outcome.non_finite), (0, 1), "{bad} at {position}");
        }
    }
}

#[test]
fn of_over_a_hundred_thousand_candidates_the_strongest_are_kept() {
    let n = 130_000;
    let mut random = Random(9);
    // Disjoint unit boxes, so that NMS keeps all; confidences in steps, so that there are many equals.
    let mut values = vec![0.0; n * 6];
    for (i, row) in values.chunks_exact_mut(6).enumerate() {
        let (x, y) = ((i % 400) as f32 * 2.0 + 1.0, (i / 400) as f32 * 2.0 + 1.0);
        row.copy_from_slice(&[x, y, 1.0, 1.0, 1.0, 0.3 + (random.unit() * 700.0).floor() / 1000.0]);
    }
    let mut expected: Vec<(usize, f32)> = values.chunks(6).map(|r| r[5]).enumerate().collect();
    expected.sort_by(|a, b| b.1.total_cmp(&a.1));
    let tensor = Tensor::new("o", &[1, n, 6], &values);
    let decoder = choose(&[tensor.desc()], INPUT, Some(DecoderKind::Yolov5), &Hints::default()).unwrap();
    let mut detector =
        Detector::new(decoder, DetectParams { top_k_after: 1000, ..DetectParams::default() }).unwrap();
    let (found, outcome) = run(&mut detector, &[tensor], &Affine::IDENTITY, [1000, 1000]);
    assert_eq!(outcome, Outcome { candidates: n, non_finite: 0, truncated: n - 30_000, limited: true });
    assert_eq!(found.len(), 1000);
    for (got, (anchor, confidence)) in found.iter().zip(expected) {
        let place = ((anchor % 400) as f32 * 2.0 + 0.5, (anchor / 400) as f32 * 2.0 + 0.5);
        assert_eq!((got.confidence, (got.rect.x, got.rect.y)), (confidence, place));
    }
}

#[test]
fn every_object_of_a_crowd_with_six_candidates_each_is_found() {
    // 18 x 15 objects that do not touch, each with six boxes of a pixel's difference: the least sure objects have less confidence
    // than the last of the sure ones' candidates.
    let rows = (0..270u16).flat_map(|object| {
        let (x, y) = (f32::from(object % 18) * 34.0 + 20.0, f32::from(object / 18) * 40.0 + 24.0);
        (0..6u16).map(move |copy| {
            let confidence = 0.9 - f32::from(object) * 0.002 - f32::from(copy) * 0.01;
            [x + f32::from(copy), y, 28.0, 32.0, 1.0, confidence]
        })
    });
    let values: Vec<f32> = rows.flatten().collect();
    let tensor = Tensor::new("o", &[1, 1620, 6], &values);
    let decoder = choose(&[tensor.desc()], INPUT, Some(DecoderKind::Yolov5), &Hints::default()).unwrap();
    let find = |params: DetectParams| {
        let mut detector = Detector::new(decoder.clone(), params).unwrap();
        let (found, outcome) = run(&mut detector, std::slice::from_ref(&tensor), &Affine::IDENTITY, INPUT);
        (found.len(), outcome)
    };
    let all = Outcome { candidates: 1620, ..Outcome::default() };
    assert_eq!(find(DetectParams::default()), (270, all));
    assert_eq!(
        find(DetectParams { top_k_after: 270, ..DetectParams::default() }),
        (270, Outcome { limited: true, ..all })
    );
    let (found, outcome) = find(DetectParams { top_k_before: 1000, ..DetectParams::default() });
    assert!(found < 270 && outcome.truncated == 620, "{found} {outcome:?}");
}

#[test]
fn half_precision_reads_as_its_values() {
    let values = [100.5, 60.25, 20.0, 10.0, 0.75, 0.5, 0.875];
    let tensor = Tensor::halved("o", &[1, 1, 7], &values);
    let decoder = choose(&[tensor.desc()], INPUT, Some(DecoderKind::Yolov5), &Hints::default());
    // One anchor of seven columns: too few for the shape to be believed without its number.
    assert!(decoder.is_err());
    let tensor = Tensor::halved("o", &[1, 21, 7], &values.repeat(21));
    let decoder = choose(&[tensor.desc()], INPUT, Some(DecoderKind::Yolov5), &Hints::default()).unwrap();
    let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
    let (found, outcome) = run(&mut detector, &[tensor], &Affine::IDENTITY, INPUT);
    let rect = Rect { x: 90.5, y: 55.25, w: 20.0, h: 10.0 };
    assert_eq!(found, [Detection { rect, confidence: 0.75 * 0.875, class: 1 }]);
    assert_eq!(outcome.candidates, 21);
}

#[test]
fn open_dimensions_are_checked_with_each_frame() {
    let parse = |text: &str| -> Vec<TensorDesc> { text.split(' ').map(|t| t.parse().unwrap()).collect() };
    let mut found = vec![Detection { rect: Rect::default(), confidence: 1.0, class: 0 }];
    let small = [16, 16];
    // 4 cells of stride 8 and 1 of stride 16.
    let hints = Hints { strides: vec![8, 16], ..Hints::default() };
    let classes = Hints { classes: Some(2), ..hints.clone() };
    let apart = "s:float32:?x?x3 t:float32:?x?x3 a:float32:?x?x8 b:float32:?x?x8";
    type Case<'a> = (&'a str, Option<DecoderKind>, &'a Hints, &'a [&'a [usize]], bool);
    let cases: [Case; 18] = [
        ("o:float32:?x?x7", Some(DecoderKind::Yolov5), &hints, &[&[1, 9, 7]], true),
        ("o:float32:?x?x7", Some(DecoderKind::Yolov5), &hints, &[&[2, 9, 7]], false),
        ("o:float32:?x?x7", Some(DecoderKind::Yolov5), &hints, &[&[1, 9, 8]], false),
        ("o:float32:?x?x?", Some(DecoderKind::Yolov5), &classes, &[&[1, 9, 8]], false),
        ("o:float32:?x?x?", Some(DecoderKind::Yolov8), &hints, &[&[1, 4, 9]], false),
        ("o:float32:?x?x?", Some(DecoderKind::Yolov8), &hints, &[&[1, 5, 9]], true),
        ("o:float32:?x?x7", Some(DecoderKind::Yolox), &hints, &[&[1, 5, 7]], true),
        ("o:float32:?x?x7", Some(DecoderKind::Yolox), &hints, &[&[1, 6, 7]], false),
        // No anchors at all.
        ("o:float32:?x?x7", Some(DecoderKind::Yolov5), &hints, &[&[1, 0, 7]], true),
        ("o:float32:?x?x?", Some(DecoderKind::Yolov8), &hints, &[&[1, 5, 0]], true),
        ("o:float32:?x?x6", Some(DecoderKind::EndToEnd), &hints, &[&[1, 0, 6]], true),
        ("b:float32:?x?x4 s:float32:?x?x3", None, &hints, &[&[1, 0, 4], &[1, 0, 3]], true),
        (apart, None, &hints, &[&[1, 1, 3], &[1, 4, 3], &[1, 4, 8], &[1, 1, 8]], true),
        (apart, None, &hints, &[&[1, 4, 3], &[1, 4, 3], &[1, 4, 8], &[1, 1, 8]], false),
        (apart, None, &hints, &[&[1, 1, 3], &[1, 4, 3], &[1, 4, 8], &[1, 1, 12]], false),
        (apart, None, &hints, &[&[1, 1, 3], &[1, 4, 3], &[1, 4, 8]], false),
        ("b:float32:?x?x4 s:float32:?x?x3", None, &hints, &[&[1, 7, 4], &[1, 7, 3]], true),
        ("b:float32:?x?x4 s:float32:?x?x3", None, &hints, &[&[1, 7, 4], &[1, 8, 3]], false),
    ];
    for (text, kind, hints, dims, fits) in cases {
        let decoder = choose(&parse(text), small, kind, hints).unwrap();
        let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
        let tensors: Vec<_> =
            dims.iter().map(|d| Tensor::new("out", d, &vec![0.0; d.iter().product()])).collect();
        let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
        let result = detector.run(&views, &Affine::IDENTITY, small, &mut found);
        assert_eq!(result.is_ok(), fits, "{text} {dims:?}: {result:?}");
        assert!(found.is_empty());
    }
    let decoder = choose(&parse("o:float32:?x?x7"), small, Some(DecoderKind::Yolox), &hints).unwrap();
    let tensor = Tensor::new("o", &[1, 6, 7], &[0.0; 42]);
    let error = Detector::new(decoder, DetectParams::default())
        .unwrap()
        .run(&[tensor.view()], &Affine::IDENTITY, small, &mut found)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "output 'o' has the shape [1, 6, 7], but decoder yolox needs [1, 5, 7]. Set decoder= to the one that the model was made \
         for"
    );
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let decoder =
        choose(&[TensorDesc::fixed("o", TensorType::Float32, &[1, 300, 6])], INPUT, None, &Hints::default())
            .unwrap();
    let ok = DetectParams::default;
    let cases = [
        ("confidence", DetectParams { confidence: 1.1, ..ok() }),
        ("confidence", DetectParams { confidence: f32::NAN, ..ok() }),
        ("iou", DetectParams { iou: -0.1, ..ok() }),
        ("class_confidence of class 3", DetectParams { class_confidence: vec![(3, 2.0)], ..ok() }),
        ("two values for class 3", DetectParams { class_confidence: vec![(3, 0.2), (3, 0.3)], ..ok() }),
        ("class_iou of class 1", DetectParams { class_iou: vec![(1, f32::INFINITY)], ..ok() }),
        ("sigma", DetectParams { nms: Nms::SoftGaussian { sigma: 0.0 }, ..ok() }),
        ("top_k_before", DetectParams { top_k_before: 0, ..ok() }),
        ("top_k_after", DetectParams { top_k_after: 0, ..ok() }),
        ("min_size", DetectParams { min_size: [0.0, -1.0], ..ok() }),
        ("min_size", DetectParams { min_size: [f32::INFINITY, 0.0], ..ok() }),
    ];
    for (name, params) in cases {
        let message = Detector::new(decoder.clone(), params).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
    assert!(Detector::new(decoder, ok()).is_ok());
}

#[test]
fn rows_of_a_batch_are_frames() {
    let at = |x: f32, confidence: f32| [x, 0.0, x + 9.0, 9.0, confidence, 0.0];
    let frames =
        [[at(10.0, 0.9), at(30.0, 0.4)], [at(50.0, 0.1), at(70.0, 0.8)], [at(0.0, 0.0), at(0.0, 0.0)]];
    let batch = Tensor::new("output0", &[3, 2, 6], frames.as_flattened().as_flattened());
    let decoder = choose(&[rows(&frames[0]).desc()], INPUT, Some(DecoderKind::EndToEnd), &Hints::default());
    let mut detector = Detector::new(decoder.unwrap(), DetectParams::default()).unwrap();
    let mut found = vec![];
    let places = [vec![10.0, 30.0], vec![70.0], vec![]];
    for (i, wanted) in places.into_iter().enumerate() {
        let row = batch.view().row(i).unwrap();
        detector.run(&[row], &Affine::IDENTITY, INPUT, &mut found).unwrap();
        assert_eq!(found.iter().map(|d| d.rect.x).collect::<Vec<_>>(), wanted);
    }
    let error = detector.run(&[batch.view()], &Affine::IDENTITY, INPUT, &mut found).unwrap_err();
    assert!(matches!(error, DetectError::Shape { .. }), "{error}");
}

#[test]
fn a_batch_on_the_gpu_may_be_padded_but_not_short() {
    let decoder =
        choose(&["o:float32:1x?x7".parse().unwrap()], INPUT, Some(DecoderKind::Yolov5), &Hints::default());
    let decoder = decoder.unwrap();
    let layout = |dims: &[usize], rows: usize| {
        // SAFETY: nobody reads it.
        let data = unsafe { DeviceSlice::from_raw(4096, 4 * dims.iter().product::<usize>()) };
        let tensor = DeviceTensor::new("o", TensorType::Float32, dims, data).unwrap();
        cuda::packed(&decoder, &[tensor], rows).map(|(layout, _)| layout.anchors())
    };
    assert_eq!(layout(&[4, 9, 7], 4), Ok(9));
    assert_eq!(layout(&[4, 9, 7], 3), Ok(9));
    assert_eq!(layout(&[9, 7], 1), Ok(9));
    for dims in [&[2, 9, 7][..], &[9, 7], &[4, 9, 8]] {
        let text = layout(dims, 3).unwrap_err().to_string();
        assert!(
            text.contains(&format!("{dims:?}")) && text.contains("[1, N, 7] for each of 3 frames"),
            "{text}"
        );
    }
}
