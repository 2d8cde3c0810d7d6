//! NMS and soft-NMS against naive O(n^2) references, and what must hold for any boxes.

use proptest::prelude::*;

use super::*;

/// x1, y1, x2, y2, confidence, class: the rows of an end-to-end tensor, but read by boxes-scores so that NMS runs.
type Row = ([f32; 4], f32, u32);

const CLASSES: u32 = 3;
const FRAME: [usize; 2] = [100, 100];

fn detect(rows: &[Row], params: &DetectParams) -> Vec<Detection> {
    let boxes: Vec<f32> = rows.iter().flat_map(|r| r.0).collect();
    let mut scores = vec![0.0; rows.len() * CLASSES as usize];
    for (i, (_, confidence, class)) in rows.iter().enumerate() {
        scores[i * CLASSES as usize + *class as usize] = *confidence;
    }
    let tensors = [
        Tensor::new("boxes", &[1, rows.len(), 4], &boxes),
        Tensor::new("scores", &[1, rows.len(), CLASSES as usize], &scores),
    ];
    let hints = Hints { normalized: Some(false), ..Hints::default() };
    let decoder = choose(&descs(&tensors), [100, 100], Some(DecoderKind::BoxesScores), &hints).unwrap();
    let mut detector = Detector::new(decoder, params.clone()).unwrap();
    let (found, outcome) = run(&mut detector, &tensors, &Affine::IDENTITY, FRAME);
    // Nothing of a frame may linger in the buffers.
    assert_eq!(run(&mut detector, &tensors, &Affine::IDENTITY, FRAME), (found.clone(), outcome));
    found
}

fn params(nms: Nms, iou: f32) -> DetectParams {
    DetectParams { nms, iou, confidence: 0.05, ..DetectParams::default() }
}

fn iou(a: &[f32; 4], b: &[f32; 4]) -> f64 {
    let [a, b] = [a, b].map(|r| r.map(f64::from));
    let w = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let h = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    let area = |r: [f64; 4]| (r[2] - r[0]) * (r[3] - r[1]);
    w * h / (area(a) + area(b) - w * h)
}

/// Indices by confidence, equals by position.
fn ranked(rows: &[Row]) -> Vec<usize> {
    let mut order: Vec<_> = (0..rows.len()).collect();
    order.sort_by(|a, b| rows[*b].1.total_cmp(&rows[*a].1));
    order
}

/// As torchvision.ops.nms and batched_nms describe themselves.
fn naive(rows: &[Row], threshold: f32, across: bool) -> Vec<usize> {
    let mut kept: Vec<usize> = vec![];
    for i in ranked(rows) {
        let free = |k: &usize| {
            (!across && rows[*k].2 != rows[i].2) || iou(&rows[*k].0, &rows[i].0) <= f64::from(threshold)
        };
        if kept.iter().all(free) {
            kept.push(i);
        }
    }
    kept
}

/// The paper's figure 2, word for word, within each class.
fn naive_soft(rows: &[Row], decay: impl Fn(f64) -> f64) -> Vec<(usize, f64)> {
    let mut chosen = vec![];
    let mut left: Vec<(usize, f64)> = rows.iter().map(|r| f64::from(r.1)).enumerate().collect();
    while !left.is_empty() {
        let mut m = 0;
        for k in 0..left.len() {
            if left[k].1 > left[m].1 {
                m = k;
            }
        }
        let best = left.remove(m);
        for other in &mut left {
            if rows[other.0].2 == rows[best.0].2 {
                other.1 *= decay(iou(&rows[best.0].0, &rows[other.0].0));
            }
        }
        chosen.push(best);
    }
    chosen
}

fn boxes_of(rows: &[Row], indices: &[usize]) -> Vec<(Rect, f32, u32)> {
    indices
        .iter()
        .map(|i| {
            let (r, confidence, class) = rows[*i];
            let r = Rect::from_corners(r[0], r[1], r[2], r[3]).clamped(100.0, 100.0);
            (r, confidence, class)
        })
        .collect()
}

fn seen(found: &[Detection]) -> Vec<(Rect, f32, u32)> {
    found.iter().map(|d| (d.rect, d.confidence, d.class)).collect()
}

