//! A picture at several scales, as floats, with borders.

use multiversion::multiversion;

use super::Picture;

/// Pixels around each level that repeat its edge, so that windows near the edge are no special case.
pub(super) const BORDER: usize = 12;

/// Levels, each half as wide and high as the one before: corners that move by less than a window's half on the coarsest,
/// some 25 pixels of the picture, are found again.
pub(crate) const LEVELS: usize = 3;

/// The finest level first. Coarser ones are empty where the picture is too small for them.
#[derive(Debug, Default)]
pub(crate) struct Pyramid {
    pub levels: [Level; LEVELS],
}

/// A picture in 0..255 with its border.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub width: usize,
    pub height: usize,
    samples: Vec<f32>,
}

impl Pyramid {
    /// Takes in a picture; allocates only where it is larger than those before.
    pub fn set(&mut self, picture: &Picture<'_>) {
        let [width, height] = picture.size();
        let [finest, coarser @ ..] = &mut self.levels;
        finest.resize(width, height);
        for (y, pixels) in picture.pixels().chunks_exact(width).enumerate() {
            for (sample, pixel) in finest.row_mut(y).iter_mut().zip(pixels) {
                *sample = f32::from(*pixel);
            }
        }
        finest.extend();
        let mut finer: &Level = finest;
        for level in coarser {
            level.resize(finer.width / 2, finer.height / 2);
            for y in 0..level.height {
                let [above, below] = [0, 1].map(|i| finer.padded_row(BORDER + 2 * y + i));
                halve(
                    above.get(BORDER..).unwrap_or_default(),
                    below.get(BORDER..).unwrap_or_default(),
                    level.row_mut(y),
                );
            }
            level.extend();
            finer = level;
        }
    }
}

impl Level {
    fn resize(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        let samples = if width == 0 || height == 0 { 0 } else { self.stride() * (height + 2 * BORDER) };
        self.samples.resize(samples, 0.0);
    }

    /// Samples from row to row.
    fn stride(&self) -> usize {
        self.width + 2 * BORDER
    }

    /// Row `y` with its border, where row [`BORDER`] is the picture's first. Empty beyond the last.
    pub fn padded_row(&self, y: usize) -> &[f32] {
        self.samples.get(y * self.stride()..(y + 1) * self.stride()).unwrap_or_default()
    }

    fn row_mut(&mut self, y: usize) -> &mut [f32] {
        let start = (y + BORDER) * self.stride() + BORDER;
        self.samples.get_mut(start..start + self.width).unwrap_or_default()
    }

    /// Fills the border.
    fn extend(&mut self) {
        let (stride, width, height) = (self.stride(), self.width, self.height);
        if self.samples.is_empty() {
            return;
        }
        for row in self.samples.chunks_exact_mut(stride).skip(BORDER).take(height) {
            let (left, right) = (row[BORDER], row[BORDER + width - 1]);
            row[..BORDER].fill(left);
            row[BORDER + width..].fill(right);
        }
        let (first, last) = (BORDER * stride, (BORDER + height - 1) * stride);
        for y in 0..BORDER {
            self.samples.copy_within(first..first + stride, y * stride);
            self.samples.copy_within(last..last + stride, (BORDER + height + y) * stride);
        }
    }

    /// Fills `out` with the `N` x `N` samples from (`x`, `y`) on, row by row, between pixels by linear interpolation; pixel
    /// (0, 0) of the picture is at (0, 0). False where samples lie beyond the border, or the position is not finite.
    #[inline(always)]
    pub fn sample<const N: usize>(&self, x: f32, y: f32, out: &mut [f32]) -> bool {
        let (x, y) = (x + BORDER as f32, y + BORDER as f32);
        let (left, top) = (x.floor(), y.floor());
        // Also true for NaN. Below, `as` is exact, or saturates far beyond the border.
        if !(left >= 0.0 && top >= 0.0) {
            return false;
        }
        let (fx, fy, left, top) = (x - left, y - top, left as usize, top as usize);
        let stride = self.stride();
        if left + N >= stride || top + N >= self.height + 2 * BORDER || self.samples.is_empty() {
            return false;
        }
        let samples = &self.samples[top * stride + left..];
        let mut above: [f32; N] = between(samples, fx);
        for (out, samples) in out.as_chunks_mut::<N>().0.iter_mut().zip(samples.chunks(stride).skip(1)) {
            let below: [f32; N] = between(samples, fx);
            for ((out, a), b) in out.iter_mut().zip(&above).zip(&below) {
                *out = a + fy * (b - a);
            }
            above = below;
        }
        true
    }
}

#[inline(always)]
fn between<const N: usize>(row: &[f32], fraction: f32) -> [f32; N] {
    let mut out = [0.0; N];
    for ((out, left), right) in out.iter_mut().zip(&row[..N]).zip(&row[1..=N]) {
        *out = left + fraction * (right - left);
    }
    out
}

/// The mean of each two by two samples.
#[multiversion(targets("x86_64+avx2"))]
fn halve(above: &[f32], below: &[f32], out: &mut [f32]) {
    let (above, below) = (above.as_chunks::<2>().0, below.as_chunks::<2>().0);
    for ((out, [a, b]), [c, d]) in out.iter_mut().zip(above).zip(below) {
        *out = ((a + c) + (b + d)) * 0.25;
    }
}
