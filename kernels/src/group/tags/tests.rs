//! Against a reference in f64 that follows the papers' steps cell by cell and tries all pairings, and one rule at a time.

use super::*;
use crate::group::tags::assemble::NEARER;
use crate::group::tags::interpolate::Interpolated;
use crate::preproc::Layout;

const POINTS: usize = 4;
/// Cells of the maps, and of the fine ones.
const COARSE: [usize; 2] = [12, 10];
const FINE: [usize; 2] = [24, 20];
const INPUT: [usize; 2] = [96, 80];

struct Random(u64);

impl Random {
    /// 0..1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }

    fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
}

/// Channels of cells, row by row.
#[derive(Clone)]
struct Channels {
    size: [usize; 2],
    values: Vec<f32>,
}

impl Channels {
    fn new(size: [usize; 2], channels: usize, value: impl FnMut() -> f32) -> Self {
        let mut values = Vec::new();
        values.resize_with(channels * size[0] * size[1], value);
        Self { size, values }
    }

    fn index(&self, channel: usize, x: usize, y: usize) -> usize {
        (channel * self.size[1] + y) * self.size[0] + x
    }

    /// Calls `change` with each cell of a channel and its place in the input, in pixels.
    fn draw(&mut self, channel: usize, change: impl Fn(&mut f32, [f64; 2])) {
        let [width, height] = self.size;
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let at = [0, 1].map(|i| ([x, y][i] as f64 + 0.5) * (INPUT[i] / self.size[i]) as f64);
            let index = self.index(channel, x, y);
            change(&mut self.values[index], at);
        }
    }

    fn count(&self) -> usize {
        self.values.len() / self.size[0] / self.size[1]
    }

    fn desc(&self, name: &str) -> TensorDesc {
        let [width, height] = self.size;
        TensorDesc::fixed(name, TensorType::Float32, &[1, self.count(), height, width])
    }

    /// The value between the centres of cells, with both given as on the fine maps.
    fn between(&self, channel: usize, x: usize, y: usize) -> f64 {
        let neighbours = |i: usize, fine: usize| {
            let at = (fine as f64 + 0.5) * self.size[i] as f64 / FINE[i] as f64 - 0.5;
            let near = |cell: f64| cell.clamp(0.0, (self.size[i] - 1) as f64) as usize;
            let rest = at - at.floor();
            [(near(at.floor()), 1.0 - rest), (near(at.floor() + 1.0), rest)]
        };
        let mut sum = 0.0;
        for (column, across) in neighbours(0, x) {
            for (row, down) in neighbours(1, y) {
                sum += across * down * f64::from(self.values[self.index(channel, column, row)]);
            }
        }
        sum
    }
}

/// Maps and tags, and fine maps.
#[derive(Clone)]
struct Scene {
    maps: Channels,
    fine_maps: Channels,
}

impl Scene {
    fn empty() -> Self {
        let zeros = |size, channels| Channels::new(size, channels, || 0.0);
        Self { maps: zeros(COARSE, 2 * POINTS), fine_maps: zeros(FINE, POINTS) }
    }

