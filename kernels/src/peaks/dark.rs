//! The maximum of the Taylor expansion of a blurred map's logarithm: [`super::Refinement::Dark`].

use super::{Border, PeakParams};

/// The most cells from the middle of a kernel to its end.
const MOST: usize = 15;

/// Curvature below which a logarithm has no maximum; that of a Gaussian as wide as the largest kernel is 0.04.
const FLAT: f64 = 1e-5;

/// A Gaussian kernel that is applied along one axis, then along the other one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blur {
    /// From the middle outwards; 0 after the last.
    pub weights: [f64; MOST + 1],
    /// How many cells there are on each side of the middle.
    pub radius: usize,
    /// How the map continues beyond its edge.
    pub border: Border,
}

impl Blur {
    /// A kernel of [`PeakParams::blur`] cells, whose sum is 1. Without a standard deviation it is OpenCV's kernel of that size.
    /// (OpenCV's tables for up to 9 cells are roundings of it.)
    pub fn new(params: &PeakParams) -> Self {
        let radius = (params.blur / 2).min(MOST);
        let sigma = params.sigma.map_or_else(|| 0.3 * (radius as f64 - 1.0) + 0.8, f64::from);
        let mut weights = [0.0; MOST + 1];
        for (i, weight) in weights.iter_mut().take(radius + 1).enumerate() {
            *weight = (-((i * i) as f64) / (2.0 * sigma * sigma)).exp();
        }
        let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f64>();
        Self { weights: weights.map(|weight| weight / sum), radius, border: params.border }
    }

    /// The sum of the values from `-radius` to `radius`, weighted.
    fn apply(&self, mut value: impl FnMut(isize) -> f64) -> f64 {
        let radius = self.radius.cast_signed();
        (-radius..=radius).fold(0.0, |sum, i| sum + self.weights[i.unsigned_abs()] * value(i))
    }
}

/// The offset of the cell that is read `cells` cells from one with `before` and `after` cells of the map on its sides, where the
/// map is mirrored at its edges.
fn reflected(cells: isize, [before, after]: [usize; 2]) -> isize {
    let (before, size) = (before.cast_signed(), (before + after + 1).cast_signed());
    let at = (before + cells).rem_euclid(2 * size);
    at.min(2 * size - 1 - at) - before
}

/// The offset of the maximum from a cell, in cells. `at` gives the activated value at an offset to the right and
/// down, none where it is not finite; `sides` are the numbers of the map's cells on the left and right, above and below.
pub(super) fn offset(
    at: impl Fn(isize, isize) -> Option<f64>,
    sides: [[usize; 2]; 2],
    blur: &Blur,
    udp: bool,
) -> (f64, f64) {
    if !udp && sides.iter().flatten().any(|cells| *cells < 2) {
        return (0.0, 0.0);
    }
    let radius = blur.radius.cast_signed();
    let met = |dx: isize, dy: isize| match blur.border {
        Border::Zero => at(dx, dy).unwrap_or(0.0),
        Border::Reflect => at(reflected(dx, sides[0]), reflected(dy, sides[1])).unwrap_or(0.0),
    };
    // Rows from 2 + radius above the cell on, each at the five places from -2 to 2.
    let rows: Vec<[f64; 5]> = (-2 - radius..=2 + radius)
        .map(|dy| [-2, -1, 0, 1, 2].map(|dx| blur.apply(|i| met(dx + i, dy))))
        .collect();
    let blurred = |dx: isize, dy: isize| {
        blur.apply(|i| {
            let row = usize::try_from(dy + i + 2 + radius).ok().and_then(|row| rows.get(row));
            row.and_then(|row| row.get(usize::try_from(dx + 2).ok()?)).copied().unwrap_or(0.0)
        })
    };
    let (here, middle) = (at(0, 0).unwrap_or(0.0), blurred(0, 0));
    if here <= 0.0 || middle <= 0.0 {
        return (0.0, 0.0);
    }
    // So that the blurred map has the original height.
    let scale = here / middle;
    let (least, most) = if udp { (1e-3, 50.0) } else { (1e-10, f64::INFINITY) };
    let inside = |d: isize, [before, after]: [usize; 2]| {
        d.clamp(-before.min(2).cast_signed(), after.min(2).cast_signed())
    };
    let f = |dx: isize, dy: isize| {
        (blurred(inside(dx, sides[0]), inside(dy, sides[1])) * scale).clamp(least, most).ln()
    };
    let (gx, gy) = (0.5 * (f(1, 0) - f(-1, 0)), 0.5 * (f(0, 1) - f(0, -1)));
    let (xx, yy, xy) = if udp {
        (
            f(1, 0) - 2.0 * f(0, 0) + f(-1, 0),
            f(0, 1) - 2.0 * f(0, 0) + f(0, -1),
            0.5 * (f(1, 1) - f(1, 0) - f(0, 1) + 2.0 * f(0, 0) - f(-1, 0) - f(0, -1) + f(-1, -1)),
        )
    } else {
        (
            0.25 * (f(2, 0) - 2.0 * f(0, 0) + f(-2, 0)),
            0.25 * (f(0, 2) - 2.0 * f(0, 0) + f(0, -2)),
            0.25 * (f(1, 1) - f(1, -1) - f(-1, 1) + f(-1, -1)),
        )
    };
    let determinant = xx * yy - xy * xy;
    // Not a maximum, or one of a plain whose curvature is only the rounding of its logarithms.
    if !(xx < -FLAT && determinant > FLAT * FLAT) {
        return (0.0, 0.0);
    }
    let (dx, dy) = ((xy * gy - yy * gx) / determinant, (xy * gx - xx * gy) / determinant);
    (dx.clamp(-2.0, 2.0), dy.clamp(-2.0, 2.0))
}
