//! A line of text as a picture from a font's rasteriser.

/// Pixels that a word of the picture holds.
const PIXELS_A_WORD: usize = 8;
/// The value of a pixel that letters cover wholly.
pub(super) const COVERED: u32 = 15;

/// The letters of a label: how much of each pixel they cover, in fifteenths.
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
    /// the label. A last row that is not whole is left out.
    pub fn new(size: [u32; 2], at: [u32; 2], columns: usize, coverage: &[u8]) -> Self {
        let rows = coverage.len().checked_div(columns).unwrap_or(0);
        // On even pixels: two by two share one chroma sample.
        let odd = at.map(|v| usize::from(v % 2 == 1));
        let even_columns = if rows == 0 { 0 } else { (columns + odd[0]).next_multiple_of(2) };
        let stride = even_columns.div_ceil(PIXELS_A_WORD);
        let mut words = vec![0_u32; stride * (rows + odd[1]).next_multiple_of(2)];
        for (y, row) in coverage.chunks_exact(columns.max(1)).take(rows).enumerate() {
            let line = &mut words[stride * (y + odd[1])..][..stride];
            for (x, covered) in (odd[0]..).zip(row) {
                let value = (u32::from(*covered) * COVERED + 127) / 255;
                line[x / PIXELS_A_WORD] |= value << (4 * (x % PIXELS_A_WORD));
            }
        }
        let end = |at: u32, length: usize| at.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        let even = |v: u32| v.checked_next_multiple_of(2).unwrap_or(u32::MAX - 1);
        Self {
            size: [even(size[0].max(end(at[0], columns))), even(size[1].max(end(at[1], rows)))],
            at: at.map(|v| v - v % 2),
            columns: even_columns,
            stride: u32::try_from(stride).unwrap_or(0),
            words,
        }
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

    /// The value of the pixel in `column` of a row of words.
    pub(super) fn value(row: &[u32], column: usize) -> u32 {
        row[column / PIXELS_A_WORD] >> (4 * (column % PIXELS_A_WORD)) & COVERED
    }
}