    /// Noise, and people whose points may be missing, of other people's tags, or where another person's are.
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        for _ in 0..8 {
            random.next();
        }
        let maps = Channels::new(COARSE, 2 * POINTS, || random.range(0.0, 0.08) as f32);
        let fine_maps = Channels::new(FINE, POINTS, || random.range(0.0, 0.08) as f32);
        let mut scene = Self { maps, fine_maps };
        for point in 0..POINTS {
            scene.maps.draw(POINTS + point, |tag, _| *tag *= 100.0);
        }
        for person in 0..1 + seed % 4 {
            let tag = 2.5 * person as f64 + random.range(-0.7, 0.7);
            for point in 0..POINTS {
                let at = [random.range(4.0, 92.0), random.range(4.0, 76.0)];
                let wrong = if random.next() < 0.1 { random.range(-4.0, 4.0) } else { 0.0 };
                let tag = tag + wrong + random.range(-0.3, 0.3);
                if random.next() < 0.8 {
                    scene.point(point, at, random.range(0.2, 1.0), tag);
                }
            }
        }
        scene
    }

    /// A hill in both maps, and tags around it, which differ a little.
    fn point(&mut self, point: usize, [x, y]: [f64; 2], score: f64, tag: f64) {
        let far = |at: [f64; 2]| (at[0] - x).hypot(at[1] - y);
        let hill = |value: &mut f32, at| *value = value.max((score * (-far(at).powi(2) / 72.0).exp()) as f32);
        self.maps.draw(point, hill);
        self.fine_maps.draw(point, hill);
        self.maps.draw(POINTS + point, |value, at| {
            if far(at) < 16.0 {
                // Equal tags would leave open which of two peaks goes where.
                *value = (tag + 1e-3 * (at[0] - x)) as f32;
            }
        });
    }

    /// The tags as an output of their own.
    fn split(&self) -> [Channels; 3] {
        let (maps, tags) = self.maps.values.split_at(self.maps.values.len() / 2);
        let of = |values: &[f32]| Channels { size: COARSE, values: values.to_vec() };
        [of(maps), of(tags), self.fine_maps.clone()]
    }

    fn run(&self, params: &TagParams) -> (Vec<Pose>, Outcome) {
        let outputs = TagOutputs { maps: &self.maps, tags: None, fine_maps: Some(&self.fine_maps) };
        run(outputs, TagParams::peaks(), params).unwrap()
    }

    /// The mean of both maps.
    fn score(&self, point: usize, x: usize, y: usize) -> f64 {
        let fine = f64::from(self.fine_maps.values[self.fine_maps.index(point, x, y)]);
        0.5 * (self.maps.between(point, x, y) + fine)
    }

    fn tag(&self, point: usize, x: usize, y: usize) -> f64 {
        self.maps.between(POINTS + point, x, y)
    }

    /// The instances by definition, in the order in which they begin: mean score, and the points' places and scores.
    fn reference(&self, params: &TagParams) -> Vec<(f64, Vec<Option<Found>>)> {
        let cells: Vec<_> = (0..FINE[1]).flat_map(|y| (0..FINE[0]).map(move |x| (x, y))).collect();
        let mut people: Vec<Person> = Vec::new();
        for point in params.order.clone().unwrap_or_else(|| (0..POINTS).collect()) {
            let score = |cell: Cell| self.score(point, cell.0, cell.1);
            let near = |a: Cell, b: Cell| a.0.abs_diff(b.0) < 3 && a.1.abs_diff(b.1) < 3;
            let mut peaks: Vec<_> = cells.iter().copied().filter(|cell| score(*cell) >= 0.1).collect();
            peaks.retain(|cell| {
                cells.iter().all(|other| !near(*cell, *other) || score(*other) <= score(*cell))
            });
            peaks.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
            let mean = |tags: &[f64]| tags.iter().sum::<f64>() / tags.len() as f64;
            let distance = |cell: &Cell, tags: &[f64]| (self.tag(point, cell.0, cell.1) - mean(tags)).abs();
            let costs: Vec<Vec<f64>> = peaks
                .iter()
                .map(|cell| {
                    let cost = |tags: &[f64]| {
                        let far = distance(cell, tags);
                        100.0 * far.round_ties_even() - score(*cell) + NEARER * far * far
                    };
                    people.iter().map(|(_, tags)| cost(tags)).collect()
                })
                .collect();
            let (_, pairs) = cheapest(&costs, 0, &mut vec![false; people.len()], peaks.len());
            for (cell, partner) in peaks.iter().zip(pairs) {
                let tag = self.tag(point, cell.0, cell.1);
                match partner.filter(|person| distance(cell, &people[*person].1) < 1.0) {
                    Some(person) => {
                        people[person].0[point] = Some(*cell);
                        // The mean changes after all peaks of the point are paired, each with another person.
                        people[person].1.push(tag);
                    }
                    None => {
                        let mut points = vec![None; POINTS];
                        points[point] = Some(*cell);
                        people.push((points, vec![tag]));
                    }
                }
            }
        }
        let people = people.into_iter().map(|(points, tags)| {
            let mean = tags.iter().sum::<f64>() / tags.len() as f64;
            let score = points
                .iter()
                .enumerate()
                .filter_map(|(point, at)| Some(self.score(point, at.as_ref()?.0, at.as_ref()?.1)));
            let of_person = score.sum::<f64>() / POINTS as f64;
            let filled = |point: usize| {
                let worth = |cell: &&Cell| {
                    let far = (self.tag(point, cell.0, cell.1) - mean).abs().round_ties_even();
                    self.score(point, cell.0, cell.1) - far
                };
                cells.iter().max_by(|a, b| worth(a).total_cmp(&worth(b))).copied()
            };
            let points = points.into_iter().enumerate().map(|(point, at)| {
                let cell = at.or_else(|| params.fill_missing.then(|| filled(point)).flatten());
                cell.map(|(x, y)| self.found(point, x, y))
            });
            (of_person, points.collect())
        });
        let mut people: Vec<_> = people.collect();
        people.sort_by(|a: &(f64, _), b| b.0.total_cmp(&a.0));
        people
    }

    /// A quarter of a cell towards the greater neighbour, from the cell's centre.
    fn found(&self, point: usize, x: usize, y: usize) -> Found {
        let score = |x: usize, y: usize| (x < FINE[0] && y < FINE[1]).then(|| self.score(point, x, y));
        let quarter = |before: Option<f64>, after: Option<f64>| match (before, after) {
            (Some(before), Some(after)) => 0.25 * (after - before).signum(),
            _ => 0.0,
        };
        let dx = quarter(score(x.wrapping_sub(1), y), score(x + 1, y));
        let dy = quarter(score(x, y.wrapping_sub(1)), score(x, y + 1));
        let at = [x as f64 + 0.5 + dx, y as f64 + 0.5 + dy];
        Found { x: 4.0 * at[0], y: 4.0 * at[1], score: self.score(point, x, y) }
    }
}

