//! A frame as rows of pixels to fill, whatever its format.

use std::ops::Range;

use super::{DrawError, Rgb};
use crate::frame::{Frame, FrameFormat, FrameMut, PixelFormat};

/// Which pixels of a chroma sample's two by two must be drawn for the sample to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chroma {
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

/// A colour as it is written: a pixel's bytes, or Y', Cb and Cr.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ink([u8; 4]);

#[derive(Clone, Copy, Debug)]
enum Samples {
    /// Interleaved pixels of 3 bytes.
    Packed3,
    /// Interleaved pixels of 4 bytes.
    Packed4,
    /// A luma plane, and one of Cb and Cr by turns at half resolution.
    Nv12,
    /// A luma plane, and one each of Cb and Cr at half resolution.
    I420,
}

/// A frame to fill rectangles of. Every plane has been checked to hold what the format says.
#[derive(Debug)]
pub(super) struct Surface<'f, 'a> {
    frame: &'f mut FrameMut<'a>,
    format: FrameFormat,
    samples: Samples,
}

impl<'f, 'a> Surface<'f, 'a> {
    pub fn new(format: &FrameFormat, frame: &'f mut FrameMut<'a>) -> Result<Self, DrawError> {
        let samples = match format.pixels {
            PixelFormat::Rgb | PixelFormat::Bgr => Samples::Packed3,
            PixelFormat::Rgba | PixelFormat::Bgra | PixelFormat::Rgbx | PixelFormat::Bgrx => Samples::Packed4,
            PixelFormat::Nv12 => Samples::Nv12,
            PixelFormat::I420 => Samples::I420,
            other @ (PixelFormat::P010Le | PixelFormat::Yuy2 | PixelFormat::Gray8) => {
                return Err(DrawError::Format(other));
            }
        };
        // The planes are open to everyone, and may have been checked against another format.
        let [a, b, c] = [0, 1, 2].map(|plane| (&*frame.planes[plane], frame.strides[plane]));
        Frame::new(format, &[a, b, c])?;
        Ok(Self { frame, format: *format, samples })
    }

    pub fn width(&self) -> i64 {
        i64::try_from(self.format.width).unwrap_or(i64::MAX)
    }

    pub fn height(&self) -> i64 {
        i64::try_from(self.format.height).unwrap_or(i64::MAX)
    }

    pub fn ink(&self, color: Rgb) -> Ink {
        let Rgb(r, g, b) = color;
        Ink(match self.format.pixels {
            PixelFormat::Rgb | PixelFormat::Rgba | PixelFormat::Rgbx => [r, g, b, 255],
            PixelFormat::Bgr | PixelFormat::Bgra | PixelFormat::Bgrx => [b, g, r, 255],
            _ => {
                let [y, cb, cr] = color.to_ycbcr(self.format.matrix, self.format.range);
                [y, cb, cr, 0]
            }
        })
    }

    /// Fills the pixels `x` by `y`, as far as they are in the frame.
    pub fn fill(&mut self, x: Range<i64>, y: Range<i64>, ink: Ink, chroma: Chroma) {
        let (x, y) = (clip(x, self.format.width), clip(y, self.format.height));
        if x.is_empty() || y.is_empty() {
            return;
        }
        let Ink([first, second, third, fourth]) = ink;
        match self.samples {
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

/// The part of `range` in `0..len`.
fn clip(range: Range<i64>, len: usize) -> Range<usize> {
    let bound = |v: i64| usize::try_from(v.max(0)).unwrap_or(usize::MAX).min(len);
    bound(range.start)..bound(range.end)
}
