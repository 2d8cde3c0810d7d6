//! A frame in host memory as a canvas.

use std::ops::Range;

use super::DrawError;
use super::canvas::{Canvas, Ink, Layout, Samples, TextInks};
use super::capsule::{Capsule, RowCover, WHOLE};
use super::letters::{Glyph, HEIGHT, WIDTH};
use super::text_picture::{PIXELS_A_WORD, TextPicture, VALUES};
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
        let (Ok(row), false) = (usize::try_from(row), cover.touched().is_empty()) else { return };
        let start = row * self.frame.strides[0];
        let line =
            &mut self.frame.planes[0][start..start + self.layout.format.width * self.layout.pixel_bytes()];
        match self.layout.samples {
            Samples::Packed3 => lay::<3>(line, cover, ink),
            Samples::Packed4 => lay::<4>(line, cover, ink),
            Samples::Nv12 | Samples::I420 => lay::<1>(line, cover, ink),
        }
    }

    /// Lays an ink over a row of chroma samples by the greatest coverage of their pixels, in two rows.
    fn cover_chroma(&mut self, row: i64, covers: &[RowCover; 2], ink: Ink) {
        let filled = covers.iter().map(RowCover::touched).filter(|range| !range.is_empty());
        let Some(touched) = filled.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)) else { return };
        let Ok(y) = usize::try_from(row) else { return };
        let full = covers.each_ref().map(|cover| {
            let full = cover.full();
            if full.is_empty() { 0..0 } else { full.start / 2..(full.end + 1) / 2 }
        });
        for column in touched.start / 2..(touched.end + 1) / 2 {
            let Ok(x) = usize::try_from(column) else { continue };
            if full.iter().any(|full| full.contains(&column)) {
                self.put_chroma(x, y, ink);
                continue;
            }
            let part = |cover: &RowCover| cover.at(2 * column).max(cover.at(2 * column + 1));
            let part = part(&covers[0]).max(part(&covers[1]));
            if part > 0 {
                let old = self.chroma(x, y);
                self.put_chroma(x, y, ink.over(old, part, WHOLE));
            }
        }
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
        let bytes = self.layout.pixel_bytes();
        for (i, y) in y.clone().enumerate() {
            let start = y * self.frame.strides[0];
            let line = &mut self.frame.planes[0][start + bytes * x.start..start + bytes * x.end];
            match self.layout.samples {
                Samples::Packed3 => write_letters::<3>(line, row(i), inks),
                Samples::Packed4 => write_letters::<4>(line, row(i), inks),
                Samples::Nv12 | Samples::I420 => write_letters::<1>(line, row(i), inks),
            }
        }
        if !matches!(self.layout.samples, Samples::Nv12 | Samples::I420) {
            return;
        }
        let samples = x.start / 2..x.end.div_ceil(2);
        for (i, y) in y.step_by(2).enumerate() {
            let rows = [row(2 * i), row(2 * i + 1)];
            let line = |plane: usize, bytes: usize| {
                let start = y / 2 * self.frame.strides[plane];
                start + bytes * samples.start..start + bytes * samples.end
            };
            if matches!(self.layout.samples, Samples::Nv12) {
                let line = line(1, 2);
                write_chroma::<2>(
                    &mut self.frame.planes[1][line],
                    rows,
                    [1, 2].map(|part| inks.map(|ink| ink.0[part])),
                );
            } else {
                for (plane, line) in [(1, line(1, 1)), (2, line(2, 1))] {
                    write_chroma::<1>(
                        &mut self.frame.planes[plane][line],
                        rows,
                        [inks.map(|ink| ink.0[plane])],
                    );
                }
            }
        }
    }
}

/// Lays an ink over a row of pixels of `N` bytes by how much of each is covered.
fn lay<const N: usize>(line: &mut [u8], cover: &RowCover, ink: Ink) {
    let index = |v: i64| usize::try_from(v).unwrap_or(0);
    let (touched, full) = (cover.touched(), cover.full());
    let full = if full.is_empty() { touched.end..touched.end } else { full };
    let mut new = [0; N];
    new.copy_from_slice(&ink.0[..N]);
    let pixels = line.as_chunks_mut::<N>().0;
    pixels[index(full.start)..index(full.end)].fill(new);
    for column in (touched.start..full.start).chain(full.end..touched.end) {
        let part = cover.at(column);
        for (old, new) in pixels[index(column)].iter_mut().zip(new) {
            let sum = u32::from(*old) * (WHOLE - part) + u32::from(new) * part + WHOLE / 2;
            *old = (sum / WHOLE) as u8;
        }
    }
}

/// Writes the inks of a row of letters on pixels of `N` bytes. Where eight have the background's value, they have its ink already.
fn write_letters<const N: usize>(line: &mut [u8], words: &[u32], inks: &TextInks) {
    let inks = inks.map(|ink| {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&ink.0[..N]);
        bytes
    });
    let pixels = line.as_chunks_mut::<N>().0;
    for (eight, word) in pixels.chunks_mut(PIXELS_A_WORD).zip(words).filter(|(_, word)| **word != 0) {
        for (pixel, value) in eight.iter_mut().zip(TextPicture::values(*word)) {
            *pixel = inks[value];
        }
    }
}

/// Writes the means of a row of chroma samples of `N` bytes, whose inks have these bytes, for two rows of letters.
fn write_chroma<const N: usize>(line: &mut [u8], rows: [&[u32]; 2], inks: [[u8; VALUES]; N]) {
    let inks = inks.map(|ink| ink.map(u16::from));
    let samples = line.as_chunks_mut::<N>().0;
    let words = rows[0].iter().zip(rows[1]);
    for (four, (a, b)) in
        samples.chunks_mut(PIXELS_A_WORD / 2).zip(words).filter(|(_, (a, b))| **a | **b != 0)
    {
        let (above, below) = (TextPicture::values(*a), TextPicture::values(*b));
        for (i, sample) in four.iter_mut().enumerate() {
            for (byte, inks) in sample.iter_mut().zip(&inks) {
                let sum =
                    inks[above[2 * i]] + inks[above[2 * i + 1]] + inks[below[2 * i]] + inks[below[2 * i + 1]];
                *byte = ((sum + 2) / 4) as u8;
            }
        }
    }
}
