//! Antialiasing filters of Pillow's `Image.resize`: which pixels of the frame make a resized pixel, and with which integer
//! weights.
//!
//! A filter's support grows with the factor of reduction; where the frame is enlarged, it is the filter's own. The arithmetic
//! is that of Pillow's src/libImaging/Resample.c: weights in float64, normalised over the pixels that lie in the frame, then
//! rounded to [`BITS`] binary places; rows are filtered first, and rounded to 8 bits, then columns. (Pillow 13 begins with the
//! columns where it finds that cheaper, which shows in the rounding.)

use super::Interpolation;
use super::placement::Axis;

/// Binary places of the weights. Sums of 8-bit pixels fit into 32 bits: the magnitudes of a pixel's weights sum up to less than
/// 1.3, and 2 would be allowed.
pub(super) const BITS: u32 = 22;

/// A weight of 1.
pub(super) const ONE: f32 = (1u32 << BITS) as f32;

/// A half, in the unit of the weights.
pub(super) const HALF: i32 = 1 << (BITS - 1);

/// The 8-bit pixel of a sum of weighted pixels that [`HALF`] was added to.
#[inline(always)]
pub(super) fn to_byte(sum: i32) -> i32 {
    (sum >> BITS).clamp(0, 255)
}

/// A filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// A triangle two pixels wide.
    Triangle,
    /// Keys' cubic with a = -1/2, four pixels wide (IEEE Trans. ASSP 29(6), 1981, equation 4).
    Cubic,
}

impl Filter {
    /// The filter of an interpolation, if it has one.
    pub fn of(interpolation: Interpolation) -> Option<Self> {
        match interpolation {
            Interpolation::PilBilinear => Some(Self::Triangle),
            Interpolation::PilBicubic => Some(Self::Cubic),
            Interpolation::Bilinear | Interpolation::Nearest | Interpolation::Area => None,
        }
    }

    /// Where the filter ends, in pixels from its centre.
    fn support(self) -> f64 {
        match self {
            Self::Triangle => 1.0,
            Self::Cubic => 2.0,
        }
    }

    /// Its value at a distance from its centre.
    fn at(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self {
            Self::Triangle => (1.0 - x).max(0.0),
            Self::Cubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Self::Cubic if x < 2.0 => ((2.5 - 0.5 * x) * x - 4.0) * x + 2.0,
            Self::Cubic => 0.0,
        }
    }

    /// The first frame pixel of resized pixel `v`, and the weights of it and its successors, in units of 2^-[`BITS`].
    pub fn weights(self, axis: &Axis, v: usize) -> (usize, impl Iterator<Item = f32> + use<>) {
        let scale = axis.frame as f64 / axis.resized as f64;
        let stretch = scale.max(1.0);
        let (center, support) = ((v as f64 + 0.5) * scale, self.support() * stretch);
        // `as` truncates a number that is not negative.
        let first = (center - support + 0.5).max(0.0) as usize;
        let end = ((center + support + 0.5) as usize).min(axis.frame).max(first + 1);
        let shrink = 1.0 / stretch;
        let value = move |x: usize| self.at((x as f64 - center + 0.5) * shrink);
        let sum: f64 = (first..end).map(value).sum();
        // Integers of 24 bits at most: float32 holds them.
        (first, (first..end).map(move |x| (value(x) / sum * f64::from(ONE)).round() as f32))
    }
}
