//! Greedy NMS of many boxes, of awkward ones, and against a reference.

use cudainfer_kernels::detect::{CudaDetector, DecoderKind, DetectParams, Detector, Hints, Nms};
use cudainfer_kernels::geometry::{Affine, RowFrame};

use super::{Case, MODES, Random, Scene, alone, cases, device, single, stream};

#[test]
#[ignore = "needs a CUDA device"]
fn all_of_25200_anchors_may_be_candidates_and_all_may_be_equal() {
    let stream = stream();
    let mut random = Random::new(3);
    let n = 25200;
    let mut scene = Scene::new(&mut random, n, 4, n, 600.0);
    for equal in [false, true] {
        if equal {
            scene.scores.iter_mut().flatten().for_each(|s| *s = if *s > 0.3 { 0.75 } else { 0.1 });
        }
        let case = single(DecoderKind::Yolov5, scene.yolov5());
        for nms in [Nms::ClassWise, Nms::Agnostic, Nms::None] {
            for (top_k_before, top_k_after) in [(1000, 300), (30000, 300), (30000, 1 << 20)] {
                let params = DetectParams { nms, top_k_before, top_k_after, ..DetectParams::default() };
                let (_, outcome) = case.check(&stream, &params);
                assert_eq!(outcome.candidates, n);
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn boxes_that_do_not_overlap_are_all_kept_over_several_windows() {
    let stream = stream();
    let mut random = Random::new(4);
    let n = 10_000;
    let mut scene = Scene::new(&mut random, n, 2, n, 600.0);
    for (i, b) in scene.boxes.iter_mut().enumerate() {
        let (x, y) = ((i % 100) as f32 * 6.0 + 8.0, (i / 100) as f32 * 6.0);
        *b = [x, y, x + 4.0, y + 4.0];
    }
    let case = single(DecoderKind::Yolov8, scene.yolov8());
    let params = DetectParams { top_k_before: n, top_k_after: n, ..DetectParams::default() };
    assert_eq!(case.check(&stream, &params).0.len(), n);
}

#[test]
#[ignore = "needs a CUDA device"]
fn boxes_that_are_clipped_before_equal_the_cpu_in_every_decoder_and_mode() {
    let stream = stream();
    // A frame so small that most boxes reach out of it.
    let row = RowFrame { to_frame: Affine::upright([1.0, 1.0], [-250.0, -200.0]), frame: [150, 120] };
    let (mut compared, mut differ) = (0, 0);
    for case in cases(41).into_iter().filter(|case| case.exact) {
        for nms in MODES {
            let params = DetectParams { nms, iou: 0.3, ..DetectParams::default() };
            let clipped = DetectParams { clip_before_nms: true, ..params.clone() };
            if Detector::new(case.decoder.clone(), clipped.clone()).is_err() {
                continue;
            }
            let after = case.cpu(&params, &row).0;
            let before = case.cpu(&clipped, &row);
            let memories: Vec<_> = case.tensors.iter().map(|t| t.upload(&stream)).collect();
            let mut gpu = CudaDetector::new(case.decoder.clone(), clipped, &stream).unwrap();
            let found = alone(&mut gpu, &stream, &device(&case.tensors, &memories), &row).unwrap();
            case.compare(&found, &before, &params);
            compared += usize::from(!before.0.is_empty());
            differ += usize::from(before.0 != after);
        }
    }
    assert!(compared > 20 && differ > 5, "{compared} compared, {differ} differ");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_chain_of_boxes_each_over_the_next_is_decided_in_its_order() {
    let stream = stream();
    // Each suppresses the next, so every other one stays; decided one by one, the longest dependency there is.
    let n = 5000;
    let boxes = (0..n).map(|i| [i as f32 * 0.1, 10.0, i as f32 * 0.1 + 0.3, 11.0]).collect();
    let scores = (0..n).map(|i| vec![1.0 - i as f32 * 1e-4]).collect();
    let case = single(DecoderKind::Yolov8, Scene { boxes, scores }.yolov8());
    for top_k_after in [300, n] {
        let params = DetectParams { top_k_before: n, top_k_after, ..DetectParams::default() };
        let (found, _) = case.check(&stream, &params);
        assert!(found.len() >= 300, "{}", found.len());
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn greedy_nms_equals_a_naive_reference_in_f64() {
    let stream = stream();
    let mut random = Random::new(10);
    for n in [1, 50, 700, 2500] {
        // Boxes on a grid of quarters: areas and intersections are exact in float32, so an IoU has one value only.
        let mut quarters = |low: f32, high: f32| random.range(low, high).round() / 4.0;
        let boxes: Vec<[f32; 4]> = (0..n)
            .map(|_| {
                let (x, y) = (quarters(0.0, 1500.0), quarters(0.0, 1500.0));
                [x, y, x + quarters(40.0, 400.0), y + quarters(40.0, 400.0)]
            })
            .collect();
        let classes: Vec<usize> = (0..n).map(|_| random.below(3)).collect();
        let confidences: Vec<f32> = (0..n).map(|_| random.range(0.3, 1.0)).collect();
        let scores = (0..n).map(|i| {
            let mut row = vec![0.0; 3];
            row[classes[i]] = confidences[i];
            row
        });
        let scene = Scene { boxes: boxes.clone(), scores: scores.collect() };
        let hints = Hints { normalized: Some(false), ..Hints::default() };
        let tensors = scene.boxes_scores(1.0, <[f32]>::to_vec);
        let case = Case::new("", DecoderKind::BoxesScores, tensors, [640, 640], &hints, true);
        let memories: Vec<_> = case.tensors.iter().map(|t| t.upload(&stream)).collect();
        for across in [false, true] {
            let nms = if across { Nms::Agnostic } else { Nms::ClassWise };
            let params =
                DetectParams { nms, iou: 0.4, top_k_before: n, top_k_after: n, ..DetectParams::default() };
            let mut detector = CudaDetector::new(case.decoder.clone(), params, &stream).unwrap();
            let row = RowFrame { to_frame: Affine::IDENTITY, frame: [4000, 4000] };
            let outputs = device(&case.tensors, &memories);
            let (found, _) = alone(&mut detector, &stream, &outputs, &row).unwrap();

            let mut order: Vec<_> = (0..n).collect();
            order.sort_by(|a, b| confidences[*b].total_cmp(&confidences[*a]));
            let mut kept: Vec<usize> = vec![];
            for i in order {
                let free = |k: &usize| {
                    (!across && classes[*k] != classes[i]) || iou(&boxes[*k], &boxes[i]) <= f64::from(0.4f32)
                };
                if kept.iter().all(free) {
                    kept.push(i);
                }
            }
            assert_eq!(found.len(), kept.len(), "{n} {across}");
            for (d, i) in found.iter().zip(kept) {
                let r = d.rect;
                assert_eq!([r.x, r.y, r.right(), r.bottom()], boxes[i]);
                assert_eq!((d.confidence, d.class as usize), (confidences[i], classes[i]));
            }
        }
    }
}

fn iou(a: &[f32; 4], b: &[f32; 4]) -> f64 {
    let [a, b] = [a, b].map(|r| r.map(f64::from));
    let w = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let h = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    let area = |r: [f64; 4]| (r[2] - r[0]) * (r[3] - r[1]);
    w * h / (area(a) + area(b) - w * h)
}
