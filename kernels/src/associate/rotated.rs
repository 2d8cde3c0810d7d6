//! Overlap of rotated boxes.

use crate::geometry::Rect;

type Point = [f64; 2];

/// A box that is rotated about its centre.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Oriented {
    /// The box as it is before it is rotated.
    pub rect: Rect,
    /// In radians, clockwise on the screen (y goes down).
    pub angle: f32,
}

impl Oriented {
    /// Its corners, clockwise on the screen, relative to a point near it, so that far-off boxes lose no digits.
    fn corners(&self, origin: Point) -> [Point; 4] {
        let [x, y, w, h] = [self.rect.x, self.rect.y, self.rect.w, self.rect.h].map(f64::from);
        let (sin, cos) = f64::from(self.angle).sin_cos();
        let centre = [x + w / 2.0 - origin[0], y + h / 2.0 - origin[1]];
        [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[across, down]| {
            let (dx, dy) = (across * w / 2.0, down * h / 2.0);
            [centre[0] + cos * dx - sin * dy, centre[1] + sin * dx + cos * dy]
        })
    }

    /// Its corners, clockwise on the screen from the one that is top left before it is rotated.
    pub fn outline_points(&self) -> [(f32, f32); 4] {
        self.corners([0.0, 0.0]).map(|[x, y]| (x as f32, y as f32))
    }

    /// The upright box around it, of no size where the angle is not finite.
    pub fn outline(&self) -> Rect {
        if self.angle == 0.0 {
            return self.rect;
        }
        if !self.angle.is_finite() || !self.rect.is_usable() {
            return Rect::default();
        }
        let corners = self.corners([0.0, 0.0]);
        let [xs, ys] = [0, 1].map(|axis| corners.map(|corner| corner[axis]));
        let least = |values: [f64; 4]| (values.into_iter().fold(f64::INFINITY, f64::min) as f32).next_down();
        let most = |values: [f64; 4]| (values.into_iter().fold(f64::NEG_INFINITY, f64::max) as f32).next_up();
        Rect::from_corners(least(xs), least(ys), most(xs), most(ys))
    }

    /// Intersection over union, 0..1: that of the upright boxes where neither is rotated. Both must be finite and of
    /// positive size.
    pub fn iou(&self, other: &Self) -> f32 {
        if self.angle == 0.0 && other.angle == 0.0 {
            return self.rect.iou(&other.rect);
        }
        let size = |rect: &Rect| f64::from(rect.w) * f64::from(rect.h);
        let common = self.intersection(other);
        let iou = common / (size(&self.rect) + size(&other.rect) - common);
        if iou.is_finite() { iou.clamp(0.0, 1.0) as f32 } else { 0.0 }
    }

    /// The area that both have in common. Both must be finite and of positive size.
    pub(crate) fn intersection(&self, other: &Self) -> f64 {
        if self.angle == 0.0 && other.angle == 0.0 {
            let common = |from: [f32; 2], size: [f32; 2]| {
                let [a, b] = [0, 1].map(|i| f64::from(from[i]) + f64::from(size[i]));
                (a.min(b) - f64::from(from[0].max(from[1]))).max(0.0)
            };
            let (a, b) = (&self.rect, &other.rect);
            return common([a.x, b.x], [a.w, b.w]) * common([a.y, b.y], [a.h, b.h]);
        }
        let origin = [f64::from(self.rect.x), f64::from(self.rect.y)];
        let mut shape = self.corners(origin).to_vec();
        let clip = other.corners(origin);
        for (i, from) in clip.iter().enumerate() {
            if let Some(to) = clip.get((i + 1) % clip.len()) {
                shape = within(&shape, *from, *to);
            }
        }
        area(&shape)
    }
}

/// Twice the area of the triangle, positive where `p` lies on the right of the way from `a` to `b` on the screen.
fn side(a: Point, b: Point, p: Point) -> f64 {
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}

/// The part of a convex polygon on the right of the line from `a` to `b` (Sutherland and Hodgman, "Reentrant polygon
/// clipping", CACM 1974).
fn within(polygon: &[Point], a: Point, b: Point) -> Vec<Point> {
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    for (i, &from) in polygon.iter().enumerate() {
        let Some(&to) = polygon.get((i + 1) % polygon.len()) else { continue };
        let (start, end) = (side(a, b, from), side(a, b, to));
        if start >= 0.0 {
            kept.push(from);
        }
        if (start > 0.0 && end < 0.0) || (start < 0.0 && end > 0.0) {
            let share = start / (start - end);
            kept.push([from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])]);
        }
    }
    kept
}

/// The shoelace formula.
fn area(polygon: &[Point]) -> f64 {
    let Some((&first, rest)) = polygon.split_first() else { return 0.0 };
    rest.windows(2).map(|pair| if let &[p, q] = pair { side(first, p, q) } else { 0.0 }).sum::<f64>().abs()
        / 2.0
}

#[cfg(test)]
mod tests {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

