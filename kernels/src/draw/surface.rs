//! A frame in host memory as a canvas.

use std::ops::Range;

use super::DrawError;
use super::canvas::{Canvas, Ink, Layout, Samples};
use super::capsule::{Capsule, RowCover, WHOLE};
use super::letters::{Glyph, HEIGHT, WIDTH};
use super::text_picture::{TextInks, TextPicture};
use crate::frame::{Frame, FrameFormat, FrameMut};

/// Which of a chroma sample's two by two pixels must be drawn so that the sample is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chroma {
    /// Any of them.
    Touched,
    /// The top-left one.
    Sited,
}

impl Chroma {
    /// The samples along one axis for drawn `pixels`.
    fn samples(self, pixels: &Range<usize>) -> Range<usize> {
        match self {
            Self::Touched => pixels.start / 2..pixels.end.div_ceil(2),
            Self::Sited => pixels.start.div_ceil(2)..pixels.end.div_ceil(2),
        }
    }
}

/// A frame to fill rectangles of. Every plane has been checked to hold what the format says.
#[derive(Debug)]
pub(super) struct Surface<'f, 'a> {
    pub frame: &'f mut FrameMut<'a>,
    layout: Layout,
}

impl<'f, 'a> Surface<'f, 'a> {
    pub fn new(format: &FrameFormat, frame: &'f mut FrameMut<'a>) -> Result<Self, DrawError> {
        let layout = Layout::new(format)?;
        // The planes are public fields, and may have been checked against another format.
        let [a, b, c] = [0, 1, 2].map(|plane| (&*frame.planes[plane], frame.strides[plane]));
        Frame::new(format, &[a, b, c])?;
        Ok(Self { frame, layout })
    }

    fn fill_with(&mut self, x: Range<i64>, y: Range<i64>, ink: Ink, chroma: Chroma) {
        let Some([x, y]) = self.layout.clip(x, y) else { return };
        let Ink([first, second, third, fourth]) = ink;
        match self.layout.samples {
            Samples::Packed3 => self.fill_plane(0, x, y, [first, second, third]),
            Samples::Packed4 => self.fill_plane(0, x, y, [first, second, third, fourth]),
            Samples::Nv12 => {
                let (cx, cy) = (chroma.samples(&x), chroma.samples(&y));
                self.fill_plane(0, x, y, [first]);
                self.fill_plane(1, cx, cy, [second, third]);
            }
            Samples::I420 => {
                let (cx, cy) = (chroma.samples(&x), chroma.samples(&y));
                self.fill_plane(0, x, y, [first]);
                self.fill_plane(1, cx.clone(), cy.clone(), [second]);
                self.fill_plane(2, cx, cy, [third]);
            }
        }
    }

    /// Lays an ink over a row of the first plane by how much of each pixel is covered.
    fn cover_row(&mut self, row: i64, cover: &RowCover, ink: Ink) {
        let (touched, full) = (cover.touched(), cover.full());
        let full = if full.is_empty() { touched.end..touched.end } else { full };
        if let Some([x, y]) = self.layout.clip(full.clone(), row..row + 1) {
            match self.layout.samples {
                Samples::Packed3 => self.fill_plane(0, x, y, [ink.0[0], ink.0[1], ink.0[2]]),
                Samples::Packed4 => self.fill_plane(0, x, y, ink.0),
                Samples::Nv12 | Samples::I420 => self.fill_plane(0, x, y, [ink.0[0]]),
            }
        }
        for column in (touched.start..full.start).chain(full.end..touched.end) {
            let (part, Some([x, y])) = (cover.at(column), self.layout.clip(column..column + 1, row..row + 1))
            else {
                continue;
            };
            if part > 0 {
                let old = self.first(x.start, y.start);
                self.put_first(x.start, y.start, ink.over(old, part, WHOLE));
            }
        }
    }

