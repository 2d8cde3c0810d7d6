//! Against sorting in f64. Confidences must agree within 1e-6: they are at most 1, and rounded from f64 to float32, which loses
//! half a unit in the last place, 3e-8.

use half::f16;

use super::*;

const ACTIVATIONS: [Activation; 3] = [Activation::None, Activation::Sigmoid, Activation::Softmax];

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn run(values: &[f32], params: ClassifyParams) -> (Vec<Class>, usize) {
    let desc = TensorDesc::fixed("scores", TensorType::Float32, &[1, values.len()]);
    let data = floats(values);
    let view = TensorView::new("scores", TensorType::Float32, &[1, values.len()], &data).unwrap();
    let mut classes = vec![Class { index: 99, confidence: 9.0 }];
    let outcome = Classifier::new(&desc, params).unwrap().run(&view, &mut classes).unwrap();
    (classes, outcome.non_finite)
}

/// All finite scores, best first, with their confidences.
fn reference(values: &[f32], activation: Activation) -> Vec<(u32, f64)> {
    let mut finite: Vec<(u32, f64)> =
        (0..).zip(values).filter(|(_, v)| v.is_finite()).map(|(i, v)| (i, f64::from(*v))).collect();
    finite.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    let sum: f64 = finite.iter().map(|(_, v)| (v - finite[0].1).exp()).sum();
    let best = finite.first().map_or(0.0, |first| first.1);
    for (_, v) in &mut finite {
        *v = match activation {
            Activation::None => *v,
            Activation::Sigmoid => 1.0 / (1.0 + (-*v).exp()),
            Activation::Softmax => (*v - best).exp() / sum,
        };
    }
    finite
}

#[test]
fn the_best_classes_equal_the_reference_for_every_activation_and_number() {
    let mut state = 7u64;
    for count in [1, 2, 5, 16, 17, 1000] {
        let values: Vec<f32> = (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Few values, so that many are equal; some that are not finite.
                match state >> 58 {
                    0 => f32::NAN,
                    1 => f32::INFINITY,
                    2 => f32::NEG_INFINITY,
                    3 => -0.0,
                    v => (v as f32 - 24.0) * 0.25,
                }
            })
            .collect();
        let bad = values.iter().filter(|v| !v.is_finite()).count();
        for activation in ACTIVATIONS {
            let wanted = reference(&values, activation);
            // 0 keeps all, and a number above that of the classes does, too.
            for top_k in [1, 3, 16, 17, 300, 5000, 0] {
                let (got, counted) = run(&values, ClassifyParams { activation, top_k, threshold: -100.0 });
                let kept = if top_k == 0 { wanted.len() } else { wanted.len().min(top_k) };
                assert_eq!((got.len(), counted), (kept, bad));
                for (class, (index, confidence)) in got.iter().zip(&wanted) {
                    assert_eq!(class.index, *index, "{activation:?} {top_k} of {count}");
                    assert!((f64::from(class.confidence) - confidence).abs() < 1e-6);
                }
            }
        }
    }
}

#[test]
fn large_logits_do_not_overflow_and_small_confidences_are_dropped() {
    let params = ClassifyParams { top_k: 5, threshold: 0.1, ..ClassifyParams::default() };
    let (got, _) = run(&[1000.0, 999.0, -1000.0, 0.0], params);
    // 1 / (1 + 1/e), and the rest of it.
    let wanted = [(0, 0.731_058_6), (1, 0.268_941_43)];
    assert_eq!(got.len(), wanted.len());
    for (class, (index, confidence)) in got.iter().zip(wanted) {
        assert!(class.index == index && (class.confidence - confidence).abs() < 1e-6, "{class:?}");
    }
    let nothing = run(&[f32::NAN; 4], params);
    assert_eq!(nothing, (Vec::new(), 4));
}

