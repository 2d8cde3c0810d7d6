//! The smallest rectangle around points: one of its sides lies along a side of their convex hull (Freeman and Shapira 1975).

use crate::detect::rotated::Rotated;

/// Cells whose centres are so close to a side lie inside.
const TOUCHES: f64 = 1e-6;

/// A rectangle; cells count from the first one's centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rectangle {
    pub center: [f64; 2],
    /// Along the axis, and across it.
    pub size: [f64; 2],
    /// A unit vector.
    pub axis: [f64; 2],
}

/// The smallest rectangle around the points, the first found of equals; none where there are no points.
pub(super) fn around(points: &[[f64; 2]]) -> Option<Rectangle> {
    let hull = hull(points);
    let first = *hull.first()?;
    let sides = hull.iter().zip(hull.iter().cycle().skip(1));
    let rectangles = sides.filter_map(|(a, b)| {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let length = dx.hypot(dy);
        (length > 0.0).then(|| along([dx / length, dy / length], &hull))
    });
    let area = |rectangle: &Rectangle| rectangle.size[0] * rectangle.size[1];
    let smallest = rectangles.reduce(|best, next| if area(&next) < area(&best) { next } else { best });
    Some(smallest.unwrap_or(Rectangle { center: first, size: [0.0; 2], axis: [1.0, 0.0] }))
}

/// The smallest rectangle around the points with that axis.
fn along(axis: [f64; 2], points: &[[f64; 2]]) -> Rectangle {
    let [x, y] = axis;
    let span = |of: fn([f64; 2], [f64; 2]) -> f64| {
        let values = points.iter().map(|point| of(axis, *point));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (left, right) = span(|[x, y], [px, py]| x * px + y * py);
    let (top, bottom) = span(|[x, y], [px, py]| x * py - y * px);
    let (u, v) = ((left + right) / 2.0, (top + bottom) / 2.0);
    Rectangle { center: [x * u - y * v, y * u + x * v], size: [right - left, bottom - top], axis }
}

/// The convex hull, its corners in order, without those on a straight line (Andrew's monotone chain, 1979).
fn hull(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let turns_left = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0.0
    };
    let chain = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..] {
                if turns_left(a, b, point) {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        // The other chain begins there.
        chain.pop();
        chain
    };
    let mut hull = chain(&mut points.iter().copied());
    hull.extend(chain(&mut points.iter().rev().copied()));
    hull
}

impl Rectangle {
    /// The mean of the map's cells whose centres lie inside; none where there are none.
    pub fn mean(&self, map: &[f32], width: usize) -> Option<f32> {
        let Self { center: [cx, cy], size: [w, h], axis: [ax, ay] } = *self;
        let (half_w, half_h) = ((w * ax.abs() + h * ay.abs()) / 2.0, (w * ay.abs() + h * ax.abs()) / 2.0);
        let height = map.len() / width.max(1);
        let range = |center: f64, half: f64, most: usize| {
            // Saturating: what lies before the map begins with it.
            let (low, high) = ((center - half).ceil() as usize, (center + half).floor() as usize);
            low..most.min(high.saturating_add(1))
        };
        let (mut sum, mut count) = (0.0, 0usize);
        for y in range(cy, half_h + TOUCHES, height) {
            for x in range(cx, half_w + TOUCHES, width) {
                let (dx, dy) = (x as f64 - cx, y as f64 - cy);
                let (u, v) = ((dx * ax + dy * ay).abs(), (dy * ax - dx * ay).abs());
                let value = f64::from(map[y * width + x]);
                if u <= w / 2.0 + TOUCHES && v <= h / 2.0 + TOUCHES && value.is_finite() {
                    sum += value;
                    count += 1;
                }
            }
        }
        (count > 0).then(|| (sum / count as f64) as f32)
    }

    /// The same with `area * ratio / perimeter` more on all sides.
    pub fn widened(&self, ratio: f64) -> Self {
        let [w, h] = self.size;
        let more = if w + h > 0.0 { w * h * ratio / (2.0 * (w + h)) } else { 0.0 };
        Self { size: [w + 2.0 * more, h + 2.0 * more], ..*self }
    }

    /// Counted from the map's corner: a cell's centre is at its half.
    pub fn rotated(&self) -> Rotated {
        Rotated {
            center: self.center.map(|v| (v + 0.5) as f32),
            size: self.size.map(|v| v as f32),
            angle: self.axis[1].atan2(self.axis[0]) as f32,
        }
    }
}