type Cell = (usize, usize);
/// A person of the reference: a cell for each point, and the tags of these cells.
type Person = (Vec<Option<Cell>>, Vec<f64>);

/// A point of the reference.
#[derive(Clone, Copy, Debug)]
struct Found {
    x: f64,
    y: f64,
    score: f64,
}

/// The cheapest of all pairings of the rows from `row` on that leave out no more rows than must be: its cost and each row's column.
fn cheapest(costs: &[Vec<f64>], row: usize, used: &mut Vec<bool>, rows: usize) -> (f64, Vec<Option<usize>>) {
    if row == rows {
        return (0.0, Vec::new());
    }
    let mut best = (f64::INFINITY, Vec::new());
    let alone = rows > used.len();
    let free: Vec<_> = (0..used.len()).filter(|column| !used[*column]).map(Some).collect();
    for column in free.into_iter().chain(alone.then_some(None)) {
        let cost = column.map_or(1e6, |column| costs[row][column]);
        column.into_iter().for_each(|column| used[column] = true);
        let (rest, pairs) = cheapest(costs, row + 1, used, rows);
        column.into_iter().for_each(|column| used[column] = false);
        if cost + rest < best.0 {
            best = (cost + rest, std::iter::once(column).chain(pairs).collect());
        }
    }
    best
}

fn bytes(channels: &Channels) -> &[u8] {
    bytemuck::cast_slice(&channels.values)
}

/// The grouper's results, with names that say which output it is.
fn run(
    outputs: TagOutputs<&Channels>,
    peaks: PeakParams,
    params: &TagParams,
) -> Result<(Vec<Pose>, Outcome), GroupError> {
    let named = outputs.list().into_iter();
    let descs: Vec<_> = named.clone().enumerate().map(|(i, each)| each.desc(&format!("output{i}"))).collect();
    let mut grouper = TagGrouper::new(outputs.roles().of(&descs).unwrap(), INPUT, peaks, params)?;
    let views: Vec<_> = named
        .zip(&descs)
        .map(|(each, desc)| {
            let dims: Vec<usize> = desc.dims.iter().copied().flatten().collect();
            TensorView::new(&desc.name, desc.ty, &dims, bytes(each)).unwrap()
        })
        .collect();
    // Twice: nothing may be left from before.
    let first = grouper.run(&views, &Affine::IDENTITY)?;
    let second = grouper.run(&views, &Affine::IDENTITY)?;
    assert_eq!(first, second);
    Ok(first)
}

