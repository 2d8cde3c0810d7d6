//! The numbers of points as libraries export them, against positions calculated by hand.

use super::*;

/// The points of one object in an output of this description.
fn read(
    text: &str,
    numbers: &[f32],
    input: [usize; 2],
    params: CoordinateParams,
    to_frame: &Affine,
) -> Points {
    let output = Output::new(text, numbers);
    let mut reader = PointReader::new(&PointOutputs::of(&output.desc), input, params).unwrap();
    let (points, outcome) = reader.run(&[output.view()], to_frame).unwrap();
    assert_eq!(outcome, Outcome::default());
    points
}

fn stated(format: PointFormat) -> CoordinateParams {
    CoordinateParams { format: Some(format), ..CoordinateParams::default() }
}

/// The landmark `i` of MediaPipe's networks: pixels of the input.
fn landmark(i: u16) -> [f32; 3] {
    [4.0 * f32::from(i), 100.0 - 2.0 * f32::from(i), -0.5 * f32::from(i)]
}

#[test]
fn mediapipes_hand_has_three_coordinates_in_pixels_and_a_presence() {
    let params = CoordinateParams { range: None, min_score: 0.5, ..stated(PointFormat::Xyz) };
    let numbers: Vec<f32> = (0..21).flat_map(landmark).collect();
    let at = Output::new("Identity:float32:1x63", &numbers);
    for (presence, is_there) in [(0.75, true), (0.25, false)] {
        let presence = Output::new("Identity_1:float32:1x1", &[presence]);
        let outputs = PointOutputs { pose: Some(&presence.desc), ..PointOutputs::of(&at.desc) };
        let mut reader = PointReader::new(&outputs, [224, 224], params).unwrap();
        assert_eq!(reader.points(), Some(21));
        // The tensor is 448 pixels of the frame wide and 112 high, from pixel 10 on.
        let to_frame = Affine::upright([2.0, 0.5], [10.0, 0.0]);
        let (hand, outcome) = reader.run(&[at.view(), presence.view()], &to_frame).unwrap();
        assert_eq!(outcome, Outcome::default());
        if !is_there {
            assert_eq!(hand, Points { score: Some(0.25), ..Points::default() });
            continue;
        }
        assert_eq!((hand.score, hand.points.len()), (Some(0.75), 21));
        // 4 * 20 * 2 + 10, (100 - 2 * 20) / 2, and -0.5 * 20 in x's unit.
        let last = Keypoint { x: 170.0, y: 30.0, z: Some(-20.0), score: 1.0 };
        assert_eq!(hand.points[20], Some(last));
        assert_eq!(hand.points[0], Some(Keypoint { x: 10.0, y: 50.0, z: Some(0.0), score: 1.0 }));
    }
}

#[test]
fn all_coordinates_of_an_object_may_come_before_its_scores() {
    // Two objects of three points each, as ED-Pose gives them.
    let numbers = [
        0.25, 0.5, 0.5, 0.75, 0.125, 1.0, 0.5, 0.875,
        0.25, // the last point's score is below the threshold
        0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 0.75, 0.5, 1.0,
    ];
    let at = Output::new("pred_keypoints:float32:1x2x9", &numbers);
    let logits = Output::new("pred_logits:float32:1x2x1", &[-1.0, 3.0]);
    let params = CoordinateParams {
        min_score: 0.0,
        pose_activation: PoseActivation::Sigmoid,
        ..stated(PointFormat::XyThenScores)
    };
    let (scores, identities, valid) = (None, None, None);
    let outputs = PoseOutputs { points: &at.desc, scores, poses: Some(&logits.desc), identities, valid };
    let mut reader = PoseReader::new(&outputs, [64, 32], params).unwrap();
    assert_eq!(reader.points(), Some(3));
    let (poses, outcome) = reader.run(&[at.view(), logits.view()], &Affine::IDENTITY).unwrap();
    assert_eq!(outcome, Outcome::default());
    let point = |x: f32, y: f32, score| Some(Keypoint { x: 64.0 * x, y: 32.0 * y, z: None, score });
    assert_eq!(poses[0].points, [point(0.0, 0.0, 0.75), point(1.0, 1.0, 0.5), point(0.5, 0.5, 1.0)]);
    assert_eq!(poses[1].points, [point(0.25, 0.5, 0.5), point(0.5, 0.75, 0.875), None]);
    // In rows of a point each there is nothing that comes first.
    let rows = Output::new("o:float32:1x2x3x3", &numbers);
    let outputs = PoseOutputs { points: &rows.desc, ..outputs };
    let refused = PoseReader::new(&outputs, [64, 32], params).unwrap_err();
    assert!(matches!(refused, KeypointsError::Format { .. }), "{refused}");
}

#[test]
fn mediapipes_face_mesh_has_a_dimension_of_1_more_and_a_presence_before_the_sigmoid() {
    let params = CoordinateParams {
        range: None,
        min_score: 0.5,
        pose_activation: PoseActivation::Sigmoid,
        ..stated(PointFormat::Xyz)
    };
    let numbers: Vec<f32> = (0..468).flat_map(landmark).collect();
    let at = Output::new("conv2d_21:float32:1x1x1x1404", &numbers);
    for (logit, probability, points) in [(2.0, 0.880_797, 468), (-2.0, 0.119_203, 0)] {
        let presence = Output::new("conv2d_31:float32:1x1x1x1", &[logit]);
        let outputs = PointOutputs { pose: Some(&presence.desc), ..PointOutputs::of(&at.desc) };
        let mut reader = PointReader::new(&outputs, [192, 192], params).unwrap();
        let (face, _) = reader.run(&[at.view(), presence.view()], &Affine::IDENTITY).unwrap();
        assert!((face.score.unwrap() - probability).abs() < 1e-6, "{:?}", face.score);
        assert_eq!(face.points.len(), points);
        let third = Keypoint { x: 12.0, y: 94.0, z: Some(-1.5), score: 1.0 };
        assert!(points == 0 || face.points[3] == Some(third), "{:?}", face.points.get(3));
    }
}

