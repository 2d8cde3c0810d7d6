//! The fast guided filter: He and Sun, "Fast Guided Filter", arXiv 1505.00996 (2015), with luma as the guide.

use super::{MatteError, check};

/// Bits of an interpolation's weight.
const WEIGHT: usize = 11;

/// Moves the edges of a soft mask to those of the picture.
///
/// The mask is taken for a linear function of luma, `a * luma + b`, in each window of cells. Cells are squares of `cell` pixels, and
/// have the means of their pixels; a window is a square of `2 * radius + 1` cells, as far as it lies in the frame. In each, `a` is the
/// covariance of mask and luma, divided by the variance of luma and `epsilon`; luma and mask count from 0 to 1. A pixel takes the
/// mean of `a` and of `b` over the windows that its cell lies in, interpolated bilinearly between the centres of cells.
#[derive(Clone, Debug)]
pub struct Guided {
    pub(super) frame: [usize; 2],
    pub(super) cell: usize,
    pub(super) cells: [usize; 2],
    pub(super) radius: usize,
    pub(super) epsilon: f32,
    /// Columns of a row: the two cells, and the weight of the second.
    columns: Vec<(u32, u32, f32)>,
}

impl Guided {
    /// For frames of this width and height.
    pub fn new(frame: [usize; 2], cell: usize, radius: u32, epsilon: f32) -> Self {
        let cell = cell.max(1);
        let cells = frame.map(|side| side.div_ceil(cell));
        let column = |x: usize| {
            let (first, second, weight) = between(x, cell, cells[0]);
            (first as u32, second as u32, weight)
        };
        Self {
            frame,
            cell,
            cells,
            radius: radius as usize,
            epsilon,
            columns: (0..frame[0]).map(column).collect(),
        }
    }

    /// Filters `mask`, dense, by the frame's luma in full range, dense as well.
    ///
    /// # Errors
    /// [`MatteError::Room`].
    pub fn run(&self, luma: &[u8], mask: &mut [u8]) -> Result<(), MatteError> {
        let [width, height] = self.frame;
        check(width * height, &[luma, mask])?;
        let [a, b] = self.lines(luma, mask);
        let across = self.cells[0];
        let (mut row_a, mut row_b) = (vec![0.0; across], vec![0.0; across]);
        let rows = luma.chunks_exact(width).zip(mask.chunks_exact_mut(width));
        for (y, (luma, mask)) in rows.enumerate() {
            let (first, second, weight) = between(y, self.cell, self.cells[1]);
            for (row, plane) in [(&mut row_a, &a), (&mut row_b, &b)] {
                let (above, below) =
                    (&plane[first * across..][..across], &plane[second * across..][..across]);
                for ((to, above), below) in row.iter_mut().zip(above).zip(below) {
                    *to = above + (below - above) * weight;
                }
            }
            for ((to, luma), (left, right, weight)) in mask.iter_mut().zip(luma).zip(&self.columns) {
                let at = |row: &[f32]| {
                    let (left, right) = (row[*left as usize], row[*right as usize]);
                    left + (right - left) * weight
                };
                // Truncates to 0..=255, NaN to 0.
                *to = (at(&row_a) * f32::from(*luma) + at(&row_b) * 255.0 + 0.5) as u8;
            }
        }
        Ok(())
    }

    /// The means of `a` and `b` over windows, by cell.
    fn lines(&self, luma: &[u8], mask: &[u8]) -> [Vec<f32>; 2] {
        let [guide, values] = [luma, mask].map(|plane| self.means(plane));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<_>>();
        let squares = self.windows(&product(&guide, &guide));
        let both = self.windows(&product(&guide, &values));
        let (guide, values) = (self.windows(&guide), self.windows(&values));
        let (mut slopes, mut offsets) = (Vec::with_capacity(guide.len()), Vec::with_capacity(guide.len()));
        for (((luma, value), square), both) in guide.iter().zip(&values).zip(&squares).zip(&both) {
            let slope = (both - luma * value) / (square - luma * luma + f64::from(self.epsilon));
            slopes.push(slope);
            offsets.push(value - slope * luma);
        }
        [slopes, offsets].map(|plane| self.windows(&plane).into_iter().map(|v| v as f32).collect())
    }

    /// The mean of each cell's pixels, 0 to 1.
    fn means(&self, plane: &[u8]) -> Vec<f64> {
        let ([width, _], [across, _], cell) = (self.frame, self.cells, self.cell);
        let mut means = Vec::with_capacity(self.cells[0] * self.cells[1]);
        let mut sums = vec![0_u32; across];
        for rows in plane.chunks(width * cell) {
            sums.fill(0);
            for row in rows.chunks_exact(width) {
                for (sum, pixels) in sums.iter_mut().zip(row.chunks(cell)) {
                    *sum += pixels.iter().map(|pixel| u32::from(*pixel)).sum::<u32>();
                }
            }
            let count = rows.len() / width;
            means.extend(sums.iter().enumerate().map(|(x, sum)| {
                let columns = cell.min(width - x * cell);
                f64::from(*sum) / (255 * count * columns) as f64
            }));
        }
        means
    }

    /// The mean of the window around each cell.
    fn windows(&self, plane: &[f64]) -> Vec<f64> {
        let ([across, down], radius) = (self.cells, self.radius);
        let mut sums = vec![0.0; plane.len()];
        for (row, sums) in plane.chunks_exact(across).zip(sums.chunks_exact_mut(across)) {
            for (x, sum) in sums.iter_mut().enumerate() {
                *sum = row[x.saturating_sub(radius)..(x + radius + 1).min(across)].iter().sum();
            }
        }
        let mut means = vec![0.0; plane.len()];
        for (y, row) in means.chunks_exact_mut(across).enumerate() {
            let rows = y.saturating_sub(radius)..(y + radius + 1).min(down);
            for other in rows.clone() {
                let sums = &sums[other * across..][..across];
                row.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum);
            }
            for (x, mean) in row.iter_mut().enumerate() {
                let columns = (x + radius + 1).min(across) - x.saturating_sub(radius);
                *mean /= (columns * rows.len()) as f64;
            }
        }
        means
    }
}

/// The two cells between whose centres a pixel's centre lies, out of `count`, and the weight of the second.
fn between(pixel: usize, cell: usize, count: usize) -> (usize, usize, f32) {
    // In halves of a pixel; before the first centre and after the last one, theirs is taken.
    let place = (2 * pixel + 1).saturating_sub(cell);
    let first = (place / (2 * cell)).min(count - 1);
    let weight = ((place % (2 * cell)) << WEIGHT) / (2 * cell);
    (first, (first + 1).min(count - 1), weight as f32 / (1 << WEIGHT) as f32)
}
