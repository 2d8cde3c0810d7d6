//! Against a reference in f64 that shares no code, and on scenes whose instances are known.

mod deeplabcut;
mod reference;

use half::f16;

use super::*;
use crate::group::Keypoint;
use crate::peaks::{Grid, Refinement};
use crate::preproc::Layout;
use crate::tensor::TensorType;

const INPUT: usize = 64;
/// Maps of every second pixel, fields of every fourth.
const MAP: usize = INPUT / 2;
const FIELD: usize = INPUT / 4;

fn peaks() -> PeakParams {
    PeakParams {
        refinement: Refinement::None,
        layout: Some(Layout::Nchw),
        grid: Some(Grid::Strided),
        threshold: 0.2,
        ..PeakParams::default()
    }
}

/// Maps and fields of people, whose points are at pixels with even numbers (so that no refinement is needed), or missing.
struct Scene {
    maps: Vec<f32>,
    fields: Vec<f32>,
    points: usize,
    edges: Vec<[usize; 2]>,
}

impl Scene {
    fn new(points: usize, edges: &[[usize; 2]]) -> Self {
        Self {
            maps: vec![0.0; points * MAP * MAP],
            fields: vec![0.0; 2 * edges.len() * FIELD * FIELD],
            points,
            edges: edges.to_vec(),
        }
    }

    fn peak(&mut self, point: usize, [x, y]: [usize; 2], value: f32) {
        self.maps[(point * MAP + y / 2) * MAP + x / 2] = value;
    }

    /// A field's cells within 5 pixels of the line get the line's direction, added up where lines cross.
    fn limb(&mut self, edge: usize, a: [usize; 2], b: [usize; 2]) {
        let [a, b] = [a, b].map(|p| p.map(|v| v as f64));
        let way = [b[0] - a[0], b[1] - a[1]];
        let length = way[0].hypot(way[1]);
        let unit = [way[0] / length, way[1] / length];
        for (y, x) in (0..FIELD * FIELD).map(|i| (i / FIELD, i % FIELD)) {
            let to = [4.0 * x as f64 - a[0], 4.0 * y as f64 - a[1]];
            let along = to[0] * unit[0] + to[1] * unit[1];
            let across = (to[0] * unit[1] - to[1] * unit[0]).abs();
            if (-2.0..=length + 2.0).contains(&along) && across <= 5.0 {
                for (i, u) in unit.iter().enumerate() {
                    self.fields[((2 * edge + i) * FIELD + y) * FIELD + x] += *u as f32;
                }
            }
        }
    }

    fn person(&mut self, at: &[Option<[usize; 2]>], value: f32) {
        for (point, at) in at.iter().enumerate().filter_map(|(point, at)| Some((point, (*at)?))) {
            self.peak(point, at, value);
        }
        for (edge, [from, to]) in self.edges.clone().into_iter().enumerate() {
            if let (Some(a), Some(b)) = (at[from], at[to]) {
                self.limb(edge, a, b);
            }
        }
    }

    fn params(&self, convention: PafConvention) -> PafParams {
        PafParams { min_points: 0, min_score: 0.0, ..PafParams::new(convention, self.points, &self.edges) }
    }

    fn run(&self, params: &PafParams) -> (Vec<Pose>, Outcome) {
        self.run_with(params, peaks(), &Affine::IDENTITY)
    }

    fn run_with(&self, params: &PafParams, peaks: PeakParams, to_frame: &Affine) -> (Vec<Pose>, Outcome) {
        let [maps, fields] = self.outputs();
        run(&maps, &fields, params, peaks, to_frame)
    }

    fn outputs(&self) -> [Output; 2] {
        [
            Output::new("maps", [1, self.points, MAP, MAP], &self.maps),
            Output::new("pafs", [1, 2 * self.edges.len(), FIELD, FIELD], &self.fields),
        ]
    }
}

/// A tensor in memory.
struct Output {
    name: &'static str,
    ty: TensorType,
    dims: [usize; 4],
    data: Vec<u8>,
}

