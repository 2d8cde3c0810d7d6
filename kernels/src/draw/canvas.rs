//! Canvases that primitives are painted on: the frame itself, or a list of commands that the GPU carries out.

use std::ops::Range;

use super::capsule::Capsule;
use super::letters::Glyph;
use super::text_picture::{TextPicture, VALUES};
use super::{DrawError, Rgb};
use crate::frame::{FrameFormat, PixelFormat};

/// A colour as it is written: a pixel's bytes, or Y', Cb and Cr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ink(pub [u8; 4]);

impl Ink {
    /// This ink over `back`, with a weight of `part` of `whole`, rounded.
    pub fn over(self, back: Self, part: u32, whole: u32) -> Self {
        let mix = |i: usize| {
            let sum = u32::from(back.0[i]) * (whole - part) + u32::from(self.0[i]) * part + whole / 2;
            (sum / whole) as u8
        };
        Self([mix(0), mix(1), mix(2), mix(3)])
    }
}

/// The ink of each value of a text's picture.
pub(super) type TextInks = [Ink; VALUES];

/// The inks of colours, for one frame: what is drawn after each other often has the same colour.
#[derive(Debug)]
pub(super) struct Inks {
    layout: Layout,
    last: (Rgb, Ink),
}

impl Inks {
    pub fn new(layout: &Layout) -> Self {
        let black = Rgb(0, 0, 0);
        Self { layout: *layout, last: (black, layout.ink(black)) }
    }

    /// The ink of a colour.
    pub fn of(&mut self, color: Rgb) -> Ink {
        if self.last.0 != color {
            self.last = (color, self.layout.ink(color));
        }
        self.last.1
    }
}

/// How pixels lie in memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Samples {
    /// Interleaved pixels of 3 bytes.
    Packed3,
    /// Interleaved pixels of 4 bytes.
    Packed4,
    /// A luma plane, and one of Cb and Cr by turns at half resolution.
    Nv12,
    /// A luma plane, and one each of Cb and Cr at half resolution.
    I420,
}

impl Samples {
    /// The kernels' number of this layout.
    pub fn number(self) -> u32 {
        match self {
            Self::Packed3 => 0,
            Self::Packed4 => 1,
            Self::Nv12 => 2,
            Self::I420 => 3,
        }
    }
}

/// A format that can be drawn on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub format: FrameFormat,
    pub samples: Samples,
}

impl Layout {
    pub fn new(format: &FrameFormat) -> Result<Self, DrawError> {
        let samples = match format.pixels {
            PixelFormat::Rgb | PixelFormat::Bgr => Samples::Packed3,
            PixelFormat::Rgba | PixelFormat::Bgra | PixelFormat::Rgbx | PixelFormat::Bgrx => Samples::Packed4,
            PixelFormat::Nv12 => Samples::Nv12,
            PixelFormat::I420 => Samples::I420,
            other @ (PixelFormat::P010Le | PixelFormat::Yuy2 | PixelFormat::Gray8) => {
                return Err(DrawError::Format(other));
            }
        };
        Ok(Self { format: *format, samples })
    }

    pub fn width(&self) -> i64 {
        i64::try_from(self.format.width).unwrap_or(i64::MAX)
    }

    pub fn height(&self) -> i64 {
        i64::try_from(self.format.height).unwrap_or(i64::MAX)
    }

    /// Bytes of a pixel in the first plane.
    pub fn pixel_bytes(&self) -> usize {
        match self.samples {
            Samples::Packed3 => 3,
            Samples::Packed4 => 4,
            Samples::Nv12 | Samples::I420 => 1,
        }
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

    /// The part of the pixels `x` by `y` that is in the frame, if there is any.
    pub fn clip(&self, x: Range<i64>, y: Range<i64>) -> Option<[Range<usize>; 2]> {
        let bound = |v: i64, len: usize| usize::try_from(v.max(0)).unwrap_or(usize::MAX).min(len);
        let clip = |range: Range<i64>, len| bound(range.start, len)..bound(range.end, len);
        let (x, y) = (clip(x, self.format.width), clip(y, self.format.height));
        (!x.is_empty() && !y.is_empty()).then_some([x, y])
    }
}

/// A surface to paint on. Later paint covers earlier paint.
pub(super) trait Canvas {
    /// The frame's layout.
    fn layout(&self) -> &Layout;

    /// Fills the pixels `x` by `y`, as far as they are in the frame, and every chroma sample that they touch.
    fn fill(&mut self, x: Range<i64>, y: Range<i64>, ink: Ink);

    /// Lays `ink` over the pixels of `shape`, as far as they are in the frame, by how much of each it covers; over a chroma sample
    /// by the greatest coverage of its pixels, so that thin lines keep their colour.
    fn capsule(&mut self, shape: &Capsule, ink: Ink);

    /// Letters side by side, whose pixels are `scale` by `scale` each and begin at `origin` (neither coordinate is
    /// negative), and the chroma samples whose top-left pixel they cover.
    fn letters(&mut self, origin: [i64; 2], scale: i64, text: &mut dyn Iterator<Item = Glyph>, ink: Ink);

    /// The letters of `text` on a label that begins at `origin` (neither coordinate is negative, both are even) and was filled
    /// with the first of `inks`, which has one for each value of a pixel. A chroma sample takes the mean of its four pixels.
    fn picture(&mut self, origin: [i64; 2], text: &TextPicture, inks: &TextInks);
}