    /// Lays an ink over a row of chroma samples by the greatest coverage of their pixels, in two rows.
    fn cover_chroma(&mut self, row: i64, covers: &[RowCover; 2], ink: Ink) {
        let filled = covers.iter().map(RowCover::touched).filter(|range| !range.is_empty());
        let Some(touched) = filled.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)) else { return };
        let Ok(y) = usize::try_from(row) else { return };
        for column in touched.start / 2..(touched.end + 1) / 2 {
            let part = |cover: &RowCover| cover.at(2 * column).max(cover.at(2 * column + 1));
            let part = part(&covers[0]).max(part(&covers[1]));
            let Ok(x) = usize::try_from(column) else { continue };
            if part == WHOLE {
                self.put_chroma(x, y, ink);
            } else if part > 0 {
                let old = self.chroma(x, y);
                self.put_chroma(x, y, ink.over(old, part, WHOLE));
            }
        }
    }

    /// A pixel of the first plane.
    fn first(&self, x: usize, y: usize) -> Ink {
        let bytes = self.pixel_bytes();
        let start = y * self.frame.strides[0] + bytes * x;
        let mut ink = [0; 4];
        ink[..bytes].copy_from_slice(&self.frame.planes[0][start..start + bytes]);
        Ink(ink)
    }

    /// A chroma sample.
    fn chroma(&self, x: usize, y: usize) -> Ink {
        let at = |plane: usize, x: usize| self.frame.planes[plane][y * self.frame.strides[plane] + x];
        if matches!(self.layout.samples, Samples::Nv12) {
            Ink([0, at(1, 2 * x), at(1, 2 * x + 1), 0])
        } else {
            Ink([0, at(1, x), at(2, x), 0])
        }
    }

    /// Bytes of a pixel in the first plane.
    fn pixel_bytes(&self) -> usize {
        match self.layout.samples {
            Samples::Packed3 => 3,
            Samples::Packed4 => 4,
            Samples::Nv12 | Samples::I420 => 1,
        }
    }

    /// Sets a pixel of the first plane.
    fn put_first(&mut self, x: usize, y: usize, Ink(ink): Ink) {
        let bytes = self.pixel_bytes();
        let start = y * self.frame.strides[0] + bytes * x;
        self.frame.planes[0][start..start + bytes].copy_from_slice(&ink[..bytes]);
    }

    /// Sets a chroma sample.
    fn put_chroma(&mut self, x: usize, y: usize, Ink([_, cb, cr, _]): Ink) {
        let start = |plane: usize| y * self.frame.strides[plane];
        if matches!(self.layout.samples, Samples::Nv12) {
            let start = start(1) + 2 * x;
            self.frame.planes[1][start..start + 2].copy_from_slice(&[cb, cr]);
        } else {
            let (first, second) = (start(1) + x, start(2) + x);
            self.frame.planes[1][first] = cb;
            self.frame.planes[2][second] = cr;
        }
    }

    /// Fills samples of `N` bytes.
    fn fill_plane<const N: usize>(
        &mut self,
        plane: usize,
        x: Range<usize>,
        y: Range<usize>,
        sample: [u8; N],
    ) {
        let stride = self.frame.strides[plane];
        let data = &mut self.frame.planes[plane];
        for row in y {
            let start = row * stride;
            data[start + N * x.start..start + N * x.end].as_chunks_mut::<N>().0.fill(sample);
        }
    }
}

impl Canvas for Surface<'_, '_> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn fill(&mut self, x: Range<i64>, y: Range<i64>, ink: Ink) {
        self.fill_with(x, y, ink, Chroma::Touched);
    }

    fn letters(&mut self, origin: [i64; 2], scale: i64, text: &mut dyn Iterator<Item = Glyph>, ink: Ink) {
        let [mut left, top] = origin;
        for glyph in text {
            for row in 0..HEIGHT {
                let top = top + scale * i64::from(row);
                let mut rest = glyph.row(row);
                // Adjacent pixels become one rectangle.
                while rest != 0 {
                    let start = rest.trailing_zeros();
                    let end = start + (rest >> start).trailing_ones();
                    let x = left + scale * i64::from(start)..left + scale * i64::from(end);
                    self.fill_with(x, top..top + scale, ink, Chroma::Sited);
                    rest &= !0 << end;
                }
            }
            left += scale * i64::from(WIDTH);
        }
    }

    fn capsule(&mut self, shape: &Capsule, ink: Ink) {
        let (width, rows) = (self.layout.width(), shape.rows());
        let rows = rows.start.max(0)..rows.end.min(self.layout.height());
        if rows.is_empty() {
            return;
        }
        let chroma = matches!(self.layout.samples, Samples::Nv12 | Samples::I420);
        // Two rows share chroma.
        for pair in rows.start / 2..(rows.end + 1) / 2 {
            let covers = [2 * pair, 2 * pair + 1]
                .map(|row| if rows.contains(&row) { shape.cover(row, width) } else { RowCover::NONE });
            for (row, cover) in (2 * pair..).zip(&covers) {
                self.cover_row(row, cover, ink);
            }
            if chroma {
                self.cover_chroma(pair, &covers, ink);
            }
        }
    }

    fn picture(&mut self, origin: [i64; 2], text: &TextPicture, inks: &TextInks) {
        let [columns, rows] = text.extent();
        let length = |v: usize| i64::try_from(v).unwrap_or(0);
        let [left, top] = [0, 1].map(|i| origin[i] + i64::from(text.at()[i]));
        let Some([x, y]) = self.layout.clip(left..left + length(columns), top..top + length(rows)) else {
            return;
        };
        let stride = text.stride() as usize;
        let row = |i: usize| &text.words()[stride * i..][..stride];
        for (i, y) in y.clone().enumerate() {
            let row = row(i);
            for (j, x) in x.clone().enumerate() {
                let value = TextPicture::value(row, j);
                // Uncovered pixels have been filled with the background already.
                if value > 0 {
                    self.put_first(x, y, inks[value]);
                }
            }
        }
        if !matches!(self.layout.samples, Samples::Nv12 | Samples::I420) {
            return;
        }
        for (i, y) in y.step_by(2).enumerate() {
            let rows = [row(2 * i), row(2 * i + 1)];
            for (j, x) in x.clone().step_by(2).enumerate() {
                let value = |n: usize| TextPicture::value(rows[n / 2], 2 * j + n % 2);
                let values = [value(0), value(1), value(2), value(3)];
                if values != [0; 4] {
                    self.put_chroma(x / 2, y / 2, Ink::mean(values.map(|value| inks[value])));
                }
            }
        }
    }
}