impl Output {
    fn new(name: &'static str, dims: [usize; 4], data: &[f32]) -> Self {
        Self { name, ty: TensorType::Float32, dims, data: bytemuck::cast_slice(data).to_vec() }
    }

    /// The same values in the other type, and channels last.
    fn otherwise(&self) -> Self {
        let [_, c, h, w] = self.dims;
        let data: &[f32] = bytemuck::cast_slice(&self.data);
        let last = (0..c * h * w).map(|i| data[i % c * h * w + i / c]);
        Self {
            ty: TensorType::Float16,
            dims: [1, h, w, c],
            data: last.flat_map(|v| f16::from_f32(v).to_le_bytes()).collect(),
            ..*self
        }
    }

    fn desc(&self) -> TensorDesc {
        TensorDesc::fixed(self.name, self.ty, &self.dims)
    }

    fn view(&self) -> TensorView<'_> {
        TensorView::new(self.name, self.ty, &self.dims, &self.data).unwrap()
    }
}

fn run(
    maps: &Output,
    fields: &Output,
    params: &PafParams,
    peaks: PeakParams,
    to_frame: &Affine,
) -> (Vec<Pose>, Outcome) {
    let mut grouper = PafGrouper::new(&maps.desc(), &fields.desc(), [INPUT; 2], peaks, params).unwrap();
    // Twice, into a vector that is not empty: its old contents must be gone.
    let mut poses = vec![Pose::default()];
    grouper.run(&maps.view(), &fields.view(), to_frame, &mut poses).unwrap();
    let outcome = grouper.run(&maps.view(), &fields.view(), to_frame, &mut poses).unwrap();
    (poses, outcome)
}

/// The pixels that the points of each instance came from.
fn pixels(poses: &[Pose]) -> Vec<Vec<Option<[usize; 2]>>> {
    let pixel = |point: &Keypoint| [point.x, point.y].map(|v| (v - 0.5) as usize);
    poses.iter().map(|pose| pose.points.iter().map(|p| p.as_ref().map(pixel)).collect()).collect()
}

const BOTH: [PafConvention; 2] = [PafConvention::Sleap, PafConvention::OpenPose];
/// Head, thorax, tail, and a leg at the thorax.
const FLY: [[usize; 2]; 3] = [[0, 1], [1, 2], [1, 3]];

#[test]
fn two_that_cross_are_distinguished_in_every_layout_and_type() {
    let mut scene = Scene::new(4, &FLY);
    let falling = [Some([8, 8]), Some([28, 28]), Some([52, 52]), Some([20, 40])];
    let rising = [Some([8, 52]), Some([36, 24]), Some([56, 4]), Some([48, 40])];
    scene.person(&falling, 0.9);
    scene.person(&rising, 0.8);
    for convention in BOTH {
        let params = scene.params(convention);
        let (poses, outcome) = scene.run(&params);
        assert_eq!(outcome, Outcome::default());
        let mut got = pixels(&poses);
        got.sort();
        let mut want = vec![falling.to_vec(), rising.to_vec()];
        want.sort();
        assert_eq!(got, want, "{convention:?}");
        assert!(poses.is_sorted_by(|a, b| a.score >= b.score));
        let [maps, fields] = scene.outputs();
        let peaks = PeakParams { layout: Some(Layout::Nhwc), ..peaks() };
        let (last, _) = run(&maps.otherwise(), &fields.otherwise(), &params, peaks, &Affine::IDENTITY);
        assert_eq!(pixels(&last), pixels(&poses), "{convention:?}");
        // Unit vectors, as nearly as float16 has them.
        assert!(last.iter().zip(&poses).all(|(a, b)| (a.score - b.score).abs() < 4e-3));
    }
}

