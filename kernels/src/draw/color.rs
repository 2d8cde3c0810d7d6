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

    /// Black or white, whichever has the greater contrast to this colour (WCAG 2.2, "contrast ratio"): at least 4.58 to 1.
    pub fn contrasting(self) -> Self {
        let luminance = self.luminance();
        let (white, black) = (1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05);
        if white > black { Self::WHITE } else { Self::BLACK }
    }

    /// 0 for black, 1 for white (WCAG 2.2, "relative luminance").
    fn luminance(self) -> f64 {
        let linear = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// `part` of 8 parts of another colour in this one.
    fn mixed(self, other: Self, part: u16) -> Self {
        let mix = |a: u8, b: u8| ((u16::from(a) * (8 - part) + u16::from(b) * part + 4) / 8) as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
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

/// The colours of M. Okabe and K. Ito, "Color universal design: how to make figures and presentations that are friendly to
/// colorblind people" (2008), without black: people with any kind of colour vision tell them apart. In an order in which
/// neighbours are far from each other.
const OKABE_ITO: [Rgb; 7] = [
    Rgb(230, 159, 0),
    Rgb(86, 180, 233),
    Rgb(213, 94, 0),
    Rgb(0, 158, 115),
    Rgb(240, 228, 66),
    Rgb(0, 114, 178),
    Rgb(204, 121, 167),
];

/// The colour of an identity, always the same: seven that colour-blind people tell apart, then these paler, then darker, then
/// from the first on again.
pub fn color_of(id: u64) -> Rgb {
    let count = OKABE_ITO.len() as u64;
    let color =
        usize::try_from(id % count).ok().and_then(|i| OKABE_ITO.get(i)).copied().unwrap_or(Rgb::WHITE);
    match id / count % 3 {
        0 => color,
        1 => color.mixed(Rgb::WHITE, 4),
        _ => color.mixed(Rgb::BLACK, 3),
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

    /// Linear light of a colour as somebody sees it whose cones of one kind are missing: the matrices of Machado, Oliveira and
    /// Fernandes, "A physiologically-based model for simulation of color vision deficiency" (2009), for severity 1.
    const VISION: [(&str, [[f64; 3]; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    /// CIE L*a*b* of a colour (sRGB, D65) seen through a matrix.
    fn lab(Rgb(r, g, b): Rgb, vision: &[[f64; 3]; 3]) -> [f64; 3] {
        let linear = [r, g, b].map(|v| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        });
        let times =
            |m: &[[f64; 3]; 3], v: [f64; 3]| m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
        let seen = times(vision, linear).map(|v| v.clamp(0.0, 1.0));
        let to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let [x, y, z] = times(&to_xyz, seen);
        let f = |v: f64| if v > 0.008856 { v.cbrt() } else { 7.787 * v + 16.0 / 116.0 };
        let (x, y, z) = (f(x / 0.9505), f(y), f(z / 1.089));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_of_identities_are_told_apart_with_any_colour_vision() {
        let apart = |a: u64, b: u64, vision| {
            let (a, b) = (lab(color_of(a), vision), lab(color_of(b), vision));
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        for (name, vision) in &VISION {
            for a in 0..21 {
                for b in 0..a {
                    // 2.3 is a just noticeable difference (CIE 1976); their shades are about twice that apart.
                    let least = if a < 7 { 15.0 } else { 4.0 };
                    let distance = apart(a, b, vision);
                    assert!(distance > least, "{name}: {a} and {b} are {distance:.1} apart");
                }
                let next = apart(a, a + 1, vision);
                assert!(next > 11.0, "{name}: {a} and the next one are {next:.1} apart");
            }
        }
        assert_eq!(color_of(0), color_of(21));
        assert_ne!(color_of(u64::MAX), color_of(u64::MAX - 1));
    }

    #[test]
    fn text_on_every_colour_of_an_identity_has_contrast() {
        for id in 0..21 {
            let (back, text) = (color_of(id), color_of(id).contrasting());
            let [low, high] =
                [back.luminance().min(text.luminance()), back.luminance().max(text.luminance())];
            // WCAG 2.2 wants 4.5 to 1.
            assert!((high + 0.05) / (low + 0.05) >= 4.5, "{back:?} {text:?}");
        }
    }
}