#[test]
fn values_between_cells_are_those_of_pytorch() {
    // torch.nn.functional.interpolate(t, size=6, mode="bilinear") of a row, and of the same as a column.
    let peaks = TagParams::peaks();
    for (dims, size) in [([1, 1, 1, 3], [6, 1]), ([1, 1, 3, 1], [1, 6])] {
        let desc = TensorDesc::fixed("row", TensorType::Float32, &dims);
        let params = PeakParams { layout: Some(Layout::Nchw), ..peaks };
        let shape = crate::peaks::Announced::new(&desc, [12, 12], params).unwrap().shape.unwrap();
        let row = [1.0, 2.0, 4.0];
        let interpolated = Interpolated::new(&row, &shape, 0, size);
        let mut found = Vec::new();
        interpolated.each(0, |value| found.push(value));
        assert_eq!(found, [1.0, 1.25, 1.75, 2.5, 3.5, 4.0]);
        assert_eq!(found, (0..6).map(|cell| interpolated.at(0, cell)).collect::<Vec<_>>());
    }
}

#[test]
fn people_are_those_of_the_reference() {
    let (mut points, mut filled) = (0, 0);
    for seed in 0..300 {
        let scene = Scene::random(seed);
        for fill_missing in [true, false] {
            let params = TagParams { fill_missing, ..TagParams::default() };
            let ((found, outcome), wanted) = (scene.run(&params), scene.reference(&params));
            assert_eq!(outcome, Outcome::default());
            assert_eq!(found.len(), wanted.len(), "seed {seed}");
            for (pose, (score, wanted)) in found.iter().zip(&wanted) {
                // Scores are sums of four products of float32.
                assert!((f64::from(pose.score) - score).abs() < 1e-6, "seed {seed}: {pose:?} {score}");
                for (point, wanted) in pose.points.iter().zip(wanted) {
                    let same = match (point, wanted) {
                        (Some(point), Some(wanted)) => {
                            f64::from(point.x) == wanted.x
                                && f64::from(point.y) == wanted.y
                                && (f64::from(point.score) - wanted.score).abs() < 1e-6
                        }
                        (None, None) => true,
                        _ => false,
                    };
                    assert!(same, "seed {seed}: {point:?}, not {wanted:?}");
                    let count = if fill_missing { &mut filled } else { &mut points };
                    *count += usize::from(point.is_some());
                }
            }
        }
    }
    assert!(points > 1500 && filled > points + 500, "{points} points, {filled} with filled ones");
}

/// Two people whose points alternate from left to right.
fn pair() -> Scene {
    let mut scene = Scene::empty();
    for point in 0..POINTS {
        let y = 12.0 + 16.0 * point as f64;
        scene.point(point, [18.0, y], 0.9, if point.is_multiple_of(2) { 0.0 } else { 5.0 });
        scene.point(point, [74.0, y], 0.8, if point.is_multiple_of(2) { 5.0 } else { 0.0 });
    }
    scene
}

fn places(pose: &Pose) -> Vec<Option<[i32; 2]>> {
    pose.points.iter().map(|point| point.map(|point| [point.x as i32, point.y as i32])).collect()
}

