//! The linear Kalman filter that the trackers use: constant velocity, four measured values.

use nalgebra::{Cholesky, SMatrix, SVector};

/// Values measured per detection; they are the first four of the state.
pub(super) const MEASURED: usize = 4;

/// A Kalman filter over `[z0 z1 z2 z3, v...]`: four measured values, then the velocities per frame of the first `N - 4` of
/// them. In the textbook's terms F is the identity with ones at `(i, 4 + i)`, H is `[I4 0]`, Q and R are diagonal.
/// Equations: predict `x = F x, P = F P F' + Q`; update `S = H P H' + R, K = P H' S^-1, x += K (z - H x), P -= K H P`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kalman<const N: usize> {
    state: SVector<f64, N>,
    covariance: SMatrix<f64, N, N>,
}

impl<const N: usize> Kalman<N> {
    /// Starts at a first measurement, at rest, with these variances (the diagonal of P).
    pub(super) fn new(measured: [f64; MEASURED], variances: [f64; N]) -> Self {
        let mut state = SVector::<f64, N>::zeros();
        state.fixed_rows_mut::<MEASURED>(0).copy_from_slice(&measured);
        Self { state, covariance: SMatrix::from_diagonal(&variances.into()) }
    }

    /// The state vector.
    pub(super) fn state(&self) -> &[f64] {
        self.state.as_slice()
    }

    /// Holds the velocity of one measured value at 0 from here on. No effect on one that has no velocity.
    pub(super) fn stop(&mut self, measured: usize) {
        if let Some(velocity) = self.state.get_mut(MEASURED + measured) {
            *velocity = 0.0;
        }
    }

    /// Moves one frame on; `noise` is the diagonal of Q.
    pub(super) fn predict(&mut self, noise: [f64; N]) {
        // F adds row 4 + i to row i, so F P F' is the same on the rows and then on the columns.
        for i in 0..N - MEASURED {
            self.state[i] += self.state[MEASURED + i];
            for j in 0..N {
                self.covariance[(i, j)] += self.covariance[(MEASURED + i, j)];
            }
        }
        for i in 0..N - MEASURED {
            for j in 0..N {
                self.covariance[(j, i)] += self.covariance[(j, MEASURED + i)];
            }
        }
        for (i, variance) in noise.into_iter().enumerate() {
            self.covariance[(i, i)] += variance;
        }
    }

    /// Takes in a measurement; `noise` is the diagonal of R. A covariance that has lost its positive definiteness (only
    /// absurd values do that) ignores the measurement.
    pub(super) fn update(&mut self, measured: [f64; MEASURED], noise: [f64; MEASURED]) {
        let cross: SMatrix<f64, N, MEASURED> = self.covariance.fixed_view::<N, MEASURED>(0, 0).into_owned();
        let mut innovation: SMatrix<f64, MEASURED, MEASURED> =
            cross.fixed_view::<MEASURED, MEASURED>(0, 0).into_owned();
        for (i, variance) in noise.into_iter().enumerate() {
            innovation[(i, i)] += variance;
        }
        let Some(factor) = Cholesky::new(innovation) else { return };
        // K' = S^-1 (P H')', because S is symmetric.
        let gain = factor.solve(&cross.transpose()).transpose();
        let residual = SVector::from(measured) - self.state.fixed_rows::<MEASURED>(0);
        self.state += gain * residual;
        self.covariance -= gain * cross.transpose();
        // Rounding makes P drift from symmetry; over thousands of frames that would end in a P that is no covariance.
        self.covariance = (self.covariance + self.covariance.transpose()) * 0.5;
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

    impl Textbook {
        fn predict(&mut self, q: &[f64]) {
            let n = q.len();
            let mut f = diagonal(&vec![1.0; n]);
            for i in 0..n - 4 {
                f[i][i + 4] = 1.0;
            }
            self.x = mul(&f, &self.x);
            self.p = add(&mul(&mul(&f, &self.p), &transposed(&f)), &diagonal(q), 1.0);
        }

        fn update(&mut self, z: &[f64], r: &[f64]) {
            let n = self.x.len();
            let h: Matrix = (0..4).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
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

    /// Runs both filters over the same frames (`None`: not measured) and compares every state and covariance.
    fn agree<const N: usize>(
        first: [f64; 4],
        frames: &[Option<[f64; 4]>],
        p: [f64; N],
        q: [f64; N],
        r: [f64; 4],
    ) {
        let mut filter = Kalman::new(first, p);
        let mut x = vec![vec![0.0]; N];
        first.iter().zip(&mut x).for_each(|(&v, row)| row[0] = v);
        let mut textbook = Textbook { x, p: diagonal(&p) };
        for (frame, measured) in frames.iter().enumerate() {
            filter.predict(q);
            textbook.predict(&q);
            if let Some(z) = measured {
                filter.update(*z, r);
                textbook.update(z, &r);
            }
            for i in 0..N {
                assert!(close(filter.state[i], textbook.x[i][0]), "frame {frame}, state {i}");
                for j in 0..N {
                    assert!(close(filter.covariance[(i, j)], textbook.p[i][j]), "frame {frame}, P {i} {j}");
                }
            }
        }
    }

    fn frames() -> impl Strategy<Value = Vec<Option<[f64; 4]>>> {
        let measured = [-50f64..800.0, -50f64..600.0, 0.1f64..3.0, 5f64..300.0];
        prop::collection::vec(prop::option::weighted(0.8, measured), 1..40)
    }

    proptest! {
        #[test]
        fn it_is_the_textbook_filter(
            first in [0f64..800.0, 0f64..600.0, 0.1f64..3.0, 5f64..300.0],
            frames in frames(),
            noise in prop::collection::vec(1e-3f64..100.0, 20),
        ) {
            let r = [noise[0], noise[1], noise[2], noise[3]];
            agree::<7>(first, &frames, std::array::from_fn(|i| noise[4 + i]), std::array::from_fn(|i| noise[12 + i]), r);
            agree::<8>(first, &frames, std::array::from_fn(|i| noise[4 + i]), std::array::from_fn(|i| noise[12 + i]), r);
        }
    }

    #[test]
    fn the_covariance_stays_one_over_a_hundred_thousand_frames() {
        let mut filter = Kalman::<7>::new([0.0, 0.0, 5e3, 0.5], [10.0, 10.0, 10.0, 10.0, 1e4, 1e4, 1e4]);
        for frame in 0..100_000 {
            filter.predict([1.0, 1.0, 1.0, 1.0, 1e-2, 1e-2, 1e-4]);
            if frame % 7 != 3 {
                filter.update([f64::from(frame), 1.0, 5e3, 0.5], [1.0, 1.0, 10.0, 10.0]);
            }
        }
        assert_eq!(filter.covariance, filter.covariance.transpose());
        assert!(Cholesky::new(filter.covariance).is_some());
        assert!((filter.state[4] - 1.0).abs() < 1e-6, "velocity {}", filter.state[4]);
    }
}
