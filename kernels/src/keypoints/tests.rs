//! Against values calculated by hand from the definitions of mmpose (`get_simcc_maximum`, `SimCCLabel.decode`) and MoveNet
//! (the model cards of its single-pose and multi-pose networks).

mod cells;
mod formats;
mod lanes;

use half::f16;

use super::*;
use crate::detect::AxisOrder;
use crate::geometry::{Affine, Rect};
use crate::group::{Identity, Keypoint, PafConvention, PafParams, Pose};
use crate::peaks::{Activation, Grid, Outcome, Peak};
use crate::tensor::{TensorDesc, TensorType, TensorView};

const FLOAT: TensorType = TensorType::Float32;

/// Vectors of `cells` scores of 0.01, but for the given (cell, score) pairs of each.
fn vectors(cells: usize, scores: &[&[(usize, f32)]]) -> Vec<f32> {
    let vector = |high: &&[(usize, f32)]| {
        let mut vector = vec![0.01; cells];
        high.iter().for_each(|(cell, score)| vector[*cell] = *score);
        vector
    };
    scores.iter().flat_map(vector).collect()
}

fn simcc(
    [x, y]: [&[f32]; 2],
    points: usize,
    input: [usize; 2],
    params: SimccParams,
    to_frame: &Affine,
) -> (Vec<Peak>, Outcome) {
    let dims = [[1, points, x.len() / points], [1, points, y.len() / points]];
    let [of_x, of_y] = ["simcc_x", "simcc_y"].map(|name| name.to_owned());
    let descs = [TensorDesc::fixed(&of_x, FLOAT, &dims[0]), TensorDesc::fixed(&of_y, FLOAT, &dims[1])];
    let mut reader = SimccReader::new(&descs[0], &descs[1], input, params).unwrap();
    let view = |name, dims, data| TensorView::new(name, FLOAT, dims, bytemuck::cast_slice(data)).unwrap();
    let mut peaks = vec![Peak { channel: 9, x: 0.0, y: 0.0, score: 0.0 }];
    let outcome =
        reader.run(&view(&of_x, &dims[0], x), &view(&of_y, &dims[1], y), to_frame, &mut peaks).unwrap();
    (peaks, outcome)
}

#[test]
fn simcc_points_are_the_maxima_over_the_split_ratio() {
    // RTMPose's 192x256 with two cells a pixel. mmpose: argmax / 2, where pixels are counted from their centres, which lie
    // half a pixel further here.
    let x = vectors(384, &[&[(100, 0.9)], &[(31, 0.4), (32, 0.8)], &[(383, 0.5)]]);
    let y = vectors(512, &[&[(301, 0.7)], &[(10, 0.95), (11, 0.95)], &[(0, 0.6)]]);
    let letterbox = Affine::upright([2.0, 3.0], [-5.0, 7.0]);
    let (peaks, outcome) = simcc([&x, &y], 3, [192, 256], SimccParams::default(), &letterbox);
    let peak = |channel, x: f32, y: f32, score| Peak { channel, x: 2.0 * x - 5.0, y: 3.0 * y + 7.0, score };
    // The score is the smaller maximum; of equals the first cell counts.
    assert_eq!(peaks, [peak(0, 50.5, 151.0, 0.7), peak(1, 16.5, 5.5, 0.8), peak(2, 192.0, 0.5, 0.5)]);
    assert_eq!(outcome, Outcome::default());
}

#[test]
fn simcc_grids_place_cells_as_those_of_maps() {
    let (x, y) = (vectors(64, &[&[(20, 0.9)]]), vectors(32, &[&[(31, 0.9)]]));
    for (grid, at) in [
        (Grid::Strided, (10.5, 16.0)),
        (Grid::CellCentres, (10.25, 15.75)),
        // From the first to the last pixel: 31 / 63 and 15 / 31 of a pixel a cell.
        (Grid::Udp, (20.0 * 31.0 / 63.0 + 0.5, 15.5)),
    ] {
        let params = SimccParams { grid, ..SimccParams::default() };
        let (peaks, _) = simcc([&x, &y], 1, [32, 16], params, &Affine::IDENTITY);
        assert!((peaks[0].x - at.0).abs() < 1e-5 && (peaks[0].y - at.1).abs() < 1e-5, "{grid:?}: {peaks:?}");
    }
}

#[test]
fn simcc_points_without_a_positive_maximum_on_both_axes_are_none() {
    let dark = [-1.0f32; 8];
    let mut x = [dark, dark, dark].concat();
    let y = [vectors(8, &[&[(1, 0.9)]]), dark.to_vec(), vectors(8, &[&[(2, 0.2)]])].concat();
    x[16] = 0.5;
    let none = SimccParams { threshold: -5.0, ..SimccParams::default() };
    let (peaks, _) = simcc([&x, &y], 3, [4, 4], none, &Affine::IDENTITY);
    assert_eq!(peaks, [Peak { channel: 2, x: 0.5, y: 1.5, score: 0.2 }]);
    let (peaks, _) = simcc([&x, &y], 3, [4, 4], SimccParams::default(), &Affine::IDENTITY);
    assert_eq!(peaks, [], "0.2 is below 0.3");
    // Logits: the smaller of -1 and 0.9 is 0.2689 as a probability.
    let logits = SimccParams { activation: Activation::Sigmoid, threshold: 0.26, ..none };
    let (peaks, _) = simcc([&x, &y], 3, [4, 4], logits, &Affine::IDENTITY);
    assert_eq!(peaks.len(), 3);
    assert!((peaks[0].score - 0.268_941_4).abs() < 1e-6, "{peaks:?}");
}

