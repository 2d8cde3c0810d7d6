//! Colours: which one stands for an identity, and its values in a frame's own samples.

use crate::frame::{Matrix, Range};

/// A colour as red, green and blue, 0..255 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Black.
    pub const BLACK: Self = Self(0, 0, 0);
    /// White.
    pub const WHITE: Self = Self(255, 255, 255);

    /// Black or white, whichever is farther from this colour's luma (BT.601). Luma makes letters readable, because video
    /// carries chroma at half the resolution.
    pub fn contrasting(self) -> Self {
        let luma = 299 * u32::from(self.0) + 587 * u32::from(self.1) + 114 * u32::from(self.2);
        if luma < 127_500 { Self::WHITE } else { Self::BLACK }
    }

    /// As Y', Cb, Cr in 8 bits (ITU-R BT.601-7 2.5.3, BT.709-6 3.5, BT.2020-2 table 5; full range as in JFIF), each
    /// rounded to the nearest.
    pub(super) fn to_ycbcr(self, matrix: Matrix, range: Range) -> [u8; 3] {
        let (kr, kb) = matrix.weights();
        let [r, g, b] = [self.0, self.1, self.2].map(f64::from);
        let y = kr * r + (1.0 - kr - kb) * g + kb * b;
        let (cb, cr) = ((b - y) / (2.0 * (1.0 - kb)), (r - y) / (2.0 * (1.0 - kr)));
        let (y, cb, cr) = match range {
            Range::Full => (y, cb, cr),
            Range::Limited => (16.0 + y * 219.0 / 255.0, cb * 224.0 / 255.0, cr * 224.0 / 255.0),
        };
        // In full range pure blue and red reach 255.5.
        [y, 128.0 + cb, 128.0 + cr].map(|v| v.round().clamp(0.0, 255.0) as u8)
    }
}

/// The colour of an identity, always the same. Hues go round in steps of the golden ratio, so consecutive ids are far
/// apart and any first N about evenly spread; pure, pale and dark ones alternate, since hues alone run out near twenty.
pub fn color_of(id: u64) -> Rgb {
    // Saturation and value in 256ths. None is near black, white or grey.
    let (saturation, value) = match id % 3 {
        0 => (225, 255),
        1 => (130, 255),
        _ => (225, 180),
    };
    // 2^64 over the golden ratio: the product's upper bits are the fractional part, here in 1536ths of the circle.
    let turn = ((id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * 1536) >> 32;
    let (sector, rest) = (turn / 256, turn % 256);
    // HSV to RGB (Smith, "Color gamut transform pairs", SIGGRAPH 1978).
    let level =
        |fall: u64| u8::try_from(value * (256 * 255 - saturation * fall) / (256 * 255)).unwrap_or(255);
    let (top, low, down, up) = (level(0), level(255), level(rest), level(255 - rest));
    match sector {
        0 => Rgb(top, up, low),
        1 => Rgb(down, top, low),
        2 => Rgb(low, top, up),
        3 => Rgb(low, down, top),
        4 => Rgb(up, low, top),
        _ => Rgb(top, low, down),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_colours_have_the_samples_of_the_recommendations() {
        use Matrix::{Bt601, Bt709, Bt2020, Fcc, Smpte240m};
        use Range::{Full, Limited};
        // 100% colour bars as every vectorscope shows them, and the ends of the scale.
        for (rgb, matrix, range, want) in [
            (Rgb::WHITE, Bt601, Limited, [235, 128, 128]),
            (Rgb::BLACK, Bt709, Limited, [16, 128, 128]),
            (Rgb::WHITE, Bt2020, Full, [255, 128, 128]),
            (Rgb(255, 0, 0), Bt601, Limited, [81, 90, 240]),
            (Rgb(0, 255, 0), Bt601, Limited, [145, 54, 34]),
            (Rgb(0, 0, 255), Bt601, Limited, [41, 240, 110]),
            (Rgb(255, 0, 0), Bt709, Limited, [63, 102, 240]),
            (Rgb(0, 255, 0), Bt709, Limited, [173, 42, 26]),
            (Rgb(0, 0, 255), Bt709, Limited, [32, 240, 118]),
            (Rgb(0, 255, 0), Smpte240m, Limited, [170, 42, 28]),
            (Rgb(0, 255, 0), Fcc, Limited, [145, 54, 34]),
            (Rgb(255, 0, 0), Bt601, Full, [76, 85, 255]),
            (Rgb(0, 0, 255), Bt601, Full, [29, 255, 107]),
        ] {
            assert_eq!(rgb.to_ycbcr(matrix, range), want, "{rgb:?} {matrix:?} {range:?}");
        }
    }

    #[test]
    fn identities_that_meet_differ_visibly_and_none_is_grey() {
        let apart = |a: Rgb, b: Rgb| {
            let d = |a: u8, b: u8| (f64::from(a) - f64::from(b)).powi(2);
            (d(a.0, b.0) + d(a.1, b.1) + d(a.2, b.2)).sqrt()
        };
        for first in [0, 1, 1000, u64::MAX - 12] {
            let colors: Vec<Rgb> = (first..first + 12).map(color_of).collect();
            for (i, a) in colors.iter().enumerate() {
                let (low, high) = (a.0.min(a.1).min(a.2), a.0.max(a.1).max(a.2));
                assert!(high - low > 100, "{a:?} is greyish");
                for b in &colors[..i] {
                    assert!(apart(*a, *b) > 45.0, "{a:?} and {b:?}");
                }
            }
            assert!(colors.windows(2).all(|w| apart(w[0], w[1]) > 150.0));
        }
    }
}
