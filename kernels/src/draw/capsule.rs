//! Capsules, which lines and discs are made of: all points within a radius of a straight line.

use std::ops::Range;

use super::pixels::{first, pixels};

/// All points within `r` of the line from `a` to `b`. It is convex, so its part of a row is one interval: from the least to the
/// greatest of the places where the row crosses the circles around both ends and the bar between them.
///
/// `cuda/draw.cu` finds the same intervals from the same numbers, by the same operations in the same order.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Capsule {
    a: [f64; 2],
    b: [f64; 2],
    r: f64,
    length: f64,
    /// The unit vector from `a` to `b`.
    along: [f64; 2],
    /// 1 over the slopes of the bar's two strips.
    inverse: [f64; 2],
}
const _: () = assert!(size_of::<Capsule>() == 80, "cuda/draw.cu says the same");

impl Capsule {
    /// The numbers must be finite, and the radius above 0.
    pub fn new(a: [f64; 2], b: [f64; 2], r: f64) -> Self {
        // A disc's length need not be calculated.
        let length = if a == b { 0.0 } else { (b[0] - a[0]).hypot(b[1] - a[1]) };
        let along = if length > 0.0 { [(b[0] - a[0]) / length, (b[1] - a[1]) / length] } else { [1.0, 0.0] };
        Self { a, b, r, length, along, inverse: [1.0 / along[0], 1.0 / -along[1]] }
    }

    /// The rows that it may have pixels in.
    pub fn rows(&self) -> Range<i64> {
        let Self { a, b, r, .. } = self;
        pixels(a[1].min(b[1]) - r, a[1].max(b[1]) + r)
    }

    /// Columns that all of its pixels lie in. Intervals are rounded, so there is one more on each side.
    pub fn columns(&self) -> Range<i64> {
        let Self { a, b, r, .. } = self;
        first(a[0].min(b[0]) - r) - 1..first(a[0].max(b[0]) + r) + 1
    }

    /// Its pixels in a row; none if the range is empty.
    pub fn row(&self, row: i64) -> Range<i64> {
        let Self { a, b, r, length, along, inverse } = self;
        let y = row as f64 + 0.5;
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for centre in [a, b] {
            let dy = y - centre[1];
            let square = r * r - dy * dy;
            if square > 0.0 {
                let half = square.sqrt();
                (from, to) = (from.min(centre[0] - half), to.max(centre[0] + half));
            }
        }
        // With x counted from a: 0 <= x * along.x + dy * along.y <= length, and likewise across, within r.
        let dy = y - a[1];
        let lengthwise = cross(along[0], inverse[0], [0.0, *length], dy * along[1]);
        let across = cross(-along[1], inverse[1], [-r, *r], dy * along[0]);
        let bar = (a[0] + lengthwise.0.max(across.0), a[0] + lengthwise.1.min(across.1));
        if bar.0 < bar.1 {
            (from, to) = (from.min(bar.0), to.max(bar.1));
        }
        if from < to { pixels(from, to) } else { 0..0 }
    }
}

/// The first and last x for which `low <= slope * x + offset <= high`; the first is above the last where there are none.
fn cross(slope: f64, inverse: f64, [low, high]: [f64; 2], offset: f64) -> (f64, f64) {
    if slope == 0.0 {
        let holds = low <= offset && offset < high;
        let far = if holds { f64::INFINITY } else { f64::NEG_INFINITY };
        return (-far, far);
    }
    let (p, q) = ((low - offset) * inverse, (high - offset) * inverse);
    (p.min(q), p.max(q))
}