#[test]
fn half_precision_and_dimensions_of_1_are_read() {
    let scores = [0.5f32, 3.0, -1.0];
    let data: Vec<u8> = scores.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
    for dims in [&[1, 3][..], &[1, 3, 1, 1], &[1, 1, 1, 3]] {
        let desc = TensorDesc::fixed("x", TensorType::Float16, dims);
        let view = TensorView::new("x", TensorType::Float16, dims, &data).unwrap();
        let params = ClassifyParams { activation: Activation::None, top_k: 2, ..ClassifyParams::default() };
        let mut classes = Vec::new();
        Classifier::new(&desc, params).unwrap().run(&view, &mut classes).unwrap();
        let wanted = [Class { index: 1, confidence: 3.0 }, Class { index: 0, confidence: 0.5 }];
        assert_eq!(classes, wanted);
    }
}

#[test]
fn what_is_no_row_of_scores_is_refused_with_a_sentence() {
    for (text, right) in [
        ("x:float32:1x1000", true),
        ("x:float16:?x10x1x1", true),
        ("x:float32:1x?", true),
        ("x:float32:1x1", true),
        ("x:uint8:1x10", false),
        ("x:float32:10", false),
        ("x:float32:2x10", false),
        ("x:float32:1x10x7x7", false),
        ("x:float32:1x0", false),
        ("x:float32:", false),
    ] {
        let desc: TensorDesc = text.parse().unwrap();
        match Classifier::new(&desc, ClassifyParams::default()) {
            Ok(_) => assert!(right, "{text}"),
            Err(e) => assert!(!right && e.to_string().contains(text), "{e}"),
        }
    }
    let desc: TensorDesc = "x:float32:1x10".parse().unwrap();
    let nan = ClassifyParams { threshold: f32::NAN, ..ClassifyParams::default() };
    assert!(matches!(Classifier::new(&desc, nan), Err(ClassifyError::Threshold)));
    let mut classifier = Classifier::new(&desc, ClassifyParams::default()).unwrap();
    let data = floats(&[0.0; 9]);
    let view = TensorView::new("x", TensorType::Float32, &[1, 9], &data).unwrap();
    let error = classifier.run(&view, &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "the scores came as 'x:float32:1x9', but 'x:float32:1x10' was announced");
}

#[test]
fn labels_that_apply_together_are_those_above_the_threshold_by_confidence() {
    // Logits of probabilities 0.9, 0.2, 0.6, 0.5 and 0.95.
    let logits = [0.9f64, 0.2, 0.6, 0.5, 0.95].map(|p| (p / (1.0 - p)).ln() as f32);
    let params = ClassifyParams { activation: Activation::Sigmoid, top_k: 0, threshold: 0.55 };
    let (got, _) = run(&logits, params);
    let wanted = [(4, 0.95), (0, 0.9), (2, 0.6)];
    assert_eq!(got.len(), wanted.len());
    for (class, (index, confidence)) in got.iter().zip(wanted) {
        assert!(class.index == index && (class.confidence - confidence).abs() < 1e-6, "{class:?}");
    }
}

#[test]
fn what_scores_are_like_tells_a_softmax_from_logits() {
    let outcome = |values: &[f32]| {
        let desc = TensorDesc::fixed("scores", TensorType::Float32, &[1, values.len()]);
        let data = floats(values);
        let view = TensorView::new("scores", TensorType::Float32, &[1, values.len()], &data).unwrap();
        Classifier::new(&desc, ClassifyParams::default()).unwrap().run(&view, &mut Vec::new()).unwrap()
    };
    for (values, in_unit, distribution) in [
        (&[0.25, 0.75, 0.0][..], true, true),
        (&[0.25, 0.7505, 0.0], true, true),
        (&[0.25, 0.752, 0.0], true, false),
        (&[0.9, 0.8, 0.1], true, false),
        // The sum is 1, but a probability is negative, or there is none.
        (&[-0.5, 1.5, 0.0], false, false),
        (&[1.0, 0.0, f32::NAN], false, false),
        (&[10.0, 0.0, -3.0], false, false),
    ] {
        let got = outcome(values);
        assert_eq!((got.in_unit(), got.is_distribution()), (in_unit, distribution), "{values:?}: {got:?}");
    }
    let got = outcome(&[2.0, f32::NAN, -1.0, 0.5]);
    assert_eq!(got, Outcome { non_finite: 1, outside: 2, total: 1.5 });
}