#[test]
fn simcc_scores_that_are_not_finite_count_and_hide_nothing() {
    let mut x = vectors(8, &[&[(5, 0.6)], &[]]);
    x[2] = f32::NAN;
    x[3] = f32::INFINITY;
    x[8..].fill(f32::NEG_INFINITY);
    let y = vectors(8, &[&[(4, 0.5)], &[(4, 0.5)]]);
    let (peaks, outcome) = simcc([&x, &y], 2, [4, 4], SimccParams::default(), &Affine::IDENTITY);
    assert_eq!(peaks, [Peak { channel: 0, x: 3.0, y: 2.5, score: 0.5 }]);
    assert_eq!(outcome, Outcome { non_finite: 10, ..Outcome::default() });
}

#[test]
fn simcc_reads_half_precision_and_open_dimensions() {
    let halves =
        |values: &[f32]| values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect::<Vec<_>>();
    let (x, y) = (halves(&vectors(8, &[&[(6, 0.5)]])), halves(&vectors(16, &[&[(9, 0.75)]])));
    let [of_x, of_y] = ["x:float16:?x?x?", "y:float16:1x?x16"].map(|text| text.parse().unwrap());
    let mut reader = SimccReader::new(&of_x, &of_y, [4, 8], SimccParams::default()).unwrap();
    let view = |name, dims: &[usize], data| TensorView::new(name, TensorType::Float16, dims, data).unwrap();
    let mut peaks = Vec::new();
    let of_y = view("y", &[1, 1, 16], &y[..]);
    reader.run(&view("x", &[1, 1, 8], &x), &of_y, &Affine::IDENTITY, &mut peaks).unwrap();
    assert_eq!(peaks, [Peak { channel: 0, x: 3.5, y: 5.0, score: 0.5 }]);
    let error = reader.run(&view("x", &[1, 2, 4], &x), &of_y, &Affine::IDENTITY, &mut peaks).unwrap_err();
    assert!(matches!(error, KeypointsError::SimccPoints { of_x: 2, of_y: 1, .. }), "{error}");
    assert_eq!(peaks, []);
}

#[test]
fn simcc_outputs_that_do_not_belong_together_are_refused() {
    let new = |x: &str, y: &str, params| {
        SimccReader::new(&x.parse().unwrap(), &y.parse().unwrap(), [192, 256], params).unwrap_err()
    };
    let p = SimccParams::default();
    let (x, y) = ("x:float32:1x17x384", "y:float32:1x17x512");
    let error = new("x:float32:1x26x384", y, p).to_string();
    assert!(error.contains("26 and 17 points") && error.contains("simcc-x"), "{error}");
    let error = new(y, x, p).to_string();
    assert!(error.contains("into 2.6667 and 1.5000 cells") && error.contains("192x256"), "{error}");
    assert!(matches!(new("x:float32:1x17x400", y, p), KeypointsError::Split { .. }));
    assert!(matches!(new("x:int64:1x17x384", y, p), KeypointsError::Type(_)));
    assert!(matches!(new("x:float32:17x384", y, p), KeypointsError::SimccShape(_)));
    assert!(matches!(new(x, "y:float32:4x17x512", p), KeypointsError::SimccShape(_)));
    assert!(matches!(new(x, "y:float32:1x0x512", p), KeypointsError::Empty(..)));
    let nan = SimccParams { threshold: f32::NAN, ..p };
    assert_eq!(new(x, y, nan), KeypointsError::Threshold);
}

fn points(
    text: &str,
    data: &[f32],
    input: [usize; 2],
    params: CoordinateParams,
    to_frame: &Affine,
) -> (Vec<Peak>, Outcome) {
    let desc: TensorDesc = text.parse().unwrap();
    let dims: Vec<usize> = desc.dims.iter().map(|dim| dim.unwrap()).collect();
    let view = TensorView::new(&desc.name, desc.ty, &dims, bytemuck::cast_slice(data)).unwrap();
    let (points, outcome) =
        PointReader::new(&PointOutputs::of(&desc), input, params).unwrap().run(&[view], to_frame).unwrap();
    (points.peaks().collect(), outcome)
}

