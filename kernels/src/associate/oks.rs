//! Object keypoint similarity.

/// How far annotators disagree on each of COCO's 17 keypoints, as a fraction of the object's scale: the `sigmas` of
/// COCO's own evaluation (pycocotools, `Params.setKpParams`).
pub const COCO_SIGMAS: [f32; 17] = [
    0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072, 0.062, 0.062, 0.107, 0.107, 0.087, 0.087,
    0.089, 0.089,
];

/// An object as its keypoints.
#[derive(Clone, Copy, Debug)]
pub struct Pose<'a> {
    /// Where the keypoints are, in pixels; one with a coordinate that is not finite is not there, and neither is one
    /// that the slice is too short for.
    pub points: &'a [(f32, f32)],
    /// The object's area in pixels, its scale squared. COCO takes the area of its outline; half of its box's is near.
    pub area: f32,
}

/// Object keypoint similarity of every pose of `a` with every pose of `b`, written to `out`.
///
/// `out` becomes row-major `[a.len(), b.len()]`, each value in 0..1: the mean over the keypoints that `a` has of
/// `exp(-d^2 / (2 s^2 k^2))`, with their distance `d`, `s^2` the area of `a`, and `k = 2 sigma` (COCO, "Keypoint
/// evaluation"; Ronchi and Perona, "Benchmarking and Error Diagnosis in Multi-Instance Pose Estimation", ICCV 2017). So
/// `a` is what COCO calls the ground truth, for a tracker what it expects. A keypoint that only `b` lacks counts 0. A
/// pose without keypoints, or whose area is not finite and above 0, resembles nothing: its row is 0.
///
/// There are as many keypoints as `sigmas`; those whose sigma, or its square in f32, is not finite and above 0 are left
/// out.
pub fn oks_matrix(a: &[Pose<'_>], b: &[Pose<'_>], sigmas: &[f32], out: &mut Vec<f32>) {
    out.clear();
    out.resize(a.len() * b.len(), 0.0);
    if b.is_empty() {
        return;
    }
    // Keypoint by keypoint, each of all poses: so the compiler vectorises, and each pair's sum has its order.
    let point = |pose: &Pose<'_>, k| pose.points.get(k).copied().unwrap_or((f32::NAN, 0.0));
    let columns = (0..sigmas.len()).map(|k| b.iter().map(|pose| point(pose, k)).unzip());
    let columns: Vec<(Vec<f32>, Vec<f32>)> = columns.collect();
    for (pose, sums) in a.iter().zip(out.chunks_mut(b.len())).filter(|(pose, _)| is_scale(pose.area)) {
        let mut count = 0.0;
        for (k, (xs, ys)) in columns.iter().enumerate() {
            let ((x, y), spread) = (point(pose, k), spread(sigmas[k]));
            if spread == 0.0 || !x.is_finite() || !y.is_finite() {
                continue;
            }
            count += 1.0;
            let scale = pose.area * spread;
            for ((sum, bx), by) in sums.iter_mut().zip(xs).zip(ys) {
                let (dx, dy) = (x - bx, y - by);
                *sum += falloff((dx * dx + dy * dy) / scale);
            }
        }
        sums.iter_mut().filter(|_| count > 0.0).for_each(|sum| *sum /= count);
    }
}

/// `exp(-x)` for `x` from 0 on, within 1e-7 of the exact value; 0 from 87 on, and for NaN, where a keypoint is missing or
/// everything is too small for f32. Written out, so that CPUs and GPUs, whose libraries differ in the last bits, agree in all
/// of them: `2^-n exp(r)`, with the polynomial of Cephes' `expf`.
fn falloff(x: f32) -> f32 {
    /// Added to a number below 2^22, it leaves the nearest integer, ties to even, in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let within = x < 87.0;
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

/// What divides the square of a distance on an object of unit area: `2 k^2`; 0 for a keypoint to leave out.
pub(super) fn spread(sigma: f32) -> f32 {
    let spread = 8.0 * sigma * sigma;
    if is_scale(sigma) && is_scale(spread) { spread } else { 0.0 }
}

/// Whether it can be an area or a sigma.
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
