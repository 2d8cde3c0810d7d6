//! The ground as the camera sees it.

use crate::homography::Homography;

/// The covariance of x and y.
pub type Covariance = [[f64; 2]; 2];

/// What is farther than this, in metres, is as good as at the horizon.
const HORIZON: f64 = 100_000.0;

/// From pixels of the frame to metres of the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane(Homography);

impl Plane {
    /// Of a map whose w' is positive below the horizon.
    pub(super) fn new(map: Homography) -> Self {
        Self(map)
    }

    /// Where a pixel of the frame lies on the ground, in metres; none where it lies at or above the horizon.
    pub fn place(&self, point: [f64; 2]) -> Option<[f64; 2]> {
        let [x, y, w] = self.0.homogeneous(point);
        let place = [x / w, y / w];
        (w > 0.0 && place.iter().all(|v| v.abs() <= HORIZON)).then_some(place)
    }

    /// The covariance on the ground, in square metres, of a pixel that is known with these standard deviations in x and y: to first
    /// order.
    pub fn covariance(&self, point: [f64; 2], deviation: [f64; 2]) -> Option<Covariance> {
        let place = self.place(point)?;
        let [_, _, w] = self.0.homogeneous(point);
        let bottom = self.0.rows[2];
        let slope = [0, 1].map(|k| [0, 1].map(|axis| (self.0.rows[k][axis] - place[k] * bottom[axis]) / w));
        let of = |i: usize, j: usize| -> f64 {
            (0..2).map(|axis| slope[i][axis] * slope[j][axis] * deviation[axis].powi(2)).sum()
        };
        Some([[of(0, 0), of(0, 1)], [of(1, 0), of(1, 1)]])
    }
}