#[test]
fn movenets_points_are_fractions_of_the_input_y_first() {
    let movenet = CoordinateParams { order: AxisOrder::Yx, ..CoordinateParams::default() };
    let data = [0.25, 0.5, 0.9, 0.125, 0.75, 0.1, f32::NAN, 0.5, 0.9, 1.0, 0.0, 0.4];
    let to_frame = Affine::upright([4.0, 4.0], [0.0, -96.0]);
    let (peaks, outcome) = points("o:float32:1x1x4x3", &data, [192, 256], movenet, &to_frame);
    // x is 0.5 * 192 * 4, y is 0.25 * 256 * 4 - 96.
    let nose = Peak { channel: 0, x: 384.0, y: 160.0, score: 0.9 };
    assert_eq!(peaks, [nose, Peak { channel: 3, x: 0.0, y: 928.0, score: 0.4 }]);
    assert_eq!(outcome.non_finite, 1);
}

#[test]
fn regressed_points_may_be_pixels_and_have_no_score() {
    let pixels = CoordinateParams { range: None, ..CoordinateParams::default() };
    let data = [10.5, 20.25, 30.0, 40.0];
    let (peaks, _) = points("o:float32:1x2x2", &data, [192, 256], pixels, &Affine::IDENTITY);
    assert_eq!(
        peaks,
        [
            Peak { channel: 0, x: 10.5, y: 20.25, score: 1.0 },
            Peak { channel: 1, x: 30.0, y: 40.0, score: 1.0 }
        ]
    );
    // Three values, x first, the third a logit: 1 / (1 + e^-2).
    let logits = CoordinateParams { activation: Activation::Sigmoid, ..CoordinateParams::default() };
    let (peaks, _) = points("o:float32:1x1x3", &[0.5, 0.25, 2.0], [64, 32], logits, &Affine::IDENTITY);
    assert_eq!((peaks[0].x, peaks[0].y), (32.0, 8.0));
    assert!((peaks[0].score - 0.880_797).abs() < 1e-6, "{peaks:?}");
}

#[test]
fn several_objects_points_may_have_their_scores_and_all_numbers_in_one_dimension() {
    let params = CoordinateParams { points: Some(2), min_score: 0.0, ..CoordinateParams::default() };
    // Two poses of two points: x, y and a score. The last point is below the threshold.
    let numbers = [0.25, 0.5, 0.5, 0.5, 0.5, 0.75, 0.75, 0.25, 1.0, 0.0, 0.0, 0.125];
    let point = |x: f32, y: f32, score| Some(Keypoint { x: 64.0 * x, y: 32.0 * y, z: None, score });
    let wanted = [
        Pose { score: 1.0, points: vec![point(0.75, 0.25, 1.0), None], identity: None },
        Pose { score: 0.625, points: vec![point(0.25, 0.5, 0.5), point(0.5, 0.5, 0.75)], identity: None },
    ];
    for text in ["o:float32:1x2x2x3", "o:float32:1x2x6"] {
        let output = Output::new(text, &numbers);
        let outputs =
            PoseOutputs { points: &output.desc, scores: None, poses: None, identities: None, valid: None };
        let mut reader = PoseReader::new(&outputs, [64, 32], params).unwrap();
        assert_eq!((reader.points(), reader.format()), (Some(2), PointFormat::XyScore));
        let (poses, outcome) = reader.run(&[output.view()], &Affine::IDENTITY).unwrap();
        assert_eq!((&poses[..], outcome), (&wanted[..], Outcome::default()), "{text}");
    }
    // Another activation makes the scores of poses probabilities: 0.5, and 1 / (1 + e^3) = 0.0474.
    let output = Output::new("o:float32:1x2x6", &numbers);
    let logits = Output::new("logits:float32:1x2", &[0.0, -3.0]);
    let poses = Some(&logits.desc);
    let outputs = PoseOutputs { points: &output.desc, scores: None, poses, identities: None, valid: None };
    let params = CoordinateParams { pose_activation: PoseActivation::Sigmoid, min_score: 0.25, ..params };
    let mut reader = PoseReader::new(&outputs, [64, 32], params).unwrap();
    let (poses, _) = reader.run(&[output.view(), logits.view()], &Affine::IDENTITY).unwrap();
    assert_eq!(poses.iter().map(|pose| pose.score).collect::<Vec<_>>(), [0.5]);
}

