//! Text on its background.

use super::Rgb;
use super::canvas::{Canvas, Layout};
use super::letters::{Glyph, HEIGHT, WIDTH};
use super::pixels::pixel;
use super::text_picture::TextPicture;

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
    // One pixel of the font around the text, and even, as are the corners below.
    let width = even_up(advance * letters + 2 * scale);
    let height = even_up(scale * i64::from(HEIGHT) + 2 * scale);
    let (x, y) = background(canvas, &layout, [x, y], [width, height], color);
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
    canvas.picture([x, y], text, [color, color.contrasting()].map(|color| layout.ink(color)));
}

/// Fills a label's background, whose sides are even, and returns its corner, on even pixels of the frame.
fn background(
    canvas: &mut impl Canvas,
    layout: &Layout,
    [x, y]: [f32; 2],
    [width, height]: [i64; 2],
    color: Rgb,
) -> (i64, i64) {
    let bottom = pixel(f64::from(y));
    let top = if bottom < height { bottom } else { bottom - height };
    let top = top.min(layout.height() - height).max(0);
    let left = pixel(f64::from(x)).min(layout.width() - width).max(0);
    // On even pixels: chroma samples are two wide. The right and bottom edges stay, so that no gap opens to the box.
    let (x, y) = (left / 2 * 2, top / 2 * 2);
    canvas.fill(x..left + width, y..top + height, layout.ink(color));
    (x, y)
}

fn even_up(v: i64) -> i64 {
    v + v % 2
}
