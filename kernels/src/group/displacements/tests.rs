//! Against a reference in f64 that walks the tree the other way round, and on people whose points are known.

use super::*;
use crate::peaks::{Activation, Grid};
use crate::preproc::Layout;
use crate::tensor::TensorType;

/// 12x10 cells, 16 pixels apart from the first pixel to the last.
const WIDTH: usize = 12;
const HEIGHT: usize = 10;
const INPUT: [usize; 2] = [16 * (WIDTH - 1) + 1, 16 * (HEIGHT - 1) + 1];
const STRIDE: f64 = 16.0;

/// A trunk of three and two branches.
const TREE: [[usize; 2]; 4] = [[0, 1], [1, 2], [1, 3], [0, 4]];
const POINTS: usize = 5;

fn peaks() -> PeakParams {
    PeakParams {
        activation: Activation::Sigmoid,
        layout: Some(Layout::Nhwc),
        grid: Some(Grid::Corners),
        threshold: 0.5,
        ..PeakParams::default()
    }
}

/// Outputs as `[height][width][channel]`.
#[derive(Clone)]
struct Scene {
    outputs: DisplacementOutputs<Vec<f32>>,
}

impl Scene {
    fn new() -> Self {
        let zeros = |channels: usize| vec![0.0; HEIGHT * WIDTH * channels];
        let mut maps = zeros(POINTS);
        maps.fill(-4.0);
        let (forward, backward) = (zeros(2 * TREE.len()), zeros(2 * TREE.len()));
        Self { outputs: DisplacementOutputs { maps, offsets: zeros(2 * POINTS), forward, backward } }
    }

    /// Adds a person whose points lie at these pixels; every cell within `reach` of a point gets the way to its neighbours in the
    /// tree.
    fn person(&mut self, at: [[f64; 2]; POINTS], logit: f32) {
        for (point, [x, y]) in at.into_iter().enumerate() {
            for (row, column) in (0..HEIGHT).flat_map(|row| (0..WIDTH).map(move |column| (row, column))) {
                let cell = row * WIDTH + column;
                let off = [x - STRIDE * column as f64, y - STRIDE * row as f64];
                let far = off[0].hypot(off[1]);
                if far > 30.0 {
                    continue;
                }
                let map = &mut self.outputs.maps[cell * POINTS + point];
                *map = map.max(logit - far as f32 / 16.0);
                self.outputs.offsets[cell * 2 * POINTS + point] = off[1] as f32;
                self.outputs.offsets[cell * 2 * POINTS + POINTS + point] = off[0] as f32;
                for (edge, [parent, child]) in TREE.into_iter().enumerate() {
                    let lead = |field: &mut Vec<f32>, to: [f64; 2]| {
                        field[cell * 2 * TREE.len() + edge] = (to[1] - y) as f32;
                        field[cell * 2 * TREE.len() + TREE.len() + edge] = (to[0] - x) as f32;
                    };
                    if point == parent {
                        lead(&mut self.outputs.forward, at[child]);
                    } else if point == child {
                        lead(&mut self.outputs.backward, at[parent]);
                    }
                }
            }
        }
    }

    fn run(&self, params: &DisplacementParams) -> (Vec<Pose>, Outcome) {
        self.run_with(params, peaks())
    }