#[test]
fn poses_may_have_scores_of_several_classes_or_of_being_nothing() {
    // Four people of one point, as P2PNet finds them: logits of nothing and of a person.
    let points = Output::new("points:float32:1x4x2", &[8.0, 4.0, 16.0, 5.0, 24.0, 6.0, 32.0, 7.0]);
    let logits = Output::new("logits:float32:1x4x2", &[0.0, 2.0, 3.0, 3.5, 1.0, 0.5, f32::NAN, 1.0]);
    let scores = |logits: &Output, pose_activation| {
        let params =
            CoordinateParams { range: None, pose_activation, min_score: 0.5, ..CoordinateParams::default() };
        let poses = Some(&logits.desc);
        let outputs =
            PoseOutputs { points: &points.desc, scores: None, poses, identities: None, valid: None };
        let mut reader = PoseReader::new(&outputs, [64, 32], params)?;
        let (poses, outcome) = reader.run(&[points.view(), logits.view()], &Affine::IDENTITY)?;
        let found = |pose: &Pose| (pose.points[0].map(|point| point.x), pose.score);
        Ok::<_, KeypointsError>((poses.iter().map(found).collect::<Vec<_>>(), outcome.non_finite))
    };
    let sigmoid = |v: f32| 1.0 / (1.0 + (-v).exp());
    let (found, non_finite) = scores(&logits, PoseActivation::Softmax).unwrap();
    // Of two, the softmax is the sigmoid of the difference.
    let wanted = [(Some(8.0), sigmoid(2.0)), (Some(16.0), sigmoid(0.5))];
    assert_eq!((found.len(), non_finite), (2, 1), "{found:?}");
    for ((x, score), (wanted_x, wanted)) in found.iter().zip(wanted) {
        assert!(*x == wanted_x && (score - wanted).abs() < 1e-6, "{found:?}");
    }
    // As those of classes, the highest counts.
    let (found, _) = scores(&logits, PoseActivation::Sigmoid).unwrap();
    assert_eq!(found.iter().map(|(x, _)| x.unwrap()).collect::<Vec<_>>(), [16.0, 8.0, 24.0, 32.0]);
    assert!((found[0].1 - sigmoid(3.5)).abs() < 1e-6);
    for text in ["logits:float32:1x4", "logits:float32:1x4x1"] {
        let one = Output::new(text, &[0.0; 4]);
        let refused = scores(&one, PoseActivation::Softmax).unwrap_err();
        assert!(matches!(refused, KeypointsError::PoseNumbers(_)), "{refused}");
        assert!(scores(&one, PoseActivation::Sigmoid).is_ok());
    }
}

#[test]
fn movenets_people_have_points_a_box_and_a_score() {
    let movenet = CoordinateParams { order: AxisOrder::Yx, ..CoordinateParams::default() };
    // Two points, then ymin, xmin, ymax, xmax and the score.
    let person =
        |y: f32, score: f32| vec![y, 0.5, 0.8, y + 0.25, 0.5, 0.1, y - 0.125, 0.25, y + 0.5, 0.75, score];
    let mut broken = person(0.25, 0.9);
    broken[6] = f32::NAN;
    let data = [person(0.25, 0.5), person(0.5, 0.75), person(0.25, 0.2), broken].concat();
    let desc: TensorDesc = "o:float32:1x4x11".parse().unwrap();
    let mut reader = InstanceReader::new(&desc, [128, 64], movenet).unwrap();
    assert_eq!(reader.points(), Some(2));
    let view = TensorView::new("o", FLOAT, &[1, 4, 11], bytemuck::cast_slice(&data)).unwrap();
    let to_frame = Affine::upright([2.0, 2.0], [10.0, 0.0]);
    let (instances, outcome) = reader.run(&[view], &to_frame).unwrap();
    assert_eq!(outcome, Outcome { non_finite: 1, ..Outcome::default() });
    // The best first; 0.2 is below the least score.
    let [first, second] = &instances[..] else { panic!("{instances:?}") };
    assert_eq!((first.pose.score, second.pose.score), (0.75, 0.5));
    let nose = Keypoint { x: 0.5 * 256.0 + 10.0, y: 0.5 * 128.0, z: None, score: 0.8 };
    assert_eq!(first.pose.points, [Some(nose), None]);
    assert_eq!(first.rect, Rect { x: 74.0, y: 48.0, w: 128.0, h: 80.0 });
    assert_eq!(second.rect, Rect { x: 74.0, y: 16.0, w: 128.0, h: 80.0 });
}

#[test]
fn coordinates_of_another_shape_are_refused() {
    let p = CoordinateParams::default();
    let of_points = |text: &str| {
        PointReader::new(&PointOutputs::of(&text.parse().unwrap()), [192, 192], p).map(|r| r.points())
    };
    assert_eq!(of_points("o:float32:1x1x17x3"), Ok(Some(17)));
    assert_eq!(of_points("o:float16:?x?x2"), Ok(None));
    for text in
        ["o:float32:1x17x4", "o:float32:17x3", "o:float32:1x2x17x3", "o:float32:1x17x?", "o:float32:2x17x3"]
    {
        assert!(matches!(of_points(text), Err(KeypointsError::PointsShape(_))), "{text}");
    }
    let of_instances =
        |text: &str| InstanceReader::new(&text.parse().unwrap(), [192, 192], p).map(|r| r.points());
    assert_eq!(of_instances("o:float32:1x6x56"), Ok(Some(17)));
    for text in ["o:float32:1x6x57", "o:float32:1x6x5", "o:float32:6x56", "o:float32:1x6x?"] {
        assert!(matches!(of_instances(text), Err(KeypointsError::InstancesShape(_))), "{text}");
    }
    assert!(matches!(of_points("o:int32:1x17x3"), Err(KeypointsError::Type(_))));
    assert!(matches!(of_points("o:float32:1x0x3"), Err(KeypointsError::Empty(..))));
    let mut reader =
        PointReader::new(&PointOutputs::of(&"o:float32:1x17x3".parse().unwrap()), [192, 192], p).unwrap();
    let data = [0u8; 16 * 3 * 4];
    let view = TensorView::new("o", FLOAT, &[1, 16, 3], &data).unwrap();
    let error = reader.run(&[view], &Affine::IDENTITY).unwrap_err();
    assert!(matches!(error, KeypointsError::Changed { .. }), "{error}");
}

