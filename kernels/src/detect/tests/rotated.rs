//! Rotated boxes against the NumPy reference tools/cudainfer_tools/reference/rotated.py, whose output is rotated.txt, and what must hold for
//! any of them.

use std::f64::consts::{FRAC_PI_2, PI};

use proptest::prelude::*;

use super::*;
use crate::associate::Oriented;
use crate::detect::rotated::{Rotated, distance_of};

const REFERENCE: &str = include_str!("rotated.txt");
/// Three classes.
const CLASSES: usize = 3;
const LARGE: [usize; 2] = [2000, 2000];

/// The words of the reference's lines that begin with `kind`.
fn reference(kind: &str) -> impl Iterator<Item = Vec<&'static str>> + use<'_> {
    REFERENCE
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .filter_map(move |mut words| (words.remove(0) == kind).then_some(words))
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(words: &[&str]) -> Vec<T> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

fn rotated(values: &[f32]) -> Rotated {
    let &[x, y, w, h, angle, ..] = values else { panic!("{values:?}") };
    Rotated { center: [x, y], size: [w, h], angle }
}

/// Centre, size, class scores and angle of the reference's scene, a row an anchor.
fn scene() -> Vec<Vec<f32>> {
    let row = |words: Vec<&str>| {
        let v: Vec<f32> = numbers(&words);
        let mut scores = vec![0.0; CLASSES];
        scores[v[5] as usize] = v[6];
        [&v[..4], &scores, &v[4..5]].concat()
    };
    reference("box").map(row).collect()
}

/// `[1, numbers, anchors]`.
fn columns(rows: &[Vec<f32>], half: bool) -> Tensor {
    let (n, height) = (rows.len(), rows[0].len());
    let values: Vec<f32> = (0..n * height).map(|i| rows[i % n][i / n]).collect();
    let dims = [1, height, n];
    if half { Tensor::halved("o", &dims, &values) } else { Tensor::new("o", &dims, &values) }
}

fn decoder(tensor: &Tensor) -> Decoder {
    choose(&[tensor.desc()], [640, 640], Some(DecoderKind::YoloObb), &Hints::default()).unwrap()
}

fn detect(tensor: &Tensor, params: DetectParams, map: &Affine) -> (Vec<Detection>, Vec<Oriented>, Outcome) {
    let mut detector = Detector::new(decoder(tensor), params).unwrap();
    let tensors = std::slice::from_ref(tensor);
    let (found, outcome) = run(&mut detector, tensors, map, LARGE);
    let boxes = detector.attached().rotated.clone();
    // Nothing of a frame may linger in the buffers.
    assert_eq!(run(&mut detector, tensors, map, LARGE), (found.clone(), outcome));
    assert_eq!(detector.attached().rotated, boxes);
    assert_eq!(boxes.len(), found.len());
    (found, boxes, outcome)
}

/// The corners of a box, from its own numbers, in f64.
fn corners([x, y, w, h, angle]: [f64; 5]) -> [[f64; 2]; 4] {
    [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[i, j]| {
        let (dx, dy) = (i * w / 2.0, j * h / 2.0);
        [x + dx * angle.cos() - dy * angle.sin(), y + dx * angle.sin() + dy * angle.cos()]
    })
}

fn centered(found: &Oriented) -> [f64; 5] {
    let [x, y, w, h] = [found.rect.x, found.rect.y, found.rect.w, found.rect.h].map(f64::from);
    [x + w / 2.0, y + h / 2.0, w, h, found.angle.into()]
}

fn mapped(map: &Affine, [x, y]: [f64; 2]) -> [f64; 2] {
    [map.scale[0] * x + map.skew[0] * y + map.offset[0], map.skew[1] * x + map.scale[1] * y + map.offset[1]]
}

/// The sum of the squared distances between corners, in the best of the orders in which they go round.
fn far(a: [[f64; 2]; 4], b: [[f64; 2]; 4]) -> f64 {
    let sum = |order: [usize; 4]| {
        order.iter().zip(a).map(|(i, p)| (p[0] - b[*i][0]).powi(2) + (p[1] - b[*i][1]).powi(2)).sum::<f64>()
    };
    let orders = (0..4)
        .flat_map(|k| [[k, k + 1, k + 2, k + 3], [k + 3, k + 2, k + 1, k]].map(|order| order.map(|i| i % 4)));
    orders.map(sum).fold(f64::INFINITY, f64::min)
}

#[test]
fn overlaps_are_those_of_the_reference() {
    let mut compared = 0;
    for words in reference("pair") {
        let values: Vec<f32> = numbers(&words);
        let [p, q] = [&values[..5], &values[5..10]].map(|v| rotated(v).gaussian());
        let overlap = values[10];
        // Whether a box goes is all that is asked of an overlap. float32 holds thresholds to 6e-8.
        assert!(p.suppresses(&q, distance_of(overlap - 1e-6)), "{words:?}");
        assert!(!p.suppresses(&q, distance_of(overlap + 1e-6)), "{words:?}");
        compared += 1;
    }
    assert_eq!(compared, 60);
}

#[test]
fn what_is_left_is_what_the_reference_leaves() {
    let rows = scene();
    let tensor = columns(&rows, false);
    let mut compared = 0;
    for words in reference("kept") {
        let nms = if words[0] == "class-wise" { Nms::ClassWise } else { Nms::Agnostic };
        let params = DetectParams { nms, iou: words[1].parse().unwrap(), ..DetectParams::default() };
        let wanted: Vec<usize> = numbers(&words[2..]);
        let (found, boxes, outcome) = detect(&tensor, params, &Affine::IDENTITY);
        assert_eq!(
            (found.len(), outcome.candidates),
            (wanted.len(), rows.len()),
            "{}: {}",
            words[0],
            words[1]
        );
        for ((got, shape), wanted) in found.iter().zip(&boxes).zip(wanted) {
            let row = &rows[wanted];
            let class = got.class as usize;
            assert_eq!(got.confidence, row[4 + class]);
            let of = |i: usize| f64::from(row[i]);
            let model = corners([of(0), of(1), of(2), of(3), of(7)]);
            assert!(far(model, corners(centered(shape))) < 1e-6, "{shape:?} {row:?}");
            // The upright box around it, clamped to the frame.
            let edge = |k: usize, most: bool| {
                let ends = model.map(|c| c[k]).into_iter();
                let end = if most { ends.fold(0.0, f64::max) } else { ends.fold(2000.0, f64::min) };
                end.clamp(0.0, 2000.0)
            };
            let hull = [edge(0, false), edge(1, false), edge(0, true), edge(1, true)];
            let rect = got.rect;
            for (g, w) in [rect.x, rect.y, rect.right(), rect.bottom()].into_iter().zip(hull) {
                assert!((f64::from(g) - w).abs() < 1e-3, "{rect:?} {hull:?}");
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 6);
}

#[test]
fn angles_are_from_zero_to_below_a_quarter_turn_as_the_reference_makes_them() {
    for words in reference("regular") {
        let [given, wanted] = [&words[..5], &words[5..]].map(numbers::<f64>);
        let given: Vec<f32> = given.iter().map(|v| *v as f32).collect();
        let found = centered(&rotated(&given).in_frame(&Affine::IDENTITY));
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-4, "{found} {wanted}: {words:?}");
        }
        assert!((0.0..FRAC_PI_2).contains(&found[4]));
    }
}

#[test]
fn boxes_that_the_model_has_suppressed_are_read_as_they_are() {
    // Both on one spot: nothing more is suppressed. The third is padding, the fourth below the threshold.
    let rows = [
        [100.0, 60.0, 40.0, 20.0, 0.5, 7.0, 0.5],
        [100.0, 60.0, 40.0, 20.0, 0.75, 7.0, 2.0],
        [100.0, 60.0, 40.0, 20.0, 0.9, -1.0, 0.0],
        [100.0, 60.0, 40.0, 20.0, 0.1, 7.0, 0.0],
    ];
    let tensor = Tensor::new("o", &[1, 4, 7], rows.as_flattened());
    let params = DetectParams { nms: Nms::None, ..DetectParams::default() };
    let (found, boxes, _) = detect(&tensor, params, &Affine::upright([2.0, 2.0], [10.0, -20.0]));
    let seen: Vec<_> = found.iter().map(|d| (d.class, d.confidence)).collect();
    assert_eq!(seen, [(7, 0.75), (7, 0.5)]);
    for (found, angle) in boxes.iter().zip([2.0f64, 0.5]) {
        assert!(far(corners([210.0, 100.0, 80.0, 40.0, angle]), corners(centered(found))) < 1e-6);
    }
}

#[test]
fn what_is_broken_is_dropped_and_counted_and_what_has_no_size_is_left_out() {
    let good = [100.0, 60.0, 40.0, 20.0, 0.9, 0.0, 0.0, 0.25];
    let mut rows = vec![good.to_vec()];
    for (at, value) in [(7, f32::NAN), (7, f32::INFINITY), (2, f32::NAN), (0, f32::INFINITY), (5, f32::NAN)] {
        let mut row = good;
        row[at] = value;
        rows.push(row.to_vec());
    }
    for side in [2, 3] {
        let mut row = good;
        // Apart from the first, and stronger: it would be kept, and first.
        (row[0], row[4], row[side]) = (300.0, 0.95, -20.0);
        rows.push(row.to_vec());
    }
    // More anchors than numbers.
    rows.resize(20, vec![0.0; 8]);
    for half in [false, true] {
        let (found, _, outcome) = detect(&columns(&rows, half), DetectParams::default(), &Affine::IDENTITY);
        assert_eq!((found.len(), outcome.non_finite, outcome.candidates), (1, 5, 3), "{half}");
    }
}

#[test]
fn numbers_in_fractions_of_the_tensor_are_those_in_its_pixels() {
    let pixels = columns(&scene(), false);
    let fractions: Vec<_> = scene()
        .into_iter()
        .map(|mut row| {
            // Powers of two divide exactly.
            row[..4].iter_mut().zip([512.0, 1024.0, 512.0, 1024.0]).for_each(|(v, side)| *v /= side);
            row
        })
        .collect();
    let tensor = columns(&fractions, false);
    let hints = Hints { normalized: Some(true), classes: Some(CLASSES), ..Hints::default() };
    let decoder = choose(&[tensor.desc()], [512, 1024], Some(DecoderKind::YoloObb), &hints).unwrap();
    let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
    let (found, _) = run(&mut detector, &[tensor], &Affine::IDENTITY, LARGE);
    let (wanted, boxes, _) = detect(&pixels, DetectParams::default(), &Affine::IDENTITY);
    assert_eq!((found, &detector.attached().rotated), (wanted, &boxes));
}

#[test]
fn soft_suppression_of_rotated_boxes_is_refused() {
    let tensor = columns(&scene(), false);
    for nms in [Nms::SoftLinear, Nms::SoftGaussian { sigma: 0.5 }] {
        let params = DetectParams { nms, ..DetectParams::default() };
        let error = Detector::new(decoder(&tensor), params).unwrap_err().to_string();
        assert!(error.contains("nms is soft-") && error.contains("class-agnostic or none"), "{error}");
    }
    let params = DetectParams { nms: Nms::None, ..DetectParams::default() };
    assert_eq!(detect(&tensor, params, &Affine::IDENTITY).0.len(), 240);
}

fn any_box() -> impl Strategy<Value = Rotated> {
    let place = (0f32..600.0, 0f32..600.0);
    (place, 1f32..200.0, 1f32..200.0, -4f32..4.0).prop_map(|((x, y), w, h, angle)| Rotated {
        center: [x, y],
        size: [w, h],
        angle,
    })
}

proptest! {
    #[test]
    fn an_overlap_is_the_same_from_both_sides_and_from_0_to_1(
        a in any_box(), b in any_box(), threshold in 0.001f32..0.999,
    ) {
        let (p, q) = (a.gaussian(), b.gaussian());
        // Not to hang on a last digit, each side is asked with a little less or more.
        if p.suppresses(&q, distance_of(threshold)) {
            prop_assert!(q.suppresses(&p, distance_of(threshold - 1e-6)));
        } else {
            prop_assert!(!q.suppresses(&p, distance_of(threshold + 1e-6)));
        }
        prop_assert!(!p.suppresses(&q, distance_of(1.0)));
        // 1 - sqrt(2e-7), by the epsilon; a quarter turn with the sides swapped is the same box, but for rounding.
        prop_assert!(p.suppresses(&p, distance_of(0.9995)));
        let swapped = Rotated { size: [a.size[1], a.size[0]], angle: a.angle + FRAC_PI_2 as f32, ..a };
        prop_assert!(p.suppresses(&swapped.gaussian(), distance_of(0.999)));
        let turned = Rotated { angle: a.angle + PI as f32, ..a };
        prop_assert!(p.suppresses(&turned.gaussian(), distance_of(0.999)));
    }

    #[test]
    fn far_boxes_do_not_overlap(a in any_box(), turn in -3f32..3.0) {
        let b = Rotated { center: [a.center[0] + 3.0 * (a.size[0] + a.size[1]), a.center[1]], angle: turn, ..a };
        prop_assert!(!a.gaussian().suppresses(&b.gaussian(), distance_of(0.01)));
    }

    #[test]
    fn a_map_of_one_scale_maps_the_corners(a in any_box(), scale in 0.1f64..5.0, turn in -3f64..3.0, mirrored: bool) {
        let (sin, cos) = turn.sin_cos();
        let m = if mirrored { -1.0 } else { 1.0 };
        let map = Affine { scale: [scale * cos, m * scale * cos], skew: [-m * scale * sin, scale * sin], offset: [3.0, -8.5] };
        let found = a.in_frame(&map);
        let [x, y, w, h, angle] = [a.center[0], a.center[1], a.size[0], a.size[1], a.angle].map(f64::from);
        let wanted = corners([x, y, w, h, angle]).map(|corner| mapped(&map, corner));
        // float32 holds coordinates of 4000 to 2.5e-4, and angles so that 500 pixels move by 3e-5.
        prop_assert!(far(wanted, corners(centered(&found))) < 1e-5, "{:?}", found);
        prop_assert!((0.0..FRAC_PI_2 as f32).contains(&found.angle));
    }

    #[test]
    fn under_two_scales_no_rectangle_about_the_centre_is_nearer_to_the_mapped_corners(
        a in any_box(), sx in 0.3f64..3.0, sy in 0.3f64..3.0,
    ) {
        let map = Affine::upright([sx, sy], [12.0, -7.0]);
        let found = centered(&a.in_frame(&map));
        let [x, y, w, h, angle] = [a.center[0], a.center[1], a.size[0], a.size[1], a.angle].map(f64::from);
        let wanted = corners([x, y, w, h, angle]).map(|corner| mapped(&map, corner));
        let ours = far(wanted, corners(found));
        let [cx, cy] = mapped(&map, [x, y]);
        // All angles, each with the sides that are best for it: the corners' projections.
        for step in 0..720 {
            let turn = f64::from(step) * PI / 720.0;
            let along = |p: [f64; 2]| (p[0] - cx) * turn.cos() + (p[1] - cy) * turn.sin();
            let down = |p: [f64; 2]| (p[1] - cy) * turn.cos() - (p[0] - cx) * turn.sin();
            for order in [[0, 1, 2, 3], [1, 2, 3, 0]] {
                let [p, q, r, s] = order.map(|i: usize| wanted[i]);
                let width = (along(q) + along(r) - along(p) - along(s)).abs() / 2.0;
                let height = (down(r) + down(s) - down(p) - down(q)).abs() / 2.0;
                let other = far(wanted, corners([cx, cy, width, height, turn]));
                prop_assert!(ours <= other + 1e-3, "{} {}: {:?} {}", ours, other, found, turn);
            }
        }
    }
}
