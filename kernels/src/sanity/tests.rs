//! Outputs that are read rightly, and outputs that are not.

use super::*;

/// Probabilities, and boxes in pixels.
const PLAIN: Expected = Expected {
    activation: Activation::None,
    raw: false,
    slack: Some(0.01),
    twice: None,
    threshold: Some(0.25),
    final_scores: false,
    normalized: Some(false),
    unique: false,
    labels: None,
};

fn found(found: usize) -> Glance {
    Glance { found, ..Glance::default() }
}

/// What is suspected of `frames` frames that are all alike, on the CPU.
fn suspicions(frames: usize, survey: &Survey, expected: &Expected, results: usize) -> Vec<Suspicion> {
    let mut watch = Watch::default();
    let judged = |_| {
        let wanted = watch.wants(&found(results), expected, false);
        if wanted { watch.judge(survey, expected) } else { Vec::new() }
    };
    (0..frames).flat_map(judged).collect()
}

/// 84 confidences from `lowest` to `highest`.
fn between(lowest: f32, highest: f32) -> Survey {
    Survey::of_scores((0..84u8).map(|i| lowest + (highest - lowest) * f32::from(i) / 83.0))
}

#[test]
fn probabilities_are_not_suspected_be_the_scene_empty_or_full() {
    for (lowest, highest, results) in [(0.0, 0.99, 3), (1e-5, 1.0, 1), (-0.005, 1.004, 2)] {
        assert_eq!(suspicions(300, &between(lowest, highest), &PLAIN, results), []);
    }
    assert_eq!(suspicions(300, &between(0.0, 0.0), &PLAIN, 1), [], "as models pad");
    assert_eq!(suspicions(300, &Survey::default(), &PLAIN, 0), [], "no row at all");
}

#[test]
fn logits_without_an_activation_are_suspected_once() {
    let logits = between(-9.5, 4.25);
    assert_eq!(suspicions(300, &logits, &PLAIN, 7), [Suspicion::Outside { lowest: -9.5, highest: 4.25 }]);
    // No result is above the threshold.
    let negative = between(-9.5, -1.0);
    assert_eq!(suspicions(300, &negative, &PLAIN, 0), [Suspicion::Outside { lowest: -9.5, highest: -1.0 }]);
    // With the activation, or where confidence maps may be a little outside.
    let right = Expected { activation: Activation::Sigmoid, raw: true, ..PLAIN };
    assert_eq!(suspicions(300, &logits, &right, 7), []);
    assert_eq!(suspicions(300, &between(-0.2, 1.3), &Expected { slack: Some(1.0), ..PLAIN }, 7), []);
    assert_eq!(suspicions(300, &logits, &Expected { slack: None, ..PLAIN }, 7), []);
}

