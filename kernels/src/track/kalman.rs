//! The linear Kalman filter that the trackers use: constant velocity, four measured values.
//!
//! The textbook's filter over `[z0 z1 z2 z3, v0 v1 v2 v3]`, with F the identity plus the time step at `(i, 4 + i)`,
//! `H = [I4 0]` and diagonal Q, R and first P, never couples one measured value with another: P stays zero there. So it
//! is four filters of two states each, and their matrices are written out.

use crate::geometry::Affine;

/// By how much a camera's motion enlarges the picture.
pub(super) fn scale(camera: &Affine) -> f64 {
    (camera.scale[0] * camera.scale[1] - camera.skew[0] * camera.skew[1]).abs().sqrt()
}

/// Values measured per detection.
pub(super) const MEASURED: usize = 4;

/// Variances of a measured value and of its velocity, or the noise that a frame adds to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variance {
    pub(super) value: f64,
    pub(super) velocity: f64,
}

/// A measured value, its velocity per frame, and their covariance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) value: f64,
    pub(super) velocity: f64,
    variance: Variance,
    covariance: f64,
}

impl Axis {
    fn predict(&mut self, frames: f64, noise: Variance) {
        self.value += frames * self.velocity;
        self.variance.value +=
            frames * (2.0 * self.covariance + frames * self.variance.velocity) + frames * noise.value;
        self.covariance += frames * self.variance.velocity;
        self.variance.velocity += frames * noise.velocity;
    }

    fn update(&mut self, measured: f64, noise: f64) {
        let total = self.variance.value + noise;
        // Only absurd values make an invalid covariance; then the measurement is ignored.
        if total.is_nan() || total <= 0.0 {
            return;
        }
        let (gain, velocity_gain) = (self.variance.value / total, self.covariance / total);
        let residual = measured - self.value;
        self.value += gain * residual;
        self.velocity += velocity_gain * residual;
        self.variance.velocity -= velocity_gain * self.covariance;
        self.covariance -= gain * self.covariance;
        self.variance.value -= gain * self.variance.value;
    }
}

/// A Kalman filter over four measured values and their velocities.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kalman([Axis; MEASURED]);

impl Kalman {
    /// Starts at a first measurement, at rest, with these variances. A velocity without variance stays 0.
    pub(super) fn new(measured: [f64; MEASURED], variances: [Variance; MEASURED]) -> Self {
        Self(std::array::from_fn(|i| Axis {
            value: measured[i],
            velocity: 0.0,
            variance: variances[i],
            covariance: 0.0,
        }))
    }

    /// The measured values' estimates.
    pub(super) fn values(&self) -> [f64; MEASURED] {
        self.0.map(|axis| axis.value)
    }

    /// Their velocities, per frame.
    pub(super) fn velocities(&self) -> [f64; MEASURED] {
        self.0.map(|axis| axis.velocity)
    }

    /// Sets the velocity of one measured value to 0, and keeps it there.
    pub(super) fn stop(&mut self, measured: usize) {
        if let Some(axis) = self.0.get_mut(measured) {
            axis.velocity = 0.0;
        }
    }

    /// Moves on by a time in frames; `noise` is added for each frame (the diagonal of Q).
    pub(super) fn predict(&mut self, frames: f64, noise: [Variance; MEASURED]) {
        for (axis, noise) in self.0.iter_mut().zip(noise) {
            axis.predict(frames, noise);
        }
    }

    /// Moves with the camera. The first two values are a point; the others grow with these powers of the camera's scale.
    /// A rotation couples the point's two coordinates; that covariance, which is small where cameras turn by degrees, is
    /// left out.
    pub(super) fn moved(&mut self, camera: &Affine, powers: [i32; 2]) {
        let [x, y, sizes @ ..] = &mut self.0;
        let before = [*x, *y];
        for (i, axis) in [x, y].into_iter().enumerate() {
            let (own, other) = (before[i], before[1 - i]);
            let (a, b) = (camera.scale[i], camera.skew[i]);
            axis.value = a * own.value + b * other.value + camera.offset[i];
            axis.velocity = a * own.velocity + b * other.velocity;
            axis.covariance = a * a * own.covariance + b * b * other.covariance;
            axis.variance = Variance {
                value: a * a * own.variance.value + b * b * other.variance.value,
                velocity: a * a * own.variance.velocity + b * b * other.variance.velocity,
            };
        }
        for (axis, power) in sizes.iter_mut().zip(powers) {
            let factor = scale(camera).powi(power);
            axis.value *= factor;
            axis.velocity *= factor;
            axis.covariance *= factor * factor;
            axis.variance.value *= factor * factor;
            axis.variance.velocity *= factor * factor;
        }
    }

    /// Takes in a measurement of the first two values alone.
    pub(super) fn update_point(&mut self, measured: [f64; 2], noise: [f64; 2]) {
        for ((axis, measured), noise) in self.0.iter_mut().zip(measured).zip(noise) {
            axis.update(measured, noise);
        }
    }