    fn run_with(&self, params: &DisplacementParams, peaks: PeakParams) -> (Vec<Pose>, Outcome) {
        let DisplacementOutputs { maps, offsets, forward, backward } = &self.outputs;
        let named = [("maps", maps), ("offsets", offsets), ("forward", forward), ("backward", backward)];
        let dims = named.map(|(_, data)| [1, HEIGHT, WIDTH, data.len() / (HEIGHT * WIDTH)]);
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| TensorDesc::fixed(named[i].0, TensorType::Float32, &dims[i]));
        let announced = DisplacementOutputs { maps: &a, offsets: &b, forward: &c, backward: &d };
        let mut grouper = DisplacementGrouper::new(&announced, INPUT, peaks, params).unwrap();
        let [maps, offsets, forward, backward] = [0, 1, 2, 3].map(|i| {
            let data = bytemuck::cast_slice(named[i].1);
            TensorView::new(named[i].0, TensorType::Float32, &dims[i], data).unwrap()
        });
        let views = DisplacementOutputs { maps, offsets, forward, backward };
        // Twice, into a vector that is not empty: its old contents must be gone.
        let mut poses = vec![Pose::default()];
        grouper.run(&views, &Affine::IDENTITY, &mut poses).unwrap();
        let outcome = grouper.run(&views, &Affine::IDENTITY, &mut poses).unwrap();
        (poses, outcome)
    }

    fn cell(&self, x: f64, y: f64) -> usize {
        let index = |v: f64, size: usize| (v / STRIDE + 0.5).floor().clamp(0.0, (size - 1) as f64) as usize;
        index(y, HEIGHT) * WIDTH + index(x, WIDTH)
    }

    fn vector(field: &[f32], cell: usize, i: usize) -> [f64; 2] {
        let channels = field.len() / (HEIGHT * WIDTH);
        let at = |channel: usize| Some(f64::from(field[cell * channels + channel])).filter(|v| v.is_finite());
        [at(channels / 2 + i).unwrap_or(0.0), at(i).unwrap_or(0.0)]
    }

    fn refined(&self, point: usize, cell: usize) -> [f64; 2] {
        let off = Self::vector(&self.outputs.offsets, cell, point);
        [STRIDE * (cell % WIDTH) as f64 + off[0], STRIDE * (cell / WIDTH) as f64 + off[1]]
    }

    /// Goes from `point` to all neighbours in the tree but `previous`.
    fn spread(&self, point: usize, previous: usize, from: [f64; 2], points: &mut [([f64; 2], f64)]) {
        for (edge, [parent, child]) in TREE.into_iter().enumerate() {
            let (next, field) = match point {
                _ if point == parent => (child, &self.outputs.forward),
                _ if point == child => (parent, &self.outputs.backward),
                _ => continue,
            };
            if next == previous {
                continue;
            }
            let way = Self::vector(field, self.cell(from[0], from[1]), edge);
            let mut at = [from[0] + way[0], from[1] + way[1]];
            for _ in 0..2 {
                at = self.refined(next, self.cell(at[0], at[1]));
            }
            points[next] = (at, self.score(self.cell(at[0], at[1]), next));
            self.spread(next, point, at, points);
        }
    }

    fn score(&self, cell: usize, point: usize) -> f64 {
        let logit = f64::from(self.outputs.maps[cell * POINTS + point]);
        if logit.is_finite() { 1.0 / (1.0 + (-logit).exp()) } else { 0.0 }
    }

    /// The instances by definition.
    fn reference(&self, radius: f64, most: usize) -> Vec<Expected> {
        let logit = |cell: usize, point: usize| self.outputs.maps[cell * POINTS + point];
        let beside = |a: usize, b: usize| {
            (a % WIDTH).abs_diff(b % WIDTH) <= 1 && (a / WIDTH).abs_diff(b / WIDTH) <= 1 && a != b
        };
        let mut roots: Vec<(usize, usize)> = (0..HEIGHT * WIDTH)
            .flat_map(|cell| (0..POINTS).map(move |point| (cell, point)))
            .filter(|(cell, point)| self.score(*cell, *point) >= 0.5)
            .filter(|(cell, point)| {
                let mut others = (0..HEIGHT * WIDTH).filter(|other| beside(*cell, *other));
                others.all(|other| logit(other, *point) < logit(*cell, *point))
            })
            .collect();
        roots.sort_by(|a, b| logit(b.0, b.1).total_cmp(&logit(a.0, a.1)));
        let mut found: Vec<Expected> = Vec::new();
        for (cell, point) in roots {
            let near = |found: &[Expected], point: usize, at: [f64; 2]| {
                let far = |other: [f64; 2]| (other[0] - at[0]).hypot(other[1] - at[1]);
                found.iter().any(|(_, points)| far(points[point].0) <= radius)
            };
            let at = self.refined(point, cell);
            if found.len() == most || near(&found, point, at) {
                continue;
            }
            let mut points = vec![([0.0; 2], 0.0); POINTS];
            points[point] = (at, self.score(cell, point));
            self.spread(point, POINTS, at, &mut points);
            let new = (0..POINTS).filter(|p| !near(&found, *p, points[*p].0)).map(|p| points[p].1);
            found.push((new.sum::<f64>() / POINTS as f64, points));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found
    }

    fn assert_as_reference(&self, params: &DisplacementParams) -> usize {
        let (got, _) = self.run(params);
        let want = self.reference(f64::from(params.nms_radius), params.max_poses);
        assert_eq!(got.len(), want.len(), "{got:?}\n{want:?}");
        for (pose, (score, points)) in got.iter().zip(&want) {
            // Tolerances are those of float32 for places up to 200, and for sigmoids and their sums.
            assert!((f64::from(pose.score) - score).abs() < 1e-5, "{pose:?} {score} {points:?}");
            for (got, (at, score)) in pose.points.iter().zip(points) {
                let got = got.unwrap();
                let off = (f64::from(got.x) - 0.5 - at[0]).hypot(f64::from(got.y) - 0.5 - at[1]);
                assert!(off < 1e-4 && (f64::from(got.score) - score).abs() < 1e-6, "{got:?} {at:?} {score}");
            }
        }
        got.len()
    }
}

