//! What users say of the ground, and the checks of it.

use super::plane::Plane;
use crate::homography::Homography;

type Point = [f64; 2];

/// Twice the area of a triangle of three points is at least this share of the square of the longest distance between any of the four:
/// what is flatter counts as a line.
const FLAT: f64 = 1e-4;
/// The share of the largest possible determinant below which a matrix counts as singular, when its rows and columns are made alike.
const SINGULAR: f64 = 1e-12;

/// The map of the frame to the ground, as users write it. Coordinates of the frame are in a unit that [`GroundMap::plane`] is given.
#[derive(Clone, Debug, PartialEq)]
pub enum GroundMap {
    /// Four points of the frame, no three of which lie on a line, and where they are.
    Points {
        /// In the frame.
        frame: Vec<Point>,
        /// In the world.
        metres: Metres,
    },
    /// The matrix that maps `(x, y, 1)` of the frame to `(X * w, Y * w, w)`, row by row.
    Matrix([[f64; 3]; 3]),
}

/// Where four points are in the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Metres {
    /// The corners of a rectangle of this width (from the first point to the second, along x) and length (from the second to the third,
    /// along y). The first is at (0, 0).
    Rectangle([f64; 2]),
    /// Their places.
    Places(Vec<Point>),
}

impl Metres {
    /// The four places.
    fn places(&self) -> Result<[Point; 4], GroundError> {
        match self {
            Self::Rectangle(sides) if sides.iter().any(|side| !side.is_finite() || *side <= 0.0) => {
                let [width, length] = *sides;
                Err(GroundError::Rectangle { width, length })
            }
            Self::Rectangle([width, length]) => {
                Ok([[0.0, 0.0], [*width, 0.0], [*width, *length], [0.0, *length]])
            }
            Self::Places(places) => {
                let four = places[..].try_into().map_err(|_| GroundError::Places(places.len()))?;
                check("metres", &four)?;
                Ok(four)
            }
        }
    }
}

/// Whether four points are finite and no three of them lie on a line.
fn check(which: &'static str, points: &[Point; 4]) -> Result<(), GroundError> {
    if let Some(point) = points.iter().position(|p| p.iter().any(|v| !v.is_finite())) {
        return Err(GroundError::NotFinite { which, point: point + 1 });
    }
    let apart = |a: Point, b: Point| (b[0] - a[0]).powi(2) + (b[1] - a[1]).powi(2);
    let pairs = || (0..4).flat_map(|i| (i + 1..4).map(move |j| [i, j]));
    if let Some([a, b]) = pairs().find(|[a, b]| points[*a] == points[*b]) {
        return Err(GroundError::Same { which, points: [a + 1, b + 1] });
    }
    let longest = pairs().map(|[a, b]| apart(points[a], points[b])).fold(0.0, f64::max);
    for [i, j, k] in [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]] {
        let [a, b, c] = [points[i], points[j], points[k]];
        let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if area.abs() < FLAT * longest {
            return Err(GroundError::Line { which, points: [i + 1, j + 1, k + 1] });
        }
    }
    Ok(())
}

/// Whether a matrix maps the frame to a line or a point. Its columns and rows are made alike first, because they have different units.
fn is_singular(mut rows: [[f64; 3]; 3]) -> bool {
    for column in 0..3 {
        let length = rows.iter().map(|row| row[column].powi(2)).sum::<f64>().sqrt();
        rows.iter_mut().for_each(|row| row[column] /= length);
    }
    for row in &mut rows {
        let length = row.iter().map(|v| v.powi(2)).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= length);
    }
    let [[a, b, c], [d, e, f], [g, h, i]] = rows;
    let determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
    // A row or column of zeros makes it NaN.
    determinant.is_nan() || determinant.abs() < SINGULAR
}

impl GroundMap {
    /// Checks that it says where the ground is.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub fn check(&self) -> Result<(), GroundError> {
        self.solve().map(|_| ())
    }

    /// The map from this map's units to metres, and whether w' is positive on the visible side of the horizon, where that is known.
    fn solve(&self) -> Result<(Homography, Option<bool>), GroundError> {
        match self {
            Self::Points { frame, metres } => {
                let frame: [Point; 4] = frame[..].try_into().map_err(|_| GroundError::Points(frame.len()))?;
                check("points", &frame)?;
                let map = Homography::through(&frame, &metres.places()?).ok_or(GroundError::Order)?;
                let sides = frame.map(|point| map.homogeneous(point)[2] > 0.0);
                if sides.iter().any(|side| *side != sides[0]) {
                    return Err(GroundError::Order);
                }
                Ok((map, Some(sides[0])))
            }
            Self::Matrix(rows) if rows.as_flattened().iter().any(|v| !v.is_finite()) => {
                Err(GroundError::Infinite)
            }
            Self::Matrix(rows) if is_singular(*rows) => Err(GroundError::Singular),
            Self::Matrix(rows) => Ok((Homography { rows: *rows }, None)),
        }
    }

    /// The plane of frames of `size` (width, height) pixels, where this map's units are `unit` pixels each. Of a matrix, the middle of
    /// the frame's lower edge is taken to be below the horizon.
    ///
    /// # Errors
    /// As of [`GroundMap::check`].
    pub fn plane(&self, unit: [f64; 2], size: [f64; 2]) -> Result<Plane, GroundError> {
        let (map, positive) = self.solve()?;
        let rows = map.rows.map(|[a, b, c]| [a / unit[0], b / unit[1], c]);
        let below = Homography { rows }.homogeneous([size[0] / 2.0, size[1]])[2];
        let sign = if positive.unwrap_or(below >= 0.0) { 1.0 } else { -1.0 };
        Ok(Plane::new(Homography { rows: rows.map(|row| row.map(|v| sign * v)) }))
    }

    /// The points of the frame that it names.
    pub fn points(&self) -> &[Point] {
        match self {
            Self::Points { frame, .. } => frame,
            Self::Matrix(_) => &[],
        }
    }
}

/// Why nothing can be known of the ground. The text follows "[ground]: ".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum GroundError {
    #[error("it has {0} points, expected four: write points = [[x, y], [x, y], [x, y], [x, y]]")]
    Points(usize),
    #[error(
        "metres has {0} places, expected one for each of the four points: write metres = [[x, y], [x, y], [x, y], [x, y]], or \
         metres = [width, length] of the rectangle whose corners the points are"
    )]
    Places(usize),
    #[error(
        "its rectangle is {width} m wide and {length} m long, but both must be above 0. Write its sides in metres, from the first \
         point to the second, and from the second to the third"
    )]
    Rectangle { width: f64, length: f64 },
    #[error("number {point} of {which} is NaN or infinite. Write finite numbers")]
    NotFinite { which: &'static str, point: usize },
    #[error("numbers {} and {} of {which} are the same. Write four different ones", points[0], points[1])]
    Same { which: &'static str, points: [usize; 2] },
    #[error(
        "numbers {}, {} and {} of {which} lie on one straight line, or nearly so, which does not tell how the ground lies. Choose four \
         of which no three do, such as the corners of a rectangle",
        points[0], points[1], points[2]
    )]
    Line { which: &'static str, points: [usize; 3] },
    #[error(
        "no camera can see its metres at its points, because the horizon would pass between these. Give both in the same order"
    )]
    Order,
    #[error("its matrix has a number that is NaN or infinite. Write finite numbers")]
    Infinite,
    #[error(
        "its matrix is singular: it maps the whole frame to a line or a point. Give the matrix from the frame to metres, or four points \
         with their metres"
    )]
    Singular,
}
