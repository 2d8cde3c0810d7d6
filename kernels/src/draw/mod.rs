//! Boxes, text, lines and discs, drawn on a frame in place, masks painted on it, and parts of it made unrecognisable.
//!
//! Coordinates are continuous frame pixels (pixel `i` has its centre at `i + 0.5`). Primitives are drawn in order, opaque.
//! Boxes, backgrounds and built-in letters have whole pixels. Lines and discs have soft edges: of a pixel that they cover
//! in part, that many sixteenths are theirs. Letters of a font are antialiased, too: between a label's background and its letters'
//! colour. All of it is counted in integers, which every device computes alike. Parts outside the frame are cut off; a
//! primitive with a coordinate that is NaN or infinite is left out.
//!
//! # Chroma at half resolution
//! In NV12 and I420 two by two pixels share one chroma sample. A primitive sets the sample where it covers any of the four,
//! a line or disc as much of it as of the one that it covers most, so that lines of one pixel keep their colour, and the colour
//! may reach one pixel beyond the primitive. Letters set
//! the sample where they cover the top-left pixel, so that the background between them keeps its colour; labels lie on even
//! pixels, so at an even scale letters are exact. With letters of a font the sample is the mean of its four pixels.

pub mod blur;
mod canvas;
mod capsule;
mod color;
mod cuda;
mod error;
pub mod fonts;
mod label;
mod letters;
mod mask;
mod paint;
mod pixels;
mod raster;
mod record;
mod surface;
#[cfg(test)]
mod tests;
mod text_inks;
mod text_picture;

pub use color::{Rgb, color_of};
pub use cuda::CudaCanvas;
pub use error::DrawError;
pub use label::{label_rect, label_size};
pub use mask::{Mask, MaskData, MaskInk, MaskOutline};
pub use paint::paint_masks;
pub use text_picture::TextPicture;

use crate::frame::{FrameFormat, FrameMut};
use crate::geometry::Rect;
use canvas::{Canvas, Inks};
use surface::Surface;

/// A shape or text to draw.
#[derive(Clone, Copy, Debug)]
pub enum Primitive<'a> {
    /// The border of a box. Its edges are rounded to whole pixels, at least one apart, and the border grows inwards, so
    /// that a box that fills the frame shows. A box too small for a hole is filled.
    Rect {
        /// The box; left out where its width or height is not greater than 0.
        rect: Rect,
        /// Width of the border in pixels; 0 draws nothing.
        thickness: u32,
        /// Its colour.
        color: Rgb,
    },
    /// One line of text in black or white, whichever stands out, on a coloured background. It shows ISO 8859-1's
    /// printable characters, and '?' for every other.
    Label {
        /// Left edge of the background. It moves left where the label would leave the frame.
        x: f32,
        /// Bottom edge of the background. Where the label would leave the frame above, this becomes its top edge (so a
        /// label on a box's top goes inside the box).
        y: f32,
        /// The text.
        text: &'a str,
        /// Colour of the background.
        color: Rgb,
        /// Magnification: a letter is 7 x 13 pixels times this. See [`default_scale`]. 0 draws nothing.
        scale: u32,
    },
    /// As [`Primitive::Label`], with the letters of a font, for any script. See [`fonts`].
    FontLabel {
        /// As that of [`Primitive::Label`].
        x: f32,
        /// As that of [`Primitive::Label`].
        y: f32,
        /// The text.
        text: &'a TextPicture,
        /// Colour of the background.
        color: Rgb,
    },
    /// Straight lines from point to point, with round ends and joins. One point alone is a dot.
    Polyline {
        /// The points. A line to or from one that is not finite is left out.
        points: &'a [(f32, f32)],
        /// Width of the line in pixels; nothing is drawn where it is not greater than 0, or infinite.
        thickness: f32,
        /// Its colour.
        color: Rgb,
    },
    /// A filled circle, at least the pixel that holds its centre.
    Disc {
        /// Centre, across.
        x: f32,
        /// Centre, down.
        y: f32,
        /// Radius in pixels; nothing is drawn where it is not greater than 0.
        radius: f32,
        /// Its colour.
        color: Rgb,
    },
}

/// The magnification that keeps labels readable on frames of this height: 1 up to 809 rows, 2 for 1080, 4 for 2160, so
/// that a line of text is about a fortieth of the picture. Twice this is a fitting thickness of a box.
pub fn default_scale(height: usize) -> u32 {
    u32::try_from(height.saturating_add(270) / 540).unwrap_or(u32::MAX).max(1)
}

/// Whether [`Primitive::Label`] has letters for `text`: no character is beyond ISO 8859-1. Control characters, for which no font
/// has letters, count as shown.
pub fn built_in_letters_show(text: &str) -> bool {
    text.chars().all(|character| u32::from(character) < 0x100)
}

/// Draws `primitives` in order on `frame`, which is of `format`. Alpha becomes opaque in drawn pixels, as far as they are covered.
///
/// # Errors
/// [`DrawError::Format`] or [`DrawError::Frame`]; nothing is drawn then.
pub fn draw(
    format: &FrameFormat,
    frame: &mut FrameMut<'_>,
    primitives: &[Primitive<'_>],
) -> Result<(), DrawError> {
    paint(&mut Surface::new(format, frame)?, primitives);
    Ok(())
}

fn paint(canvas: &mut impl Canvas, primitives: &[Primitive<'_>]) {
    let mut inks = Inks::new(canvas.layout());
    for primitive in primitives {
        match *primitive {
            Primitive::Rect { rect, thickness, color } => {
                raster::rect(canvas, &rect, thickness, inks.of(color));
            }
            Primitive::Label { x, y, text, color, scale } => {
                label::draw(canvas, [x, y], text, color, scale);
            }
            Primitive::FontLabel { x, y, text, color } => {
                label::draw_picture(canvas, [x, y], text, color);
            }
            Primitive::Polyline { points, thickness, color } => {
                raster::polyline(canvas, points, thickness, inks.of(color));
            }
            Primitive::Disc { x, y, radius, color } => {
                raster::disc(canvas, [x, y], radius, inks.of(color));
            }
        }
    }
}
