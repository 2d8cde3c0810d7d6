//! SCRFD and YuNet against f64 references written from InsightFace's `scrfd.py` and OpenCV's `face_detect.cpp`.
//!
//! Tolerance 2e-3 frame pixels, as for the other decoders: float32 holds coordinates of 1000 to 6e-5, exponentials lose a few
//! units more, and the map to the frame multiplies by 3. Confidences: 1e-6.

use super::*;

const MAP: Affine = Affine::upright([3.0, 2.5], [500.0, 510.0]);
const FRAME: [usize; 2] = [1900, 1900];
const THRESHOLD: f32 = 0.5;

/// Confidence, corners and landmarks in tensor pixels.
type Face = (f64, [f64; 4], Vec<[f64; 2]>);

/// Outputs of one meaning at each stride, with the values of a stride one after the other.
struct Outputs {
    name: &'static str,
    columns: usize,
    levels: Vec<Vec<f32>>,
}

impl Outputs {
    fn new(name: &'static str, columns: usize, rows: &[usize], mut value: impl FnMut() -> f32) -> Self {
        let levels = rows.iter().map(|rows| (0..rows * columns).map(|_| value()).collect()).collect();
        Self { name, columns, levels }
    }

    /// Without a dimension for the batch where `flat`.
    fn tensors(&self, flat: bool) -> Vec<Tensor> {
        let tensor = |values: &Vec<f32>| {
            let dims = [1, values.len() / self.columns, self.columns];
            Tensor::new(self.name, if flat { &dims[1..] } else { &dims }, values)
        };
        self.levels.iter().map(tensor).collect()
    }
}