#[test]
fn fields_are_spread_over_what_the_maps_of_a_stated_stride_cover() {
    let mut scene = Scene::new(4, &FLY);
    scene.person(&[Some([8, 8]), Some([28, 28]), Some([52, 52]), Some([20, 40])], 0.9);
    scene.person(&[Some([8, 52]), Some([36, 24]), Some([56, 4]), Some([48, 40])], 0.8);
    let params = scene.params(PafConvention::Sleap);
    let (of_all, _) = scene.run(&params);
    assert_eq!(of_all.len(), 2);
    // A smaller input, which the network has padded to that.
    let peaks = PeakParams { stride: Some(2.0), ..peaks() };
    let [maps, fields] = scene.outputs();
    let mut grouper = PafGrouper::new(&maps.desc(), &fields.desc(), [60, 57], peaks, &params).unwrap();
    let mut poses = Vec::new();
    grouper.run(&maps.view(), &fields.view(), &Affine::IDENTITY, &mut poses).unwrap();
    assert_eq!(poses, of_all);
}

#[test]
fn what_is_missing_is_left_out_and_a_missing_joint_parts_an_instance() {
    let mut scene = Scene::new(4, &FLY);
    let without_tail = [Some([8, 8]), Some([28, 8]), None, Some([28, 28])];
    let without_thorax = [Some([8, 48]), None, Some([48, 48]), Some([28, 60])];
    scene.person(&without_tail, 0.9);
    scene.person(&without_thorax, 0.9);
    for convention in BOTH {
        let (poses, _) = scene.run(&scene.params(convention));
        assert_eq!(pixels(&poses), [without_tail.to_vec()], "{convention:?}");
        let too_few = PafParams { min_points: 4, ..scene.params(convention) };
        assert_eq!(scene.run(&too_few).0, []);
        let too_weak = PafParams { min_score: 2.5, ..scene.params(convention) };
        assert_eq!(scene.run(&too_weak).0, []);
    }
}

#[test]
fn scores_are_those_of_the_definitions() {
    // One limb of 40 pixels along x, whose field is 1 at every sample.
    let mut scene = Scene::new(2, &[[0, 1]]);
    scene.person(&[Some([8, 20]), Some([48, 20])], 0.5);
    let score = |params: PafParams| scene.run(&params).0[0].score;
    // Longer than a quarter of 64 pixels: the penalty is 16 / 40 - 1.
    let sleap = PafParams { min_line_score: -1.0, ..scene.params(PafConvention::Sleap) };
    assert!((score(sleap.clone()) - (1.0 - 0.6)).abs() < 1e-6);
    assert!((score(PafParams { length_weight: 0.5, ..sleap.clone() }) - 0.7).abs() < 1e-6);
    assert!((score(PafParams { max_length: 1.0, ..sleap }) - 1.0).abs() < 1e-6);
    // Half of 64: 32 / 40 - 1; two points of 0.5 and a line of 0.8, over two points.
    assert!((score(scene.params(PafConvention::OpenPose)) - (0.5 + 0.5 + 0.8) / 2.0).abs() < 1e-6);
}

#[test]
fn equal_scores_go_to_the_first_in_scan_order_and_coincident_peaks_are_no_line() {
    // Two tails at the same distance, in a field that is the same for both.
    let mut scene = Scene::new(2, &[[0, 1]]);
    scene.peak(0, [32, 32], 0.9);
    for tail in [[44, 44], [44, 20]] {
        scene.peak(1, tail, 0.9);
    }
    scene.fields[..FIELD * FIELD].fill(1.0);
    for convention in BOTH {
        let (poses, _) = scene.run(&scene.params(convention));
        assert_eq!(pixels(&poses), [[Some([32, 32]), Some([44, 20])]], "{convention:?}");
    }
    let mut scene = Scene::new(2, &[[0, 1]]);
    scene.fields.fill(1.0);
    scene.peak(0, [32, 32], 0.9);
    scene.peak(1, [32, 32], 0.9);
    for convention in BOTH {
        assert_eq!(scene.run(&scene.params(convention)).0, []);
    }
}

