//! Points, polygons and segments in the plane. y goes down, so points clockwise on the screen have a positive orientation.

/// A point: x, y.
pub(crate) type Point = [f64; 2];

/// Twice the area of the triangle `a`, `b`, `p`: above 0 where `p` lies on the right, seen from `a` to `b`. Its sign
/// is exact for coordinates that are single-precision numbers of frames' size.
pub(super) fn orientation(a: Point, b: Point, p: Point) -> f64 {
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}

/// Whether a point lies in a polygon, which may be concave: left and upper edges belong to it, right and lower ones do not.
pub(crate) fn contains(polygon: &[Point], p: Point) -> bool {
    let mut inside = false;
    for (a, b) in edges(polygon) {
        if (a[1] <= p[1]) == (b[1] <= p[1]) {
            continue;
        }
        // The edge is always taken from its upper end, so that the polygon on its other side gets the same answer.
        let (upper, lower) = if a[1] < b[1] { (a, b) } else { (b, a) };
        inside ^= orientation(upper, lower, p) > 0.0;
    }
    inside
}

/// Whether the way from `p` to `q`, which are on different sides of the line through `a` and `b`, passes between these. `a`
/// belongs to the segment, `b` does not. `inwards` is true for a way from left to right.
pub(super) fn passes(a: Point, b: Point, p: Point, q: Point, inwards: bool) -> bool {
    let (at_a, at_b) = (orientation(p, q, a), orientation(p, q, b));
    if inwards { at_a >= 0.0 && at_b < 0.0 } else { at_a <= 0.0 && at_b > 0.0 }
}

/// The distance of a point from a segment.
pub(super) fn distance(a: Point, b: Point, p: Point) -> f64 {
    let (along, to) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let length = along[0] * along[0] + along[1] * along[1];
    let t = if length > 0.0 { ((along[0] * to[0] + along[1] * to[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
    (to[0] - t * along[0]).hypot(to[1] - t * along[1])
}

/// The distance of a point from the straight line through two different ones.
pub(super) fn distance_to_line(a: Point, b: Point, p: Point) -> f64 {
    orientation(a, b, p).abs() / (b[0] - a[0]).hypot(b[1] - a[1])
}

/// The distance of a point from a polygon's outline.
pub(super) fn distance_to_outline(polygon: &[Point], p: Point) -> f64 {
    edges(polygon).map(|(a, b)| distance(a, b, p)).fold(f64::INFINITY, f64::min)
}

/// A polygon's edges, the one back to the first point last.
pub(super) fn edges(polygon: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    let next = polygon.iter().cycle().skip(1);
    polygon.iter().zip(next).map(|(a, b)| (*a, *b))
}

/// Two edges of a polygon, by the index of their first points, that meet elsewhere than in a common end.
pub(super) fn crossing_edges(polygon: &[Point]) -> Option<(usize, usize)> {
    let all: Vec<_> = edges(polygon).collect();
    let last = all.len().checked_sub(1)?;
    let pairs = (0..all.len()).flat_map(|i| (i + 1..all.len()).map(move |j| (i, j)));
    pairs.into_iter().find(|&(i, j)| {
        let ((a, b), (c, d)) = (all[i], all[j]);
        match (j == i + 1, (i, j) == (0, last)) {
            // Neighbours meet; they must not fold back on each other.
            (true, _) => folds(a, b, d),
            (_, true) => folds(c, d, b),
            _ => meet(a, b, c, d),
        }
    })
}

/// Whether the outlines of two polygons cross each other: an edge of one passes through the inside of the other.
pub(super) fn overlap(one: &[Point], other: &[Point]) -> bool {
    edges(one).any(|(a, b)| {
        edges(other).any(|(c, d)| {
            let apart = |s: f64, t: f64| (s > 0.0 && t < 0.0) || (s < 0.0 && t > 0.0);
            apart(orientation(a, b, c), orientation(a, b, d))
                && apart(orientation(c, d, a), orientation(c, d, b))
        })
    })
}

/// Whether the way from `a` to `b` and on to `c` goes back over itself.
fn folds(a: Point, b: Point, c: Point) -> bool {
    let forward = (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]);
    orientation(a, b, c) == 0.0 && forward < 0.0
}

/// Whether two segments, ends included, have a point in common.
fn meet(a: Point, b: Point, c: Point, d: Point) -> bool {
    let [ab_c, ab_d, cd_a, cd_b] =
        [orientation(a, b, c), orientation(a, b, d), orientation(c, d, a), orientation(c, d, b)];
    let apart = |s: f64, t: f64| (s > 0.0 && t < 0.0) || (s < 0.0 && t > 0.0);
    let within =
        |a: Point, b: Point, p: Point| (0..2).all(|i| a[i].min(b[i]) <= p[i] && p[i] <= a[i].max(b[i]));
    (apart(ab_c, ab_d) && apart(cd_a, cd_b))
        || (ab_c == 0.0 && within(a, b, c))
        || (ab_d == 0.0 && within(a, b, d))
        || (cd_a == 0.0 && within(c, d, a))
        || (cd_b == 0.0 && within(c, d, b))
}
