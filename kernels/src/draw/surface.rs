//! A frame in host memory as a canvas.

use std::ops::Range;

use super::DrawError;
use super::canvas::{Canvas, Ink, Layout, Samples};
use super::letters::{Glyph, HEIGHT, WIDTH};
use crate::frame::{Frame, FrameFormat, FrameMut};

/// Which pixels of a chroma sample's two by two must be drawn for the sample to be.
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
        // The planes are open to everyone, and may have been checked against another format.
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
                // Pixels that touch are one rectangle.
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
}