const NAN: f32 = f32::NAN;

/// As sleap-nn's exports have them: pixels, 0 at the first one's centre.
fn pixels() -> CoordinateParams {
    CoordinateParams {
        threshold: 0.2,
        range: None,
        origin: PixelOrigin::Center,
        min_score: 0.0,
        ..CoordinateParams::default()
    }
}

/// An output of float32, described as in "peaks:float32:1x2x2".
struct Output {
    desc: TensorDesc,
    data: Vec<u8>,
}

impl Output {
    fn new(text: &str, values: &[f32]) -> Self {
        Self { desc: text.parse().unwrap(), data: bytemuck::cast_slice(values).to_vec() }
    }

    /// Of booleans.
    fn flags(text: &str, values: &[bool]) -> Self {
        Self { desc: text.parse().unwrap(), data: values.iter().map(|v| u8::from(*v)).collect() }
    }

    fn view(&self) -> TensorView<'_> {
        let dims: Vec<usize> = self.desc.dims.iter().map(|dim| dim.unwrap()).collect();
        TensorView::new(&self.desc.name, self.desc.ty, &dims, &self.data).unwrap()
    }
}

#[test]
fn points_may_have_their_scores_in_an_output_of_their_own_and_nan_is_absent() {
    let at = Output::new("peaks:float32:1x4x2", &[10.0, 20.0, NAN, NAN, 1.0, NAN, 0.0, 0.0]);
    let scores = Output::new("peak_vals:float32:1x4", &[0.9, 0.0, 0.9, 0.25]);
    let outputs = PointOutputs { scores: Some(&scores.desc), ..PointOutputs::of(&at.desc) };
    let mut reader = PointReader::new(&outputs, [64, 64], pixels()).unwrap();
    let (found, outcome) =
        reader.run(&[at.view(), scores.view()], &Affine::upright([2.0, 2.0], [1.0, 0.0])).unwrap();
    // The first pixel's centre is at 0.5.
    let first = Peak { channel: 0, x: 22.0, y: 41.0, score: 0.9 };
    assert_eq!(found.peaks().collect::<Vec<_>>(), [first, Peak { channel: 3, x: 2.0, y: 1.0, score: 0.25 }]);
    assert_eq!(
        outcome.non_finite, 1,
        "half a point is none; both coordinates NaN are a point that is absent"
    );
    let new = |points: &str, scores: &str| {
        let [points, scores] = [points, scores].map(|text| text.parse().unwrap());
        let outputs = PointOutputs { scores: Some(&scores), ..PointOutputs::of(&points) };
        PointReader::new(&outputs, [64, 64], pixels()).map(|reader| reader.format())
    };
    assert_eq!(new("p:float32:?x?x2", "s:float32:?x4"), Ok(PointFormat::Xy));
    assert_eq!(new("p:float32:1x4x3", "s:float32:1x4x1"), Ok(PointFormat::Xyz), "a third number is no score");
    for (points, scores) in [("p:float32:1x4x2", "s:float32:1x5"), ("p:float32:1x4x2", "s:float32:4x1")] {
        assert!(matches!(new(points, scores), Err(KeypointsError::Scores { .. })), "{points} {scores}");
    }
    let error = reader.run(&[at.view()], &Affine::IDENTITY).unwrap_err();
    assert_eq!(error, KeypointsError::Count { got: 1, wanted: 2 });
}

#[test]
fn coordinates_of_a_picture_that_the_network_has_made_smaller_are_scaled_before_the_origin_moves() {
    let at = Output::new("peaks:float32:1x1x2", &[10.0, 20.0]);
    let scores = Output::new("peak_vals:float32:1x1", &[0.9]);
    let params = CoordinateParams { scale: 2.0, ..pixels() };
    let outputs = PointOutputs { scores: Some(&scores.desc), ..PointOutputs::of(&at.desc) };
    let mut reader = PointReader::new(&outputs, [64, 64], params).unwrap();
    let (found, _) = reader.run(&[at.view(), scores.view()], &Affine::IDENTITY).unwrap();
    assert_eq!(found.peaks().map(|peak| (peak.x, peak.y)).collect::<Vec<_>>(), [(20.5, 40.5)]);
    for scale in [0.0, -1.0, NAN, f32::INFINITY] {
        let params = CoordinateParams { scale, ..params };
        let error = PointReader::new(&outputs, [64, 64], params).unwrap_err();
        assert!(matches!(error, KeypointsError::Scale(_)), "{error}");
    }
}

