//! Raw heads with anchors against the NumPy reference tools/cudainfer_tools/reference/anchors.py, whose output is anchors.txt.
//!
//! Tolerances as for the other decoders: 2e-3 pixels, because exponentials make boxes of some thousand pixels, and 1e-6 of a
//! confidence.

use super::*;
use crate::words::Words as _;

const REFERENCE: &str = include_str!("anchors.txt");
const INPUT: [usize; 2] = [64, 32];
const STRIDES: [usize; 3] = [8, 16, 32];
const ANCHORS: usize = 3;
const VALUES: usize = 9;
/// So that nothing is clamped to the frame, whose scale is 1.
const MAP: Affine = Affine::upright([1.0, 1.0], [8000.0, 8000.0]);
const FRAME: [usize; 2] = [16000, 16000];

/// YOLOv5's anchors, which are YOLOv3's.
fn anchors(formula: AnchorFormula) -> AnchorSizes {
    let sizes = vec![
        vec![10.0, 13.0, 16.0, 30.0, 33.0, 23.0],
        vec![30.0, 61.0, 62.0, 45.0, 59.0, 119.0],
        vec![116.0, 90.0, 156.0, 198.0, 373.0, 326.0],
    ];
    let scale_xy = if formula == AnchorFormula::Yolov5 { vec![] } else { vec![1.2, 1.1, 1.05] };
    AnchorSizes { sizes, formula, scale_xy }
}

fn hints(formula: AnchorFormula) -> Hints {
    Hints { anchors: Some(anchors(formula)), ..Hints::default() }
}

/// The orders of dimensions: those of anchor, row, column and value in each.
const FORMS: [(&str, [usize; 4], bool); 4] = [
    ("[A*V, h, w]", [0, 3, 1, 2], true),
    ("[A, h, w, V]", [0, 1, 2, 3], false),
    ("[h, w, A, V]", [1, 2, 0, 3], false),
    ("[h, w, A*V]", [1, 2, 0, 3], true),
];

/// The reference's head of each level, in one of the forms.
fn heads((_, order, joined): (&str, [usize; 4], bool), scores: f32) -> Vec<Tensor> {
    let tensor = |(level, stride): (usize, &usize)| {
        let sizes = [ANCHORS, INPUT[1] / stride, INPUT[0] / stride, VALUES];
        let dims = order.map(|axis| sizes[axis]);
        let mut values = vec![];
        for i in 0..sizes.iter().product() {
            let (mut rest, mut at) = (i, [0; 4]);
            for (axis, size) in order.into_iter().zip(dims).rev() {
                at[axis] = rest % size;
                rest /= size;
            }
            let [a, y, x, v] = at;
            let number = (level * 7 + a * 31 + y * 17 + x * 13 + v * 29 + a * y * 5 + x * v * 3) % 101;
            let raw = number as f32 / 16.0 - 3.0;
            values.push(if v < 4 { raw } else { raw * scores });
        }
        let [a, b, c, d] = dims;
        let dims = match (joined, order[0]) {
            (false, _) => vec![1, a, b, c, d],
            (true, 0) => vec![1, a * b, c, d],
            (true, _) => vec![1, a, b, c * d],
        };
        Tensor::new("head", &dims, &values)
    };
    STRIDES.iter().enumerate().map(tensor).collect()
}

/// Confidence, class and corners of what the reference finds.
fn reference(formula: AnchorFormula, activation: &str) -> Vec<(f64, u32, [f64; 4])> {
    let lines = REFERENCE.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let lines = lines.filter(|words| words[..2] == [formula.word(), activation]);
    let number = |word: &str| word.parse().unwrap();
    lines.map(|w| (number(w[2]), w[3].parse().unwrap(), [w[4], w[5], w[6], w[7]].map(number))).collect()
}

