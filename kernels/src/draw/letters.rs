//! The letters: those of the crate embedded-graphics (the X11 "misc-fixed" fonts, public domain), drawn once each.

use std::convert::Infallible;
use std::sync::LazyLock;

use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{Dimensions, Point, Size};
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::iso_8859_1::FONT_7X13_BOLD as FONT;
use embedded_graphics::pixelcolor::BinaryColor;
use embedded_graphics::primitives::Rectangle;
use embedded_graphics::text::Baseline;
use embedded_graphics::text::renderer::TextRenderer;

/// Columns of a letter.
pub(super) const WIDTH: u32 = 7;
/// Rows of a letter.
pub(super) const HEIGHT: u32 = 13;
const _: () = assert!(FONT.character_size.width == WIDTH && FONT.character_size.height == HEIGHT);
const _: () = assert!(FONT.character_spacing == 0);

/// A letter's pixels, four rows a word: that of column x and row y is bit `7 * (y % 4) + x` of word `y / 4`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Glyph(pub [u32; 4]);

impl Glyph {
    /// The letter for `character`: one of ISO 8859-1's printable characters, or '?'.
    pub fn of(character: char) -> Self {
        /// Those of U+0000 to U+00FF.
        static GLYPHS: LazyLock<Vec<Glyph>> =
            LazyLock::new(|| (0..=u8::MAX).map(|code| Glyph::render(code.into())).collect());
        let glyph = |character| GLYPHS.get(usize::try_from(u32::from(character)).ok()?).copied();
        glyph(character).or_else(|| glyph('?')).unwrap_or_default()
    }

    fn render(character: char) -> Self {
        let mut glyph = Self::default();
        let style = MonoTextStyle::new(&FONT, BinaryColor::On);
        let text = character.encode_utf8(&mut [0; 4]).to_owned();
        let Ok(_) = style.draw_string(&text, Point::zero(), Baseline::Top, &mut glyph);
        glyph
    }

    /// Row `y`, of which bit x is column x.
    pub fn row(self, y: u32) -> u32 {
        self.0.get((y / 4) as usize).map_or(0, |rows| rows >> (WIDTH * (y % 4)) & 0x7f)
    }
}

impl Dimensions for Glyph {
    fn bounding_box(&self) -> Rectangle {
        Rectangle::new(Point::zero(), Size::new(WIDTH, HEIGHT))
    }
}

impl DrawTarget for Glyph {
    type Color = BinaryColor;
    type Error = Infallible;

    fn draw_iter<I>(&mut self, pixels: I) -> Result<(), Infallible>
    where
        I: IntoIterator<Item = Pixel<BinaryColor>>,
    {
        for Pixel(at, color) in pixels {
            if let (Ok(x), Ok(y)) = (u32::try_from(at.x), u32::try_from(at.y))
                && color.is_on()
                && x < WIDTH
                && let Some(rows) = self.0.get_mut((y / 4) as usize)
            {
                *rows |= 1 << (WIDTH * (y % 4) + x);
            }
        }
        Ok(())
    }
}