#[test]
fn tags_decide_and_not_places() {
    let (found, _) = pair().run(&TagParams::default());
    let [first, second] = &found[..] else { panic!("{found:?}") };
    let across = |pose: &Pose| places(pose).iter().map(|at| at.unwrap()[0] > 48).collect::<Vec<_>>();
    let mut both = [across(first), across(second)];
    both.sort();
    assert_eq!(both, [[false, true, false, true], [true, false, true, false]]);
    // A distance that takes in everybody: a point goes where it fits best all the same.
    let (wide, _) = pair().run(&TagParams { tag_distance: 100.0, ..TagParams::default() });
    assert_eq!(wide, found);
    // A point whose tag is as near to nobody's begins a person, who lacks the others.
    let mut stray = pair();
    stray.point(3, [46.0, 60.0], 0.5, 20.0);
    let alone = TagParams { fill_missing: false, ..TagParams::default() };
    let (found, _) = stray.run(&alone);
    assert_eq!(found.iter().map(Pose::found).collect::<Vec<_>>(), [4, 4, 1]);
    assert_eq!(stray.run(&TagParams { min_points: 2, ..alone.clone() }).0.len(), 2);
    assert_eq!(stray.run(&TagParams { min_score: 0.5, ..alone.clone() }).0.len(), 2);
    // Points begin people in the order in which they are grouped, and there may be no more.
    let (found, outcome) = stray.run(&TagParams { max_poses: 2, ..alone.clone() });
    assert_eq!((found.len(), outcome.limited), (2, true));
    let last_first = TagParams { max_poses: 2, order: Some(vec![3, 2, 1, 0]), ..alone };
    let (found, outcome) = stray.run(&last_first);
    assert_eq!((found.len(), outcome.limited), (2, true));
    assert!(
        found.iter().all(|pose| pose.found() == 4),
        "the weaker peak of the last point came later: {found:?}"
    );
}

#[test]
fn a_missing_point_is_the_best_cell_with_the_tag_and_weak_ones_are_left_out() {
    let mut scene = Scene::empty();
    for point in 0..3 {
        scene.point(point, [20.0, 12.0 + 20.0 * point as f64], 0.9, 3.0);
    }
    // Too weak for a peak, and another tag where the map is higher.
    scene.point(3, [70.0, 20.0], 0.06, 3.2);
    scene.point(3, [20.0, 60.0], 0.09, 7.0);
    let (found, _) = scene.run(&TagParams::default());
    let [pose] = &found[..] else { panic!("{found:?}") };
    assert_eq!(places(pose)[3], Some([69, 19]));
    assert!((pose.score - scene_score(&scene)).abs() < 1e-6, "filled points are not in the score: {pose:?}");
    for params in [
        TagParams { fill_missing: false, ..TagParams::default() },
        TagParams { min_point_score: 0.07, ..TagParams::default() },
    ] {
        let (found, _) = scene.run(&params);
        assert_eq!((found[0].found(), found[0].score), (3, pose.score));
    }
    let (found, _) = scene.run(&TagParams { min_point_score: 2.0, ..TagParams::default() });
    assert_eq!((found[0].found(), found[0].score), (0, pose.score));
}

/// The mean of the three points' scores, and 0.
fn scene_score(scene: &Scene) -> f32 {
    let cells = |point| (0..FINE[0] * FINE[1]).map(move |cell| (point, cell % FINE[0], cell / FINE[0]));
    let highest = |point| cells(point).map(|(point, x, y)| scene.score(point, x, y)).fold(0.0, f64::max);
    ((0..3).map(highest).sum::<f64>() / 4.0) as f32
}

