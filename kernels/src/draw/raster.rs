//! Which pixels a primitive covers: those whose centre lies in it. A centre on the left or upper outline is inside, one on
//! the right or lower outline is not, so that a line of one pixel is never two wide.

use std::ops::Range;

use super::Rgb;
use super::canvas::{Canvas, Ink};
use crate::geometry::Rect;

/// Beyond every frame, with room left to add sizes to it.
const FAR: f64 = (1_u64 << 40) as f64;

/// A rounded coordinate as an integer.
pub(super) fn pixel(v: f64) -> i64 {
    v.round().clamp(-FAR, FAR) as i64
}

/// The pixels whose centres lie in `[from, to)`.
pub(super) fn pixels(from: f64, to: f64) -> Range<i64> {
    // The first centre at or after v is that of pixel ceil(v - 0.5). `f64::ceil` is a call on older CPUs' instructions.
    let first = |v: f64| {
        let v = (v - 0.5).clamp(-FAR, FAR);
        let whole = v as i64;
        whole + i64::from((whole as f64) < v)
    };
    first(from)..first(to)
}

/// The border of `rect`.
pub(super) fn rect(canvas: &mut impl Canvas, rect: &Rect, thickness: u32, color: Rgb) {
    let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
    if ![x, y, w, h].iter().all(|v| v.is_finite()) || w <= 0.0 || h <= 0.0 || thickness == 0 {
        return;
    }
    let (left, top) = (pixel(x), pixel(y));
    let (right, bottom) = (pixel(x + w).max(left + 1), pixel(y + h).max(top + 1));
    let t = i64::from(thickness).min((right - left + 1) / 2).min((bottom - top + 1) / 2);
    let ink = canvas.layout().ink(color);
    let mut fill = |x, y| canvas.fill(x, y, ink);
    fill(left..right, top..top + t);
    fill(left..right, bottom - t..bottom);
    fill(left..left + t, top + t..bottom - t);
    fill(right - t..right, top + t..bottom - t);
}

/// A filled circle.
pub(super) fn disc(canvas: &mut impl Canvas, [x, y]: [f32; 2], radius: f32, color: Rgb) {
    let ([x, y], r) = ([x, y].map(f64::from), f64::from(radius));
    if !(x.is_finite() && y.is_finite() && r.is_finite()) || r <= 0.0 {
        return;
    }
    let ink = canvas.layout().ink(color);
    let (column, row) = (pixel(x.floor()), pixel(y.floor()));
    canvas.fill(column..column + 1, row..row + 1, ink);
    capsule(canvas, [x, y], [x, y], r, ink);
}

/// Lines from point to point.
pub(super) fn polyline(canvas: &mut impl Canvas, points: &[(f32, f32)], thickness: u32, color: Rgb) {
    if thickness == 0 {
        return;
    }
    let ink = canvas.layout().ink(color);
    // `windows` has none for a single point, which is a line to itself.
    let single = points.first().filter(|_| points.len() == 1).map(|p| (*p, *p));
    for (a, b) in points.windows(2).map(|ends| (ends[0], ends[1])).chain(single) {
        let [ax, ay, bx, by] = [a.0, a.1, b.0, b.1].map(f64::from);
        if [ax, ay, bx, by].iter().all(|v| v.is_finite()) {
            capsule(canvas, [ax, ay], [bx, by], f64::from(thickness) / 2.0, ink);
        }
    }
}

/// Everything within `r` of the line from `a` to `b`, row by row. The primitive is convex, so a row's part is one interval:
/// from the least to the greatest of where the row crosses the circles around both ends and the bar between them.
fn capsule(canvas: &mut impl Canvas, a: [f64; 2], b: [f64; 2], r: f64, ink: Ink) {
    let length = (b[0] - a[0]).hypot(b[1] - a[1]);
    let along = if length > 0.0 { [(b[0] - a[0]) / length, (b[1] - a[1]) / length] } else { [1.0, 0.0] };
    // With x from a: 0 <= x * along.x + dy * along.y <= length, and likewise across, within r.
    let (lengthwise, across) = (Strip::new(along[0], 0.0, length), Strip::new(-along[1], -r, r));
    let rows = pixels(a[1].min(b[1]) - r, a[1].max(b[1]) + r);
    for row in rows.start.max(0)..rows.end.min(canvas.layout().height()) {
        let y = row as f64 + 0.5;
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for centre in [a, b] {
            let square = r * r - (y - centre[1]).powi(2);
            if square > 0.0 {
                let half = square.sqrt();
                (from, to) = (from.min(centre[0] - half), to.max(centre[0] + half));
            }
        }
        let dy = y - a[1];
        let (l, c) = (lengthwise.cross(dy * along[1]), across.cross(dy * along[0]));
        let bar = (a[0] + l.0.max(c.0), a[0] + l.1.min(c.1));
        if bar.0 < bar.1 {
            (from, to) = (from.min(bar.0), to.max(bar.1));
        }
        if from < to {
            canvas.fill(pixels(from, to), row..row + 1, ink);
        }
    }
}

/// `low <= slope * x + offset <= high`, for any offset.
struct Strip {
    slope: f64,
    inverse: f64,
    low: f64,
    high: f64,
}

impl Strip {
    fn new(slope: f64, low: f64, high: f64) -> Self {
        Self { slope, inverse: 1.0 / slope, low, high }
    }

    /// The x for which it holds, from and to; from lies after to where there are none.
    fn cross(&self, offset: f64) -> (f64, f64) {
        if self.slope == 0.0 {
            let holds = self.low <= offset && offset < self.high;
            let far = if holds { f64::INFINITY } else { f64::NEG_INFINITY };
            return (-far, far);
        }
        let (p, q) = ((self.low - offset) * self.inverse, (self.high - offset) * self.inverse);
        (p.min(q), p.max(q))
    }
}