#[test]
fn ranges_of_probabilities_that_are_activated_again_are_those_calculated_by_hand() {
    let range = |activation, factors, columns| Expected::of_probabilities(activation, factors, columns);
    let near = |range: Option<[f32; 2]>, want: [f32; 2]| {
        let range = range.unwrap();
        assert!(range.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{range:?} is not {want:?}");
    };
    // 1 / (1 + exp(0)), 1 / (1 + exp(-1)), and their squares.
    near(range(Activation::Sigmoid, 1, None), [0.5, 0.731_058_6]);
    near(range(Activation::Sigmoid, 2, None), [0.25, 0.534_446_7]);
    // 1 / (e + 2) and e / (e + 2).
    near(range(Activation::Softmax, 1, Some(3)), [0.211_941_6, 0.576_116_9]);
    assert_eq!(range(Activation::Softmax, 1, Some(1)), None);
    assert_eq!(range(Activation::None, 1, Some(3)), None);
}

#[test]
fn an_activation_of_probabilities_is_suspected_before_and_after_it() {
    let sigmoid = Expected {
        activation: Activation::Sigmoid,
        twice: Expected::of_probabilities(Activation::Sigmoid, 1, None),
        ..PLAIN
    };
    let twice = [Suspicion::Twice { activation: Activation::Sigmoid }];
    assert_eq!(suspicions(1, &between(0.5, 0.731), &sigmoid, 84), twice);
    assert_eq!(suspicions(300, &between(0.4, 0.731), &sigmoid, 84), []);
    assert_eq!(suspicions(300, &between(0.5, 0.74), &sigmoid, 84), []);
    let raw = Expected { raw: true, ..sigmoid };
    assert_eq!(suspicions(1, &between(0.0, 1.0), &raw, 84), twice);
    assert_eq!(suspicions(300, &between(-0.1, 1.0), &raw, 84), []);
    // Few scores may be so by chance; 15 of 3 frames of 5 do not suffice, 20 of 4 do.
    let few = Survey::of_scores([0.0, 0.1, 0.2, 0.3, 0.4]);
    assert_eq!(suspicions(3, &few, &raw, 1), []);
    assert_eq!(suspicions(4, &few, &raw, 1), twice);
}

#[test]
fn rows_that_add_up_to_one_are_probabilities_before_a_softmax() {
    let softmax = Expected {
        activation: Activation::Softmax,
        raw: true,
        twice: Expected::of_probabilities(Activation::Softmax, 1, Some(20)),
        threshold: None,
        ..PLAIN
    };
    let row = |best: f32| std::iter::once(best).chain(std::iter::repeat_n((1.0 - best) / 19.0, 19));
    let twice = [Suspicion::Twice { activation: Activation::Softmax }];
    assert_eq!(suspicions(1, &Survey::of_rows([row(0.62)]), &softmax, 1), twice);
    // One row that does not add up to 1 shows that scores are logits.
    assert_eq!(suspicions(300, &Survey::of_rows([row(0.62), row(1.5)]), &softmax, 1), []);
    let positive = (0..20u8).map(|i| f32::from(i) / 20.0);
    assert_eq!(suspicions(300, &Survey::of_rows([positive]), &softmax, 1), []);
    let survey = Survey::of_rows([row(0.62), row(1.5)]);
    assert_eq!((survey.rows, survey.probability_rows, survey.finite), (2, 1, 40));
}

#[test]
fn boxes_of_another_unit_are_suspected_and_a_few_wild_ones_are_not() {
    let boxes = |corners: &[[f32; 4]]| {
        let mut survey = between(0.0, 0.9);
        corners.iter().for_each(|corners| survey.corners(*corners, [64, 48]));
        survey
    };
    let fractions = boxes(&[[0.1, 0.2, 0.5, 0.9], [-0.2, 0.0, 1.1, 0.3], [0.0; 4]]);
    assert_eq!(suspicions(300, &fractions, &PLAIN, 1), [Suspicion::Fractions { farthest: 1.1 }]);
    let normalized = Expected { normalized: Some(true), ..PLAIN };
    assert_eq!(suspicions(300, &fractions, &normalized, 1), []);
    let pixels = boxes(&[[8.0, 4.0, 24.0, 28.0], [0.0, 0.0, 64.0, 48.0]]);
    assert_eq!(suspicions(300, &pixels, &PLAIN, 1), []);
    // The same boxes times the input's size, as if they were normalized.
    let far = boxes(&[[512.0, 192.0, 1536.0, 1344.0], [0.0, 0.0, 4096.0, 2304.0]]);
    assert_eq!(suspicions(300, &far, &normalized, 0), [Suspicion::Far { farthest: 4096.0 }]);
    let mut mostly = [[8.0, 4.0, 24.0, 28.0]; 20];
    mostly[..17].fill([0.0, 0.0, 4096.0, 2304.0]);
    assert_eq!(suspicions(300, &boxes(&mostly), &PLAIN, 1), [], "17 of 20 is not nearly all");
    mostly[17] = mostly[0];
    assert_eq!(suspicions(300, &boxes(&mostly), &PLAIN, 1), [Suspicion::Far { farthest: 4096.0 }]);
    // No size: padding.
    assert_eq!(suspicions(300, &boxes(&[[0.0; 4], [9e9, 9e9, 9e9, 9e9]]), &PLAIN, 0).len(), 0);
    assert_eq!(suspicions(300, &far, &Expected { normalized: None, ..PLAIN }, 1), []);
}

#[test]
fn a_frame_without_a_finite_score_and_a_class_without_a_name_are_suspected() {
    let nan = Survey::of_scores([f32::NAN; 84]);
    assert_eq!(suspicions(300, &nan, &PLAIN, 0), [Suspicion::NonFinite { scores: 84 }]);
    let one = Survey::of_scores([f32::NAN, f32::INFINITY, 0.5]);
    assert_eq!(suspicions(300, &one, &PLAIN, 1), []);
    let class = |class| Survey { class, ..between(0.0, 0.9) };
    let named = Expected { labels: Some(2), ..PLAIN };
    assert_eq!(suspicions(300, &class(Some(1)), &named, 1), []);
    assert_eq!(suspicions(300, &class(Some(2)), &named, 1), [Suspicion::Class { class: 2, labels: 2 }]);
    assert_eq!(suspicions(300, &class(Some(2)), &PLAIN, 1), []);
}

#[test]
fn the_same_score_everywhere_is_suspected_after_the_last_frame_only() {
    let same = between(0.125, 0.125);
    assert_eq!(suspicions(99, &same, &PLAIN, 0), []);
    assert_eq!(suspicions(300, &same, &PLAIN, 0), [Suspicion::Constant { score: 0.125 }]);
    assert_eq!(suspicions(300, &Survey::of_scores([0.125; 1]), &PLAIN, 1), [], "8 scores are few");
}

#[test]
fn nothing_found_is_reported_with_the_best_confidence_after_a_hundred_frames() {
    let empty = between(0.0, 0.0625);
    assert_eq!(suspicions(99, &empty, &PLAIN, 0), []);
    let nothing = [Suspicion::NothingFound { best: 0.0625, threshold: 0.25 }];
    assert_eq!(suspicions(100, &empty, &PLAIN, 0), nothing);
    assert_eq!(suspicions(300, &empty, &PLAIN, 0), nothing);
    assert_eq!(suspicions(300, &empty, &Expected { threshold: None, ..PLAIN }, 0), []);
    // Another filter has dropped the results.
    assert_eq!(suspicions(300, &between(0.0, 0.5), &PLAIN, 0), []);
    let raw = Expected { activation: Activation::Sigmoid, raw: true, ..PLAIN };
    let [Suspicion::NothingFound { best, .. }] = suspicions(300, &between(-9.0, -2.0), &raw, 0)[..] else {
        panic!("nothing was suspected");
    };
    assert!((best - 0.119_202_92).abs() < 1e-6, "sigmoid(-2) is not {best}");
}

#[test]
fn eight_frames_are_surveyed_on_the_cpu_and_none_after_the_last() {
    let mut watch = Watch::default();
    let wanted: Vec<_> = (1..=1000).filter(|_| watch.wants(&found(0), &PLAIN, false)).collect();
    assert_eq!(wanted, [1, 2, 3, 4, 25, 50, 75, 100]);
    assert!(watch.is_over());
}

#[test]
fn nothing_is_downloaded_of_a_model_that_finds_something_and_little_of_others() {
    let downloads = |glance: Glance, expected: &Expected| -> Vec<usize> {
        let mut watch = Watch::default();
        let mut frame = |_: &usize| {
            let wanted = watch.wants(&glance, expected, true);
            if wanted {
                watch.judge(&between(0.0, 0.9), expected);
            }
            wanted
        };
        (1..=1000).filter(|n| frame(n)).collect()
    };
    let sure = Glance { found: 2, confidences: [0.3, 0.9], ..Glance::default() };
    assert_eq!(downloads(sure, &PLAIN), [0; 0]);
    assert_eq!(downloads(found(0), &PLAIN), [1, 100]);
    assert_eq!(downloads(Glance { confidences: [0.3, 6.5], ..sure }, &PLAIN), [1, 2, 3, 4]);
    assert_eq!(downloads(Glance { tiny: true, ..sure }, &PLAIN), [1, 2, 3, 4]);
    let named = Expected { labels: Some(2), ..PLAIN };
    assert_eq!(downloads(Glance { class: Some(1), ..sure }, &named), [0; 0]);
    assert_eq!(downloads(Glance { class: Some(2), ..sure }, &named), [1, 2, 3, 4]);
    let sigmoid = Expected {
        activation: Activation::Sigmoid,
        twice: Expected::of_probabilities(Activation::Sigmoid, 1, None),
        ..PLAIN
    };
    assert_eq!(downloads(sure, &sigmoid), [0; 0]);
    assert_eq!(downloads(Glance { confidences: [0.5, 0.7], ..sure }, &sigmoid), [1, 2, 3, 4]);
    // After a suspicion was reported, frames need not be surveyed for it again.
    let mut watch = Watch::default();
    let high = Glance { confidences: [0.3, 6.5], ..sure };
    assert!(watch.wants(&high, &PLAIN, true));
    assert_eq!(watch.judge(&between(-8.0, 6.5), &PLAIN).len(), 1);
    assert!(!watch.wants(&high, &PLAIN, true));
}

#[test]
fn boxes_that_nobody_has_suppressed_are_suspected_once_and_neighbours_in_a_crowd_are_not() {
    let unique = Expected { unique: true, ..PLAIN };
    let seen = |repeated, compared| Survey { repeated, compared, ..between(0.0, 0.9) };
    let frames_of = |repeated, compared, expected: &Expected| {
        suspicions(300, &seen(repeated, compared), expected, compared)
    };
    assert_eq!(frames_of(20, 24, &unique), [Suspicion::Repeated { repeated: 20, boxes: 24 }]);
    assert_eq!(frames_of(20, 24, &PLAIN), [], "gpunms has kept them by its settings");
    assert_eq!(frames_of(30, 100, &unique), []);
    assert_eq!(frames_of(0, 0, &unique), []);
    // On a GPU, the results alone show it.
    let glance = Glance { compared: 24, repeated: 20, ..found(24) };
    assert!(!Watch::default().wants(&glance, &PLAIN, true) && Watch::default().wants(&glance, &unique, true));
}

#[test]
fn points_are_suspected_if_more_than_half_are_outside_by_more_than_the_inputs_size() {
    let points = |all: &[[f32; 2]]| {
        let mut points = PointSurvey::default();
        all.iter().for_each(|point| points.see(*point, [64, 48]));
        points
    };
    // Within, at the limits, and beyond each of them.
    assert_eq!(points(&[[0.0, 0.0], [-64.0, 96.0], [128.0, -48.0]]).far, 0);
    let far = [[-64.5, 9.0], [128.5, 9.0], [9.0, -48.5], [9.0, 96.5]];
    let survey = points(&far);
    assert_eq!(survey, PointSurvey { all: 4, far: 4, before: 2, farthest: 128.5 });
    for normalized in [Some(true), Some(false), None] {
        let expected = Expected { normalized, threshold: None, slack: None, ..PLAIN };
        let frames = |points| suspicions(300, &Survey { points, ..Survey::default() }, &expected, 1);
        let mut half = far.to_vec();
        half.extend([[9.0, 9.0]; 4]);
        assert_eq!(frames(points(&half)), [], "half of them are not more than half");
        assert_eq!(frames(PointSurvey::default()), [], "there are none");
        // Once, of the first frame.
        assert_eq!(frames(survey), [Suspicion::FarPoints(survey)]);
        let glance = Glance { points: survey, ..found(4) };
        assert!(Watch::default().wants(&glance, &expected, true));
        assert!(!Watch::default().wants(&found(4), &expected, true));
    }
}

#[test]
fn most_points_below_0_are_of_another_range_than_0_to_1() {
    // Around the middle of -1..1, read as fractions of 64x48 pixels.
    let mut survey = PointSurvey::default();
    for i in 0..16 {
        let at = f32::from(i16::try_from(i).unwrap() - 9) / 9.0;
        survey.see([64.0 * at, -48.0 * at], [64, 48]);
    }
    // All but that at 0 have one coordinate below it.
    assert_eq!((survey.before, survey.far), (15, 0));
    let normalized = Expected { normalized: Some(true), threshold: None, slack: None, ..PLAIN };
    let frames =
        |points, expected: Expected| suspicions(300, &Survey { points, ..Survey::default() }, &expected, 1);
    assert_eq!(frames(survey, normalized), [Suspicion::PointsBefore(survey)]);
    assert!(Watch::default().wants(&Glance { points: survey, ..found(16) }, &normalized, true));
    for normalized in [Some(false), None] {
        let expected = Expected { normalized, threshold: None, slack: None, ..PLAIN };
        assert_eq!(frames(survey, expected), []);
    }
    assert_eq!(frames(PointSurvey { before: 8, ..survey }, normalized), [], "half of them are not most");
}
