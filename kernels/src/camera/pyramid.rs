//! A picture at several scales, as floats, with borders.

use multiversion::multiversion;

use super::Picture;

/// Pixels around each level that repeat its edge, so that windows near the edge are no special case.
pub(super) const BORDER: usize = 12;

/// Levels, each half as wide and high as the one before: corners that move by less than a window's half on the coarsest,
/// some 25 pixels of the picture, are found again.
pub(crate) const LEVELS: usize = 3;

/// The finest level first. A level is made when it is needed; coarser ones are empty where the picture is too small for them.
#[derive(Debug, Default)]
pub(crate) struct Pyramid {
    levels: [Level; LEVELS],
    /// Whether a level is that of the picture.
    made: [bool; LEVELS],
    pixels: Vec<u8>,
    size: [usize; 2],
}

/// A picture in 0..255 with its border.
#[derive(Debug, Default)]
pub(crate) struct Level {
    pub width: usize,
    pub height: usize,
    samples: Vec<f32>,
}

impl Pyramid {
    /// Takes in a picture, of which no level is made yet; allocates only where it is larger than those before.
    pub fn set(&mut self, picture: &Picture<'_>) {
        self.size = picture.size();
        self.pixels.clear();
        self.pixels.extend_from_slice(picture.pixels());
        self.made = [false; LEVELS];
    }

    /// Makes a level, and what it is made of, unless that is done.
    pub fn make(&mut self, number: usize) {
        if self.made.get(number) != Some(&false) {
            return;
        }
        let [width, height] = self.size.map(|side| side >> number);
        if number > 1 {
            self.make(number - 1);
        }
        let (finer, rest) = self.levels.split_at_mut(number);
        let Some(level) = rest.first_mut() else { return };
        level.resize(width, height);
        let mut rows = self.pixels.chunks_exact(self.size[0].max(1));
        for y in 0..height {
            let out = level.row_mut(y);
            match (number, finer.last()) {
                (0, _) => widen(rows.next().unwrap_or_default(), out),
                (1, _) => {
                    let [above, below] = [(); 2].map(|()| rows.next().unwrap_or_default());
                    halve_bytes(above, below, out);
                }
                (_, Some(finer)) => {
                    let row = |y: usize| finer.padded_row(BORDER + y).get(BORDER..).unwrap_or_default();
                    halve(row(2 * y), row(2 * y + 1), out);
                }
                _ => {}
            }
        }
        level.extend();
        self.made[number] = true;
    }

    /// Makes all levels.
    pub fn make_all(&mut self) {
        (0..LEVELS).for_each(|number| self.make(number));
    }

    /// A level that was made.
    pub fn level(&self, number: usize) -> Option<&Level> {
        self.levels.get(number).filter(|_| self.made.get(number) == Some(&true))
    }

    /// The picture's width and height.
    pub fn size(&self) -> [usize; 2] {
        self.size
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

    /// The samples from the whole position (`x`, `y`) on, and how many there are from row to row; pixel (0, 0) of the picture is at
    /// (0, 0). None where some of the next `side` x `side` lie beyond the border, or the position is not finite.
    #[inline(always)]
    pub fn samples(&self, x: f32, y: f32, side: usize) -> Option<(&[f32], usize)> {
        let (left, top) = (x + BORDER as f32, y + BORDER as f32);
        // Also true for NaN. Below, `as` is exact, or saturates far beyond the border.
        if !(left >= 0.0 && top >= 0.0) {
            return None;
        }
        let (left, top, stride) = (left as usize, top as usize, self.stride());
        let is_inside =
            left.saturating_add(side) <= stride && top.saturating_add(side) <= self.height + 2 * BORDER;
        let samples = self.samples.get(top.checked_mul(stride)?.checked_add(left)?..)?;
        is_inside.then_some((samples, stride))
    }

    /// Fills `out` with the `N` x `N` samples from (`x`, `y`) on, row by row, between pixels by linear interpolation. False where
    /// samples lie beyond the border, or the position is not finite.
    #[inline(always)]
    pub fn sample<const N: usize>(&self, x: f32, y: f32, out: &mut [f32]) -> bool {
        let (left, top) = (x.floor(), y.floor());
        let (fx, fy) = (x - left, y - top);
        let Some((samples, stride)) = self.samples(left, top, N + 1) else { return false };
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

#[multiversion(targets("x86_64+avx2"))]
fn widen(pixels: &[u8], out: &mut [f32]) {
    for (sample, pixel) in out.iter_mut().zip(pixels) {
        *sample = f32::from(*pixel);
    }
}

/// The mean of each two by two pixels: exact, as that of samples is.
#[multiversion(targets("x86_64+avx2"))]
fn halve_bytes(above: &[u8], below: &[u8], out: &mut [f32]) {
    let (above, below) = (above.as_chunks::<2>().0, below.as_chunks::<2>().0);
    for ((out, [a, b]), [c, d]) in out.iter_mut().zip(above).zip(below) {
        *out = f32::from(u16::from(*a) + u16::from(*b) + u16::from(*c) + u16::from(*d)) * 0.25;
    }
}

/// The mean of each two by two samples.
#[multiversion(targets("x86_64+avx2"))]
fn halve(above: &[f32], below: &[f32], out: &mut [f32]) {
    let (above, below) = (above.as_chunks::<2>().0, below.as_chunks::<2>().0);
    for ((out, [a, b]), [c, d]) in out.iter_mut().zip(above).zip(below) {
        *out = ((a + c) + (b + d)) * 0.25;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_the_means_of_the_picture_whichever_was_made_first() {
        let size = [53, 38];
        let pixels: Vec<u8> = (0..size[0] * size[1]).map(|i| (i * i * 31 % 251) as u8).collect();
        let picture = Picture::new(&pixels, size, size).unwrap();
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut pyramid = Pyramid::default();
            // What an earlier picture has left is replaced.
            pyramid.set(&Picture::new(&[7; 60 * 40], [60, 40], size).unwrap());
            pyramid.make_all();
            pyramid.set(&picture);
            assert!((0..LEVELS).all(|number| pyramid.level(number).is_none()));
            order.into_iter().for_each(|number| pyramid.make(number));
            for number in 0..LEVELS {
                let (level, side) = (pyramid.level(number).unwrap(), 1 << number);
                assert_eq!([level.width, level.height], size.map(|length| length / side));
                for (x, y) in (0..level.height).flat_map(|y| (0..level.width).map(move |x| (x, y))) {
                    let covered = (0..side * side).map(|i| [x * side + i % side, y * side + i / side]);
                    let sum: u32 = covered.map(|[x, y]| u32::from(pixels[y * size[0] + x])).sum();
                    // Exact: 12 bits.
                    let mean = sum as f32 / (side * side) as f32;
                    assert_eq!(level.padded_row(BORDER + y)[BORDER + x], mean, "{order:?} {number} {x} {y}");
                }
            }
        }
    }
}