fn check(tensors: &[Tensor], hints: &Hints, expected: &[(f64, u32, [f64; 4])], what: &str) {
    let decoder = choose(&descs(tensors), INPUT, None, hints).unwrap();
    assert_eq!((decoder.kind(), decoder.classes()), (DecoderKind::YoloAnchors, Some(VALUES - 5)), "{what}");
    assert!(decoder.is_proven());
    let mut detector = Detector::new(decoder, open_params(0.35)).unwrap();
    let (found, outcome) = run(&mut detector, tensors, &MAP, FRAME);
    assert_eq!((found.len(), outcome.non_finite), (expected.len(), 0), "{what}");
    for (got, (confidence, class, corners)) in found.iter().zip(expected) {
        assert!(
            (f64::from(got.confidence) - confidence).abs() < 1e-6 && got.class == *class,
            "{what} {got:?}"
        );
        let r = got.rect;
        let edges = [r.x, r.y, r.right(), r.bottom()].map(|v| f64::from(v) - 8000.0);
        let close = edges.iter().zip(corners).all(|(got, wanted)| (got - wanted).abs() < 2e-3);
        assert!(close, "{what} {edges:?} {corners:?}");
    }
}

#[test]
fn raw_heads_of_every_form_order_and_formula_equal_the_reference() {
    for &formula in AnchorFormula::ALL {
        for activation in [None, Some(Activation::Sigmoid), Some(Activation::None)] {
            let is_raw = match activation {
                Some(activation) => activation == Activation::Sigmoid,
                None => formula != AnchorFormula::NewCoords,
            };
            let (words, factor) = if is_raw { ("sigmoid", 1.0) } else { ("none", 0.25) };
            let expected = reference(formula, words);
            assert!(expected.len() > 8);
            for form in FORMS {
                let mut tensors = heads(form, factor);
                let hints = Hints { activation, ..hints(formula) };
                check(&tensors, &hints, &expected, form.0);
                // The outputs' sizes say which stride is whose, not their order.
                tensors.rotate_left(1);
                check(&tensors, &Hints { classes: Some(4), ..hints }, &expected, form.0);
            }
        }
    }
}

