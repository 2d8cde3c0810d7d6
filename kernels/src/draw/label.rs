//! Text. The letters are those of the crate embedded-graphics (the X11 "misc-fixed" fonts, public domain), magnified.

use std::convert::Infallible;

use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{Dimensions, Point, Size};
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::iso_8859_1::FONT_7X13_BOLD as FONT;
use embedded_graphics::pixelcolor::BinaryColor;
use embedded_graphics::primitives::Rectangle;
use embedded_graphics::text::Baseline;
use embedded_graphics::text::renderer::TextRenderer;

use super::Rgb;
use super::raster::pixel;
use super::surface::{Chroma, Ink, Surface};

/// A label whose background ends at the bottom left `[x, y]`, moved into the frame.
pub(super) fn draw(surface: &mut Surface<'_, '_>, [x, y]: [f32; 2], text: &str, color: Rgb, scale: u32) {
    if !(x.is_finite() && y.is_finite()) || text.is_empty() || scale == 0 {
        return;
    }
    let scale = i64::from(scale);
    let advance = scale * i64::from(FONT.character_size.width);
    // No more letters than the frame can show, so that sizes stay small whatever the text.
    let most = usize::try_from(surface.width() / advance).unwrap_or(usize::MAX).saturating_add(1);
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let text = &text[..end];
    let letters = i64::try_from(text.chars().count()).unwrap_or(0);
    // One pixel of the font around the text, and even, as are the corners below.
    let width = even_up(advance * letters + 2 * scale);
    let height = even_up(scale * i64::from(FONT.character_size.height) + 2 * scale);

    let bottom = pixel(f64::from(y));
    let top = if bottom < height { bottom } else { bottom - height };
    let top = top.min(surface.height() - height).max(0);
    let left = pixel(f64::from(x)).min(surface.width() - width).max(0);
    // On even pixels: chroma samples are two wide. The right and bottom edges stay, so that no gap opens to the box.
    let (x, y) = (left / 2 * 2, top / 2 * 2);
    let ink = surface.ink(color);
    surface.fill(x..left + width, y..top + height, ink, Chroma::Touched);

    let ink = surface.ink(color.contrasting());
    let mut letters = Letters { surface, origin: [x + scale, y + scale], scale, ink };
    let style = MonoTextStyle::new(&FONT, BinaryColor::On);
    let Ok(_) = style.draw_string(text, Point::zero(), Baseline::Top, &mut letters);
}

fn even_up(v: i64) -> i64 {
    v + v % 2
}

/// The text's own pixel grid, laid on the frame: each of its pixels is `scale` by `scale`, the first at `origin`.
struct Letters<'s, 'f, 'a> {
    surface: &'s mut Surface<'f, 'a>,
    origin: [i64; 2],
    scale: i64,
    ink: Ink,
}

impl Letters<'_, '_, '_> {
    fn fill(&mut self, at: Point, width: i64, height: i64) {
        let x = self.origin[0] + self.scale * i64::from(at.x);
        let y = self.origin[1] + self.scale * i64::from(at.y);
        let (right, bottom) = (x + self.scale * width, y + self.scale * height);
        self.surface.fill(x..right, y..bottom, self.ink, Chroma::Sited);
    }
}

impl Dimensions for Letters<'_, '_, '_> {
    fn bounding_box(&self) -> Rectangle {
        // The fonts do not ask; the frame clips.
        Rectangle::new(Point::zero(), Size::new(u32::MAX, u32::MAX))
    }
}

impl DrawTarget for Letters<'_, '_, '_> {
    type Color = BinaryColor;
    type Error = Infallible;

    /// Joins the pixels of a row that touch into one fill.
    fn draw_iter<I>(&mut self, pixels: I) -> Result<(), Infallible>
    where
        I: IntoIterator<Item = Pixel<BinaryColor>>,
    {
        let mut run: Option<(Point, i32)> = None;
        for Pixel(at, _) in pixels.into_iter().filter(|pixel| pixel.1.is_on()) {
            run = match run {
                Some((start, width)) if at == Point::new(start.x + width, start.y) => {
                    Some((start, width + 1))
                }
                ended => {
                    if let Some((start, width)) = ended {
                        self.fill(start, i64::from(width), 1);
                    }
                    Some((at, 1))
                }
            };
        }
        if let Some((start, width)) = run {
            self.fill(start, i64::from(width), 1);
        }
        Ok(())
    }

    fn fill_solid(&mut self, area: &Rectangle, color: BinaryColor) -> Result<(), Infallible> {
        if color.is_on() {
            self.fill(area.top_left, i64::from(area.size.width), i64::from(area.size.height));
        }
        Ok(())
    }
}