#[test]
fn poses_lie_in_places_of_which_some_are_empty() {
    let at =
        Output::new("peaks:float32:1x3x2x2", &[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0, NAN, NAN]);
    let scores = Output::new("peak_vals:float32:1x3x2", &[0.5, 0.1, 0.0, 0.0, 0.75, 0.0]);
    let of_poses = Output::new("centroid_vals:float32:1x3", &[0.4, 0.0, 0.8]);
    let valid = Output::flags("instance_valid:bool:1x3", &[true, false, true]);
    let outputs = PoseOutputs {
        points: &at.desc,
        scores: Some(&scores.desc),
        poses: Some(&of_poses.desc),
        identities: None,
        valid: Some(&valid.desc),
    };
    let mut reader = PoseReader::new(&outputs, [64, 64], pixels()).unwrap();
    assert_eq!(reader.points(), Some(2));
    let views = [at.view(), scores.view(), of_poses.view(), valid.view()];
    let (poses, outcome) = reader.run(&views, &Affine::IDENTITY).unwrap();
    assert_eq!(outcome, Outcome::default());
    let point = |x, y, score| Some(Keypoint { x, y, z: None, score });
    // The best first; 0.1 is below the threshold of a point, an empty place is no pose.
    let wanted = [(0.8, [point(5.5, 6.5, 0.75), None]), (0.4, [point(1.5, 2.5, 0.5), None])];
    let found: Vec<_> = poses.iter().map(|pose| (pose.score, [pose.points[0], pose.points[1]])).collect();
    assert_eq!(found, wanted);

    // Without scores of poses, the mean of the points'; without a mark, a place without points is empty.
    let outputs = PoseOutputs { poses: None, valid: None, ..outputs };
    let mut reader = PoseReader::new(&outputs, [64, 64], pixels()).unwrap();
    let (poses, _) = reader.run(&views[..2], &Affine::IDENTITY).unwrap();
    assert_eq!(poses.iter().map(|pose| pose.score).collect::<Vec<_>>(), [0.75, 0.5]);

    // One point a pose: centroids.
    let at = Output::new("centroids:float32:1x2x2", &[8.0, 9.0, 1.0, 1.0]);
    let scores = Output::new("centroid_vals:float32:1x2", &[0.6, 0.3]);
    let outputs = PoseOutputs {
        points: &at.desc,
        scores: Some(&scores.desc),
        poses: None,
        identities: None,
        valid: None,
    };
    let mut reader = PoseReader::new(&outputs, [64, 64], pixels()).unwrap();
    assert_eq!(reader.points(), Some(1));
    let (poses, _) = reader.run(&[at.view(), scores.view()], &Affine::IDENTITY).unwrap();
    assert_eq!(poses[0], Pose { score: 0.6, points: vec![point(8.5, 9.5, 0.6)], identity: None });
}

#[test]
fn outputs_of_poses_that_do_not_belong_together_are_refused() {
    let new = |points: &str, scores: &str, valid: &str| {
        let [points, scores, valid] = [points, scores, valid].map(|text| text.parse().unwrap());
        let outputs = PoseOutputs {
            points: &points,
            scores: Some(&scores),
            poses: None,
            identities: None,
            valid: Some(&valid),
        };
        PoseReader::new(&outputs, [64, 64], pixels()).map(|reader| reader.points())
    };
    let (points, scores, valid) = ("p:float32:?x20x2x2", "s:float32:?x20x2", "v:bool:?x20");
    assert_eq!(new(points, scores, valid), Ok(Some(2)));
    assert_eq!(new("p:float32:?x?x?x2", "s:float32:?x?x?", "v:bool:?x?"), Ok(None));
    assert_eq!(new("p:float32:1x20x2x3", scores, valid), Ok(Some(2)), "a third number is no score");
    for points in ["p:float32:1x20x2", "p:float32:20x2", "p:float32:4x20x2x2", "p:float32:1x20x2x?"] {
        let error = new(points, scores, valid).unwrap_err();
        assert!(
            matches!(
                error,
                KeypointsError::PosesShape(_)
                    | KeypointsError::PointsShape(_)
                    | KeypointsError::Scores { .. }
            ),
            "{points}: {error}"
        );
    }
    assert!(matches!(new(points, "s:float32:?x20x3", valid), Err(KeypointsError::Scores { .. })));
    assert!(matches!(new(points, scores, "v:bool:?x21"), Err(KeypointsError::Scores { .. })));
    assert!(matches!(new("p:int32:?x20x2x2", scores, valid), Err(KeypointsError::Type(_))));
}

/// Two points, an edge between them, and three places for each point's peaks.
fn candidates(lines: &[f32], valid: &[bool]) -> (Vec<Pose>, Outcome) {
    let at = [10.0, 10.0, 30.0, 10.0, 0.0, 0.0, 12.0, 20.0, 32.0, 20.0, NAN, NAN];
    let at = Output::new("peaks:float32:1x2x3x2", &at);
    let scores = Output::new("peak_vals:float32:1x2x3", &[0.9, 0.8, -1e9, 0.7, 0.6, -1e9]);
    let lines = Output::new("line_scores:float32:1x1x9", lines);
    let valid = Output::flags("peak_mask:bool:1x2x3", valid);
    let outputs = CandidateOutputs {
        points: &at.desc,
        scores: &scores.desc,
        lines: &lines.desc,
        valid: Some(&valid.desc),
    };
    let paf = PafParams::new(PafConvention::Sleap, 2, &[[0, 1]]);
    let mut reader = CandidateReader::new(&outputs, [64, 64], pixels(), &paf).unwrap();
    reader.run(&[at.view(), scores.view(), lines.view(), valid.view()], &Affine::IDENTITY).unwrap()
}