/// Boxes on a grid of quarters: areas and intersections are exact in float32, so an IoU has one value only.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0u16..300, 0u16..300, 1u16..120, 1u16..120, 60u16..1000, 0..CLASSES).prop_map(
        |(x, y, w, h, confidence, class)| {
            let [x, y, w, h] = [x, y, w, h].map(|v| f32::from(v) / 4.0);
            ([x, y, x + w, y + h], f32::from(confidence) / 1000.0, class)
        },
    );
    prop::collection::vec(row, 1..90)
}

proptest! {
    #[test]
    fn greedy_equals_the_naive_reference(rows in rows(), across: bool, threshold in 0.0f32..1.0) {
        let nms = if across { Nms::Agnostic } else { Nms::ClassWise };
        let found = detect(&rows, &params(nms, threshold));
        prop_assert_eq!(seen(&found), boxes_of(&rows, &naive(&rows, threshold, across)));
    }

    #[test]
    fn what_is_kept_overlaps_no_more_than_allowed_and_stays_when_suppressed_again(
        rows in rows(),
        across: bool,
        threshold in 0.0f32..1.0,
    ) {
        let params = params(if across { Nms::Agnostic } else { Nms::ClassWise }, threshold);
        let found = detect(&rows, &params);
        let kept: Vec<Row> = found
            .iter()
            .map(|d| ([d.rect.x, d.rect.y, d.rect.right(), d.rect.bottom()], d.confidence, d.class))
            .collect();
        // Boxes of the strategy reach over the frame's edge at 100 only where clamping changed them.
        let inside = rows.iter().all(|r| r.0[2] <= 100.0 && r.0[3] <= 100.0);
        if inside {
            for (i, a) in kept.iter().enumerate() {
                prop_assert!(rows.contains(a), "{:?} was never offered", a);
                for b in &kept[..i] {
                    prop_assert!((!across && a.2 != b.2) || iou(&a.0, &b.0) <= f64::from(threshold));
                }
            }
            prop_assert_eq!(seen(&detect(&kept, &params)), seen(&found));
        }
    }

    #[test]
    fn the_order_of_anchors_does_not_matter(mut rows in rows(), turn in 0usize..90, across: bool) {
        // Distinct confidences: among equals the first anchor wins, by design.
        for (i, row) in rows.iter_mut().enumerate() {
            row.1 = row.1 * 0.9 + i as f32 * 1e-4;
        }
        rows.sort_by(|a, b| a.1.total_cmp(&b.1));
        rows.dedup_by_key(|r| r.1);
        let params = params(if across { Nms::Agnostic } else { Nms::ClassWise }, 0.4);
        let before = seen(&detect(&rows, &params));
        let turn = turn % rows.len();
        rows.rotate_left(turn);
        prop_assert_eq!(seen(&detect(&rows, &params)), before);
    }

    #[test]
    fn clipped_before_boxes_are_found_as_if_the_model_had_clipped_them(rows in rows(), nms in 0..4usize) {
        let nms = [Nms::ClassWise, Nms::Agnostic, Nms::SoftLinear, Nms::SoftGaussian { sigma: 0.5 }][nms];
        // They then begin up to 25 pixels outside of the frame, and end up to 32 beyond it.
        let moved = |b: [f32; 4]| b.map(|v| v * 1.5 - 25.0);
        let outside: Vec<Row> = rows.iter().map(|(b, confidence, class)| (moved(*b), *confidence, *class)).collect();
        let clip = |b: [f32; 4]| b.map(|v| v.clamp(0.0, 100.0));
        let inside: Vec<Row> = outside.iter().map(|(b, confidence, class)| (clip(*b), *confidence, *class)).collect();
        let clipped = DetectParams { clip_before_nms: true, ..params(nms, 0.4) };
        prop_assert_eq!(detect(&outside, &clipped), detect(&inside, &params(nms, 0.4)));
    }

    #[test]
    fn soft_suppression_equals_the_papers_pseudo_code(mut rows in rows(), gaussian: bool) {
        // Confidences to 1e-5: up to 90 roundings of float32. What is nearer than that to a neighbour or to the
        // threshold could change places between f32 and f64, and is not judged.
        for (i, row) in rows.iter_mut().enumerate() {
            row.1 = row.1 * 0.9 + i as f32 * 1.1e-4;
        }
        let (sigma, threshold) = (0.5, 0.3);
        let nms = if gaussian { Nms::SoftGaussian { sigma } } else { Nms::SoftLinear };
        let found = detect(&rows, &params(nms, threshold));
        let expected = naive_soft(&rows, |iou| match gaussian {
            true => (-iou * iou / f64::from(sigma)).exp(),
            false if iou > f64::from(threshold) => 1.0 - iou,
            false => 1.0,
        });
        prop_assume!(expected.windows(2).all(|w| (w[0].1 - w[1].1).abs() > 1e-5));
        prop_assume!(expected.iter().all(|e| (e.1 - 0.05).abs() > 1e-5));
        let expected: Vec<_> = expected.into_iter().filter(|e| e.1 > 0.05).collect();
        prop_assert_eq!(found.len(), expected.len());
        for (got, (i, confidence)) in found.iter().zip(&expected) {
            prop_assert_eq!((got.rect, got.class), {
                let (rect, _, class) = boxes_of(&rows, &[*i])[0];
                (rect, class)
            });
            prop_assert!((f64::from(got.confidence) - confidence).abs() < 1e-5);
        }
    }
}

