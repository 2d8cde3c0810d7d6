//! Object keypoint similarity.

use super::Pair;
use super::overlap::sweep;
use crate::geometry::Rect;

/// How far annotators disagree on each of COCO's 17 keypoints, as a fraction of the object's scale: the `sigmas` of
/// COCO's own evaluation (pycocotools, `Params.setKpParams`).
pub const COCO_SIGMAS: [f32; 17] = [
    0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072, 0.062, 0.062, 0.107, 0.107, 0.087, 0.087,
    0.089, 0.089,
];

/// An object as its keypoints.
#[derive(Clone, Copy, Debug)]
pub struct Pose<'a> {
    /// The keypoints, in pixels. One with a coordinate that is not finite, or beyond ten millions, is missing, and so are
    /// those that the slice is too short for.
    pub points: &'a [(f32, f32)],
    /// The object's area in pixels, its scale squared. COCO takes the area of its outline; half the area of its box is near.
    pub area: f32,
}

/// Object keypoint similarity of the poses of `a` (rows) with those of `b` (columns) that, by `may_match` of row and column,
/// may match, written to `out` by ascending row and column where it is above 0. Of a row's pairs, at most
/// [`MOST_PARTNERS`](super::MOST_PARTNERS) are kept.
///
/// A similarity is at most 1: the mean over the keypoints that `a` has of `exp(-d^2 / (2 s^2 k^2))`, with their distance `d`,
/// `s^2` the area of `a`, and `k = 2 sigma` (COCO, "Keypoint evaluation"; Ronchi and Perona, "Benchmarking and Error Diagnosis in
/// Multi-Instance Pose Estimation", ICCV 2017). So `a` is what COCO calls the ground truth; a tracker passes its predictions.
/// A keypoint that only `b` lacks counts 0. A pose without keypoints, or whose area is not finite and above 0, is similar to
/// none.
///
/// There are as many keypoints as `sigmas`; those whose sigma, or its square in f32, is not finite and above 0 are left
/// out. Only poses that are near each other are compared, which are few of a crowd's.
pub fn oks_pairs(
    a: &[Pose<'_>],
    b: &[Pose<'_>],
    sigmas: &[f32],
    may_match: impl Fn(usize, usize) -> bool,
    out: &mut Vec<Pair>,
) {
    let (theirs, mut row, mut number) = (laid_out(b, sigmas.len()), KeypointRow::default(), usize::MAX);
    sweep_near(a, b, sigmas, may_match, out, |i, j| {
        if number != i {
            row.set(a.get(i)?, sigmas);
            number = i;
        }
        Some(row.similarity(theirs.get(j * sigmas.len()..(j + 1) * sigmas.len())?))
    });
}

/// How many pairs [`oks_pairs`] compares.
pub(super) fn near_pairs(
    a: &[Pose<'_>],
    b: &[Pose<'_>],
    sigmas: &[f32],
    may_match: impl Fn(usize, usize) -> bool,
) -> usize {
    let mut pairs = 0;
    sweep_near(a, b, sigmas, may_match, &mut Vec::new(), |_, _| {
        pairs += 1;
        None
    });
    pairs
}

/// The similarity of every pair, row-major `[a.len(), b.len()]`: bit for bit what [`oks_pairs`] computes of near pairs.
pub fn oks_matrix(a: &[Pose<'_>], b: &[Pose<'_>], sigmas: &[f32], out: &mut Vec<f32>) {
    out.clear();
    let (theirs, mut row) = (laid_out(b, sigmas.len()), KeypointRow::default());
    for pose in a {
        row.set(pose, sigmas);
        match sigmas.len() {
            0 => out.extend(b.iter().map(|_| 0.0)),
            keypoints => out.extend(theirs.chunks(keypoints).map(|theirs| row.similarity(theirs))),
        }
    }
}

/// Scores the pairs that may match and are near enough to have a similarity.
fn sweep_near(
    a: &[Pose<'_>],
    b: &[Pose<'_>],
    sigmas: &[f32],
    may_match: impl Fn(usize, usize) -> bool,
    out: &mut Vec<Pair>,
    score: impl FnMut(usize, usize) -> Option<f32>,
) {
    let widest = sigmas.iter().map(|sigma| spread(*sigma)).fold(0.0, f32::max);
    let reach = |pose: &Pose<'_>| if is_scale(pose.area) { (NONE * pose.area * widest).sqrt() } else { 0.0 };
    let rows: Vec<Rect> = a.iter().map(|pose| around(pose.points, reach(pose))).collect();
    let cols: Vec<Rect> = b.iter().map(|pose| around(pose.points, 0.0)).collect();
    sweep(&rows, &cols, may_match, score, out);
}

/// The box around the points, extended by `reach` and a bit for rounding; without points it is empty.
fn around(points: &[(f32, f32)], reach: f32) -> Rect {
    let (mut least, mut most) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    for [x, y] in points.iter().filter_map(there) {
        least = [least[0].min(x), least[1].min(y)];
        most = [most[0].max(x), most[1].max(y)];
    }
    if least[0] > most[0] {
        return Rect::default();
    }
    // Each edge gets the rounding error of the farthest coordinate.
    let farthest = least.into_iter().chain(most).fold(0.0, |far: f32, v| far.max(v.abs()));
    let margin = (1.001 * reach + 1e-5 * farthest + f32::MIN_POSITIVE).min(10.0 * FARTHEST);
    let ([x, y], [right, bottom]) = (least.map(|v| v - margin), most.map(|v| v + margin));
    Rect { x, y, w: right - x, h: bottom - y }
}

/// A keypoint with a coordinate beyond this counts as missing.
const FARTHEST: f32 = 1e7;

fn there((x, y): &(f32, f32)) -> Option<[f32; 2]> {
    (x.abs() <= FARTHEST && y.abs() <= FARTHEST).then_some([*x, *y])
}

/// Writes the poses' points, row-major `[poses, keypoints]`, NaN where one is missing.
pub(super) fn lay_out<'a>(
    poses: impl Iterator<Item = &'a Pose<'a>>,
    keypoints: usize,
    points: &mut [[f32; 2]],
) {
    points.fill([f32::NAN; 2]);
    // Without keypoints there is no chunk to fill.
    for (slots, pose) in points.chunks_exact_mut(keypoints.max(1)).zip(poses) {
        for (slot, point) in slots.iter_mut().zip(pose.points) {
            *slot = there(point).unwrap_or([f32::NAN; 2]);
        }
    }
}

fn laid_out(poses: &[Pose<'_>], keypoints: usize) -> Vec<[f32; 2]> {
    let mut points = vec![[0.0; 2]; poses.len() * keypoints];
    lay_out(poses.iter(), keypoints, &mut points);
    points
}

/// A row's pose, prepared.
#[derive(Default)]
struct KeypointRow {
    points: Vec<[f32; 2]>,
    /// Divisors of squared distances; NaN for keypoints to leave out.
    scales: Vec<f32>,
    /// Keypoints that count.
    count: f32,
    terms: Vec<f32>,
}

impl KeypointRow {
    fn set(&mut self, pose: &Pose<'_>, sigmas: &[f32]) {
        self.points.resize(sigmas.len(), [0.0; 2]);
        lay_out(std::iter::once(pose), sigmas.len(), &mut self.points);
        let scale = |(point, sigma): (&[f32; 2], &f32)| {
            let spread = spread(*sigma);
            let counts = spread > 0.0 && is_scale(pose.area) && !point[0].is_nan();
            if counts { pose.area * spread } else { f32::NAN }
        };
        self.scales.clear();
        self.scales.extend(self.points.iter().zip(sigmas).map(scale));
        self.count = self.scales.iter().filter(|scale| !scale.is_nan()).count() as f32;
        self.terms.resize(sigmas.len(), 0.0);
    }

    fn similarity(&mut self, theirs: &[[f32; 2]]) -> f32 {
        // All terms first, which the compiler vectorises, and then their sum, whose order matters.
        let pairs = self.points.iter().zip(theirs).zip(&self.scales);
        for (term, ((ours, theirs), scale)) in self.terms.iter_mut().zip(pairs) {
            let (dx, dy) = (ours[0] - theirs[0], ours[1] - theirs[1]);
            *term = falloff((dx * dx + dy * dy) / scale);
        }
        let sum = self.terms.iter().fold(0.0, |sum, term| sum + term);
        if self.count > 0.0 { sum / self.count } else { 0.0 }
    }
}

/// Where `falloff` ends.
const NONE: f32 = 87.0;

/// `exp(-x)` for `x` from 0 on, within 1e-7 of the exact value; 0 from 87 on, and for NaN, where a keypoint is missing or
/// everything is too small for f32. Written out, so that CPUs and GPUs, whose libraries differ in the last bits, agree in all
/// of them: `2^-n exp(r)`, with the polynomial of Cephes' `expf`.
fn falloff(x: f32) -> f32 {
    /// Added to a number below 2^22, it leaves the nearest integer, ties to even, in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let within = x < NONE;
    let x = if within { x } else { 0.0 };
    // n is 0 to 126.
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    // n ln 2 - x, with ln 2 as the sum of one that is exact when multiplied and the rest.
    let r = n * 0.693_359_4 - x + n * -2.121_944_4e-4;
    let mut e = 1.987_569_1e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        e = e * r + coefficient;
    }
    e = e * r * r + r + 1.0;
    let power = f32::from_bits((127 - (rounded.to_bits() & 127)) << 23);
    if within { e * power } else { 0.0 }
}

/// The divisor of a squared distance on an object of unit area: `2 k^2`; 0 for a keypoint to leave out.
pub(super) fn spread(sigma: f32) -> f32 {
    let spread = 8.0 * sigma * sigma;
    if is_scale(sigma) && is_scale(spread) { spread } else { 0.0 }
}

/// Whether `v` can be an area or a sigma.
pub(super) fn is_scale(v: f32) -> bool {
    v.is_finite() && v > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(a: Pose<'_>, b: Pose<'_>, sigmas: &[f32]) -> f32 {
        let mut out = vec![9.0];
        oks_matrix(&[a], &[b], sigmas, &mut out);
        assert_eq!(out.len(), 1);
        out[0]
    }

    #[test]
    fn the_falloff_is_that_of_exp() {
        assert_eq!(
            (falloff(0.0), falloff(87.0), falloff(f32::INFINITY), falloff(f32::NAN)),
            (1.0, 0.0, 0.0, 0.0)
        );
        let mut x = 0.0f32;
        while x < 87.0 {
            let (got, want) = (f64::from(falloff(x)), (-f64::from(x)).exp());
            assert!((got - want).abs() <= 2e-7 * want, "{x}: {got} is not {want}");
            x = (x * 1.0003).max(x + 1e-4);
        }
    }

    #[test]
    fn the_same_pose_is_one_and_a_distance_of_k_scales_is_exp_of_minus_a_half() {
        let points = [(3.0, 4.0), (50.0, 7.0)];
        let pose = Pose { points: &points, area: 400.0 };
        assert_eq!(one(pose, pose, &[0.1, 0.05]), 1.0);
        // k s = 2 x 0.1 x 20 = 4 pixels.
        let moved = [(7.0, 4.0), (50.0, 7.0)];
        let got = one(pose, Pose { points: &moved, area: 1.0 }, &[0.1, 0.05]);
        assert!((got - (1.0 + (-0.5f32).exp()) / 2.0).abs() < 1e-6, "{got}");
    }

    #[test]
    fn keypoints_count_where_the_row_has_them() {
        let none = (f32::NAN, 0.0);
        let full = Pose { points: &[(1.0, 1.0), (2.0, 2.0)], area: 100.0 };
        let half = Pose { points: &[(1.0, 1.0), none], area: 100.0 };
        let short = Pose { points: &[(1.0, 1.0)], area: 100.0 };
        let sigmas = [0.1, 0.1];
        assert_eq!(one(half, full, &sigmas), 1.0, "of one keypoint");
        assert_eq!(one(full, half, &sigmas), 0.5);
        assert_eq!(one(full, short, &sigmas), 0.5);
        assert_eq!(one(full, full, &[0.1, 0.0]), 1.0, "a sigma that is none leaves its keypoint out");
        assert_eq!(one(Pose { points: &[none], ..full }, full, &sigmas), 0.0);
        assert_eq!(one(full, full, &[]), 0.0);
        for area in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert_eq!(one(Pose { area, ..full }, full, &sigmas), 0.0);
            assert_eq!(one(full, Pose { area, ..full }, &sigmas), 1.0, "only the row's area matters");
        }
        let far = Pose { points: &[(3e38, -3e38), (2.0, 2.0)], area: 1.0 };
        assert_eq!(one(full, far, &sigmas), 0.5);
    }

    /// `oks_pairs` must find the pairs that the matrix has, and no others.
    #[track_caller]
    fn assert_pairs_are_the_matrix(a: &[Pose<'_>], b: &[Pose<'_>], sigmas: &[f32]) -> usize {
        let (mut pairs, mut matrix) = (vec![Pair { row: 9, col: 9, score: 9.0 }], Vec::new());
        oks_pairs(a, b, sigmas, |_, _| true, &mut pairs);
        oks_matrix(a, b, sigmas, &mut matrix);
        let place = |i: usize| (i / b.len(), i % b.len());
        let wanted = matrix.iter().enumerate().filter(|(_, score)| **score > 0.0);
        let wanted: Vec<_> = wanted.map(|(i, score)| (place(i), score.to_bits())).collect();
        let got: Vec<_> = pairs.iter().map(|pair| ((pair.row, pair.col), pair.score.to_bits())).collect();
        assert_eq!(got, wanted);
        near_pairs(a, b, sigmas, |_, _| true)
    }

    #[test]
    fn a_point_counts_as_far_as_the_falloff_goes_and_poses_beyond_are_not_compared() {
        // 87 x 400 x 8 x 0.01 = 52.76 squared; with two sigmas, the wider decides.
        let pose = Pose { points: &[(500.0, 500.0)], area: 400.0 };
        let at = |x: f32, y: f32, sigmas: &[f32]| {
            let points = [(x, y)];
            let near = assert_pairs_are_the_matrix(&[pose], &[Pose { points: &points, area: 1.0 }], sigmas);
            (near, one(pose, Pose { points: &points, area: 1.0 }, sigmas) > 0.0)
        };
        assert_eq!(at(552.7, 500.0, &[0.1]), (1, true));
        assert_eq!(at(500.0, 447.3, &[0.1]), (1, true));
        assert_eq!(at(552.78, 500.0, &[0.1]), (1, false));
        assert_eq!([at(553.0, 500.0, &[0.1]), at(500.0, 446.0, &[0.1])], [(0, false); 2]);
        assert_eq!(at(553.0, 500.0, &[0.1, 0.2]), (1, false), "it may be the other point");
    }

    #[test]
    fn a_point_far_away_takes_nothing_from_one_that_is_near() {
        for (sigma, area, x, near, far) in [
            (0.001_076_66, 2.105_248, 0.219_012_17, 0.177_840_07, -3_315.726_6),
            (0.001_315_55, 2.183_424, 0.063_434_66, 0.063_367_11, -2_619_265.3),
        ] {
            let ours = Pose { points: &[(x, 100.0)], area };
            let points = [(near, 100.0), (far, 100.0)];
            let theirs = Pose { points: &points, area: 1.0 };
            assert!(one(ours, theirs, &[sigma; 2]) > 0.0);
            assert_pairs_are_the_matrix(&[ours], &[theirs], &[sigma; 2]);
        }
    }

    #[test]
    fn who_may_not_match_is_not_paired() {
        let pose = Pose { points: &[(5.0, 5.0)], area: 100.0 };
        let mut out = Vec::new();
        oks_pairs(&[pose; 3], &[pose; 3], &[0.1], |row, col| row != col, &mut out);
        let places: Vec<_> = out.iter().map(|pair| (pair.row, pair.col)).collect();
        assert_eq!(places, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
    }

    #[test]
    fn empty_sets_give_an_empty_matrix() {
        let pose = Pose { points: &[(1.0, 1.0)], area: 1.0 };
        let mut out = vec![1.0];
        oks_matrix(&[], &[pose], &COCO_SIGMAS, &mut out);
        assert!(out.is_empty());
        oks_matrix(&[pose], &[], &COCO_SIGMAS, &mut out);
        assert!(out.is_empty());
    }

    proptest! {
        #[test]
        fn sparse_pairs_are_those_of_the_matrix(
            points in prop::collection::vec((-200f32..900.0, -200f32..900.0), 40),
            odd in prop::collection::vec(0usize..40, 8),
            areas in prop::collection::vec(prop::sample::select(
                vec![0.0, -1.0, f32::NAN, f32::INFINITY, 1e-30, 0.5, 60.0, 900.0, 1e7, 1e38]), 20),
            sigmas in prop::collection::vec(prop::sample::select(vec![0.0, f32::NAN, 0.01, 0.1, 0.5, 1e30]), 4),
        ) {
            let mut points = points;
            for (i, value) in odd.into_iter().zip([f32::NAN, f32::INFINITY, 3e38, -3e38, 1e20, 0.0, f32::NAN, 1e10]) {
                points[i].0 = value;
            }
            // Ten poses of up to four points each; some have none.
            let pose = |i: usize| Pose { points: &points[4 * i..4 * i + (i + 3) % 5], area: areas[i] };
            let poses: Vec<_> = (0..10).map(pose).collect();
            let (a, b) = poses.split_at(5);
            assert_pairs_are_the_matrix(a, b, &sigmas);
            assert_pairs_are_the_matrix(b, a, &sigmas);
        }

        /// Against pycocotools' formula in f64.
        #[test]
        fn every_entry_is_that_of_cocos_evaluation(
            a in prop::collection::vec((0f32..300.0, 0f32..300.0), 17),
            offsets in prop::collection::vec((-30f32..30.0, -30f32..30.0), 17),
            area in 100f32..90_000.0,
        ) {
            let b: Vec<_> = a.iter().zip(&offsets).map(|(p, o)| (p.0 + o.0, p.1 + o.1)).collect();
            let similar = |(k, sigma): (usize, &f32)| {
                let d = |from: f32, to: f32| (f64::from(to) - f64::from(from)).powi(2);
                let variance = (2.0 * f64::from(*sigma)).powi(2);
                (-(d(a[k].0, b[k].0) + d(a[k].1, b[k].1)) / variance / f64::from(area) / 2.0).exp()
            };
            let want = COCO_SIGMAS.iter().enumerate().map(similar).sum::<f64>() / 17.0;
            let got = one(Pose { points: &a, area }, Pose { points: &b, area }, &COCO_SIGMAS);
            // Eight roundings of the exponent x move exp(-x) by at most 8 x 6e-8 x/e^x < 2e-7, and 17 sums 1e-6.
            prop_assert!((f64::from(got) - want).abs() < 2e-6, "{} against {}", got, want);
        }
    }
}
