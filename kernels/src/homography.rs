//! Perspective maps between planes. Points are continuous, as in [`crate::geometry`].

use crate::geometry::Affine;

/// A triangle of three neighbouring corners of a quadrilateral has at least this share of the square of the longest side as twice its
/// area; what is flatter counts as a line.
const FLAT: f64 = 1e-6;

/// Why four points are not the corners of what is seen of a rectangle. The text follows "it has".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CornersError {
    /// An infinite coordinate, or one that is not a number.
    #[error("a corner whose place is not finite")]
    NotFinite,
    /// A picture that is mirrored; mostly corners in another order.
    #[error("corners in anticlockwise order")]
    Anticlockwise,
    /// Three on a line, one inside of the triangle of the others, or sides that cross each other.
    #[error("corners of no convex quadrilateral")]
    NotConvex,
    /// What is shown around the corners would reach as far as the camera itself, which is nowhere in the frame, or come too near to it.
    #[error("corners in so steep a perspective that what is shown around them reaches the camera")]
    TooSteep,
}

/// Whether points are the corners of a convex quadrilateral, in clockwise order as seen on a screen (y goes down), as top-left,
/// top-right, bottom-right, bottom-left.
///
/// # Errors
/// All of [`CornersError`] but [`CornersError::TooSteep`].
pub fn check_corners(points: &[[f64; 2]; 4]) -> Result<(), CornersError> {
    if !points.as_flattened().iter().all(|v| v.is_finite()) {
        return Err(CornersError::NotFinite);
    }
    let side = |i: usize| {
        let ([x, y], [next_x, next_y]) = (points[i % 4], points[(i + 1) % 4]);
        [next_x - x, next_y - y]
    };
    let longest = (0..4).map(|i| side(i)[0].powi(2) + side(i)[1].powi(2)).fold(0.0, f64::max);
    let turns = [0, 1, 2, 3].map(|i| {
        let ([x, y], [next_x, next_y]) = (side(i), side(i + 1));
        x * next_y - y * next_x
    });
    // Four turns of less than half a circle to the same side are one circle.
    if turns.iter().all(|turn| *turn > FLAT * longest) {
        Ok(())
    } else if turns.iter().all(|turn| *turn < -FLAT * longest) {
        Err(CornersError::Anticlockwise)
    } else {
        Err(CornersError::NotConvex)
    }
}

/// A perspective map of the plane: with (x', y', w') = `rows` * (x, y, 1), the point (x, y) is mapped to (x' / w', y' / w').
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Homography {
    /// The matrix, row by row.
    pub rows: [[f64; 3]; 3],
}

impl Homography {
    /// The map of four points to four others; w' is positive within `from`. Both must be the corners of convex quadrilaterals
    /// ([`check_corners`]), else the map is of no use.
    ///
    /// By way of the unit square (Heckbert, Fundamentals of Texture Mapping and Image Warping, 1989, section 2.2.3).
    pub fn between(from: &[[f64; 2]; 4], to: &[[f64; 2]; 4]) -> Self {
        Self::of_unit_square(to).after(&Self::of_unit_square(from).inverse())
    }

    /// The map of four points to four others, which need not be corners of convex quadrilaterals; `None` where three of `from` lie on a
    /// line, or nearly so, or their middle is mapped to infinity.
    ///
    /// The direct linear transform of normalised points (Hartley, In Defense of the Eight-Point Algorithm, 1997): both sets are moved to
    /// the origin and scaled to a mean distance of the square root of 2, so that metres and pixels may be of any size.
    pub fn through(from: &[[f64; 2]; 4], to: &[[f64; 2]; 4]) -> Option<Self> {
        let (source, target) = (Self::normalising(from), Self::normalising(to));
        let mut rows = [[0.0; 9]; 8];
        for (k, (from, to)) in from.iter().zip(to).enumerate() {
            let ([x, y], [u, v]) = (source.point(*from), target.point(*to));
            rows[2 * k] = [x, y, 1.0, 0.0, 0.0, 0.0, -x * u, -y * u, u];
            rows[2 * k + 1] = [0.0, 0.0, 0.0, x, y, 1.0, -x * v, -y * v, v];
        }
        let [a, b, c, d, e, f, g, h] = solved(rows)?;
        let between = Self { rows: [[a, b, c], [d, e, f], [g, h, 1.0]] };
        let map = target.inverse().after(&between).after(&source);
        map.rows.as_flattened().iter().all(|v| v.is_finite()).then_some(map)
    }

