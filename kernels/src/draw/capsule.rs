//! Capsules, which lines and discs are made of: all points within a radius of a straight line.
//!
//! Their edges are soft: a pixel has 4 x 4 subpixels, and as much of the colour as sixteenths of it are covered. Which subpixels
//! are covered is found as for whole pixels, in coordinates four times as large, so that every device counts the same number.

use std::ops::Range;

use super::pixels::{first, pixels};

/// Subpixels along a side of a pixel.
pub(super) const FINE: i64 = 4;
/// The subpixels of a pixel.
pub(super) const WHOLE: u32 = 16;

/// All points within `r` of the line from `a` to `b`, in subpixels. It is convex, so its part of a row is one interval: from the
/// least to the greatest of the places where the row crosses the circles around both ends and the bar between them.
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
    /// From numbers in pixels, which must be finite, and the radius above 0.
    pub fn new(a: [f64; 2], b: [f64; 2], r: f64) -> Self {
        let fine = |v: f64| v * FINE as f64;
        let (a, b, r) = (a.map(fine), b.map(fine), fine(r));
        // A disc's length need not be calculated.
        let length = if a == b { 0.0 } else { (b[0] - a[0]).hypot(b[1] - a[1]) };
        let along = if length > 0.0 { [(b[0] - a[0]) / length, (b[1] - a[1]) / length] } else { [1.0, 0.0] };
        Self { a, b, r, length, along, inverse: [1.0 / along[0], 1.0 / -along[1]] }
    }

    /// The rows that it may have pixels in.
    pub fn rows(&self) -> Range<i64> {
        let Self { a, b, r, .. } = self;
        whole(&pixels(a[1].min(b[1]) - r, a[1].max(b[1]) + r))
    }

    /// Columns that all of its pixels lie in. Intervals are rounded, so there is one more subpixel on each side.
    pub fn columns(&self) -> Range<i64> {
        let Self { a, b, r, .. } = self;
        whole(&(first(a[0].min(b[0]) - r) - 1..first(a[0].max(b[0]) + r) + 1))
    }

    /// What it covers of a row of pixels, as far as that is in the columns `0..width`.
    pub fn cover(&self, row: i64, width: i64) -> RowCover {
        RowCover([0, 1, 2, 3].map(|i| {
            let Range { start, end } = self.row(FINE * row + i);
            let (start, end) = (start.max(0), end.min(FINE * width));
            if start < end { [start, end] } else { [0, 0] }
        }))
    }

    /// Its subpixels in a row of these; none if the range is empty.
    pub fn row(&self, row: i64) -> Range<i64> {
        let Self { a, b, r, length, along, inverse } = self;
        let y = row as f64 + 0.5;
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        // A disc's second circle is the first, and its bar is empty.
        let disc = *length == 0.0;
        for centre in [a, b].into_iter().take(if disc { 1 } else { 2 }) {
            let dy = y - centre[1];
            let square = r * r - dy * dy;
            if square > 0.0 {
                let half = square.sqrt();
                (from, to) = (from.min(centre[0] - half), to.max(centre[0] + half));
            }
        }
        if disc {
            return if from < to { pixels(from, to) } else { 0..0 };
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

/// The subpixels of a row of pixels that a capsule covers: an interval for each of its four rows of subpixels, which is 0..0 if
/// it is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCover([[i64; 2]; 4]);

impl RowCover {
    /// That of a row outside of the frame.
    pub const NONE: Self = Self([[0, 0]; 4]);

    /// The pixels of which anything is covered, and maybe some between them; empty where there are none.
    pub fn touched(&self) -> Range<i64> {
        let filled = self.0.iter().filter(|[from, to]| from < to);
        let ends = filled.copied().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        ends.map_or(0..0, |[from, to]| whole(&(from..to)))
    }

    /// The pixels that are covered wholly; empty where there are none.
    pub fn full(&self) -> Range<i64> {
        let from = self.0.iter().map(|[from, _]| *from).max().unwrap_or(0);
        let to = self.0.iter().map(|[_, to]| *to).min().unwrap_or(0);
        let (from, to) = ((from + FINE - 1).div_euclid(FINE), to.div_euclid(FINE));
        from..to.max(from)
    }

    /// How many subpixels of the pixel in `column` are covered.
    pub fn at(&self, column: i64) -> u32 {
        let (left, right) = (FINE * column, FINE * (column + 1));
        let count = |[from, to]: [i64; 2]| (to.min(right) - from.max(left)).max(0);
        u32::try_from(self.0.iter().map(|span| count(*span)).sum::<i64>()).unwrap_or(0)
    }
}

/// The pixels that have any of these subpixels.
fn whole(fine: &Range<i64>) -> Range<i64> {
    fine.start.div_euclid(FINE)..(fine.end + FINE - 1).div_euclid(FINE)
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
