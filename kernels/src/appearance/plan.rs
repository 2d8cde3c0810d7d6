//! How a frame's samples are read and become Y'CbCr, and which of its pixels a box is.

use super::AppearanceError;
use crate::frame::{FrameFormat, PixelFormat, Range};
use crate::geometry::Rect;
use crate::preproc::{Component, MAX_SIDE, components};

/// How to read frames of one format.
#[derive(Debug)]
pub(super) struct AppearancePlan {
    pub format: FrameFormat,
    /// One or three components. All are read as bytes: of ten bits the upper eight.
    pub components: Vec<Component>,
    pub color: Color,
}

/// From samples to limited Y'CbCr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color {
    /// Factors on the samples, a row for each of Y', Cb and Cr, in units of 2^-16.
    pub matrix: [[i32; 3]; 3],
    /// Summands in the same unit, with the half that rounds.
    pub bias: [i32; 3],
    pub mode: Mode,
}

/// Which factors are not 0; the kernels' names end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each component depends on itself alone.
    Yuv,
    /// Each component depends on all samples.
    Rgb,
    /// There is one component.
    Luma,
}

/// Pixels of a frame: the kernels' `Box`. All fields are 0 where it has none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SampledBox {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

impl AppearancePlan {
    pub fn new(format: FrameFormat) -> Result<Self, AppearanceError> {
        let FrameFormat { width, height, pixels, .. } = format;
        if ![width, height].iter().all(|side| (1..=MAX_SIDE).contains(side)) {
            return Err(AppearanceError::Size { width, height });
        }
        let components = components(pixels).into_iter().map(Component::upper_byte).collect();
        Ok(Self { format, components, color: Color::new(&format) })
    }

    /// The pixels that `rect` touches.
    pub fn sampled_box(&self, rect: Rect) -> SampledBox {
        let Rect { x, y, w, h } = rect;
        let axis = |start: f32, length: f32, side: usize| {
            let (start, end) = (f64::from(start), f64::from(start) + f64::from(length));
            // Also true for NaN.
            if !(length > 0.0 && start.is_finite() && end.is_finite()) {
                return None;
            }
            let side = side as f64;
            let (first, last) = (start.floor().clamp(0.0, side), end.ceil().clamp(0.0, side));
            // Whole numbers up to MAX_SIDE.
            (first < last).then_some((first as u16, (last - first) as u16))
        };
        match (axis(x, w, self.format.width), axis(y, h, self.format.height)) {
            (Some((x, width)), Some((y, height))) => SampledBox { x, y, width, height },
            _ => SampledBox::default(),
        }
    }
}

impl Color {
    fn new(format: &FrameFormat) -> Self {
        use PixelFormat as P;
        const CHROMA: f64 = 224.0 / 255.0;
        let fixed = |v: f64| (v * 65536.0).round() as i32;
        let bias = |v: i32| (v << 16) + (1 << 15);
        let (luma, chroma, zero) = match format.range {
            Range::Limited => (fixed(1.0), fixed(1.0), 0),
            Range::Full => (fixed(219.0 / 255.0), fixed(CHROMA), 16),
        };
        let yuv = [[luma, 0, 0], [0, chroma, 0], [0, 0, chroma]];
        // So that a chroma of 128 stays 128.
        let grey = bias(128) - 128 * chroma;
        match format.pixels {
            P::Nv12 | P::I420 | P::P010Le | P::Yuy2 => {
                Self { matrix: yuv, bias: [bias(zero), grey, grey], mode: Mode::Yuv }
            }
            P::Gray8 => {
                let matrix = [yuv[0], [0; 3], [0; 3]];
                Self { matrix, bias: [bias(zero), bias(128), bias(128)], mode: Mode::Luma }
            }
            P::Rgb | P::Bgr | P::Rgba | P::Bgra | P::Rgbx | P::Bgrx => {
                let (kr, kb) = format.matrix.weights();
                let y = [kr, 1.0 - kr - kb, kb].map(|weight| fixed(weight * 219.0 / 255.0));
                // So that grey stays grey: green's factor takes the rounding of the others.
                let balanced = |red: i32, blue: i32| [red, -red - blue, blue];
                let half = fixed(0.5 * CHROMA);
                let cb = balanced(fixed(-0.5 * CHROMA * kr / (1.0 - kb)), half);
                let cr = balanced(half, fixed(-0.5 * CHROMA * kb / (1.0 - kr)));
                Self { matrix: [y, cb, cr], bias: [bias(16), bias(128), bias(128)], mode: Mode::Rgb }
            }
        }
    }

    /// Whether samples stay as they are.
    pub fn is_identity(&self) -> bool {
        self.matrix == [[1 << 16, 0, 0], [0, 1 << 16, 0], [0, 0, 1 << 16]]
    }

    /// One pixel's samples to Y', Cb and Cr.
    #[inline]
    pub fn convert(&self, samples: [u8; 3]) -> [u8; 3] {
        let [a, b, c] = samples.map(i32::from);
        std::array::from_fn(|i| {
            let [fa, fb, fc] = self.matrix[i];
            // Lossless after the clamp.
            ((fa * a + fb * b + fc * c + self.bias[i]) >> 16).clamp(0, 255) as u8
        })
    }
}
