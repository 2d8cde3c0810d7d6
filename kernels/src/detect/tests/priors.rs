//! Boxes around prior boxes, against f64 references written from the code that SSD and RetinaFace publish for PyTorch
//! (`prior_box.py` and `box_utils.py`). Tolerances as for the other decoders.

use super::*;

const MAP: Affine = Affine::upright([2.0, 1.5], [1200.0, 1000.0]);
const FRAME: [usize; 2] = [4000, 4000];

fn close(a: f32, b: f64) -> bool {
    (f64::from(a) - b).abs() < 2e-3
}

/// The prior boxes of SSD300 for VOC.
fn ssd300() -> Hints {
    let lists = |lists: &[&[f32]]| lists.iter().map(|list| list.to_vec()).collect();
    let priors = Priors {
        min_sizes: lists(&[&[30.0], &[60.0], &[111.0], &[162.0], &[213.0], &[264.0]]),
        max_sizes: lists(&[&[60.0], &[111.0], &[162.0], &[213.0], &[264.0], &[315.0]]),
        aspect_ratios: lists(&[&[2.0], &[2.0, 3.0], &[2.0, 3.0], &[2.0, 3.0], &[2.0], &[2.0]]),
        variances: VARIANCES,
        clip: true,
    };
    Hints { strides: vec![8, 16, 32, 64, 100, 300], priors: Some(priors), ..Hints::default() }
}

/// The same as the published code makes them, in f64.
fn ssd300_reference() -> Vec<[f64; 4]> {
    let mut all = vec![];
    let levels: [(usize, f64, f64, f64, &[f64]); 6] = [
        (38, 8.0, 30.0, 60.0, &[2.0]),
        (19, 16.0, 60.0, 111.0, &[2.0, 3.0]),
        (10, 32.0, 111.0, 162.0, &[2.0, 3.0]),
        (5, 64.0, 162.0, 213.0, &[2.0, 3.0]),
        (3, 100.0, 213.0, 264.0, &[2.0]),
        (1, 300.0, 264.0, 315.0, &[2.0]),
    ];
    for (side, step, min, max, ratios) in levels {
        for i in 0..side {
            for j in 0..side {
                let (cx, cy) = ((j as f64 + 0.5) * step, (i as f64 + 0.5) * step);
                all.push([cx, cy, min, min]);
                all.push([cx, cy, (min * max).sqrt(), (min * max).sqrt()]);
                for ratio in ratios {
                    all.push([cx, cy, min * ratio.sqrt(), min / ratio.sqrt()]);
                    all.push([cx, cy, min / ratio.sqrt(), min * ratio.sqrt()]);
                }
            }
        }
    }
    for prior in &mut all {
        *prior = prior.map(|v| v.clamp(0.0, 300.0));
    }
    all
}

/// Those of RetinaFace, for 96x70.
fn retinaface_reference() -> Vec<[f64; 4]> {
    let mut all = vec![];
    for (step, columns, rows, sizes) in
        [(8.0, 12, 9, [16.0, 32.0]), (16.0, 6, 5, [64.0, 128.0]), (32.0, 3, 3, [256.0, 512.0])]
    {
        for i in 0..rows {
            for j in 0..columns {
                for size in sizes {
                    all.push([(f64::from(j) + 0.5) * step, (f64::from(i) + 0.5) * step, size, size]);
                }
            }
        }
    }
    all
}