fn params() -> DisplacementParams {
    DisplacementParams { tree: TREE.to_vec(), ..DisplacementParams::default() }
}

/// A pose: score, and each point's pixel and score.
type Expected = (f64, Vec<([f64; 2], f64)>);

const LEFT: [[f64; 2]; POINTS] = [[30.0, 20.0], [33.0, 62.5], [20.0, 110.0], [61.0, 75.0], [70.0, 12.0]];
const RIGHT: [[f64; 2]; POINTS] =
    [[130.0, 30.0], [120.0, 70.0], [131.0, 125.0], [165.0, 80.0], [170.0, 20.5]];

#[test]
fn two_people_are_found_whole_whichever_point_is_the_surest() {
    let mut scene = Scene::new();
    scene.person(LEFT, 3.0);
    scene.person(RIGHT, 2.5);
    for (surest, [x, y]) in LEFT.into_iter().enumerate() {
        let mut scene = scene.clone();
        let cell = scene.cell(x, y);
        scene.outputs.maps[cell * POINTS + surest] = 6.0;
        let (poses, outcome) = scene.run(&params());
        assert_eq!((poses.len(), outcome), (2, Outcome::default()));
        for (pose, want) in poses.iter().zip([LEFT, RIGHT]) {
            for (point, [x, y]) in pose.points.iter().zip(want) {
                let point = point.unwrap();
                let off = (f64::from(point.x) - 0.5 - x).hypot(f64::from(point.y) - 0.5 - y);
                assert!(off < 1e-3, "{surest}: {point:?} at {x}, {y}");
            }
        }
        assert_eq!(scene.assert_as_reference(&params()), 2);
    }
}

#[test]
fn limits_leave_out_points_and_people() {
    let mut scene = Scene::new();
    scene.person(LEFT, 3.0);
    scene.person(RIGHT, 2.5);
    let found = |params: DisplacementParams| scene.run(&params).0.iter().map(Pose::found).collect::<Vec<_>>();
    assert_eq!(found(DisplacementParams { max_poses: 1, ..params() }), [5]);
    let limited = |max_poses| scene.run(&DisplacementParams { max_poses, ..params() }).1.limited;
    assert!(limited(1) && !limited(2), "a person who was left out is reported, and only then");
    assert_eq!(found(DisplacementParams { min_score: 0.95, ..params() }), []);
    // Both are within 200 pixels of each other, which makes them one.
    assert_eq!(found(DisplacementParams { nms_radius: 200.0, ..params() }), [5]);
    let strict = DisplacementParams { min_point_score: 0.93, ..params() };
    let left = found(strict.clone());
    assert!(left[0] < 5, "{left:?}");
    assert_eq!(found(DisplacementParams { min_points: left[0] + 1, ..strict }), []);
}