    /// The map of these points to others around the origin, whose mean distance from it is the square root of 2.
    fn normalising(points: &[[f64; 2]; 4]) -> Self {
        let [x, y] = [0, 1].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / 4.0);
        let mean = points.iter().map(|point| (point[0] - x).hypot(point[1] - y)).sum::<f64>() / 4.0;
        let scale = std::f64::consts::SQRT_2 / mean;
        Self { rows: [[scale, 0.0, -scale * x], [0.0, scale, -scale * y], [0.0, 0.0, 1.0]] }
    }

    /// The map of (0, 0), (1, 0), (1, 1), (0, 1) to these points.
    fn of_unit_square(&[[x0, y0], [x1, y1], [x2, y2], [x3, y3]]: &[[f64; 2]; 4]) -> Self {
        let ([dx1, dx2, sx], [dy1, dy2, sy]) =
            ([x1 - x2, x3 - x2, x0 - x1 + x2 - x3], [y1 - y2, y3 - y2, y0 - y1 + y2 - y3]);
        let determinant = dx1 * dy2 - dx2 * dy1;
        let (g, h) = ((sx * dy2 - dx2 * sy) / determinant, (dx1 * sy - sx * dy1) / determinant);
        Self {
            rows: [
                [x1 - x0 + g * x1, x3 - x0 + h * x3, x0],
                [y1 - y0 + g * y1, y3 - y0 + h * y3, y0],
                [g, h, 1.0],
            ],
        }
    }

    fn inverse(&self) -> Self {
        let [a, b, c] = self.rows;
        let cross = |[x, y, z]: [f64; 3], [u, v, w]: [f64; 3]| [y * w - z * v, z * u - x * w, x * v - y * u];
        let columns = [cross(b, c), cross(c, a), cross(a, b)];
        let determinant = (0..3).map(|k| a[k] * columns[0][k]).sum::<f64>();
        Self { rows: [0, 1, 2].map(|row| columns.map(|column| column[row] / determinant)) }
    }

    /// First `first`, then this.
    fn after(&self, first: &Self) -> Self {
        let product = |row: [f64; 3], column: usize| (0..3).map(|k| row[k] * first.rows[k][column]).sum();
        Self { rows: self.rows.map(|row| [0, 1, 2].map(|column| product(row, column))) }
    }

    /// The map of what is `factor` times as wide and high around `center`.
    #[must_use]
    pub fn enlarged(&self, factor: f64, center: [f64; 2]) -> Self {
        let [x, y] = center.map(|v| v * (1.0 - factor));
        self.after(&Self { rows: [[factor, 0.0, x], [0.0, factor, y], [0.0, 0.0, 1.0]] })
    }

    /// x', y' and w' of a point.
    pub fn homogeneous(&self, [x, y]: [f64; 2]) -> [f64; 3] {
        self.rows.map(|[a, b, c]| a * x + b * y + c)
    }

    /// Where a point is mapped to, if its w' is not 0.
    pub fn point(&self, point: [f64; 2]) -> [f64; 2] {
        let [x, y, w] = self.homogeneous(point);
        [x / w, y / w]
    }

    /// The affine map that is nearest to this one at the corners of a tensor of `size` (width, height): the sum of the squared
    /// distances there is the least. At each of them it is wrong by a quarter of |a - b + c - d|, a to d being the mapped corners.
    pub fn nearest_affine(&self, size: [usize; 2]) -> Affine {
        let [width, height] = size.map(|n| n as f64);
        let [a, b, c, d] = corners(size).map(|corner| self.point(corner));
        let of = |sum: fn(f64, f64, f64, f64) -> f64| [0, 1].map(|k| sum(a[k], b[k], c[k], d[k]));
        let along = of(|a, b, c, d| (b - a + c - d) / 2.0).map(|v| v / width);
        let across = of(|a, b, c, d| (d - a + c - b) / 2.0).map(|v| v / height);
        let middle = of(|a, b, c, d| (a + b + c + d) / 4.0);
        let offset = [0, 1].map(|k| middle[k] - (along[k] * width + across[k] * height) / 2.0);
        Affine { scale: [along[0], across[1]], skew: [across[0], along[1]], offset }
    }
}

/// The solution of eight equations of eight unknowns, each with its right side last, by Gauss's elimination with pivots; `None` where
/// there is not one alone.
fn solved(mut rows: [[f64; 9]; 8]) -> Option<[f64; 8]> {
    /// A pivot below this is rounding: the numbers are about 1.
    const LEAST: f64 = 1e-12;
    for k in 0..8 {
        let pivot = (k..8).max_by(|a, b| rows[*a][k].abs().total_cmp(&rows[*b][k].abs()))?;
        rows.swap(k, pivot);
        let chosen = rows[k];
        if chosen[k].is_nan() || chosen[k].abs() < LEAST {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k] / chosen[k];
            row.iter_mut().zip(chosen).for_each(|(v, other)| *v -= factor * other);
        }
    }
    Some([0, 1, 2, 3, 4, 5, 6, 7].map(|k| rows[k][8] / rows[k][k]))
}

