//! Against a reference in f64 that knows nothing of the code, and on scenes whose instances are known.

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

fn peaks() -> Params {
    Params {
        refinement: Refinement::None,
        layout: Some(Layout::Nchw),
        grid: Some(Grid::Strided),
        threshold: 0.2,
        ..Params::default()
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

    fn run_with(&self, params: &PafParams, peaks: Params, to_frame: &Affine) -> (Vec<Pose>, Outcome) {
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

    /// The same in the other type, and channels last.
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
    peaks: Params,
    to_frame: &Affine,
) -> (Vec<Pose>, Outcome) {
    let mut grouper = PafGrouper::new(&maps.desc(), &fields.desc(), [INPUT; 2], peaks, params).unwrap();
    // Twice, into a vector that is not empty: nothing may be left from before.
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
fn two_that_cross_are_told_apart_in_every_layout_and_type() {
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
        let peaks = Params { layout: Some(Layout::Nhwc), ..peaks() };
        let (last, _) = run(&maps.otherwise(), &fields.otherwise(), &params, peaks, &Affine::IDENTITY);
        assert_eq!(pixels(&last), pixels(&poses), "{convention:?}");
        // Unit vectors, as nearly as float16 has them.
        assert!(last.iter().zip(&poses).all(|(a, b)| (a.score - b.score).abs() < 4e-3));
    }
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
    assert_eq!(outcome, Outcome { non_finite: 2, truncated: 0 });
    assert!((poses[0].score - 0.8).abs() < 1e-6, "{poses:?}");
    // Interpolated, a cell is met by samples on both sides of it.
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
    let peaks = Params { top_k: 1, ..peaks() };
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

/// Reproducible numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn unit(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 20) as f32
    }
}

/// Up to four peaks a point on random fields. They lie on the fields' cells, so that no sample of ten lies near the
/// boundary between two and the reference need not round as float32 does.
fn random(random: &mut Random) -> (Scene, Vec<Vec<[usize; 2]>>) {
    let mut scene = Scene::new(4, &FLY);
    scene.fields.iter_mut().for_each(|v| *v = 2.0 * random.unit() - 0.8);
    let mut at = vec![Vec::new(); 4];
    for (point, at) in at.iter_mut().enumerate() {
        for _ in 0..random.below(5) {
            let pixel = [4 * random.below(FIELD), 4 * random.below(FIELD)];
            // In scan order, and not beside each other.
            if !at.contains(&pixel) {
                scene.peak(point, pixel, 0.3 + 0.5 * random.unit());
                at.push(pixel);
            }
        }
        at.sort_by_key(|[x, y]| [*y, *x]);
    }
    (scene, at)
}

/// The score of a line by definition, and the share of its samples above `params.min_sample`.
fn line(scene: &Scene, params: &PafParams, edge: usize, a: [usize; 2], b: [usize; 2]) -> Option<(f64, f64)> {
    let [a, b] = [a, b].map(|p| p.map(|v| v as f64));
    let length = (b[0] - a[0]).hypot(b[1] - a[1]);
    if length == 0.0 {
        return None;
    }
    let unit = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
    let cell =
        |i: usize, x: usize, y: usize| f64::from(scene.fields[((2 * edge + i) * FIELD + y) * FIELD + x]);
    let last = (FIELD - 1) as f64;
    let samples: Vec<f64> = (0..params.samples)
        .map(|s| {
            let t = s as f64 / (params.samples - 1) as f64;
            let [x, y] = [0, 1].map(|i| ((a[i] + (b[i] - a[i]) * t) / 4.0).clamp(0.0, last));
            let value = |i: usize| match params.convention {
                PafConvention::Sleap => cell(i, x.round() as usize, y.round() as usize),
                PafConvention::OpenPose => [0.0, 1.0]
                    .into_iter()
                    .flat_map(|dy| [0.0, 1.0].map(|dx| (dx, dy)))
                    .map(|(dx, dy)| {
                        let (cx, cy) = ((x.floor() + dx).min(last), (y.floor() + dy).min(last));
                        let weight = |d: f64, f: f64| if d == 0.0 { 1.0 - f } else { f };
                        weight(dx, x.fract()) * weight(dy, y.fract()) * cell(i, cx as usize, cy as usize)
                    })
                    .sum(),
            };
            value(0) * unit[0] + value(1) * unit[1]
        })
        .collect();
    let n = samples.len() as f64;
    let penalty = (f64::from(params.max_length) * INPUT as f64 / length - 1.0).min(0.0);
    let high = samples.iter().filter(|s| **s > f64::from(params.min_sample)).count() as f64 / n;
    Some((samples.iter().sum::<f64>() / n + penalty * f64::from(params.length_weight), high))
}

/// The best sum of a full assignment, by trying all.
fn best(
    scores: &[Vec<Option<f64>>],
    row: usize,
    left: usize,
    used: &mut Vec<usize>,
) -> (f64, Vec<(usize, usize)>) {
    if row == scores.len() {
        return if left == 0 { (0.0, vec![]) } else { (f64::NEG_INFINITY, vec![]) };
    }
    let mut found = best(scores, row + 1, left, used);
    for column in 0..scores[row].len() {
        if left == 0 || used.contains(&column) {
            continue;
        }
        used.push(column);
        let (sum, mut pairs) = best(scores, row + 1, left - 1, used);
        used.pop();
        let sum = sum + scores[row][column].unwrap_or(-1e6);
        if sum > found.0 {
            pairs.push((row, column));
            found = (sum, pairs);
        }
    }
    found
}

/// Instances as components of the graph of kept lines: points by number, and the score.
type Instances = Vec<(Vec<Option<[usize; 2]>>, f64)>;

fn reference(scene: &Scene, params: &PafParams, at: &[Vec<[usize; 2]>]) -> Instances {
    let sleap = params.convention == PafConvention::Sleap;
    let mut instance: Vec<Vec<Option<usize>>> = at.iter().map(|of| vec![None; of.len()]).collect();
    let mut scores: Vec<f64> = Vec::new();
    for (edge, [from, to]) in scene.edges.iter().enumerate() {
        let scored: Vec<Vec<_>> = at[*from]
            .iter()
            .map(|a| at[*to].iter().map(|b| line(scene, params, edge, *a, *b)).collect())
            .collect();
        let mut pairs: Vec<(usize, usize)> = if sleap {
            let rows: Vec<Vec<_>> =
                scored.iter().map(|r| r.iter().map(|l| l.map(|l| l.0)).collect()).collect();
            best(&rows, 0, at[*from].len().min(at[*to].len()), &mut vec![]).1
        } else {
            let mut all: Vec<_> = (0..at[*from].len())
                .flat_map(|a| (0..at[*to].len()).map(move |b| (a, b)))
                .filter(|(a, b)| scored[*a][*b].is_some_and(|l| l.1 > f64::from(params.min_share)))
                .collect();
            all.sort_by(|x, y| scored[y.0][y.1].unwrap().0.total_cmp(&scored[x.0][x.1].unwrap().0));
            let mut kept: Vec<(usize, usize)> = Vec::new();
            for (a, b) in all {
                if kept.iter().all(|k| k.0 != a && k.1 != b) {
                    kept.push((a, b));
                }
            }
            kept
        };
        let least = f64::from(params.min_line_score);
        pairs.retain(|(a, b)| scored[*a][*b].is_some_and(|l| if sleap { l.0 >= least } else { l.0 > least }));
        for (a, b) in pairs {
            let score = scored[a][b].unwrap().0;
            // In a tree whose root comes first, the second point is always new.
            assert!(instance[*to][b].is_none());
            let new = *instance[*from][a].get_or_insert_with(|| {
                scores.push(0.0);
                scores.len() - 1
            });
            instance[*to][b] = Some(new);
            scores[new] += score;
        }
    }
    let of = |i: usize| {
        let point = |p: usize| instance[p].iter().position(|n| *n == Some(i)).map(|k| at[p][k]);
        let points: Vec<_> = (0..at.len()).map(point).collect();
        let values = points.iter().enumerate().filter_map(|(p, at)| Some((p, (*at)?)));
        let sum: f64 = values.map(|(p, [x, y])| f64::from(scene.maps[(p * MAP + y / 2) * MAP + x / 2])).sum();
        let count = points.iter().flatten().count() as f64;
        let score = if sleap { scores[i] } else { (scores[i] + sum) / count };
        (points, score)
    };
    let mut all: Instances = (0..scores.len()).map(of).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[test]
fn random_scenes_are_grouped_as_by_definition() {
    let mut numbers = Random(5);
    let (mut instances, mut whole) = (0, 0);
    for turn in 0..600 {
        let (scene, at) = random(&mut numbers);
        let convention = BOTH[turn % 2];
        let params = PafParams {
            min_line_score: [0.0, 0.05, -0.3][turn % 3],
            min_share: 0.35,
            samples: 10,
            ..scene.params(convention)
        };
        let (got, _) = scene.run(&PafParams { min_score: -10.0, ..params.clone() });
        let want = reference(&scene, &params, &at);
        let points: Vec<_> = want.iter().map(|w| w.0.clone()).collect();
        assert_eq!(pixels(&got), points, "turn {turn}: {got:?} {want:?}");
        // float32 sums of ten and of three.
        assert!(
            got.iter().zip(&want).all(|(g, w)| (f64::from(g.score) - w.1).abs() < 1e-5),
            "{got:?} {want:?}"
        );
        instances += want.len();
        whole += want.iter().filter(|w| w.0.iter().flatten().count() == 4).count();
    }
    assert!(instances > 500 && whole > 20, "{instances} instances, {whole} whole ones");
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
    let check = |said: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
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
