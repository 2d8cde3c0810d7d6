//! Where an image is sampled: ONNX's GridSample, computed as ONNX Runtime does.

/// How an image is sampled at places between its pixels: ONNX's GridSample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Whether the nearest pixel is taken, and not the four around the place by their distances.
    pub nearest: bool,
    /// Whether -1 and 1 are the centres of the outermost pixels, and not their edges.
    pub align_corners: bool,
    /// What lies outside.
    pub outside: Outside,
}

/// What lies outside of an image that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// 0.
    Zeros,
    /// Its border.
    Border,
    /// Its mirror image: at the centres of the outermost pixels with `align_corners`, else at their edges.
    Reflection,
}

/// 2^31.
const FAR: f32 = 2_147_483_648.0;

impl Sampling {
    /// The pixels along an axis of `length` that make the sample at a grid's place, with their weights; none for one outside,
    /// where that is 0. Places are computed in float32: of two pixels that are equally near, the last bit chooses.
    pub(crate) fn pixels(self, at: f32, length: usize) -> Vec<(Option<usize>, f32)> {
        #[allow(clippy::cast_precision_loss)] // lengths of images are exact
        let long = length as f32;
        let place = if self.align_corners {
            (at + 1.0) / 2.0 * (long - 1.0)
        } else {
            ((at + 1.0) * long - 1.0) / 2.0
        };
        // ONNX Runtime takes NaN and what is too far away for int32 as -1.
        let is_far = place.is_nan() || place.abs() >= FAR;
        let place = if !is_far {
            place
        } else if self.align_corners {
            0.0
        } else {
            -0.5
        };
        let place = if self.nearest { place.round_ties_even() } else { place };
        let place = if self.outside == Outside::Zeros { place } else { self.folded(place, long - 1.0) };
        let near = if self.nearest { place } else { place.floor() };
        let part = place - near;
        let both =
            if self.nearest { vec![(near, 1.0)] } else { vec![(near, 1.0 - part), (near + 1.0, part)] };
        both.into_iter().map(|(pixel, weight)| (self.inside(pixel, length), weight)).collect()
    }

    /// Where a place is found that may be outside of an image whose last pixel is `last`.
    fn folded(self, place: f32, last: f32) -> f32 {
        match self.outside {
            Outside::Zeros => place,
            Outside::Border => place.clamp(0.0, last),
            Outside::Reflection if self.align_corners => reflect(place, 0.0, last),
            Outside::Reflection => reflect(place, -0.5, last + 0.5),
        }
    }

    /// The pixel of this number; none if it is outside, and that is 0.
    fn inside(self, pixel: f32, length: usize) -> Option<usize> {
        #[allow(clippy::cast_precision_loss)] // lengths of images are exact
        let last = (length - 1) as f32;
        if self.outside == Outside::Zeros && !(0.0..=last).contains(&pixel) {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it is inside
        Some((self.folded(pixel, last) as usize).min(length - 1))
    }
}

/// A place, mirrored at `low` and `high` until it lies between them.
fn reflect(at: f32, low: f32, high: f32) -> f32 {
    let range = high - low;
    let beyond = if at < low { low - at } else { at - high };
    if beyond <= 0.0 || range <= 0.0 {
        return at.clamp(low, high.max(low));
    }
    let times = (beyond / range).floor();
    let rest = beyond - times * range;
    let is_even = times % 2.0 == 0.0;
    match (at < low, is_even) {
        (true, true) | (false, false) => low + rest,
        (true, false) | (false, true) => high - rest,
    }
}