#[test]
fn an_overlap_of_exactly_the_threshold_is_kept() {
    // IoU 1/2: torchvision suppresses above, not at, the threshold.
    let rows = [([0.0, 0.0, 20.0, 10.0], 0.9, 0), ([0.0, 0.0, 10.0, 10.0], 0.8, 0)];
    assert_eq!(detect(&rows, &params(Nms::ClassWise, 0.5)).len(), 2);
    assert_eq!(detect(&rows, &params(Nms::ClassWise, 0.499)).len(), 1);
    assert_eq!(detect(&rows, &params(Nms::None, 0.0)).len(), 2);
}

#[test]
fn boxes_are_compared_before_they_are_clamped() {
    // Inside the frame both are the same sliver; outside they are far from the same box.
    let rows = [([95.0, 0.0, 200.0, 10.0], 0.9, 0), ([95.0, 0.0, 102.0, 10.0], 0.8, 0)];
    let found = detect(&rows, &params(Nms::ClassWise, 0.5));
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|d| d.rect == Rect { x: 95.0, y: 0.0, w: 5.0, h: 10.0 }));
    // With clip-before-nms they are the same box.
    let clipped = DetectParams { clip_before_nms: true, ..params(Nms::ClassWise, 0.5) };
    assert_eq!(detect(&rows, &clipped), found[..1]);
}

#[test]
fn what_suppresses_nothing_in_upright_boxes_refuses_to_clip_them_before() {
    for (text, kind) in [
        ("o:float32:1x300x6", DecoderKind::EndToEnd),
        ("o:float32:1x20x8400", DecoderKind::YoloObb),
        ("map:float32:1x1x640x640", DecoderKind::Db),
    ] {
        let decoder = choose(&[text.parse().unwrap()], [640, 640], Some(kind), &Hints::default()).unwrap();
        let clipped = DetectParams { clip_before_nms: true, nms: Nms::None, ..DetectParams::default() };
        let error = Detector::new(decoder, clipped).unwrap_err().to_string();
        assert!(error.contains("'clip-before-nms' does not apply to decoder"), "{error}");
    }
}

#[test]
fn a_class_may_have_an_overlap_threshold_of_its_own() {
    let rows: Vec<Row> = (0..2)
        .flat_map(|class| [([0.0, 0.0, 20.0, 10.0], 0.9, class), ([0.0, 0.0, 10.0, 10.0], 0.8, class)])
        .collect();
    let params = DetectParams { class_iou: vec![(1, 0.6)], ..params(Nms::ClassWise, 0.4) };
    let classes: Vec<_> = detect(&rows, &params).iter().map(|d| d.class).collect();
    assert_eq!(classes, [0, 1, 1]);
}

#[test]
fn what_is_found_twice_is_counted_within_a_class_and_not_between_neighbours() {
    let one =
        |x: f32, class| Detection { rect: Rect { x, y: 0.0, w: 100.0, h: 50.0 }, confidence: 0.9, class };
    // The last two are neighbours, and the one of another class lies on the first.
    let found = [one(0.0, 0), one(5.0, 0), one(-5.0, 0), one(0.0, 1), one(300.0, 0), one(330.0, 0)];
    assert_eq!((repeated(&found), repeated(&[])), ((6, 2), (0, 0)));
    // However crowded a frame is, it takes no time.
    assert_eq!(repeated(&vec![one(0.0, 0); 5000]), (64, 63));
}
