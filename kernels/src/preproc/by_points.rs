//! The region of an object from its points, as MediaPipe makes it for the next frame: `HandLandmarksToRectCalculator`,
//! `LandmarksToDetectionCalculator` with `DetectionsToRectsCalculator`, `AlignmentPointsRectsCalculator`, and the shift of
//! `RectTransformationCalculator`. Its `square_long` is the letterbox of a square tensor, its scale the padding of the region.

use crate::associate::Oriented;
use crate::geometry::Rect;
use crate::words;

/// Which box is made of an object's points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outline {
    /// Around the points in the frame; then it is turned about its centre.
    #[default]
    Upright,
    /// Around the points as they lie when the object is upright.
    Turned,
    /// A square around the axis' beginning, whose sides are twice as long as the axis.
    Axis,
    /// The object's own box, as a detector has found it; then it is turned about its centre.
    Found,
}

words! { Outline:
    Upright = "upright", "The box around the points in the frame, turned about its centre (MediaPipe's faces)";
    Turned = "turned", "The box around the points along the turned axes (MediaPipe's hands)";
    Axis = "axis", "The square around the beginning of the axis, twice as long as it (MediaPipe's poses)";
    Found = "box", "The object's own box, turned about its centre (MediaPipe's palms, and faces that its detector has found)";
}

/// What a region is made of besides the points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByPoints {
    /// Which box.
    pub outline: Outline,
    /// The direction that the axis has in the tensor, in radians, anticlockwise from the right on the screen.
    pub angle: f64,
    /// By how many of its widths and heights the box is moved, along its own sides.
    pub shift: [f64; 2],
}

impl ByPoints {
    /// The region around `points`, turned so that `axis`, from its beginning to its end, points in the direction wanted; upright without
    /// an axis. All are in frame pixels; for [`Outline::Found`], `points` are two opposite corners of the object's box. `None` where
    /// numbers are not finite, or an axis is needed that is missing or of no length.
    pub fn region(&self, points: &[[f64; 2]], axis: Option<[[f64; 2]; 2]>) -> Option<Oriented> {
        let turn = match axis {
            Some([[x0, y0], [x1, y1]]) => {
                if [x0, y0] == [x1, y1] {
                    return None;
                }
                normalized(self.angle - (y0 - y1).atan2(x1 - x0))
            }
            None => 0.0,
        };
        let (centre, [w, h]) = match (self.outline, axis) {
            (Outline::Upright | Outline::Found, _) => bounds(points.iter().copied())?,
            (Outline::Turned, _) => {
                let (middle, _) = bounds(points.iter().copied())?;
                let upright = points.iter().map(|[x, y]| turned([x - middle[0], y - middle[1]], -turn));
                let (centre, size) = bounds(upright)?;
                let [x, y] = turned(centre, turn);
                ([middle[0] + x, middle[1] + y], size)
            }
            (Outline::Axis, Some([[x0, y0], [x1, y1]])) => {
                let side = 2.0 * (x1 - x0).hypot(y1 - y0);
                ([x0, y0], [side; 2])
            }
            (Outline::Axis, None) => return None,
        };
        let [dx, dy] = turned([w * self.shift[0], h * self.shift[1]], turn);
        let [x, y] = [centre[0] + dx - w / 2.0, centre[1] + dy - h / 2.0];
        let numbers = [x, y, w, h, turn].map(|number| number as f32);
        let [x, y, w, h, angle] = numbers;
        numbers
            .iter()
            .all(|number| number.is_finite())
            .then_some(Oriented { rect: Rect { x, y, w, h }, angle })
    }
}

/// Centre and size of the box around the points; `None` where there are none, or one is not finite.
fn bounds(points: impl Iterator<Item = [f64; 2]>) -> Option<([f64; 2], [f64; 2])> {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for point in points {
        for axis in 0..2 {
            if !point[axis].is_finite() {
                return None;
            }
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
        }
    }
    let both = |of: fn(f64, f64) -> f64| [of(low[0], high[0]), of(low[1], high[1])];
    (low[0] <= high[0]).then(|| (both(|low, high| (low + high) / 2.0), both(|low, high| high - low)))
}

/// A vector that is turned clockwise on the screen.
fn turned([x, y]: [f64; 2], angle: f64) -> [f64; 2] {
    let (sin, cos) = angle.sin_cos();
    [x * cos - y * sin, x * sin + y * cos]
}