#[test]
fn one_tensor_may_hold_maps_background_and_fields() {
    let mut scene = Scene::new(2, &[[0, 1]]);
    let person = [Some([8, 20]), Some([28, 20])];
    scene.person(&person, 0.5);
    // Both on the fields' grid: the two maps, the background, the fields.
    let mut data = Vec::new();
    for (point, at) in person.iter().enumerate() {
        let mut map = [0.0; FIELD * FIELD];
        map[at.unwrap()[1] / 4 * FIELD + at.unwrap()[0] / 4] = 0.5;
        assert_eq!(data.len(), point * FIELD * FIELD);
        data.extend(map);
    }
    data.extend([0.9; FIELD * FIELD]);
    data.extend(&scene.fields);
    let all = Output::new("all", [1, 5, FIELD, FIELD], &data);
    let params = scene.params(PafConvention::OpenPose);
    let (poses, _) = run(&all, &all, &params, peaks(), &Affine::IDENTITY);
    assert_eq!(pixels(&poses), [person.to_vec()]);
    let given = PafParams { channels: Some(vec![3]), ..params };
    assert_eq!(run(&all, &all, &given, peaks(), &Affine::IDENTITY).0, poses);
}

#[test]
fn values_that_are_not_finite_count_as_nothing_and_are_counted() {
    let mut scene = Scene::new(2, &[[0, 1]]);
    scene.person(&[Some([8, 20]), Some([44, 20])], 0.5);
    let params = PafParams { max_length: 1.0, min_share: 0.0, ..scene.params(PafConvention::Sleap) };
    // The samples are the cells 2 to 11 of row 5; x of one, y of another.
    scene.fields[5 * FIELD + 4] = f32::NAN;
    scene.fields[FIELD * FIELD + 5 * FIELD + 6] = f32::INFINITY;
    let (poses, outcome) = scene.run(&params);
    assert_eq!(outcome, Outcome { non_finite: 2, truncated: 0, limited: false });
    assert!((poses[0].score - 0.8).abs() < 1e-6, "{poses:?}");
    // With interpolation, samples on both sides of a cell read it.
    let params = PafParams { convention: PafConvention::OpenPose, ..params };
    let interpolated = scene.run(&params).1.non_finite;
    assert!((3..=6).contains(&interpolated), "{interpolated}");
    scene.maps[0] = f32::NAN;
    assert_eq!(scene.run(&params).1.non_finite, interpolated + 1);
    scene.fields.fill(f32::NAN);
    assert_eq!(scene.run(&params).0, []);
}

#[test]
fn a_channel_keeps_its_strongest_peaks_and_counts_the_others() {
    let mut scene = Scene::new(2, &[[0, 1]]);
    for i in 0..200 {
        scene.peak(i % 2, [i % 16 / 2 * 8, i / 16 * 4], 0.3);
    }
    scene.person(&[Some([8, 60]), Some([20, 60])], 0.9);
    let peaks = PeakParams { top_k: 1, ..peaks() };
    for convention in BOTH {
        let (poses, outcome) = scene.run_with(&scene.params(convention), peaks, &Affine::IDENTITY);
        assert_eq!(pixels(&poses), [[Some([8, 60]), Some([20, 60])]]);
        assert!(outcome.truncated >= 150, "{outcome:?}");
    }
}

#[test]
fn a_turned_region_gives_the_same_instance_in_the_frame() {
    let mut scene = Scene::new(2, &[[0, 1]]);
    scene.person(&[Some([8, 20]), Some([28, 20])], 0.5);
    let params = scene.params(PafConvention::Sleap);
    let turned = Affine { scale: [0.0, 0.0], skew: [-1.0, 1.0], offset: [100.0, 7.0] };
    let (upright, _) = scene.run(&params);
    let (poses, _) = scene.run_with(&params, peaks(), &turned);
    assert_eq!(poses[0].score, upright[0].score);
    let at: Vec<_> = poses[0].points.iter().flatten().map(|p| (p.x, p.y)).collect();
    assert_eq!(at, [(79.5, 15.5), (79.5, 35.5)]);
}

#[test]
fn edges_that_close_a_circle_join_but_begin_nothing_with_openpose() {
    let triangle = [[0, 1], [1, 2], [0, 2]];
    let mut scene = Scene::new(3, &triangle);
    let whole = [Some([8, 8]), Some([28, 8]), Some([20, 24])];
    scene.person(&whole, 0.5);
    scene.person(&[Some([8, 40]), None, Some([28, 40])], 0.5);
    let (poses, _) = scene.run(&scene.params(PafConvention::OpenPose));
    assert_eq!(pixels(&poses), [whole.to_vec()]);
    // sleap-nn goes breadth first, 0-1 and 0-2, and does not use 1-2.
    let (poses, _) = scene.run(&PafParams { max_length: 1.0, ..scene.params(PafConvention::Sleap) });
    assert_eq!(poses.len(), 2);
    assert!((poses[0].score - 2.0).abs() < 0.2 && poses[1].found() == 2, "{poses:?}");
}