    use super::super::{Pair, iou_pairs, rotated_iou_pairs};
    use super::*;
    use proptest::prelude::*;

    fn oriented(x: f32, y: f32, w: f32, h: f32, angle: f32) -> Oriented {
        Oriented { rect: Rect { x, y, w, h }, angle }
    }

    #[test]
    fn known_overlaps() {
        let upright = oriented(-1.0, -1.0, 2.0, 2.0, 0.0);
        // A square and itself, turned by an eighth: a regular octagon of area 8 (sqrt 2 - 1) in common.
        let octagon = 8.0 * (2f32.sqrt() - 1.0);
        for (other, want) in [
            (oriented(-1.0, -1.0, 2.0, 2.0, FRAC_PI_4), octagon / (8.0 - octagon)),
            (oriented(-1.0, -1.0, 2.0, 2.0, FRAC_PI_2), 1.0),
            // A bar across and the same bar turned upright: a square of the bar's thickness in common.
            (oriented(-2.0, -0.5, 4.0, 1.0, FRAC_PI_2), 2.0 / 6.0),
            (oriented(9.0, 9.0, 2.0, 2.0, 1.0), 0.0),
            // Their outlines overlap, but the boxes do not.
            (oriented(0.8, 0.8, 2.0, 2.0, FRAC_PI_4), 0.0),
        ] {
            assert!(
                (upright.iou(&other) - want).abs() < 1e-6,
                "{other:?}: {} is not {want}",
                upright.iou(&other)
            );
        }
        let line = oriented(-2.0, -0.5, 4.0, 1.0, 0.3);
        assert!((line.iou(&oriented(-2.0, -0.5, 4.0, 1.0, 0.3 + PI)) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_has_no_angle_overlaps_nothing() {
        let good = oriented(0.0, 0.0, 9.0, 9.0, 0.5);
        let mut out = vec![Pair { row: 0, col: 0, score: 1.0 }];
        rotated_iou_pairs(
            &[good],
            &[Oriented { angle: f32::NAN, ..good }, oriented(0.0, 0.0, -1.0, 9.0, 0.5)],
            |_, _| true,
            &mut out,
        );
        assert_eq!(out, []);
    }

    fn boxes(angle: impl Strategy<Value = f32>) -> impl Strategy<Value = Vec<Oriented>> {
        let one = (0f32..60.0, 0f32..60.0, 1f32..40.0, 1f32..40.0, angle);
        prop::collection::vec(one.prop_map(|(x, y, w, h, angle)| oriented(x, y, w, h, angle)), 0..8)
    }

    /// IoU by counting the points of a fine grid that lie in both.
    fn counted(a: &Oriented, b: &Oriented) -> f32 {
        let holds = |one: &Oriented, x: f32, y: f32| {
            let (sin, cos) = one.angle.sin_cos();
            let (dx, dy) = (x - one.rect.x - one.rect.w / 2.0, y - one.rect.y - one.rect.h / 2.0);
            (cos * dx + sin * dy).abs() <= one.rect.w / 2.0 && (cos * dy - sin * dx).abs() <= one.rect.h / 2.0
        };
        let (mut common, mut either) = (0u32, 0u32);
        for i in -80..280i16 {
            for j in -80..280i16 {
                let (x, y) = (f32::from(i) * 0.5 + 0.25, f32::from(j) * 0.5 + 0.25);
                let (p, q) = (holds(a, x, y), holds(b, x, y));
                common += u32::from(p && q);
                either += u32::from(p || q);
            }
        }
        common as f32 / either.max(1) as f32
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn it_is_what_counting_points_gives(a in boxes(-4f32..4.0), b in boxes(-4f32..4.0)) {
            let mut found = Vec::new();
            rotated_iou_pairs(&a, &b, |_, _| true, &mut found);
            for (i, p) in a.iter().enumerate() {
                for (j, q) in b.iter().enumerate() {
                    let got = found.iter().find(|pair| (pair.row, pair.col) == (i, j)).map_or(0.0, |pair| pair.score);
                    prop_assert!((got - q.iou(p)).abs() < 1e-5, "not symmetric");
                    // Counting errs by half a pixel of the grid along the outline, which is little for boxes of at least 8 x 8.
                    if p.rect.w.min(p.rect.h).min(q.rect.w).min(q.rect.h) > 8.0 {
                        prop_assert!((got - counted(p, q)).abs() < 0.05, "{} {}: {:?} {:?}", got, counted(p, q), p, q);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn without_angles_it_is_that_of_upright_boxes(a in boxes(Just(0f32)), b in boxes(Just(0f32))) {
            let upright = |boxes: &[Oriented]| boxes.iter().map(|one| one.rect).collect::<Vec<_>>();
            let (mut plain, mut rotated) = (Vec::new(), Vec::new());
            iou_pairs(&upright(&a), &upright(&b), |_, _| true, &mut plain);
            rotated_iou_pairs(&a, &b, |_, _| true, &mut rotated);
            prop_assert_eq!(plain, rotated);
        }
    }
}