/// The same direction from -pi to below pi.
fn normalized(angle: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    (angle + PI).rem_euclid(TAU) - PI
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;

    /// A figure whose axis points up, four wide and eight high, with its centre at 0, 0.
    const FIGURE: [[f64; 2]; 4] = [[-2.0, 0.0], [2.0, 1.0], [0.5, -4.0], [0.0, 4.0]];
    const AXIS: [[f64; 2]; 2] = [[0.0, 4.0], [0.0, -3.0]];

    fn placed(points: &[[f64; 2]], angle: f64) -> Vec<[f64; 2]> {
        let place = |point: &[f64; 2]| {
            let [x, y] = turned(*point, angle);
            [x + 50.0, y + 30.0]
        };
        points.iter().map(place).collect()
    }

    fn of(outline: Outline, shift: [f64; 2], turn: f64) -> Oriented {
        let rule = ByPoints { outline, angle: FRAC_PI_2, shift };
        let axis = placed(&AXIS, turn);
        rule.region(&placed(&FIGURE, turn), Some([axis[0], axis[1]])).unwrap()
    }

    fn assert_near(found: Oriented, [x, y, w, h]: [f64; 4], angle: f64) {
        let Rect { x: left, y: top, w: wide, h: high } = found.rect;
        let got = [left + wide / 2.0, top + high / 2.0, wide, high, found.angle].map(f64::from);
        // Float32 of numbers below 64.
        let near = got.iter().zip([x, y, w, h, angle]).all(|(got, wanted)| (got - wanted).abs() < 1e-5);
        assert!(near, "{got:?}, not {:?} at {angle}", [x, y, w, h]);
    }

    #[test]
    fn a_region_turns_with_the_object_and_is_moved_along_its_own_sides() {
        for turn in [0.0, 0.4, FRAC_PI_2, -2.5, 3.0] {
            assert_near(of(Outline::Turned, [0.0, 0.0], turn), [50.0, 30.0, 4.0, 8.0], turn);
            let [dx, dy] = turned([1.0, -0.8], turn);
            assert_near(of(Outline::Turned, [0.25, -0.1], turn), [50.0 + dx, 30.0 + dy, 4.0, 8.0], turn);
            let [dx, dy] = turned([0.0, 4.0], turn);
            assert_near(of(Outline::Axis, [0.0, 0.0], turn), [50.0 + dx, 30.0 + dy, 14.0, 14.0], turn);
        }
        let rule = ByPoints { outline: Outline::Found, angle: FRAC_PI_2, shift: [0.0, -0.5] };
        let lying = placed(&AXIS, FRAC_PI_2);
        let found = rule.region(&[[40.0, 20.0], [60.0, 30.0]], Some([lying[0], lying[1]])).unwrap();
        assert_near(found, [55.0, 25.0, 20.0, 10.0], FRAC_PI_2);
        // Lying on its side, with its top to the right: eight wide and four high in the frame, and that is turned.
        assert_near(of(Outline::Upright, [0.0, 0.0], FRAC_PI_2), [50.0, 30.0, 8.0, 4.0], FRAC_PI_2);
    }

    #[test]
    fn an_axis_points_where_it_is_wanted_to() {
        // From the left eye to the right one: to the right in the tensor. One that points down is turned by a quarter, clockwise.
        let eyes =
            |right: [f64; 2]| ByPoints::default().region(&FIGURE, Some([[0.0, 0.0], right])).unwrap().angle;
        assert_eq!(eyes([3.0, 0.0]), 0.0);
        assert!((eyes([0.0, 3.0]) - std::f32::consts::FRAC_PI_2).abs() < 1e-6);
        let upright = ByPoints { angle: FRAC_PI_2, ..ByPoints::default() };
        assert_eq!(upright.region(&FIGURE, None).unwrap().angle, 0.0, "without an axis nothing is turned");
    }

    #[test]
    fn what_has_no_region_has_none() {
        let rule = ByPoints::default();
        assert_eq!(rule.region(&[], None), None);
        assert_eq!(rule.region(&[[1.0, f64::NAN], [2.0, 3.0]], None), None);
        assert_eq!(rule.region(&FIGURE, Some([[1.0, 1.0]; 2])), None, "an axis of no length");
        assert_eq!(rule.region(&FIGURE, Some([[1.0, f64::NAN], [1.0, 1.0]])), None);
        assert_eq!(ByPoints { outline: Outline::Axis, ..rule }.region(&FIGURE, None), None);
    }
}