#[test]
fn sizes_that_are_open_in_the_model_are_looked_at_in_each_frame() {
    let expected = reference(AnchorFormula::Yolov5, "sigmoid");
    let open = "head:float32:1x3x?x?x9".parse::<TensorDesc>().unwrap();
    let decoder = choose(&vec![open; 3], INPUT, None, &hints(AnchorFormula::Yolov5)).unwrap();
    let mut detector = Detector::new(decoder, open_params(0.35)).unwrap();
    let mut tensors = heads(FORMS[1], 1.0);
    tensors.reverse();
    assert_eq!(run(&mut detector, &tensors, &MAP, FRAME).0.len(), expected.len());
    tensors[1] = tensors[0].clone();
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let error = detector.run(&views, &MAP, FRAME, &mut vec![]).unwrap_err().to_string();
    let wanted =
        "decoder yolo-anchors needs outputs [1, 3, 4, 8, 9], [1, 3, 2, 4, 9], [1, 3, 1, 2, 9], in any order";
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn every_class_of_an_anchor_is_taken_and_broken_anchors_are_counted_once() {
    let mut tensors = heads(FORMS[1], 1.0);
    // Three anchors of the second level: objectness, one class, and a coordinate of a strong anchor.
    let mut values = vec![-9.0; 72 * 3];
    (values[4], values[9 + 4], values[9 + 6]) = (f32::NAN, 5.0, f32::INFINITY);
    values[18..27].copy_from_slice(&[0.0, 0.0, f32::NAN, 0.0, 5.0, 5.0, -9.0, -9.0, -9.0]);
    values[27..36].copy_from_slice(&[0.0, 0.0, 0.0, 0.0, 9.0, 1.0, 0.0, 2.0, -9.0]);
    tensors[1] = Tensor::new("head", &[1, 3, 2, 4, 9], &values);
    for level in [0, 2] {
        let dims = tensors[level].dims.clone();
        tensors[level] = Tensor::new("head", &dims, &vec![-9.0; dims.iter().product()]);
    }
    let decoder = choose(&descs(&tensors), INPUT, None, &hints(AnchorFormula::Yolov5)).unwrap();
    for (multi_label, classes) in [(false, &[2][..]), (true, &[2, 0, 1])] {
        let params = DetectParams { multi_label, ..open_params(0.35) };
        let mut detector = Detector::new(decoder.clone(), params).unwrap();
        let (found, outcome) = run(&mut detector, &tensors, &MAP, FRAME);
        assert_eq!(found.iter().map(|d| d.class).collect::<Vec<_>>(), classes);
        assert_eq!(outcome.non_finite, 3);
        // Column 3, row 0 of stride 16, the first anchor as it is.
        assert!(found.iter().all(|d| d.rect == Rect { x: 8041.0, y: 7977.5, w: 30.0, h: 61.0 }), "{found:?}");
    }
}

#[test]
fn without_anchors_raw_heads_are_not_read_but_an_error_says_what_is_missing() {
    for form in FORMS {
        for kind in [None, Some(DecoderKind::YoloAnchors)] {
            let error = choose(&descs(&heads(form, 1.0)), INPUT, kind, &Hints::default()).unwrap_err();
            assert!(matches!(error, DetectError::Anchors { .. }), "{} {error}", form.0);
            assert!(error.to_string().contains("Write sizes and formula into [anchors]"), "{error}");
        }
    }
    // The error for what is no raw head says what one is.
    let other = [Tensor::new("o", &[1, 84, 84], &[0.0; 84 * 84])];
    let error = choose(&descs(&other), INPUT, Some(DecoderKind::YoloAnchors), &Hints::default()).unwrap_err();
    let wanted = [
        "[1, A, h, w, 5 + C]",
        "4, 8 or 2, 4 or 1, 2 with strides 8, 16, 32 at 64x32",
        "[anchors] of the sidecar",
    ];
    assert!(wanted.iter().all(|part| error.to_string().contains(part)), "{error}");
}

#[test]
fn wrong_anchors_are_refused_with_what_is_wrong() {
    type Change = fn(&mut AnchorSizes);
    let tensors = heads(FORMS[0], 1.0);
    let changes: [(Change, &str); 10] = [
        (|a| a.sizes.truncate(2), "sizes has 2, strides has 3"),
        (|a| a.sizes[0].truncate(5), "a width and a height for each anchor"),
        (|a| a.sizes[1].clear(), "at least one a stride"),
        (|a| a.sizes[2].truncate(4), "as many anchors for each stride"),
        (|a| a.sizes[0][0] = 0.0, "above 0 in sizes"),
        (|a| a.sizes[0][1] = f32::NAN, "above 0 in sizes"),
        (|a| a.scale_xy.truncate(1), "scale-xy has 1, strides has 3"),
        (|a| a.scale_xy[0] = 0.0, "from 1 to 4 in scale-xy"),
        (|a| a.formula = AnchorFormula::Yolov5, "must not have scale-xy with formula yolov5"),
        (|a| a.sizes.iter_mut().for_each(|list| list.truncate(4)), "[1, 2 * (5 + C), h, w]"),
    ];
    for (change, wrong) in changes {
        let mut sizes = anchors(AnchorFormula::Yolov3);
        change(&mut sizes);
        let hints = Hints { anchors: Some(sizes), ..Hints::default() };
        let error = choose(&descs(&tensors), INPUT, Some(DecoderKind::YoloAnchors), &hints).unwrap_err();
        assert!(error.to_string().contains(wrong), "{error}");
    }
    let stated = hints(AnchorFormula::Yolov5);
    let decoded = "output0:float32:1x126x9".parse::<TensorDesc>().unwrap();
    let error = choose(&[decoded], INPUT, None, &stated).unwrap_err().to_string();
    assert!(error.contains("'anchors' does not apply to decoder yolov5"), "{error}");
    let boxes = Hints { normalized: Some(true), ..stated };
    let error =
        choose(&descs(&tensors), INPUT, Some(DecoderKind::YoloAnchors), &boxes).unwrap_err().to_string();
    assert!(error.contains("'normalized' does not apply to decoder yolo-anchors"), "{error}");
    let labels = Hints { classes: Some(5), ..hints(AnchorFormula::Yolov5) };
    let error = choose(&descs(&tensors), INPUT, None, &labels).unwrap_err().to_string();
    assert!(error.contains("5 labels are given") && error.contains("4 classes as yolo-anchors"), "{error}");
}