#[test]
fn candidates_are_assigned_for_the_best_sum_of_their_lines() {
    // From the first point's peaks, row by row. Greedily 0-0 would win with 0.9, and 1-1 be left with -1; the sum of the others is larger.
    let lines = [0.9, 0.8, -2.0, 0.7, -1.0, -2.0, -2.0, -2.0, -2.0];
    let both = [true, true, false, true, true, false];
    let (poses, outcome) = candidates(&lines, &both);
    let xs = |pose: &Pose| pose.points.iter().map(|point| point.map(|point| point.x)).collect::<Vec<_>>();
    assert_eq!(outcome, Outcome::default());
    assert_eq!(
        poses.iter().map(xs).collect::<Vec<_>>(),
        [[Some(10.5), Some(32.5)], [Some(30.5), Some(12.5)]]
    );
    assert_eq!(poses.iter().map(|pose| pose.score).collect::<Vec<_>>(), [0.8, 0.7]);
    // A peak that is none is joined with nothing, and a line that is too weak joins nothing.
    let (poses, _) = candidates(&lines, &[true, false, false, true, true, false]);
    assert_eq!(poses.iter().map(xs).collect::<Vec<_>>(), [[Some(10.5), Some(12.5)]]);
    let (poses, outcome) = candidates(&[0.2, 0.1, -2.0, NAN, 0.1, -2.0, -2.0, -2.0, -2.0], &both);
    assert_eq!((poses.len(), outcome.non_finite), (0, 1));
}

#[test]
fn candidates_that_do_not_fit_the_skeleton_are_refused() {
    let new = |points: &str, scores: &str, lines: &str, edges: &[[usize; 2]]| {
        let [points, scores, lines] = [points, scores, lines].map(|text| text.parse().unwrap());
        let outputs = CandidateOutputs { points: &points, scores: &scores, lines: &lines, valid: None };
        let paf = PafParams::new(PafConvention::Sleap, 2, edges);
        CandidateReader::new(&outputs, [64, 64], pixels(), &paf).map(|_| ())
    };
    let (points, scores, lines, edge) =
        ("p:float32:?x2x20x2", "s:float32:?x2x20", "l:float32:?x1x400", &[[0, 1]][..]);
    assert_eq!(new(points, scores, lines, edge), Ok(()));
    let error = new("p:float32:?x3x20x2", scores, lines, edge).unwrap_err().to_string();
    assert!(error.contains("1x2xPx2"), "{error}");
    let error = new(points, scores, "l:float32:?x2x400", edge).unwrap_err().to_string();
    assert!(error.contains("'l:float32:?x2x400'") && error.contains("1x1xL"), "{error}");
    assert!(matches!(new(points, scores, "l:float32:?x1x20", edge), Err(KeypointsError::Candidates { .. })));
    assert!(matches!(new(points, "s:float32:?x2x21", lines, edge), Err(KeypointsError::Scores { .. })));
    assert!(matches!(new(points, scores, lines, &[]), Err(KeypointsError::Skeleton(_))));
}

/// The number of each individual, and its probability in hundredths.
fn identities(poses: &[Pose]) -> Vec<Option<(usize, i32)>> {
    let hundredths = |identity: Identity| (identity.index, (identity.probability * 100.0).round() as i32);
    poses.iter().map(|pose| pose.identity.map(hundredths)).collect()
}

