//! Which pixels a primitive covers: of lines and discs parts of pixels, of boxes those whose centre lies in it.

use super::canvas::{Canvas, Ink};
use super::capsule::Capsule;
use super::pixels::pixel;
use crate::geometry::Rect;

/// The border of `rect`.
pub(super) fn rect(canvas: &mut impl Canvas, rect: &Rect, thickness: u32, ink: Ink) {
    let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
    if ![x, y, w, h].iter().all(|v| v.is_finite()) || w <= 0.0 || h <= 0.0 || thickness == 0 {
        return;
    }
    let (left, top) = (pixel(x), pixel(y));
    let (right, bottom) = (pixel(x + w).max(left + 1), pixel(y + h).max(top + 1));
    let t = i64::from(thickness).min((right - left + 1) / 2).min((bottom - top + 1) / 2);
    let mut fill = |x, y| canvas.fill(x, y, ink);
    fill(left..right, top..top + t);
    fill(left..right, bottom - t..bottom);
    fill(left..left + t, top + t..bottom - t);
    fill(right - t..right, top + t..bottom - t);
}

/// A filled circle.
pub(super) fn disc(canvas: &mut impl Canvas, [x, y]: [f32; 2], radius: f32, ink: Ink) {
    let ([x, y], r) = ([x, y].map(f64::from), f64::from(radius));
    if !(x.is_finite() && y.is_finite() && r.is_finite()) || r <= 0.0 {
        return;
    }
    // From this radius on the pixel that holds the centre is one of the disc's.
    if r < 1.0 {
        let (column, row) = (pixel(x.floor()), pixel(y.floor()));
        canvas.fill(column..column + 1, row..row + 1, ink);
    }
    canvas.capsule(&Capsule::new([x, y], [x, y], r), ink);
}

/// Lines from point to point.
pub(super) fn polyline(canvas: &mut impl Canvas, points: &[(f32, f32)], thickness: f32, ink: Ink) {
    if !(thickness > 0.0 && thickness.is_finite()) {
        return;
    }
    // `windows` has none for a single point, which is a line to itself.
    let single = points.first().filter(|_| points.len() == 1).map(|p| (*p, *p));
    for (a, b) in points.windows(2).map(|ends| (ends[0], ends[1])).chain(single) {
        let [ax, ay, bx, by] = [a.0, a.1, b.0, b.1].map(f64::from);
        if [ax, ay, bx, by].iter().all(|v| v.is_finite()) {
            canvas.capsule(&Capsule::new([ax, ay], [bx, by], f64::from(thickness) / 2.0), ink);
        }
    }
}