    /// Takes in a measurement; `noise` is the diagonal of R.
    pub(super) fn update(&mut self, measured: [f64; MEASURED], noise: [f64; MEASURED]) {
        for ((axis, measured), noise) in self.0.iter_mut().zip(measured).zip(noise) {
            axis.update(measured, noise);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Matrix = Vec<Vec<f64>>;

    /// The textbook filter with full matrices, no structure used: F, H, Q, R as such, Gauss-Jordan inverse.
    struct Textbook {
        x: Matrix,
        p: Matrix,
    }

    fn diagonal(values: &[f64]) -> Matrix {
        (0..values.len())
            .map(|i| (0..values.len()).map(|j| if i == j { values[i] } else { 0.0 }).collect())
            .collect()
    }

    fn mul(a: &Matrix, b: &Matrix) -> Matrix {
        a.iter()
            .map(|row| {
                (0..b[0].len()).map(|j| row.iter().zip(b).map(|(v, other)| v * other[j]).sum()).collect()
            })
            .collect()
    }

    fn add(a: &Matrix, b: &Matrix, sign: f64) -> Matrix {
        a.iter().zip(b).map(|(r, s)| r.iter().zip(s).map(|(v, w)| v + sign * w).collect()).collect()
    }

    fn transposed(a: &Matrix) -> Matrix {
        (0..a[0].len()).map(|j| a.iter().map(|row| row[j]).collect()).collect()
    }

    fn inverse(a: &Matrix) -> Matrix {
        let n = a.len();
        let mut work = a.clone();
        let mut out = diagonal(&vec![1.0; n]);
        for i in 0..n {
            let pivot = (i..n).max_by(|&r, &s| work[r][i].abs().total_cmp(&work[s][i].abs())).unwrap();
            work.swap(i, pivot);
            out.swap(i, pivot);
            let scale = work[i][i];
            for j in 0..n {
                work[i][j] /= scale;
                out[i][j] /= scale;
            }
            for r in (0..n).filter(|&r| r != i) {
                let factor = work[r][i];
                for j in 0..n {
                    work[r][j] -= factor * work[i][j];
                    out[r][j] -= factor * out[i][j];
                }
            }
        }
        out
    }

    /// F.
    fn transition(frames: f64) -> Matrix {
        let mut f = diagonal(&[1.0; 8]);
        (0..4).for_each(|i| f[i][i + 4] = frames);
        f
    }

    impl Textbook {
        fn predict(&mut self, frames: f64, q: &[f64]) {
            let f = transition(frames);
            let q: Vec<f64> = q.iter().map(|v| frames * v).collect();
            self.x = mul(&f, &self.x);
            self.p = add(&mul(&mul(&f, &self.p), &transposed(&f)), &diagonal(&q), 1.0);
        }

        fn update(&mut self, z: &[f64], r: &[f64]) {
            let h: Matrix = (0..4).map(|i| (0..8).map(|j| f64::from(u8::from(i == j))).collect()).collect();
            let s = add(&mul(&mul(&h, &self.p), &transposed(&h)), &diagonal(r), 1.0);
            let k = mul(&mul(&self.p, &transposed(&h)), &inverse(&s));
            let z: Matrix = z.iter().map(|&v| vec![v]).collect();
            self.x = add(&self.x, &mul(&k, &add(&z, &mul(&h, &self.x), -1.0)), 1.0);
            self.p = add(&self.p, &mul(&mul(&k, &h), &self.p), -1.0);
        }
    }

    fn close(a: f64, b: f64) -> bool {
        // Both are f64 with the same equations in another order; 1e-8 relative leaves room for the condition of S.
        (a - b).abs() <= 1e-8 * (1.0 + a.abs().max(b.abs()))
    }

    fn variances(of: &[f64]) -> [Variance; 4] {
        std::array::from_fn(|i| Variance { value: of[i], velocity: of[4 + i] })
    }

    /// Runs both filters over the same frames (`None`: not measured) and compares every state and covariance.
    fn agree(first: [f64; 4], frames: &[(f64, Option<[f64; 4]>)], p: &[f64], q: &[f64], r: [f64; 4]) {
        let mut filter = Kalman::new(first, variances(p));
        let mut x = vec![vec![0.0]; 8];
        first.iter().zip(&mut x).for_each(|(&v, row)| row[0] = v);
        let mut textbook = Textbook { x, p: diagonal(p) };
        for (frame, (passed, measured)) in frames.iter().enumerate() {
            filter.predict(*passed, variances(q));
            textbook.predict(*passed, q);
            if let Some(z) = measured {
                filter.update(*z, r);
                textbook.update(z, &r);
            }
            for (i, axis) in filter.0.iter().enumerate() {
                let v = 4 + i;
                let (x, p) = (&textbook.x, &textbook.p);
                for (ours, theirs) in [
                    (axis.value, x[i][0]),
                    (axis.velocity, x[v][0]),
                    (axis.variance.value, p[i][i]),
                    (axis.variance.velocity, p[v][v]),
                    (axis.covariance, p[i][v]),
                ] {
                    assert!(close(ours, theirs), "frame {frame}, value {i}: {ours} is not {theirs}");
                }
                // Covariances that the filter does not have must be zero.
                assert!(
                    (0..8).all(|j| j == i || j == v || (p[i][j] == 0.0 && p[v][j] == 0.0)),
                    "frame {frame}"
                );
            }
        }
    }

    fn frames() -> impl Strategy<Value = Vec<(f64, Option<[f64; 4]>)>> {
        let measured = [-50f64..800.0, -50f64..600.0, 0.1f64..3.0, 5f64..300.0];
        let passed = prop_oneof![2 => Just(1.0), 1 => 0.1f64..5.0];
        prop::collection::vec((passed, prop::option::weighted(0.8, measured)), 1..40)
    }

    proptest! {
        #[test]
        fn it_is_the_textbook_filter(
            first in [0f64..800.0, 0f64..600.0, 0.1f64..3.0, 5f64..300.0],
            frames in frames(),
            noise in prop::collection::vec(1e-3f64..100.0, 20),
            still in prop::bool::ANY,
        ) {
            let (mut p, mut q) = (noise[4..12].to_vec(), noise[12..20].to_vec());
            if still {
                // One value without a velocity, as SORT's ratio.
                (p[7], q[7]) = (0.0, 0.0);
            }
            agree(first, &frames, &p, &q, [noise[0], noise[1], noise[2], noise[3]]);
        }
    }

    #[test]
    fn two_halves_of_a_frame_are_one() {
        let noise = variances(&[0.0; 8]);
        let mut once = Kalman::new([1.0, 2.0, 3.0, 4.0], variances(&[5.0; 8]));
        once.update([2.0, 3.0, 4.0, 5.0], [1.0; 4]);
        let mut twice = once.clone();
        once.predict(1.0, noise);
        twice.predict(0.5, noise);
        twice.predict(0.5, noise);
        for (a, b) in once.values().into_iter().zip(twice.values()) {
            assert!(close(a, b));
        }
    }

    #[test]
    fn with_the_camera_everything_moves_as_if_it_had_been_seen_from_there() {
        // A quarter turn, twice as near, and a shift: x' = 7 - 2 y, y' = 2 x + 1.
        let camera = Affine { scale: [0.0, 0.0], skew: [-2.0, 2.0], offset: [7.0, 1.0] };
        let seen = |[x, y, area, height]: [f64; 4]| [7.0 - 2.0 * y, 2.0 * x + 1.0, 4.0 * area, 2.0 * height];
        let noise = |by: [f64; 4]| by.map(|value| Variance { value, velocity: value / 10.0 });
        let (small, large) = ([1.0, 1.0, 9.0, 2.0], [4.0, 4.0, 144.0, 8.0]);
        let path = |i: i8| [3.0 * f64::from(i), 5.0 - f64::from(i), 80.0 + f64::from(i), 9.0];
        let mut moved = Kalman::new(path(0), noise(small));
        let mut there = Kalman::new(seen(path(0)), noise(large));
        for i in 1..9 {
            moved.predict(1.0, noise(small));
            there.predict(1.0, noise(large));
            moved.update(path(i), small);
            there.update(seen(path(i)), large);
        }
        moved.moved(&camera, [2, 1]);
        for (a, b) in moved.0.iter().zip(&there.0) {
            let all = |axis: &Axis| {
                [axis.value, axis.velocity, axis.covariance, axis.variance.value, axis.variance.velocity]
            };
            assert!(all(a).into_iter().zip(all(b)).all(|(a, b)| close(a, b)), "{a:?} is not {b:?}");
        }
    }

    #[test]
    fn the_variances_stay_such_over_a_hundred_thousand_frames() {
        let mut filter =
            Kalman::new([0.0, 0.0, 5e3, 0.5], variances(&[10.0, 10.0, 10.0, 10.0, 1e4, 1e4, 1e4, 0.0]));
        for frame in 0..100_000 {
            filter.predict(1.0, variances(&[1.0, 1.0, 1.0, 1.0, 1e-2, 1e-2, 1e-4, 0.0]));
            if frame % 7 != 3 {
                filter.update([f64::from(frame), 1.0, 5e3, 0.5], [1.0, 1.0, 10.0, 10.0]);
            }
        }
        for axis in &filter.0 {
            let Variance { value, velocity } = axis.variance;
            assert!(
                value > 0.0 && velocity >= 0.0 && value * velocity >= axis.covariance.powi(2),
                "{axis:?}"
            );
        }
        assert!((filter.velocities()[0] - 1.0).abs() < 1e-6, "velocity {}", filter.velocities()[0]);
        assert_eq!(filter.velocities()[3], 0.0);
    }
}
