//! A line of text as a picture from a font's rasteriser.
//!
//! A pixel has one of 16 values on the way from the background over the letters' rim to the letters: up to [`RIM`] the rim covers
//! more and more of it, from there on the letters do. A rim is a dark edge of a pixel or more around light letters, which
//! separates them from any background; dark letters have none.

/// Pixels that a word of the picture holds.
pub(super) const PIXELS_A_WORD: usize = 8;
/// The value of a pixel that the rim covers wholly, and letters not at all.
pub(super) const RIM: u32 = 3;
/// The value of a pixel that letters cover wholly.
pub(super) const COVERED: u32 = 15;
/// How many values there are.
pub(super) const VALUES: usize = COVERED as usize + 1;

/// The value of a pixel of which letters cover `covered`, and its neighbours `near` at most, in 255ths.
fn value_of(covered: u8, near: u8) -> u32 {
    let part = |covered: u8, whole: u32| (u32::from(covered) * whole + 127) / 255;
    match part(covered, COVERED - RIM) {
        0 => part(near, RIM),
        letters => RIM + letters,
    }
}

/// The letters of a label with their rim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPicture {
    /// Width and height of the label in pixels, both even.
    size: [u32; 2],
    /// Where the part with letters begins in the label, both even.
    at: [u32; 2],
    /// Columns of the part with letters, an even number.
    columns: usize,
    /// Words of each of its rows.
    stride: u32,
    /// Its rows, an even number. Pixel x is in word `x / 8`, in the four bits from `4 * (x % 8)` on.
    words: Vec<u32>,
}

impl TextPicture {
    /// A label of `size` pixels (width, height), which is made larger where letters would leave it. They are in
    /// `coverage`: `columns` bytes a row, from 0 (not covered) to 255 (covered), with the top-left one at `at` of
    /// the label. A last row that is not whole is left out. The rim is `rim` pixels wide, as far as there is room for it in
    /// the label.
    pub fn new(size: [u32; 2], at: [u32; 2], columns: usize, coverage: &[u8], rim: u32) -> Self {
        let rows = coverage.len().checked_div(columns).unwrap_or(0);
        let end = |at: u32, length: usize| at.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        let even = |v: u32| v.checked_next_multiple_of(2).unwrap_or(u32::MAX - 1);
        let size = [even(size[0].max(end(at[0], columns))), even(size[1].max(end(at[1], rows)))];
        if rows == 0 {
            return Self { size, at: [0, 0], columns: 0, stride: 0, words: Vec::new() };
        }
        // The part with a value above 0, on even pixels: two by two share one chroma sample.
        let first = at.map(|v| (v.saturating_sub(rim)) / 2 * 2);
        let last = [0, 1].map(|i| even(end(at[i], [columns, rows][i]).saturating_add(rim)).min(size[i]));
        let [width, height] = [0, 1].map(|i| (last[i] - first[i]) as usize);
        let [left, top] = [0, 1].map(|i| (at[i] - first[i]) as usize);
        let near = spread(coverage, [columns, rows], [left, top], [width, height], rim as usize);
        let stride = width.div_ceil(PIXELS_A_WORD);
        let mut words = vec![0_u32; stride * height];
        for (y, (line, near)) in words.chunks_exact_mut(stride).zip(near.chunks_exact(width)).enumerate() {
            let row =
                y.checked_sub(top).filter(|row| *row < rows).map(|row| &coverage[columns * row..][..columns]);
            for (x, near) in near.iter().enumerate() {
                let covered = row.and_then(|row| row.get(x.checked_sub(left)?)).copied().unwrap_or(0);
                line[x / PIXELS_A_WORD] |= value_of(covered, *near) << (4 * (x % PIXELS_A_WORD));
            }
        }
        Self { size, at: first, columns: width, stride: u32::try_from(stride).unwrap_or(0), words }
    }

    /// Width and height of the label in pixels, both even.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Bytes of the picture.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Where the part with letters begins in the label, both even.
    pub(super) fn at(&self) -> [u32; 2] {
        self.at
    }

    /// Its columns and rows, both even.
    pub(super) fn extent(&self) -> [usize; 2] {
        [self.columns, self.words.len().checked_div(self.stride as usize).unwrap_or(0)]
    }

    /// Its rows of [`Self::stride`] words each.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(super) fn stride(&self) -> u32 {
        self.stride
    }

    /// The values of a word's pixels.
    pub(super) fn values(word: u32) -> [usize; PIXELS_A_WORD] {
        std::array::from_fn(|i| (word >> (4 * i) & COVERED) as usize)
    }
}

/// For each pixel of a part of `size` pixels the greatest coverage of those at most `rim` columns and rows away. The picture of
/// `extent` pixels (columns, rows) begins at `at` in it.
fn spread(coverage: &[u8], extent: [usize; 2], at: [usize; 2], size: [usize; 2], rim: usize) -> Vec<u8> {
    let [width, height] = size;
    let mut across = vec![0_u8; width * extent[1]];
    for (row, line) in coverage.chunks_exact(extent[0]).zip(across.chunks_exact_mut(width)) {
        for (x, covered) in (at[0]..).zip(row).filter(|(_, covered)| **covered > 0) {
            let end = (x + rim + 1).min(width);
            line[x.saturating_sub(rim)..end].iter_mut().for_each(|most| *most = (*most).max(*covered));
        }
    }
    let mut near = vec![0_u8; width * height];
    for (y, row) in (at[1]..).zip(across.chunks_exact(width)) {
        for line in near.chunks_exact_mut(width).take(y + rim + 1).skip(y.saturating_sub(rim)) {
            line.iter_mut().zip(row).for_each(|(most, covered)| *most = (*most).max(*covered));
        }
    }
    near
}
