//! The inks in which the values of a [`TextPicture`](super::TextPicture) are drawn.

use super::Rgb;
use super::canvas::{Layout, TextInks};
use super::text_picture::{COVERED, RIM};

/// The rim's part of the background's colour.
const SHADE: u8 = 3;

/// The inks of a text on a background.
pub(super) fn text_inks(layout: &Layout, color: Rgb) -> TextInks {
    let (letters, Rgb(r, g, b)) = (color.contrasting(), color);
    let rim = if letters == Rgb::WHITE { Rgb(r / SHADE, g / SHADE, b / SHADE) } else { color };
    let [back, rim, letters] = [color, rim, letters].map(|color| layout.ink(color));
    std::array::from_fn(|value| match value as u32 {
        value @ 0..=RIM => rim.over(back, value, RIM),
        value => letters.over(rim, value - RIM, COVERED - RIM),
    })
}
