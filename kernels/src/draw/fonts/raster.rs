//! Glyphs composed to a picture.

use crate::draw::TextPicture;

/// One glyph's coverage and where it lies: pixels right of the line's begin and below the baseline.
pub(super) struct Stamp<'a> {
    pub left: i32,
    pub top: i32,
    /// Pixels a row.
    pub width: u32,
    /// Bytes from pixel to pixel; the last one of a pixel is the coverage.
    pub step: usize,
    pub data: &'a [u8],
}

/// How a label of one line is laid out, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Room left and right of the letters.
    pub side: i32,
    /// Rows of the label above and below the baseline, where letters need no more.
    pub above: i32,
    pub below: i32,
    /// The most rows above and below the baseline.
    pub highest: i32,
    pub lowest: i32,
    /// The widest label.
    pub widest: i32,
    /// Width of the letters' rim.
    pub rim: u32,
}

impl Frame {
    /// For letters of `size` pixels, on frames `widest` pixels wide.
    pub fn new(size: u32, widest: u32) -> Self {
        let size = i32::try_from(size).unwrap_or(i32::MAX / 400);
        // Capitals are about 0.72 of the size: as much room above them as below the baseline.
        Self {
            side: (size / 6).max(2),
            above: 98 * size / 100,
            below: 28 * size / 100,
            highest: 2 * size,
            lowest: size,
            widest: i32::try_from(widest).unwrap_or(i32::MAX),
            rim: u32::try_from(size / 26).unwrap_or(1).max(1),
        }
    }
}

/// Coverage of the part of a line from `left` to `right` and `top` to `bottom`.
pub(super) struct Sheet {
    left: i32,
    top: i32,
    width: usize,
    coverage: Vec<u8>,
}

impl Sheet {
    /// An empty sheet for all of `extents` (left, top, right, bottom), cut to the size that a label of `frame` can have. Of a
    /// line that is `reversed` (from right to left) the right part is kept.
    pub fn new(extents: impl Iterator<Item = [i32; 4]>, frame: &Frame, reversed: bool) -> Self {
        let all = extents.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]);
        let [mut left, top, mut right, bottom] = all.unwrap_or_default();
        let most = frame.widest.saturating_sub(2 * frame.side).max(1);
        if right.saturating_sub(left) > most {
            if reversed {
                left = right - most;
            } else {
                right = left + most;
            }
        }
        let (top, bottom) = (top.max(-frame.highest), bottom.min(frame.lowest));
        let length = |from: i32, to: i32| usize::try_from(to.saturating_sub(from)).unwrap_or(0);
        let width = length(left, right);
        Self { left, top, width, coverage: vec![0; width * length(top, bottom)] }
    }

    /// Adds a glyph; where two glyphs cover a pixel, it gets the union of both coverages.
    pub fn add(&mut self, stamp: &Stamp<'_>) {
        let width = usize::try_from(stamp.width).unwrap_or(0);
        for (y, row) in (stamp.top..).zip(stamp.data.chunks_exact((stamp.step * width).max(1))) {
            for (x, pixel) in (stamp.left..).zip(row.chunks_exact(stamp.step)) {
                let (Some(more), Some(covered)) = (pixel.last(), self.at(x, y)) else { continue };
                *covered += (u32::from(*more) * u32::from(255 - *covered) / 255) as u8;
            }
        }
    }

    /// Adds the outline of a box from `left` to `right`, on the baseline and `height` high.
    pub fn outline(&mut self, left: i32, right: i32, height: i32, thickness: i32) {
        for (x, y) in (-height..0).flat_map(|y| (left..right).map(move |x| (x, y))) {
            let inside =
                x >= left + thickness && x < right - thickness && y >= thickness - height && y < -thickness;
            if let Some(covered) = self.at(x, y).filter(|_| !inside) {
                *covered = 255;
            }
        }
    }

    fn at(&mut self, x: i32, y: i32) -> Option<&mut u8> {
        let column = usize::try_from(x.checked_sub(self.left)?).ok().filter(|column| *column < self.width)?;
        let row = usize::try_from(y.checked_sub(self.top)?).ok()?;
        self.coverage.get_mut(row * self.width + column)
    }

    /// The label with these letters, at least as wide as the text's `advance`.
    pub fn picture(&self, frame: &Frame, advance: i32) -> TextPicture {
        let rows = i32::try_from(self.coverage.len().checked_div(self.width).unwrap_or(0)).unwrap_or(0);
        let columns = i32::try_from(self.width).unwrap_or(0);
        // A pixel of margin above and below letters that are higher or lower than usual.
        let above = frame.above.max(1 - self.top);
        let below = frame.below.max(self.top + rows + 1);
        let width = columns
            .max(advance.min(frame.widest.saturating_sub(2 * frame.side)))
            .saturating_add(2 * frame.side);
        let pixels = |v: i32| u32::try_from(v).unwrap_or(0);
        // The text moves right where letters reach beyond its start.
        let left = frame.side + self.left.clamp(0, (width - 2 * frame.side - columns).max(0));
        let (size, at) = ([width, above + below].map(pixels), [left, above + self.top].map(pixels));
        TextPicture::new(size, at, self.width, &self.coverage, frame.rim)
    }
}
