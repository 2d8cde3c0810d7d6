//! Text on its background.

use super::Rgb;
use super::canvas::{Canvas, Layout};
use super::letters::{Glyph, HEIGHT, WIDTH};
use super::pixels::pixel;
use super::text_inks::text_inks;
use super::text_picture::TextPicture;
use crate::geometry::Rect;

/// The most letters that a label's size is computed for: more than any frame shows.
const MOST: usize = 1 << 17;

/// A label whose background ends at the bottom left `[x, y]`, moved into the frame.
pub(super) fn draw(canvas: &mut impl Canvas, [x, y]: [f32; 2], text: &str, color: Rgb, scale: u32) {
    if !(x.is_finite() && y.is_finite()) || text.is_empty() || scale == 0 {
        return;
    }
    let layout = *canvas.layout();
    let scale = i64::from(scale);
    let advance = scale * i64::from(WIDTH);
    // No more letters than the frame can show, so that sizes stay small whatever the text.
    let most = usize::try_from(layout.width() / advance).unwrap_or(usize::MAX).saturating_add(1);
    let letters = i64::try_from(text.chars().take(most).count()).unwrap_or(0);
    let size = built_in(letters, scale);
    let (x, y) = background(canvas, &layout, [x, y], size, color);
    let mut glyphs = text.chars().take(most).map(Glyph::of);
    canvas.letters([x + scale, y + scale], scale, &mut glyphs, layout.ink(color.contrasting()));
}

/// As [`draw`], with letters of a font.
pub(super) fn draw_picture(canvas: &mut impl Canvas, [x, y]: [f32; 2], text: &TextPicture, color: Rgb) {
    if !(x.is_finite() && y.is_finite()) {
        return;
    }
    let layout = *canvas.layout();
    let (x, y) = background(canvas, &layout, [x, y], text.size().map(i64::from), color);
    canvas.picture([x, y], text, &text_inks(&layout, color));
}

/// Fills a label's background, whose sides are even, and returns its corner, on even pixels of the frame.
fn background(
    canvas: &mut impl Canvas,
    layout: &Layout,
    at: [f32; 2],
    size: [i64; 2],
    color: Rgb,
) -> (i64, i64) {
    let [left, top, right, bottom] = inside(at, size, [layout.width(), layout.height()]);
    canvas.fill(left..right, top..bottom, layout.ink(color));
    (left, top)
}

/// Where the background of a label of this size ends up on a frame: left, top, right and bottom.
fn inside([x, y]: [f32; 2], [width, height]: [i64; 2], frame: [i64; 2]) -> [i64; 4] {
    let bottom = pixel(f64::from(y));
    let top = if bottom < height { bottom } else { bottom - height };
    let top = top.min(frame[1] - height).max(0);
    let left = pixel(f64::from(x)).min(frame[0] - width).max(0);
    // On even pixels: chroma samples are two wide. The right and bottom edges stay, so that no gap opens to the box.
    [left / 2 * 2, top / 2 * 2, left + width, top + height]
}

/// Width and height of a label of that many built-in letters: one pixel of the font around the text, and even.
fn built_in(letters: i64, scale: i64) -> [i64; 2] {
    [scale * i64::from(WIDTH) * letters + 2 * scale, scale * i64::from(HEIGHT) + 2 * scale].map(|v| v + v % 2)
}

/// Width and height in pixels of the background that [`Primitive::Label`](super::Primitive::Label) draws, both even.
pub fn label_size(text: &str, scale: u32) -> [u32; 2] {
    let letters = i64::try_from(text.chars().take(MOST).count()).unwrap_or(0);
    built_in(letters, scale.into()).map(|v| u32::try_from(v).unwrap_or(u32::MAX))
}

/// The rectangle of a label with a background of `size` on a frame of `frame` pixels (width, height), if it is drawn at `at` (x, y);
/// `None` where no label is drawn.
pub fn label_rect(at: [f32; 2], size: [u32; 2], frame: [usize; 2]) -> Option<Rect> {
    if !at.iter().all(|v| v.is_finite()) || size[0] == 0 {
        return None;
    }
    let frame = frame.map(|v| i64::try_from(v).unwrap_or(i64::MAX));
    let [left, top, right, bottom] = inside(at, size.map(i64::from), frame).map(|v| v as f32);
    Some(Rect::from_corners(left, top, right, bottom))
}