#[test]
fn blazeposes_points_have_the_lesser_of_visibility_and_presence() {
    let params = CoordinateParams {
        range: None,
        activation: Activation::Sigmoid,
        ..stated(PointFormat::XyzVisibilityPresence)
    };
    let scores = |i: u16| match i {
        0 => [2.0, 1.0],
        1 => [1.0, 2.0],
        // 1 / (1 + e) is below the threshold.
        2 => [9.0, -1.0],
        _ => [0.0, 0.0],
    };
    let numbers: Vec<f32> = (0..39).flat_map(|i| landmark(i).into_iter().chain(scores(i))).collect();
    let body = read("Identity:float32:1x195", &numbers, [256, 256], params, &Affine::IDENTITY);
    assert_eq!((body.points.len(), body.score), (39, None));
    for (i, score) in [(0, Some(0.731_058_6)), (1, Some(0.731_058_6)), (2, None), (38, Some(0.5))] {
        let point = body.points[i];
        assert_eq!(point.is_some(), score.is_some(), "{i}");
        let (Some(point), Some(score)) = (point, score) else { continue };
        let [x, y, z] = landmark(u16::try_from(i).unwrap());
        assert_eq!((point.x, point.y, point.z), (x, y, Some(z)));
        assert!((point.score - score).abs() < 1e-6, "{point:?}");
    }
}

#[test]
fn landmarks_may_be_from_minus_1_to_1() {
    let params =
        CoordinateParams { range: Some([-1.0, 1.0]), points: Some(3), ..CoordinateParams::default() };
    // (v + 1) / 2 of 64 and of 32 pixels.
    let face = read("o:float32:1x6", &[-1.0, -1.0, 0.0, 0.5, 1.0, 1.0], [64, 32], params, &Affine::IDENTITY);
    let places: Vec<_> = face.peaks().map(|at| (at.x, at.y, at.score)).collect();
    assert_eq!(places, [(0.0, 0.0, 1.0), (32.0, 24.0, 1.0), (64.0, 32.0, 1.0)]);
    // A depth has x's unit: half of 64 pixels for each 1.
    let params = CoordinateParams { format: Some(PointFormat::XyzScore), ..params };
    let face = read("o:float32:1x4", &[0.0, 0.0, 0.25, 0.5], [64, 32], params, &Affine::IDENTITY);
    assert_eq!(face.points, [Some(Keypoint { x: 32.0, y: 16.0, z: Some(8.0), score: 0.5 })]);
    for range in [[1.0, 1.0], [f32::NAN, 1.0], [0.0, f32::INFINITY]] {
        let params = CoordinateParams { range: Some(range), ..params };
        let error = PointReader::new(&PointOutputs::of(&"o:float32:1x4".parse().unwrap()), [64, 32], params);
        assert!(matches!(error, Err(KeypointsError::Range(..))), "{range:?}");
    }
}

#[test]
fn how_many_points_the_numbers_are_is_stated_or_refused() {
    let points = |text: &str, format, points| {
        let params = CoordinateParams { format, points, ..CoordinateParams::default() };
        PointReader::new(&PointOutputs::of(&text.parse().unwrap()), [64, 64], params)
            .map(|reader| (reader.points(), reader.format()))
    };
    let (xy, xyz) = (PointFormat::Xy, PointFormat::Xyz);
    assert_eq!(points("o:float32:1x136", None, Some(68)), Ok((Some(68), xy)));
    assert_eq!(points("o:float32:?x136", Some(xy), None), Ok((Some(68), xy)));
    assert_eq!(points("o:float32:1x204", None, Some(68)), Ok((Some(68), PointFormat::XyScore)));
    assert_eq!(points("o:float32:1x21x3", Some(xyz), None), Ok((Some(21), xyz)));
    assert_eq!(points("o:float32:1x1x136", Some(xy), None), Ok((Some(68), xy)));
    let error = points("o:float32:1x136", None, None).unwrap_err();
    assert!(matches!(error, KeypointsError::Undivided { all: 136, .. }), "{error}");
    assert!(error.to_string().contains("nothing says how many points"), "{error}");
    // Neither 2 nor 3 numbers for each of 17; and no 5 for each in [1, 21, 3].
    let error = points("o:float32:1x136", None, Some(17)).unwrap_err();
    assert!(matches!(error, KeypointsError::Named { all: 136, points: 17, .. }), "{error}");
    let visible = Some(PointFormat::XyzVisibilityPresence);
    for text in ["o:float32:1x21x3", "o:float32:1x63"] {
        let error = points(text, visible, None).unwrap_err().to_string();
        assert!(error.contains("5 numbers for each point") && error.contains("point-format"), "{error}");
    }
    let (of_points, scores) = ("o:float32:1x4x3".parse().unwrap(), "s:float32:1x4".parse().unwrap());
    let outputs = PointOutputs { scores: Some(&scores), ..PointOutputs::of(&of_points) };
    let error = PointReader::new(&outputs, [64, 64], stated(PointFormat::XyScore)).unwrap_err();
    assert_eq!(error, KeypointsError::ScoredTwice("xy-score"));
}