/// The corners of a tensor of `size` (width, height) pixels, clockwise from the top left.
pub fn corners(size: [usize; 2]) -> [[f64; 2]; 4] {
    let [width, height] = size.map(|n| n as f64);
    [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The map as OpenCV's `getPerspectiveTransform` finds it: eight linear equations, by Gauss's elimination.
    fn perspective(from: &[[f64; 2]; 4], to: &[[f64; 2]; 4]) -> Homography {
        let mut rows: Vec<[f64; 9]> = Vec::new();
        for ([x, y], [u, v]) in from.iter().zip(to) {
            rows.push([*x, *y, 1.0, 0.0, 0.0, 0.0, -x * u, -y * u, *u]);
            rows.push([0.0, 0.0, 0.0, *x, *y, 1.0, -x * v, -y * v, *v]);
        }
        for k in 0..8 {
            let pivot = (k..8).max_by(|a, b| rows[*a][k].abs().total_cmp(&rows[*b][k].abs())).unwrap();
            rows.swap(k, pivot);
            let chosen = rows[k];
            for (i, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
                let factor = row[k] / chosen[k];
                assert!(factor.is_finite(), "row {i}");
                row.iter_mut().zip(chosen).for_each(|(v, other)| *v -= factor * other);
            }
        }
        let h: Vec<f64> = (0..8).map(|k| rows[k][8] / rows[k][k]).collect();
        Homography { rows: [[h[0], h[1], h[2]], [h[3], h[4], h[5]], [h[6], h[7], 1.0]] }
    }

    const PLATE: [[f64; 2]; 4] = [[102.5, 61.0], [180.25, 74.5], [176.0, 101.75], [99.5, 82.0]];

    #[test]
    fn corners_that_are_no_view_of_a_rectangle_are_refused_with_their_reason() {
        let [a, b, c, d] = PLATE;
        assert_eq!(check_corners(&PLATE), Ok(()));
        // A rectangle may lie on its side or upside down.
        assert_eq!(check_corners(&[c, d, a, b]), Ok(()));
        assert_eq!(check_corners(&[a, d, c, b]), Err(CornersError::Anticlockwise));
        for (points, reason) in [
            ([a, c, b, d], "crosses itself"),
            ([a, b, d, c], "crosses itself"),
            ([a, b, [120.0, 75.0], d], "has a corner inside"),
            ([a, b, b, d], "has a corner twice"),
            ([a; 4], "is a point"),
            ([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 5.0]], "has three corners on a line"),
            ([[0.0, 0.0], [1e3, 0.0], [1e3, 1e-9], [0.0, 1e-9]], "is a line"),
            ([[0.0, 0.0], [1e300, 0.0], [1e300, 1e300], [0.0, 1e300]], "is larger than numbers"),
        ] {
            assert_eq!(check_corners(&points), Err(CornersError::NotConvex), "{reason}");
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(check_corners(&[a, b, c, [bad, 1.0]]), Err(CornersError::NotFinite));
        }
    }

    #[test]
    fn the_affine_map_is_exact_for_parallelograms_and_else_wrong_alike_at_all_corners() {
        let size = [94, 24];
        let of = |points: &[[f64; 2]; 4]| {
            let affine = Homography::between(&corners(size), points).nearest_affine(size);
            let wrong = corners(size).into_iter().zip(points).map(|([x, y], wanted)| {
                let Affine { scale, skew, offset } = affine;
                let got = [scale[0] * x + skew[0] * y + offset[0], skew[1] * x + scale[1] * y + offset[1]];
                (got[0] - wanted[0]).hypot(got[1] - wanted[1])
            });
            wrong.collect::<Vec<_>>()
        };
        let parallelogram = [[10.0, 20.0], [60.0, 35.0], [52.0, 61.0], [2.0, 46.0]];
        // Places of up to 200 pixels in f64.
        assert!(of(&parallelogram).iter().all(|wrong| *wrong < 1e-10));
        let [a, b, c, d] = PLATE;
        let quarter = (a[0] - b[0] + c[0] - d[0]).hypot(a[1] - b[1] + c[1] - d[1]) / 4.0;
        assert!(quarter > 1.0, "{quarter}");
        assert!(of(&PLATE).iter().all(|wrong| (wrong - quarter).abs() < 1e-10), "{quarter}");
    }

    proptest! {
        #[test]
        fn four_points_and_all_others_go_where_they_are_mapped_in_whatever_order_and_scale(
            offsets in proptest::array::uniform4(proptest::array::uniform2(-200f64..200.0)),
            (turn, mirrored, [tilt, roll]) in (0f64..6.3, any::<bool>(), proptest::array::uniform2(-0.45f64..0.45)),
            (scale, first) in (1e-3f64..1e3, 0usize..4), other in proptest::array::uniform2(0f64..1000.0),
        ) {
            let corners = [[250.0, 250.0], [750.0, 250.0], [750.0, 750.0], [250.0, 750.0]];
            let points: [[f64; 2]; 4] = [0, 1, 2, 3].map(|i| {
                let (corner, offset) = (corners[(i + first) % 4], offsets[(i + first) % 4]);
                [corner[0] + offset[0], corner[1] + offset[1]]
            });
            let flat = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]].iter().any(|[i, j, k]| {
                let [a, b, c] = [points[*i], points[*j], points[*k]];
                ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs() < 2e4
            });
            prop_assume!(!flat);
            // Up to 50 m, and all points on one side of the horizon.
            let (sin, cos) = turn.sin_cos();
            let side = if mirrored { -0.05 } else { 0.05 };
            let wanted = Homography {
                rows: [
                    [side * cos, -0.05 * sin, 7.0],
                    [side * sin, 0.05 * cos, -3.0],
                    [tilt / 1000.0, roll / 1000.0, 1.0],
                ],
            };
            let scaled = |point: [f64; 2]| point.map(|v| v * scale);
            let map = Homography::through(&points.map(scaled), &points.map(|point| wanted.point(point))).unwrap();
            for point in points.into_iter().chain([other]) {
                let (got, wanted) = (map.point(scaled(point)), wanted.point(point));
                // f64, of which elimination loses digits where three points are nearly on a line.
                prop_assert!((got[0] - wanted[0]).hypot(got[1] - wanted[1]) < 1e-6, "{:?}, not {:?}", got, wanted);
            }
            let signs = points.map(|point| map.homogeneous(scaled(point))[2] > 0.0);
            prop_assert!(signs.iter().all(|sign| *sign == signs[0]));
        }

        #[test]
        fn the_map_is_that_of_eight_equations(
            middles in proptest::array::uniform2(proptest::array::uniform2(-500f64..500.0)),
            turns in [0f64..6.3, 0f64..6.3], radii in proptest::array::uniform2(proptest::array::uniform4(20f64..300.0)),
            factor in 0.5f64..1.5,
        ) {
            let quadrilateral = |k: usize| [0, 1, 2, 3].map(|i| {
                let (sin, cos) = (turns[k] + std::f64::consts::FRAC_PI_2 * i as f64).sin_cos();
                [middles[k][0] + radii[k][i] * cos, middles[k][1] + radii[k][i] * sin]
            });
            let (from, to) = (quadrilateral(0), quadrilateral(1));
            prop_assume!(check_corners(&from).is_ok() && check_corners(&to).is_ok());
            let (map, reference) = (Homography::between(&from, &to), perspective(&from, &to));
            for (u, v) in [(0.1, 0.2), (0.5, 0.5), (0.9, 0.1), (0.3, 0.8), (0.0, 1.0)] {
                // Within the corners.
                let mix = |k: usize| {
                    let [a, b, c, d] = from.map(|point| point[k]);
                    (1.0 - v) * ((1.0 - u) * a + u * b) + v * ((1.0 - u) * d + u * c)
                };
                let point = [mix(0), mix(1)];
                prop_assert!(map.homogeneous(point)[2] > 0.0);
                let (got, wanted) = (map.point(point), reference.point(point));
                // Elimination loses up to eight digits of sixteen where corners nearly lie on a line.
                let near = (got[0] - wanted[0]).hypot(got[1] - wanted[1]) < 1e-5;
                prop_assert!(near, "{:?}, not {:?}", got, wanted);
                let center = [middles[0][0], middles[0][1]];
                let around = [0, 1].map(|k| center[k] + factor * (point[k] - center[k]));
                let (enlarged, moved) = (map.enlarged(factor, center).homogeneous(point), map.homogeneous(around));
                prop_assert!(enlarged.iter().zip(moved).all(|(a, b)| (a - b).abs() < 1e-6), "{:?} {:?}", enlarged, moved);
            }
            for (corner, wanted) in from.iter().zip(to) {
                let got = map.point(*corner);
                prop_assert!((got[0] - wanted[0]).hypot(got[1] - wanted[1]) < 1e-6, "{:?}, not {:?}", got, wanted);
            }
        }
    }
}