/// Column, row and stride of each cell of a level.
fn cells(input: [usize; 2], stride: usize) -> Vec<[f64; 2]> {
    let [columns, rows] = input.map(|side| side.div_ceil(stride));
    (0..columns * rows).map(|i| [(i % columns) as f64, (i / columns) as f64]).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// What is found in `tensors` must be `all` above the threshold.
fn compare(tensors: &[Tensor], input: [usize; 2], hints: &Hints, kind: DecoderKind, mut all: Vec<Face>) {
    let decoder = choose(&descs(tensors), input, None, hints).unwrap();
    let points = all[0].2.len();
    assert_eq!((decoder.kind(), decoder.classes(), decoder.keypoints()), (kind, Some(1), points));
    assert!(decoder.is_proven());
    let mut detector = Detector::new(decoder, open_params(THRESHOLD)).unwrap();
    let (found, _) = run(&mut detector, tensors, &MAP, FRAME);
    all.retain(|face| face.0 > f64::from(THRESHOLD));
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(all.len() > 8, "{}", all.len());
    assert_eq!(found.len(), all.len());
    let frame = |x: f64, y: f64| [x * MAP.scale[0] + MAP.offset[0], y * MAP.scale[1] + MAP.offset[1]];
    let close = |a: f32, b: f64| (f64::from(a) - b).abs() < 2e-3;
    for (got, (confidence, [x1, y1, x2, y2], _)) in found.iter().zip(&all) {
        assert!(
            (f64::from(got.confidence) - confidence).abs() < 1e-6 && got.class == 0,
            "{got:?} {confidence}"
        );
        let ([left, top], [right, bottom]) = (frame(*x1, *y1), frame(*x2, *y2));
        let r = got.rect;
        let edges = [(r.x, left), (r.y, top), (r.right(), right), (r.bottom(), bottom)];
        assert!(edges.iter().all(|(got, wanted)| close(*got, *wanted)), "{got:?} {edges:?}");
    }
    let keypoints = &detector.attached().keypoints;
    assert_eq!(keypoints.len(), found.len() * points);
    for ([x, y, score], [wx, wy]) in keypoints.iter().zip(all.iter().flat_map(|face| &face.2)) {
        let [wx, wy] = frame(*wx, *wy);
        assert!(close(*x, wx) && close(*y, wy) && *score == 1.0, "{x} {y} {score}, not {wx} {wy}");
    }
}

#[test]
fn scrfd_equals_its_reference_in_every_number_of_strides_anchors_and_landmarks() {
    for (input, strides, per_cell, landmarks, flat) in [
        ([96, 64], vec![8, 16, 32], 2, 5, true),
        ([96, 64], vec![8, 16, 32], 2, 0, false),
        ([160, 130], vec![8, 16, 32, 64], 2, 5, false),
        ([64, 96], vec![8, 16, 32], 1, 3, false),
    ] {
        let mut random = Random(7);
        let rows: Vec<_> = strides.iter().map(|s| cells(input, *s).len() * per_cell).collect();
        let scores = Outputs::new("scores", 1, &rows, || random.unit());
        let boxes = Outputs::new("boxes", 4, &rows, || random.within(0.2, 2.0));
        let points = Outputs::new("kps", 2 * landmarks.max(1), &rows, || random.within(-1.5, 1.5));
        let mut expected = vec![];
        for (level, stride) in strides.iter().enumerate() {
            for (i, score) in scores.levels[level].iter().enumerate() {
                // np.stack(np.mgrid[:height, :width][::-1]) * stride, each twice with two anchors.
                let [x, y] = cells(input, *stride)[i / per_cell].map(|v| v * *stride as f64);
                let s = *stride as f64;
                let sides = wide(&boxes.levels[level][4 * i..][..4]);
                let corners = [x - sides[0] * s, y - sides[1] * s, x + sides[2] * s, y + sides[3] * s];
                let width = 2 * landmarks;
                let points = wide(&points.levels[level][width * i..][..width]);
                let points = points.chunks(2).map(|p| [x + p[0] * s, y + p[1] * s]).collect();
                expected.push((f64::from(*score), corners, points));
            }
        }
        let mut tensors = scores.tensors(flat);
        tensors.extend(boxes.tensors(flat));
        if landmarks > 0 {
            tensors.extend(points.tensors(flat));
        }
        let hints = Hints { strides, ..Hints::default() };
        compare(&tensors, input, &hints, DecoderKind::Scrfd, expected.clone());
        // Their rows and columns say what they are, not their order.
        tensors.reverse();
        compare(&tensors, input, &hints, DecoderKind::Scrfd, expected);
    }
}

#[test]
fn yunet_equals_its_reference_with_and_without_landmarks() {
    for (input, landmarks) in [([96, 64], 5), ([130, 97], 5), ([64, 96], 0)] {
        let (mut random, strides) = (Random(11), [8, 16, 32]);
        let rows = strides.map(|s| cells(input, s).len());
        // Scores below 0 and above 1 count as 0 and as 1.
        let classes = Outputs::new("cls", 1, &rows, || random.within(-0.1, 1.2));
        let objects = Outputs::new("obj", 1, &rows, || random.within(-0.1, 1.2));
        let boxes = Outputs::new("bbox", 4, &rows, || random.within(-0.5, 1.5));
        let points = Outputs::new("kps", 2 * landmarks.max(1), &rows, || random.within(-1.5, 1.5));
        let mut expected = vec![];
        for (level, stride) in strides.iter().enumerate() {
            for (i, [column, row]) in cells(input, *stride).into_iter().enumerate() {
                let s = *stride as f64;
                let share = |outputs: &Outputs| f64::from(outputs.levels[level][i]).clamp(0.0, 1.0);
                let confidence = (share(&classes) * share(&objects)).sqrt();
                let b = wide(&boxes.levels[level][4 * i..][..4]);
                let (x, y, w, h) = ((column + b[0]) * s, (row + b[1]) * s, b[2].exp() * s, b[3].exp() * s);
                let width = 2 * landmarks;
                let points = wide(&points.levels[level][width * i..][..width]);
                let points = points.chunks(2).map(|p| [(p[0] + column) * s, (p[1] + row) * s]).collect();
                let corners = [x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0];
                expected.push((confidence, corners, points));
            }
        }
        // Of equal confidences the first anchor is first: the sort is stable.
        let mut tensors = classes.tensors(false);
        tensors.extend(objects.tensors(false));
        tensors.extend(boxes.tensors(false));
        if landmarks > 0 {
            tensors.extend(points.tensors(false));
        }
        compare(&tensors, input, &Hints::default(), DecoderKind::Yunet, expected.clone());
        tensors.reverse();
        compare(&tensors, input, &Hints::default(), DecoderKind::Yunet, expected);
    }
}

/// Twelve tensors of a YuNet in which nothing is found, at 64x64.
fn empty_yunet() -> Vec<Tensor> {
    let rows = [64, 16, 4];
    [("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)]
        .into_iter()
        .flat_map(|(name, columns)| Outputs::new(name, columns, &rows, || 0.0).tensors(false))
        .collect()
}

#[test]
fn a_broken_score_of_either_kind_drops_the_anchor_and_a_broken_landmark_is_not_there() {
    let mut tensors = empty_yunet();
    let set = |tensor: &mut Tensor, at: usize, value: f32| {
        tensor.bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes());
    };
    set(&mut tensors[0], 10, f32::NAN);
    set(&mut tensors[3], 20, f32::INFINITY);
    for tensor in [1, 4] {
        set(&mut tensors[tensor], 5, 0.75);
    }
    // The second landmark's x, in the middle stride.
    set(&mut tensors[10], 5 * 10 + 2, f32::NAN);
    let decoder = choose(&descs(&tensors), [64, 64], None, &Hints::default()).unwrap();
    let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
    let (found, outcome) = run(&mut detector, &tensors, &Affine::IDENTITY, [64, 64]);
    assert_eq!((found.len(), outcome.non_finite, outcome.candidates), (1, 2, 1));
    assert_eq!(found[0].confidence, 0.75);
    // The cell 1, 1 of stride 16, which is not centred: offsets of 0 are its corner.
    assert_eq!(found[0].rect, Rect { x: 8.0, y: 8.0, w: 16.0, h: 16.0 });
    let there = [16.0, 16.0, 1.0];
    assert_eq!(detector.attached().keypoints, [there, [0.0; 3], there, there, there]);
}

#[test]
fn outputs_of_open_length_are_read_by_their_actual_rows() {
    let open =
        |columns| TensorDesc { name: "o".into(), ty: TensorType::Float32, dims: vec![None, Some(columns)] };
    let descs: Vec<_> = [1, 1, 1, 4, 4, 4, 10, 10, 10].map(open).into();
    let decoder = choose(&descs, [64, 64], None, &Hints::default()).unwrap();
    assert_eq!((decoder.kind(), decoder.keypoints()), (DecoderKind::Scrfd, 5));
    let rows = [128, 32, 8];
    let mut tensors: Vec<_> = [("scores", 1), ("boxes", 4), ("kps", 10)]
        .into_iter()
        .flat_map(|(name, columns)| Outputs::new(name, columns, &rows, || 0.5).tensors(true))
        .collect();
    let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
    let (found, _) = run(&mut detector, &tensors, &Affine::IDENTITY, [100, 100]);
    assert_eq!(found.len(), 168);
    // With one anchor a cell.
    tensors[1] = Tensor::new("short", &[16, 1], &[0.5; 16]);
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let error = detector.run(&views, &Affine::IDENTITY, [100, 100], &mut vec![]).unwrap_err().to_string();
    assert!(error.contains("'short' has the shape [16, 1]") && error.contains("128, 32, 8"), "{error}");
}

#[test]
fn what_faces_have_no_use_for_is_refused() {
    let tensors = empty_yunet();
    for (hints, wrong) in [
        (Hints { normalized: Some(true), ..Hints::default() }, "normalized"),
        (Hints { box_format: Some(BoxFormat::Corners), ..Hints::default() }, "box format"),
        (Hints { activation: Some(Activation::Softmax), ..Hints::default() }, "softmax"),
        (Hints { background: Some(Background::First), ..Hints::default() }, "background"),
        (Hints { classes: Some(2), ..Hints::default() }, "1 class as yunet reads them"),
        (Hints { keypoints: Some(4), ..Hints::default() }, "5 as yunet reads them"),
        (Hints { strides: vec![8, 16], ..Hints::default() }, "Ns = 64, 16 with strides 8, 16 at 64x64"),
    ] {
        let error = choose(&descs(&tensors), [64, 64], Some(DecoderKind::Yunet), &hints).unwrap_err();
        assert!(error.to_string().contains(wrong), "{error}");
    }
}
