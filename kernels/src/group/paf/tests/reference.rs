//! Random scenes against the definition, computed in f64 by trying all assignments.

use super::*;

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
                PafConvention::DeepLabCut => unreachable!("it scores no lines"),
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

/// The best sum of a full assignment, by trying all assignments.
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
        // Tolerances are those of float32 sums of ten and of three numbers.
        assert!(
            got.iter().zip(&want).all(|(g, w)| (f64::from(g.score) - w.1).abs() < 1e-5),
            "{got:?} {want:?}"
        );
        instances += want.len();
        whole += want.iter().filter(|w| w.0.iter().flatten().count() == 4).count();
    }
    assert!(instances > 500 && whole > 20, "{instances} instances, {whole} whole ones");
}