#[test]
fn a_pose_is_one_individual_and_no_other_pose_is_the_same() {
    let at = Output::new("peaks:float32:1x3x1x2", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let scores = Output::new("peak_vals:float32:1x3x1", &[0.5, 0.6, 0.7]);
    let of_poses = Output::new("centroid_vals:float32:1x3", &[0.4, 0.5, 0.6]);
    // Before the softmax: 0.73 and 0.27, an empty place, 0.5 and 0.5.
    let logits = Output::new("class_logits:float32:1x3x2", &[1.0, 0.0, 9.0, 0.0, 2.0, 2.0]);
    let valid = Output::flags("instance_valid:bool:1x3", &[true, false, true]);
    let outputs = PoseOutputs {
        points: &at.desc,
        scores: Some(&scores.desc),
        poses: Some(&of_poses.desc),
        identities: Some(&logits.desc),
        valid: Some(&valid.desc),
    };
    let mut reader = PoseReader::new(&outputs, [64, 64], pixels()).unwrap();
    let views = [at.view(), scores.view(), of_poses.view(), logits.view(), valid.view()];
    let (poses, _) = reader.run(&views, &Affine::IDENTITY).unwrap();
    assert_eq!(identities(&poses), [Some((1, 50)), Some((0, 73))], "the best pose comes first");
    let outputs = PoseOutputs { poses: None, valid: None, ..outputs };
    let mut reader = PoseReader::new(&outputs, [64, 64], pixels()).unwrap();
    let views = [at.view(), scores.view(), logits.view()];
    let (poses, _) = reader.run(&views, &Affine::IDENTITY).unwrap();
    // Three poses are at most two individuals.
    assert_eq!(identities(&poses), [Some((1, 50)), Some((0, 100)), None]);
    let wrong = "class_logits:float32:1x4x2".parse().unwrap();
    let error = PoseReader::new(&PoseOutputs { identities: Some(&wrong), ..outputs }, [64, 64], pixels());
    assert!(matches!(error, Err(KeypointsError::Scores { .. })));
}

#[test]
fn the_points_of_a_crop_come_with_probabilities_of_whom_it_shows() {
    let at = Output::new("peaks:float32:1x1x2", &[1.0, 2.0]);
    let scores = Output::new("peak_vals:float32:1x1", &[0.5]);
    let logits = Output::new("class_logits:float32:1x3", &[0.0, 0.0, -200.0]);
    let new = |scores: Option<&TensorDesc>, logits: &TensorDesc| {
        let outputs = PointOutputs { scores, identities: Some(logits), ..PointOutputs::of(&at.desc) };
        PointReader::new(&outputs, [64, 64], pixels())
    };
    let mut reader = new(Some(&scores.desc), &logits.desc).unwrap();
    let (points, _) = reader.run(&[at.view(), scores.view(), logits.view()], &Affine::IDENTITY).unwrap();
    assert_eq!((points.peaks().count(), &points.identities[..]), (1, &[0.5, 0.5, 0.0][..]));
    let wrong = "class_logits:float32:1x1x3".parse().unwrap();
    for error in [new(Some(&scores.desc), &wrong), new(None, &logits.desc)] {
        assert!(matches!(error, Err(KeypointsError::IdentitiesShape(_))));
    }
}

#[test]
fn peaks_belong_to_the_individuals_that_they_are_taken_for() {
    let at = [10.0, 10.0, 30.0, 10.0, 0.0, 0.0, 12.0, 20.0, 32.0, 20.0, 40.0, 20.0];
    let at = Output::new("peaks:float32:1x2x3x2", &at);
    let scores = Output::new("peak_vals:float32:1x2x3", &[0.9, 0.8, 0.9, 0.7, 0.6, 0.5]);
    // Of the second point, the third peak would be the first individual's, which has one.
    let probabilities = [0.2, 0.8, 0.7, 0.3, 0.9, 0.1, 0.9, 0.1, 0.3, 0.6, 0.8, 0.2];
    let of_peaks = Output::new("class_probs:float32:1x2x3x2", &probabilities);
    let valid = Output::flags("peak_mask:bool:1x2x3", &[true, true, false, true, true, true]);
    let outputs = IndividualOutputs {
        points: &at.desc,
        scores: &scores.desc,
        identities: &of_peaks.desc,
        valid: Some(&valid.desc),
    };
    let mut reader = IndividualReader::new(&outputs, [64, 64], pixels()).unwrap();
    assert_eq!(reader.points(), Some(2));
    let views = [at.view(), scores.view(), of_peaks.view(), valid.view()];
    let (poses, outcome) = reader.run(&views, &Affine::IDENTITY).unwrap();
    assert_eq!(outcome, Outcome::default());
    let xs = |pose: &Pose| pose.points.iter().map(|point| point.map(|point| point.x)).collect::<Vec<_>>();
    let wanted = [[Some(30.5), Some(12.5)], [Some(10.5), Some(32.5)]];
    assert_eq!(poses.iter().map(xs).collect::<Vec<_>>(), wanted);
    assert_eq!(identities(&poses), [Some((0, 80)), Some((1, 70))]);
    assert_eq!((poses[0].score, poses[1].score), (0.75, 0.75));
    // The one peak that is there gets the individual that it looks like most, and the other individual is not seen.
    let valid = Output::flags("peak_mask:bool:1x2x3", &[true, false, false, false, false, false]);
    let views = [at.view(), scores.view(), of_peaks.view(), valid.view()];
    let (poses, _) = reader.run(&views, &Affine::IDENTITY).unwrap();
    assert_eq!(identities(&poses), [Some((1, 80))]);
    let parsed = |text: &str| text.parse::<TensorDesc>().unwrap();
    for (points, scores, of_peaks) in [
        ("p:float32:1x2x3x3", "s:float32:1x2x3", "i:float32:1x2x3x2"),
        ("p:float32:1x2x3x2", "s:float32:1x2x4", "i:float32:1x2x3x2"),
        ("p:float32:1x2x3x2", "s:float32:1x2x3", "i:float32:1x2x4x2"),
    ] {
        let [points, scores, of_peaks] = [points, scores, of_peaks].map(parsed);
        let outputs =
            IndividualOutputs { points: &points, scores: &scores, identities: &of_peaks, valid: None };
        let error = IndividualReader::new(&outputs, [64, 64], pixels()).unwrap_err();
        assert!(matches!(error, KeypointsError::PeaksShape(_) | KeypointsError::Scores { .. }), "{error}");
    }
}
