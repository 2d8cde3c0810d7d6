//! Corners: where a window looks unlike itself in every direction, by the smaller eigenvalue of its gradients' covariance.

use multiversion::multiversion;

use super::mask::{BLOCK, Mask};
use super::pyramid::{BORDER, Level};

/// Each cell of this many by this many pixels has one corner at most: a multiple of [`BLOCK`].
const CELL: usize = 32;
/// Rows and columns of gradients that a corner's strength is summed over.
const SIDE: usize = 5;
/// A corner has at least this strength: a difference of 5 grey levels from a pixel to the one after the next, in the
/// direction where it is least, as the root mean square over its window. Noise with a deviation of 2 has one of 2.8.
const WEAKEST: f32 = (SIDE * SIDE) as f32 * 25.0;
/// Corners keep this distance from the picture's edge, so that the windows that follow them begin inside.
const MARGIN: usize = 7;

/// Finds corners; its buffers are kept.
#[derive(Debug, Default)]
pub(super) struct Corners {
    /// Products of gradients (xx, xy, yy) of the last rows.
    products: [[Vec<f32>; 3]; SIDE],
    /// The sums of the products. All are whole numbers below 2^24, so floats add them exactly, in any order.
    sums: [Vec<f32>; 3],
    /// The sums over the columns of a window.
    windows: [Vec<f32>; 3],
    strengths: Vec<f32>,
    best: Vec<Best>,
}

/// The strongest corner of a cell so far.
#[derive(Clone, Copy, Debug)]
struct Best {
    strength: f32,
    x: usize,
    y: usize,
}

impl Corners {
    /// Replaces `corners` by those of a picture that boxes do not cover: in pixels, row of cells by row of cells.
    pub fn find(&mut self, picture: &Level, mask: &Mask, corners: &mut Vec<[f32; 2]>) {
        corners.clear();
        let Level { width, height, .. } = *picture;
        if width.min(height) <= 2 * MARGIN {
            return;
        }
        let columns = width.div_ceil(CELL);
        self.best.clear();
        self.best.resize(columns * height.div_ceil(CELL), Best { strength: WEAKEST, x: 0, y: 0 });
        for buffer in self.products.iter_mut().flatten().chain(&mut self.sums).chain(&mut self.windows) {
            buffer.clear();
            buffer.resize(width, 0.0);
        }
        self.strengths.clear();
        self.strengths.resize(width, 0.0);
        for row in 0..height {
            let [above, here, below] = [0, 1, 2].map(|i| picture.padded_row(BORDER + row + i - 1));
            let around = BORDER - 1..BORDER + width + 1;
            let rows = [&above[around.clone()], &here[around.clone()], &below[around]];
            add(rows, &mut self.products[row % SIDE], &mut self.sums);
            // The sums belong to the row in the middle of the last rows.
            if let Some(y) = row.checked_sub(SIDE / 2)
                && y >= MARGIN
                && y + MARGIN < height
            {
                strengths(&self.sums, &mut self.windows, &mut self.strengths);
                self.choose(y, mask, columns);
            }
        }
        let found = self.best.iter().filter(|best| best.strength > WEAKEST);
        // Exact: sides are below 2^24.
        corners.extend(found.map(|best| [best.x as f32, best.y as f32]));
    }

    /// Compares the strengths of row `y` with the cells' best.
    fn choose(&mut self, y: usize, mask: &Mask, columns: usize) {
        let width = self.strengths.len();
        self.strengths[..MARGIN].fill(0.0);
        self.strengths[width - MARGIN..].fill(0.0);
        for (strengths, covered) in self.strengths.chunks_mut(BLOCK).zip(mask.row(y)) {
            if *covered {
                strengths.fill(0.0);
            }
        }
        let cells = self.best.iter_mut().skip(y / CELL * columns);
        for (cell, (strengths, best)) in self.strengths.chunks(CELL).zip(cells).enumerate() {
            if greatest(strengths) > best.strength {
                for (i, strength) in strengths.iter().enumerate() {
                    if *strength > best.strength {
                        *best = Best { strength: *strength, x: cell * CELL + i, y };
                    }
                }
            }
        }
    }
}

/// Replaces the products of a row, and its part of the sums. `rows` are the row above, this row and the row below, with one
/// more sample at each side.
#[multiversion(targets("x86_64+avx2"))]
fn add(rows: [&[f32]; 3], products: &mut [Vec<f32>; 3], sums: &mut [Vec<f32>; 3]) {
    let [above, here, below] = rows;
    let n = above.len() - 2;
    let (above, below, left, right) = (&above[1..=n], &below[1..=n], &here[..n], &here[2..]);
    let [xx, xy, yy] = products.each_mut().map(|products| &mut products[..n]);
    let [sum_xx, sum_xy, sum_yy] = sums.each_mut().map(|sums| &mut sums[..n]);
    for i in 0..n {
        let (x, y) = (right[i] - left[i], below[i] - above[i]);
        let new = [x * x, x * y, y * y];
        sum_xx[i] += new[0] - xx[i];
        sum_xy[i] += new[1] - xy[i];
        sum_yy[i] += new[2] - yy[i];
        (xx[i], xy[i], yy[i]) = (new[0], new[1], new[2]);
    }
}

/// The smaller eigenvalue of each window's sums; at both ends of the row `strengths` stays as it is. `windows` is scratch memory.
#[multiversion(targets("x86_64+avx2"))]
fn strengths(sums: &[Vec<f32>; 3], windows: &mut [Vec<f32>; 3], strengths: &mut [f32]) {
    let n = strengths.len().saturating_sub(SIDE - 1);
    for (sums, windows) in sums.iter().zip(windows.iter_mut()) {
        let inner = sums.iter().zip(&sums[1..]).zip(&sums[2..]).zip(&sums[3..]).zip(&sums[4..]);
        for (window, ((((a, b), c), d), e)) in windows[..n].iter_mut().zip(inner) {
            *window = a + b + c + d + e;
        }
    }
    let [xx, xy, yy] = windows;
    for (((strength, a), b), c) in strengths[SIDE / 2..][..n].iter_mut().zip(xx).zip(xy).zip(yy) {
        let (middle, half) = ((*a + *c) * 0.5, (*a - *c) * 0.5);
        *strength = middle - (half * half + *b * *b).sqrt();
    }
}

/// The greatest value, or 0. Eight at a time, because the compiler may not reorder comparisons of floats either.
#[multiversion(targets("x86_64+avx2"))]
fn greatest(values: &[f32]) -> f32 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut most = [0.0f32; 8];
    for values in eights {
        for (most, value) in most.iter_mut().zip(values) {
            *most = if *value > *most { *value } else { *most };
        }
    }
    most.iter().chain(rest).fold(0.0, |a, b| if *b > a { *b } else { a })
}