/// What is found among random numbers for `priors` is what the reference makes of them.
fn compare(
    kind: DecoderKind,
    input: [usize; 2],
    hints: &Hints,
    priors: &[[f64; 4]],
    [classes, points]: [usize; 2],
) {
    let (mut random, n) = (Random(5), priors.len());
    let (mut boxes, mut scores, mut landmarks, mut all) = (vec![], vec![], vec![], vec![]);
    let softmax = hints.activation == Some(Activation::Softmax);
    for [cx, cy, w, h] in priors {
        let b = [0; 4].map(|_| random.within(-1.5, 1.5));
        let [x, y, dw, dh] = b.map(f64::from);
        let (x, y) = (cx + x * 0.1 * w, cy + y * 0.1 * h);
        let (bw, bh) = (w * (dw * 0.2).exp(), h * (dh * 0.2).exp());
        let mut row = random.scores(classes, 20);
        row.insert(0, random.unit());
        if softmax {
            row.iter_mut().for_each(|v| *v *= 5.0);
        }
        let wide: Vec<f64> = row.iter().copied().map(f64::from).collect();
        let class = (1..row.len()).fold(1, |best, c| if row[c] > row[best] { c } else { best });
        let sum: f64 = wide.iter().map(|v| v.exp()).sum();
        let confidence = if softmax { wide[class].exp() / sum } else { wide[class] };
        let values: Vec<f32> = (0..2 * points).map(|_| random.within(-3.0, 3.0)).collect();
        let of = |p: &[f32]| [cx + f64::from(p[0]) * 0.1 * w, cy + f64::from(p[1]) * 0.1 * h];
        let places: Vec<_> = values.chunks(2).map(of).collect();
        let corners = [x - bw / 2.0, y - bh / 2.0, x + bw / 2.0, y + bh / 2.0];
        all.push((confidence, class - 1, corners, places));
        boxes.extend(b);
        scores.extend(row);
        landmarks.extend(values);
    }
    all.retain(|e| e.0 > 0.5);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut tensors =
        vec![Tensor::new("loc", &[1, n, 4], &boxes), Tensor::new("conf", &[1, n, classes + 1], &scores)];
    if points > 0 {
        tensors.push(Tensor::new("landms", &[1, n, 2 * points], &landmarks));
    }
    let requested = (kind == DecoderKind::Retinaface && points == 0).then_some(kind);
    for _ in 0..2 {
        // Their columns say what they are, not their order.
        tensors.reverse();
        let decoder = choose(&descs(&tensors), input, requested, hints).unwrap();
        assert_eq!((decoder.kind(), decoder.classes(), decoder.keypoints()), (kind, Some(classes), points));
        let mut detector = Detector::new(decoder, open_params(0.5)).unwrap();
        let (found, _) = run(&mut detector, &tensors, &MAP, FRAME);
        assert!(found.len() >= 5 && found.len() == all.len(), "{} {}", found.len(), all.len());
        let x = |v: f64| v * MAP.scale[0] + MAP.offset[0];
        let y = |v: f64| v * MAP.scale[1] + MAP.offset[1];
        for (got, (confidence, class, [x1, y1, x2, y2], _)) in found.iter().zip(&all) {
            assert!((f64::from(got.confidence) - confidence).abs() < 1e-6 && got.class as usize == *class);
            let r = got.rect;
            let edges = [(r.x, x(*x1)), (r.y, y(*y1)), (r.right(), x(*x2)), (r.bottom(), y(*y2))];
            assert!(edges.iter().all(|(got, wanted)| close(*got, *wanted)), "{got:?} {edges:?}");
        }
        let keypoints = &detector.attached().keypoints;
        assert_eq!(keypoints.len(), found.len() * points);
        for ([px, py, score], [wx, wy]) in keypoints.iter().zip(all.iter().flat_map(|e| &e.3)) {
            assert!(close(*px, x(*wx)) && close(*py, y(*wy)) && *score == 1.0);
        }
    }
}

#[test]
fn ssd300_has_its_8732_prior_boxes_and_equals_its_reference() {
    let (hints, priors) = (ssd300(), ssd300_reference());
    assert_eq!(priors.len(), 8732);
    compare(DecoderKind::Ssd, [300, 300], &hints, &priors, [20, 0]);
    let hints = Hints { activation: Some(Activation::Softmax), ..hints };
    compare(DecoderKind::Ssd, [300, 300], &hints, &priors, [2, 0]);
}

#[test]
fn retinaface_equals_its_reference_with_and_without_landmarks() {
    let priors = retinaface_reference();
    compare(DecoderKind::Retinaface, [96, 70], &Hints::default(), &priors, [1, 5]);
    let hints = Hints { activation: Some(Activation::Softmax), ..Hints::default() };
    compare(DecoderKind::Retinaface, [96, 70], &hints, &priors, [1, 5]);
    compare(DecoderKind::Retinaface, [96, 70], &Hints::default(), &priors, [1, 0]);
}

#[test]
fn wrong_prior_boxes_are_refused_with_what_is_wrong() {
    let tensors =
        [Tensor::new("loc", &[1, 100, 4], &[0.0; 400]), Tensor::new("conf", &[1, 100, 3], &[0.0; 300])];
    type Change = fn(&mut Priors);
    let refused = |change: Change, kind| {
        let mut hints = ssd300();
        hints.priors.as_mut().into_iter().for_each(change);
        choose(&descs(&tensors), [300, 300], Some(kind), &hints).unwrap_err().to_string()
    };
    let changes: [(Change, &str); 6] = [
        (|p| p.min_sizes.truncate(3), "min-sizes has 3, strides has 6"),
        (|p| p.min_sizes[0][0] = 0.0, "above 0 in min-sizes"),
        (|p| p.min_sizes[1].clear(), "at least one size"),
        (|p| p.max_sizes[2].push(1.0), "as many sizes in each list of max-sizes"),
        (|p| p.variances[1] = f32::NAN, "variances"),
        (|_| {}, "N = 8732"),
    ];
    for (change, wrong) in changes {
        let error = refused(change, DecoderKind::Ssd);
        assert!(error.contains(wrong), "{error}");
    }
    let hints = ssd300();
    let useless = choose(&descs(&tensors), [300, 300], Some(DecoderKind::BoxesScores), &hints).unwrap_err();
    assert!(useless.to_string().contains("does not apply to decoder boxes-scores"), "{useless}");
    let none = choose(&descs(&tensors), [300, 300], Some(DecoderKind::Ssd), &Hints::default()).unwrap_err();
    assert!(none.to_string().contains("[priors] of the sidecar"), "{none}");
}
