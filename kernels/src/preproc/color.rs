//! From a frame's samples to R'G'B' or luma, in floats of 0..255.

use multiversion::multiversion;

use super::ChannelOrder;
use crate::frame::{FrameFormat, Matrix, PixelFormat, Range};

/// A conversion of one row, in place. Coefficients are derived from Kr and Kb alone (ITU-R BT.601, BT.709, BT.2020;
/// quantisation as in ITU-T H.273, 8.3). Gray of RGB has the weights of BT.601, as in OpenCV, Pillow, torchvision and
/// TensorFlow, so as networks were trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Color {
    /// Red, green and blue already.
    Rgb,
    /// Red, green and blue to luma, which replaces red: weights.
    RgbToLuma([f32; 3]),
    /// Luma of any range to full range: factor and summand.
    Luma(f32, f32),
    /// Luma, Cb, Cr to red, green, blue.
    Matrix {
        /// Factor on luma.
        luma: f32,
        /// Red's factor on Cr.
        red: f32,
        /// Green's factors on Cb and Cr.
        green: [f32; 2],
        /// Blue's factor on Cb.
        blue: f32,
        /// Summands of red, green and blue: the ranges' offsets, already multiplied.
        bias: [f32; 3],
    },
}

impl Color {
    /// The conversion of `source` to the channels that the tensor needs.
    pub fn new(source: &FrameFormat, channels: ChannelOrder) -> Self {
        let weights = |matrix: Matrix| {
            let (kr, kb) = matrix.weights();
            (kr, 1.0 - kr - kb, kb)
        };
        let gray = channels == ChannelOrder::Gray;
        match source.pixels {
            PixelFormat::Rgb
            | PixelFormat::Bgr
            | PixelFormat::Rgba
            | PixelFormat::Bgra
            | PixelFormat::Rgbx
            | PixelFormat::Bgrx => {
                if gray {
                    let (red, green, blue) = weights(Matrix::Bt601);
                    Self::RgbToLuma([red, green, blue].map(|weight| weight as f32))
                } else {
                    Self::Rgb
                }
            }
            PixelFormat::Nv12
            | PixelFormat::I420
            | PixelFormat::P010Le
            | PixelFormat::Yuy2
            | PixelFormat::Gray8 => {
                let (zero, luma, chroma) = match source.range {
                    Range::Limited => (16.0, 255.0 / 219.0, 255.0 / 224.0),
                    // The full scale of ten bits is 1023, which is 255.75 in the 8-bit scale of the samples.
                    Range::Full if source.pixels == PixelFormat::P010Le => {
                        (0.0, 1020.0 / 1023.0, 1020.0 / 1023.0)
                    }
                    Range::Full => (0.0, 1.0, 1.0),
                };
                if gray || source.pixels == PixelFormat::Gray8 {
                    return Self::Luma(luma as f32, (-zero * luma) as f32);
                }
                let (kr, kg, kb) = weights(source.matrix);
                let (red, blue) = (2.0 * (1.0 - kr) * chroma, 2.0 * (1.0 - kb) * chroma);
                let green = [-blue * kb / kg, -red * kr / kg];
                let bias = |factors: f64| (-zero * luma - 128.0 * factors) as f32;
                Self::Matrix {
                    luma: luma as f32,
                    red: red as f32,
                    green: green.map(|v| v as f32),
                    blue: blue as f32,
                    bias: [bias(red), bias(green[0] + green[1]), bias(blue)],
                }
            }
        }
    }

    /// How many of the frame's components it reads.
    pub fn components(&self) -> usize {
        if matches!(self, Self::Luma(..)) { 1 } else { 3 }
    }

    /// How many channels result.
    pub fn channels(&self) -> usize {
        if matches!(self, Self::Luma(..) | Self::RgbToLuma(_)) { 1 } else { 3 }
    }

    /// Converts a row: the components' samples in, the channels out.
    pub fn convert(&self, row: [&mut [f32]; 3]) {
        let [a, b, c] = row;
        convert(*self, a, b, c);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn convert(color: Color, a: &mut [f32], b: &mut [f32], c: &mut [f32]) {
    match color {
        Color::Rgb => {}
        Color::RgbToLuma(weights) => rgb_to_luma(weights, a, b, c),
        Color::Luma(factor, summand) => {
            for y in a {
                *y = (*y * factor + summand).clamp(0.0, 255.0);
            }
        }
        Color::Matrix { luma, red, green, blue, bias } => {
            for ((y, cb), cr) in a.iter_mut().zip(b).zip(c) {
                let l = *y * luma;
                let r = l + (*cr * red + bias[0]);
                let g = l + (*cb * green[0] + (*cr * green[1] + bias[1]));
                let b = l + (*cb * blue + bias[2]);
                *y = r.clamp(0.0, 255.0);
                *cb = g.clamp(0.0, 255.0);
                *cr = b.clamp(0.0, 255.0);
            }
        }
    }
}

#[inline(always)]
fn rgb_to_luma(weights: [f32; 3], red: &mut [f32], green: &[f32], blue: &[f32]) {
    for ((r, g), b) in red.iter_mut().zip(green).zip(blue) {
        *r = *r * weights[0] + *g * weights[1] + *b * weights[2];
    }
}