#[test]
fn random_outputs_are_grouped_as_by_definition() {
    let mut state = 7u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut found = 0;
    for turn in 0..200 {
        let mut scene = Scene::new();
        let DisplacementOutputs { maps, offsets, forward, backward } = &mut scene.outputs;
        maps.iter_mut().for_each(|v| *v = 8.0 * unit() - 6.0);
        offsets.iter_mut().for_each(|v| *v = 30.0 * unit() - 15.0);
        forward.iter_mut().chain(backward).for_each(|v| *v = 160.0 * unit() - 80.0);
        if turn % 4 == 0 {
            offsets.iter_mut().step_by(37).for_each(|v| *v = f32::NAN);
        }
        found += scene.assert_as_reference(&DisplacementParams { max_poses: 3 + turn % 20, ..params() });
    }
    assert!(found > 1000, "{found}");
}

#[test]
fn values_that_are_not_finite_count_as_nothing_and_are_counted() {
    let mut scene = Scene::new();
    scene.person(LEFT, 3.0);
    let sure = scene.run(&params()).0[0].clone();
    let tail = scene.cell(LEFT[2][0], LEFT[2][1]);
    scene.outputs.maps[tail * POINTS + 2] = f32::INFINITY;
    let (poses, outcome) = scene.run(&params());
    // The map's cell, and the score that is read there.
    assert_eq!(outcome.non_finite, 2);
    assert_eq!(poses[0].points[2].unwrap().score, 0.0);
    assert!(poses[0].score < sure.score);
    scene.outputs.offsets.fill(f32::NAN);
    let (poses, outcome) = scene.run(&params());
    assert!(outcome.non_finite > 2 && !poses.is_empty());
    assert!(poses.iter().flat_map(|p| &p.points).flatten().all(|p| p.x.is_finite() && p.y.is_finite()));
}

#[test]
fn roots_beyond_the_strongest_of_a_channel_are_counted() {
    let mut scene = Scene::new();
    for cell in (0..HEIGHT * WIDTH)
        .filter(|cell| (cell % WIDTH).is_multiple_of(2) && (cell / WIDTH).is_multiple_of(2))
    {
        scene.outputs.maps[cell * POINTS] = 1.0 + cell as f32 / 1000.0;
    }
    let (_, outcome) = scene.run_with(&params(), PeakParams { top_k: 4, ..peaks() });
    assert_eq!(outcome.truncated, 30 - 4);
}

#[test]
fn what_does_not_fit_is_refused_with_a_sentence() {
    let refused = |texts: [&str; 4], tree: &[[usize; 2]]| {
        let [maps, offsets, forward, backward] = texts.map(|text| text.parse::<TensorDesc>().unwrap());
        let outputs =
            DisplacementOutputs { maps: &maps, offsets: &offsets, forward: &forward, backward: &backward };
        let params = DisplacementParams { tree: tree.to_vec(), ..params() };
        DisplacementGrouper::new(&outputs, INPUT, peaks(), &params).unwrap_err().to_string()
    };
    let [maps, offsets] = ["m:float32:1x10x12x5", "o:float32:1x10x12x10"];
    let [forward, backward] = ["f:float32:1x10x12x8", "b:float32:1x10x12x8"];
    let check =
        |text: String, parts: &[&str]| assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    check(
        refused([maps, "o:float32:1x10x12x5", forward, backward], &TREE),
        &["offsets", "5 points", "10 are"],
    );
    check(
        refused([maps, offsets, forward, "b:float32:1x10x12x6"], &TREE),
        &["backward", "6 channels, but 8"],
    );
    check(refused([maps, offsets, "f:float32:1x5x6x8", backward], &TREE), &["6x5 cells", "12x10"]);
    check(refused([maps, offsets, forward, backward], &[]), &["no edges"]);
    let circle = [[0, 1], [1, 2], [2, 0], [0, 4]];
    check(refused([maps, offsets, forward, backward], &circle), &["not a tree over its 5 points"]);
    let beyond = [[0, 1], [1, 2], [1, 3], [0, 5]];
    check(refused([maps, offsets, forward, backward], &beyond), &["edge 0-5"]);
    check(refused([maps, offsets, "f:int32:1x10x12x8", backward], &TREE), &["forward", "float16 or float32"]);
}