#[test]
fn two_halves_of_a_person_become_one_where_an_edge_joins_them() {
    // 0-1 and 2-3 come before 1-2.
    let mut scene = Scene::new(4, &[[0, 1], [2, 3], [1, 2]]);
    let person = [Some([8, 8]), Some([24, 8]), Some([24, 24]), Some([40, 24])];
    scene.person(&person, 0.5);
    let (poses, _) = scene.run(&scene.params(PafConvention::OpenPose));
    assert_eq!(pixels(&poses), [person.to_vec()]);
    assert!((poses[0].score - (2.0 + 3.0) / 4.0).abs() < 1e-3, "{poses:?}");
}

fn refused(maps: &str, fields: &str, change: impl FnOnce(&mut PafParams)) -> String {
    let mut params = PafParams::new(PafConvention::Sleap, 4, &FLY);
    change(&mut params);
    let outputs = [maps, fields].map(|text| text.parse().unwrap());
    let grouper = PafGrouper::new(&outputs[0], &outputs[1], [INPUT; 2], peaks(), &params);
    grouper.unwrap_err().to_string()
}

#[test]
fn what_does_not_fit_is_refused_with_a_sentence() {
    let (maps, fields) = ("m:float32:1x4x32x32", "f:float32:1x6x16x16");
    let check = |message: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    check(refused("m:float32:1x5x32x32", fields, |_| ()), &["5 channels", "4 points want 4:"]);
    let openpose = |p: &mut PafParams| p.convention = PafConvention::OpenPose;
    check(refused("m:float32:1x6x32x32", fields, openpose), &["6 channels", "4 points want 4 or 5"]);
    check(refused(maps, "f:float32:1x8x16x16", |_| ()), &["8 channels, but 6", "3 edges"]);
    check(refused(maps, maps, |_| ()), &["4 channels", "want 10"]);
    check(refused(maps, fields, |p| p.edges.clear()), &["no edges"]);
    check(refused(maps, fields, |p| p.edges[2] = [1, 4]), &["edge 1-4", "from 0 to 3"]);
    check(refused(maps, fields, |p| p.edges[2] = [1, 1]), &["edge 1-1"]);
    check(refused(maps, fields, |p| p.edges = vec![[0, 1], [1, 2], [2, 0]]), &["circle"]);
    check(refused(maps, fields, |p| p.channels = Some(vec![0, 2])), &["2 PAF channels", "3 edges"]);
    check(refused(maps, fields, |p| p.channels = Some(vec![0, 2, 5])), &["6 channels, but 7"]);
    check(refused(maps, fields, |p| p.samples = 33), &["33 samples", "1 to 32"]);
    check(refused(maps, fields, |p| p.points = 129), &["129 points", "128 points"]);
    check(refused(maps, "f:uint8:1x6x16x16", |_| ()), &["part affinity fields", "float16 or float32"]);
}

#[test]
fn open_dimensions_are_checked_when_they_are_known() {
    let scene = Scene::new(4, &FLY);
    let [maps, fields] = scene.outputs();
    let open = |name: &str| format!("{name}:float32:1x?x?x?").parse().unwrap();
    let params = PafParams::new(PafConvention::Sleap, 3, &FLY[..2]);
    let mut grouper = PafGrouper::new(&open("maps"), &open("pafs"), [INPUT; 2], peaks(), &params).unwrap();
    let mut poses = vec![Pose::default()];
    let error = grouper.run(&maps.view(), &fields.view(), &Affine::IDENTITY, &mut poses).unwrap_err();
    assert!(matches!(error, GroupError::Maps { got: 4, points: 3, .. }), "{error}");
    assert!(poses.is_empty());
}