#[test]
fn outputs_may_be_apart_and_in_either_layout_and_of_one_size() {
    let scene = Scene::random(3);
    let params = TagParams::default();
    let wanted = scene.run(&params);
    let [maps, tags, fine] = scene.split();
    let apart = TagOutputs { maps: &maps, tags: Some(&tags), fine_maps: Some(&fine) };
    assert_eq!(run(apart, TagParams::peaks(), &params).unwrap(), wanted);

    let outputs = [&scene.maps, &scene.fine_maps];
    let nhwc: Vec<Vec<f32>> = outputs
        .iter()
        .map(|each| {
            let [width, height] = each.size;
            let cells = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
            cells
                .flat_map(|(x, y)| {
                    (0..each.count()).map(move |channel| each.values[each.index(channel, x, y)])
                })
                .collect()
        })
        .collect();
    let dims = outputs.map(|each| [1, each.size[1], each.size[0], each.count()]);
    let descs = [0, 1].map(|i| TensorDesc::fixed(["maps", "fine"][i], TensorType::Float32, &dims[i]));
    let views = [0, 1].map(|i| {
        TensorView::new(["maps", "fine"][i], TensorType::Float32, &dims[i], bytemuck::cast_slice(&nhwc[i]))
            .unwrap()
    });
    let [maps, fine] = &descs;
    let announced = TagOutputs { maps, tags: None, fine_maps: Some(fine) };
    let mut grouper = TagGrouper::new(announced, INPUT, TagParams::peaks(), &params).unwrap();
    assert_eq!(grouper.run(&views, &Affine::IDENTITY).unwrap(), wanted);

    // HRNet: the fine maps alone, with tags on as many cells.
    let mut large = Scene::empty();
    large.maps = Channels::new(FINE, 2 * POINTS, || 0.0);
    for point in 0..POINTS {
        large.point(point, [30.0, 10.0 + 16.0 * point as f64], 0.9, 1.5);
    }
    let outputs = TagOutputs { maps: &large.maps, tags: None, fine_maps: None };
    let (found, _) = run(outputs, TagParams::peaks(), &params).unwrap();
    assert_eq!(
        found.iter().map(places).collect::<Vec<_>>(),
        [(0..4).map(|i| Some([30, 10 + 16 * i])).collect::<Vec<_>>()]
    );
}

#[test]
fn of_a_plateau_the_first_cell_is_a_peak_and_a_hill_beside_a_higher_one_is_none() {
    let mut scene = Scene::empty();
    let index = |x, y| (y * FINE[0]) + x;
    // Two cells apart: both are 3x3 maxima, but one 5x5 has both.
    for (at, value) in [(index(5, 5), 1.0), (index(7, 5), 0.9), (index(15, 9), 0.8), (index(17, 10), 0.8)] {
        scene.fine_maps.values[at] = value;
    }
    let params = TagParams { fill_missing: false, tag_distance: 0.5, ..TagParams::default() };
    let (found, _) = scene.run(&params);
    assert_eq!(found.iter().map(|pose| places(pose)[0].unwrap()).collect::<Vec<_>>(), [[22, 22], [62, 38]]);
}

#[test]
fn what_is_not_finite_is_counted_and_left_out() {
    let mut scene = pair();
    let [x, y] = [2, 1];
    let [tag, map] = [scene.maps.index(POINTS, x, y), scene.fine_maps.index(1, 20, 2)];
    scene.maps.values[tag] = f32::NAN;
    scene.fine_maps.values[map] = f32::INFINITY;
    let (found, outcome) = scene.run(&TagParams { fill_missing: false, ..TagParams::default() });
    assert_eq!(found.iter().map(Pose::found).collect::<Vec<_>>(), [4, 3]);
    assert_eq!(outcome, Outcome { non_finite: 2, ..Outcome::default() });
    scene.maps.values.fill(f32::NAN);
    let (found, outcome) = scene.run(&TagParams::default());
    assert_eq!((found.len(), outcome.non_finite), (0, POINTS * FINE[0] * FINE[1]));
}

#[test]
fn peaks_beyond_the_most_are_counted() {
    let scene = pair();
    let outputs = TagOutputs { maps: &scene.maps, tags: None, fine_maps: Some(&scene.fine_maps) };
    let peaks = PeakParams { top_k: 1, ..TagParams::peaks() };
    let (_, outcome) = run(outputs, peaks, &TagParams::default()).unwrap();
    assert_eq!(outcome.truncated, POINTS);
}

