//! Rotated boxes as a model writes them, and how much two of them overlap.

use crate::associate::Oriented;
use crate::geometry::{Affine, Rect};

/// What Ultralytics adds wherever it divides or takes a root or a logarithm, and the least distance that it knows.
const EPSILON: f64 = 1e-7;
/// No less than the distance's part for the shapes can be below 0, `-ln(EPSILON) / 2`.
const LEAST_SPREAD: f64 = 8.1;

/// A box in tensor pixels that is rotated about its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rotated {
    pub center: [f32; 2],
    /// Width and height before it is rotated.
    pub size: [f32; 2],
    /// In radians, clockwise on the screen (y goes down).
    pub angle: f32,
}

impl Rotated {
    /// Its centre in the frame, and what its sides become there: from the left to the right and from the top to the bottom.
    fn mapped(&self, map: &Affine) -> [[f64; 2]; 3] {
        let [x, y, w, h] = [self.center[0], self.center[1], self.size[0], self.size[1]].map(f64::from);
        let (sin, cos) = f64::from(self.angle).sin_cos();
        let turned =
            |x: f64, y: f64| [map.scale[0] * x + map.skew[0] * y, map.skew[1] * x + map.scale[1] * y];
        let [cx, cy] = turned(x, y);
        [[cx + map.offset[0], cy + map.offset[1]], turned(cos * w, sin * w), turned(-sin * h, cos * h)]
    }

    /// The upright box around it in the frame: left, top, right, bottom. Without a size where it has none, not finite where
    /// one of its numbers is not.
    pub fn hull(&self, map: &Affine) -> [f32; 4] {
        let [[x, y], u, v] = self.mapped(map);
        let sizeless = self.size[0] <= 0.0 || self.size[1] <= 0.0;
        let half = if sizeless { 0.0 } else { 0.5 };
        let (dx, dy) = ((u[0].abs() + v[0].abs()) * half, (u[1].abs() + v[1].abs()) * half);
        [(x - dx) as f32, (y - dy) as f32, (x + dx) as f32, (y + dy) as f32]
    }

    /// The box in the frame, its angle from 0 to below a quarter turn, as Ultralytics' `regularize_rboxes` leaves them.
    ///
    /// A map of one scale makes a rotated rectangle a rectangle. One of two scales makes it a parallelogram; then this is
    /// the rectangle about the same centre whose corners are nearest to the parallelogram's by the sum of squares. With
    /// the mapped sides `u` and `v`, its first side's direction `e` has the largest `(u e)^2 + (v e')^2` (`e'` is `e` a
    /// quarter turn further), and its sides are `u e` and `v e'` long.
    pub fn in_frame(&self, map: &Affine) -> Oriented {
        let [[x, y], [ux, uy], [vx, vy]] = self.mapped(map);
        let twice = 2.0 * (ux * uy - vx * vy);
        let angle = 0.5 * twice.atan2(ux * ux + vy * vy - (uy * uy + vx * vx));
        let (sin, cos) = angle.sin_cos();
        let sides = [(ux * cos + uy * sin).abs(), (vy * cos - vx * sin).abs()];
        let swapped = [sides[1], sides[0]];
        const QUARTER: f64 = std::f64::consts::FRAC_PI_2;
        let (mut angle, mut size) =
            if angle < 0.0 { ((angle + QUARTER) as f32, swapped) } else { (angle as f32, sides) };
        // A quarter turn, if only for rounding.
        if angle >= std::f32::consts::FRAC_PI_2 {
            (angle, size) = (0.0, [size[1], size[0]]);
        }
        let [w, h] = size;
        let rect = Rect { x: (x - w * 0.5) as f32, y: (y - h * 0.5) as f32, w: w as f32, h: h as f32 };
        Oriented { rect, angle }
    }

    /// The distribution with the box's centre, and with the covariance of a uniform one over the box.
    pub fn gaussian(&self) -> Gaussian {
        let [x, y] = self.center.map(f64::from);
        let [w, h] = self.size.map(f64::from);
        let (sin, cos) = f64::from(self.angle).sin_cos();
        let (a, b) = (w * w / 12.0, h * h / 12.0);
        Gaussian {
            x,
            y,
            xx: a * cos * cos + b * sin * sin,
            yy: a * sin * sin + b * cos * cos,
            xy: (a - b) * cos * sin,
            spread: w * h / 12.0,
        }
    }
}

/// A box as a normal distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Gaussian {
    x: f64,
    y: f64,
    /// The covariance.
    xx: f64,
    yy: f64,
    xy: f64,
    /// The square root of its determinant.
    spread: f64,
}

impl Gaussian {
    /// The determinant of the sum of both covariances; and, to be divided by it, the Bhattacharyya distance's part for the
    /// centres: a quarter of their squared Mahalanobis distance under that sum.
    fn apart(&self, other: &Self) -> (f64, f64) {
        let (xx, yy, xy) = (self.xx + other.xx, self.yy + other.yy, self.xy + other.xy);
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        let determinant = xx * yy - xy * xy;
        (determinant, 0.25 * (xx * dy * dy + yy * dx * dx - 2.0 * xy * dx * dy))
    }

    /// The distance's part for the shapes.
    fn widened(&self, other: &Self, determinant: f64) -> f64 {
        0.5 * (determinant / (4.0 * self.spread * other.spread + EPSILON) + EPSILON).ln()
    }

    /// Whether the boxes overlap by at least what `limit` stands for: see [`distance_of`].
    pub fn suppresses(&self, other: &Self, limit: f64) -> bool {
        let (determinant, apart) = self.apart(other);
        // Far apart, as most are: without a division or a logarithm.
        if apart > (limit + LEAST_SPREAD) * (determinant + EPSILON) {
            return false;
        }
        let distance = apart / (determinant + EPSILON) + self.widened(other, determinant);
        distance.max(EPSILON) <= limit
    }
}

/// The largest Bhattacharyya distance at which the boxes' probabilistic IoU, `1 - sqrt(1 - exp(-distance) + 1e-7)`, is at
/// least `overlap`.
pub(super) fn distance_of(overlap: f32) -> f64 {
    let hellinger = 1.0 - f64::from(overlap);
    -(1.0 + EPSILON - hellinger * hellinger).ln()
}
