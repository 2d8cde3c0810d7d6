//! MediaPipe's detectors against an f64 reference written from its `ssd_anchors_calculator.cc` and
//! `tensors_to_detections_calculator.cc`, with the options of its models of faces, palms and people.

use super::*;

const MAP: Affine = Affine::upright([2.0, 1.5], [300.0, 100.0]);
const FRAME: [usize; 2] = [4000, 4000];

/// Anchors of these strides, one a layer, in 0..1, as the calculator makes them: layers of one stride together, two anchors each (with
/// `interpolated_scale_aspect_ratio`) or one.
fn anchors(input: [usize; 2], strides: &[usize], per_layer: usize) -> Vec<[f64; 2]> {
    let (mut all, mut layer) = (vec![], 0);
    while layer < strides.len() {
        let mut same = layer;
        while strides.get(same) == Some(&strides[layer]) {
            same += 1;
        }
        let [columns, rows] = input.map(|side| (side as f64 / strides[layer] as f64).ceil());
        for y in 0..rows as usize {
            for x in 0..columns as usize {
                for _ in 0..(same - layer) * per_layer {
                    all.push([(x as f64 + 0.5) / columns, (y as f64 + 0.5) / rows]);
                }
            }
        }
        layer = same;
    }
    all
}

/// What is found among random numbers is what the reference makes of them.
fn compare(input: [usize; 2], anchors: &[[f64; 2]], points: usize, label: &str) {
    let (mut random, n) = (Random(11), anchors.len());
    let [width, height] = input.map(|side| side as f64);
    let (mut raw, mut scores, mut expected) = (vec![], vec![], vec![]);
    for [ax, ay] in anchors {
        let row: Vec<f32> = (0..4 + 2 * points)
            .map(|i| if i == 2 || i == 3 { random.within(5.0, 60.0) } else { random.within(-20.0, 20.0) })
            .collect();
        let logit = random.within(-9.0, 3.0);
        let value = |i: usize| f64::from(row[i]);
        // `x_scale` and its like are the input's size; anchors have the size 1.
        let (x, y) = (value(0) / width + ax, value(1) / height + ay);
        let (w, h) = (value(2) / width, value(3) / height);
        let corners =
            [(x - w / 2.0) * width, (y - h / 2.0) * height, (x + w / 2.0) * width, (y + h / 2.0) * height];
        let of = |k: usize| [value(4 + 2 * k) + ax * width, value(5 + 2 * k) + ay * height];
        let places: Vec<_> = (0..points).map(of).collect();
        expected.push((1.0 / (1.0 + (-f64::from(logit)).exp()), corners, places));
        raw.extend(row);
        scores.push(logit);
    }
    expected.retain(|one| one.0 > 0.5);
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut tensors = vec![
        Tensor::new("regressors", &[1, n, 4 + 2 * points], &raw),
        Tensor::new("classificators", &[1, n, 1], &scores),
    ];
    for _ in 0..2 {
        // Their columns say what they are, not their order.
        tensors.reverse();
        let decoder = choose(&descs(&tensors), input, None, &Hints::default()).unwrap();
        assert_eq!((decoder.kind(), decoder.classes()), (DecoderKind::Mediapipe, Some(1)));
        assert_eq!((decoder.keypoints(), decoder.usual_label()), (points, Some(label)));
        let mut detector = Detector::new(decoder, open_params(0.5)).unwrap();
        let (found, _) = run(&mut detector, &tensors, &MAP, FRAME);
        assert!(found.len() >= 20 && found.len() == expected.len(), "{} {}", found.len(), expected.len());
        let at = |v: f64, axis: usize| v * MAP.scale[axis] + MAP.offset[axis];
        let close = |a: f32, b: f64| (f64::from(a) - b).abs() < 2e-3;
        for (got, (confidence, [x1, y1, x2, y2], _)) in found.iter().zip(&expected) {
            assert!((f64::from(got.confidence) - confidence).abs() < 1e-6);
            let r = got.rect;
            let edges =
                [(r.x, at(*x1, 0)), (r.y, at(*y1, 1)), (r.right(), at(*x2, 0)), (r.bottom(), at(*y2, 1))];
            assert!(edges.iter().all(|(got, wanted)| close(*got, *wanted)), "{got:?} {edges:?}");
        }
        let keypoints = &detector.attached().keypoints;
        assert_eq!(keypoints.len(), found.len() * points);
        for ([px, py, score], [x, y]) in keypoints.iter().zip(expected.iter().flat_map(|one| &one.2)) {
            assert!(close(*px, at(*x, 0)) && close(*py, at(*y, 1)) && *score == 1.0);
        }
    }
}

#[test]
fn faces_palms_and_people_equal_their_reference() {
    for (input, strides, per_layer, count, points, label) in [
        ([128, 128], &[8, 16, 16, 16][..], 2, 896, 6, "face"),
        ([192, 192], &[4], 1, 2304, 6, "face"),
        ([192, 192], &[8, 16, 16, 16], 2, 2016, 7, "palm"),
        ([256, 256], &[8, 16, 32, 32, 32], 2, 2944, 7, "palm"),
        ([224, 224], &[8, 16, 32, 32, 32], 2, 2254, 4, "person"),
        ([130, 96], &[8, 16, 16, 16], 2, 732, 6, "face"),
    ] {
        let anchors = anchors(input, strides, per_layer);
        assert_eq!(anchors.len(), count);
        compare(input, &anchors, points, label);
    }
}

#[test]
fn another_number_of_anchors_is_refused_with_those_that_are_known() {
    let tensors = [
        Tensor::new("boxes", &[1, 895, 16], &[0.0; 895 * 16]),
        Tensor::new("scores", &[1, 895, 1], &[0.0; 895]),
    ];
    let refused = |hints: &Hints| {
        choose(&descs(&tensors), [128, 128], Some(DecoderKind::Mediapipe), hints).unwrap_err().to_string()
    };
    let error = refused(&Hints::default());
    assert!(error.contains("N = 896 or 736 or 1024 with an input of 128x128"), "{error}");
    let error = refused(&Hints { strides: vec![16, 16], ..Hints::default() });
    assert!(error.contains("N = 256 with"), "{error}");
    let error = refused(&Hints { keypoints: Some(7), ..Hints::default() });
    assert!(error.contains("[1, N, 18]"), "{error}");
}