#[test]
fn outputs_that_do_not_belong_together_are_refused() {
    let scene = pair();
    let [maps, tags, fine] = scene.split();
    let params = TagParams::default();
    let refused = |outputs, params: &TagParams, words: &[&str]| {
        let error = run(outputs, TagParams::peaks(), params).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let odd = Channels::new(COARSE, 7, || 0.0);
    let only = |maps| TagOutputs { maps, tags: None, fine_maps: None };
    refused(only(&odd), &params, &["'output0:float32:1x7x10x12' has 7 channels", "an even number"]);
    let named = TagParams { points: 5, ..params.clone() };
    refused(only(&scene.maps), &named, &["has 8 channels, but 10, a map and a tag for each of 5 points,"]);
    let apart = TagOutputs { maps: &maps, tags: Some(&tags), fine_maps: None };
    refused(apart, &named, &["has 4 channels, but 5, a map for each point,"]);
    // The maps alone are taken for maps and tags.
    let missing = TagOutputs { maps: &maps, tags: None, fine_maps: Some(&fine) };
    refused(missing, &params, &["fine maps 'output1", "4 channels, but there are 2 confidence maps"]);
    let few = TagOutputs { maps: &maps, tags: Some(&odd), fine_maps: None };
    refused(few, &params, &["tags 'output1", "7 channels, but there are 4"]);
    let small = Channels::new([6, 5], 4, || 0.0);
    let turned = TagOutputs { maps: &scene.maps, tags: None, fine_maps: Some(&small) };
    refused(turned, &params, &["fine maps have 6x5 cells, but the confidence maps 12x10"]);
    let large = Channels::new(FINE, 4, || 0.0);
    refused(
        TagOutputs { maps: &maps, tags: Some(&large), fine_maps: None },
        &params,
        &["tags have 24x20 cells, but the confidence maps 12x10"],
    );
    for order in [vec![0, 1, 2], vec![0, 1, 2, 2], vec![1, 2, 3, 4]] {
        let params = TagParams { order: Some(order), ..params.clone() };
        refused(only(&scene.maps), &params, &["point-order", "each of the 4 points once"]);
    }
    for tag_distance in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused(only(&scene.maps), &TagParams { tag_distance, ..params.clone() }, &["tag-distance of"]);
    }
}

#[test]
fn outputs_that_arrive_are_those_that_were_announced() {
    let scene = pair();
    let mut desc = scene.maps.desc("maps");
    let view = |channels: &'static str, dims: [usize; 4]| {
        TensorView::new(channels, TensorType::Float32, &dims, bytes(&scene.maps)).unwrap()
    };
    desc.dims[1] = None;
    let only = TagOutputs { maps: &desc, tags: None, fine_maps: None };
    let peaks = PeakParams { layout: Some(Layout::Nchw), ..TagParams::peaks() };
    let mut grouper =
        TagGrouper::new(only, INPUT, peaks, &TagParams { points: 3, ..TagParams::default() }).unwrap();
    let maps = view("maps", [1, 2 * POINTS, COARSE[1], COARSE[0]]);
    let error = grouper.run(&[maps], &Affine::IDENTITY).unwrap_err();
    assert!(matches!(error, GroupError::TaggedMaps { got: 8, .. }), "{error}");
    let error = grouper.run(&[maps, maps], &Affine::IDENTITY).unwrap_err();
    assert_eq!(error, GroupError::Count { got: 2, wanted: 1 });
    let turned = view("maps", [1, 2 * POINTS, COARSE[0], COARSE[1]]);
    let error = grouper.run(&[turned], &Affine::IDENTITY).unwrap_err();
    assert!(error.to_string().contains("was announced"), "{error}");
}

#[test]
fn points_of_coco_are_grouped_from_the_head_outwards() {
    let desc = TensorDesc::fixed("maps", TensorType::Float32, &[1, 34, 32, 32]);
    let order = |params: &TagParams, points| {
        let only = TagOutputs { maps: &desc, tags: None, fine_maps: None };
        TagPlan::new(only, [128, 128], TagParams::peaks(), params).unwrap().order(points)
    };
    let params = TagParams::default();
    // Nose, eyes, ears, shoulders, hips, elbows, wrists, knees, ankles.
    assert_eq!(order(&params, 17), [0, 1, 2, 3, 4, 5, 6, 11, 12, 7, 8, 9, 10, 13, 14, 15, 16]);
    assert_eq!(order(&params, 14), (0..14).collect::<Vec<_>>());
    let backwards: Vec<usize> = (0..17).rev().collect();
    assert_eq!(order(&TagParams { order: Some(backwards.clone()), ..params }, 17), backwards);
}
