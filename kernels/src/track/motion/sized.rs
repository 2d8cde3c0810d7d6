//! State vectors whose noise grows with the box: ByteTrack's and BoT-SORT's.

use super::{Motion, around, centre, of_flow, velocity_of};
use crate::geometry::{Affine, Rect};
use crate::track::kalman::{Kalman, Variance};

/// Standard deviation of a position, as a share of the box's size, in the models that grow with it.
const POSITION: f64 = 1.0 / 20.0;

/// Standard deviation of a velocity, as a share of the size per frame.
const VELOCITY: f64 = 1.0 / 160.0;

/// Variances of values of these sizes: `position` and `velocity` are standard deviations as a share of the size.
fn shares(sizes: [f64; 4], position: f64, velocity: f64) -> [Variance; 4] {
    sizes.map(|size| Variance { value: (position * size).powi(2), velocity: (velocity * size).powi(2) })
}

/// ByteTrack's model (Zhang et al. 2022, after Wojke et al. 2017): centre, aspect ratio `w / h` and height, each with a
/// velocity; the noise grows with the box's height.
#[derive(Clone, Debug)]
pub(in crate::track) struct RatioHeight(Kalman);

impl RatioHeight {
    /// Variance of the ratio, and of its velocity.
    const RATIO: Variance = Variance { value: 1e-4, velocity: 1e-10 };

    fn measure(rect: &Rect) -> [f64; 4] {
        let [x, y] = centre(rect);
        [x, y, f64::from(rect.w) / f64::from(rect.h), f64::from(rect.h)]
    }

    fn variances(height: f64, position: f64, velocity: f64) -> [Variance; 4] {
        let [x, y, _, h] = shares([height; 4], position, velocity);
        [x, y, Self::RATIO, h]
    }

    fn height(&self) -> f64 {
        let [.., height] = self.0.values();
        height
    }
}

impl Motion for RatioHeight {
    fn new(rect: &Rect) -> Self {
        let start = Self::variances(f64::from(rect.h), 2.0 * POSITION, 10.0 * VELOCITY);
        Self(Kalman::new(Self::measure(rect), start))
    }

    fn predict(&mut self, frames: f64, lost: bool) {
        if lost {
            self.0.stop(3); // an occluded box would grow or shrink without bound
        }
        self.0.predict(frames, Self::variances(self.height(), POSITION, VELOCITY));
    }

    fn moved(&mut self, camera: &Affine) {
        self.0.moved(camera, [0, 1]);
    }

    fn update(&mut self, rect: &Rect) {
        let position = (POSITION * self.height()).powi(2);
        self.0.update(Self::measure(rect), [position, position, 1e-2, position]);
    }

    fn update_centre(&mut self, centre: [f64; 2]) {
        let position = (POSITION * self.height()).powi(2);
        self.0.update_point(centre, of_flow([position; 2]));
    }

    fn rect(&self) -> Rect {
        let [x, y, ratio, h] = self.0.values();
        around(x, y, ratio * h, h)
    }

    fn velocity(&self) -> [f64; 2] {
        velocity_of(&self.0)
    }
}

/// BoT-SORT's model (Aharon et al. 2022, section 3.1): centre, width and height, each with a velocity; the noise of
/// horizontal values grows with the width, of vertical values with the height. The process noise of positions is
/// `NOISE` per cent of the paper's deviation.
#[derive(Clone, Debug)]
pub(in crate::track) struct WidthHeight<const NOISE: u8>(Kalman);

impl<const NOISE: u8> WidthHeight<NOISE> {
    fn measure(rect: &Rect) -> [f64; 4] {
        let [x, y] = centre(rect);
        [x, y, f64::from(rect.w), f64::from(rect.h)]
    }

    fn sizes(&self) -> [f64; 4] {
        let [.., w, h] = self.0.values();
        [w, h, w, h]
    }
}

impl<const NOISE: u8> Motion for WidthHeight<NOISE> {
    fn new(rect: &Rect) -> Self {
        let [.., w, h] = Self::measure(rect);
        let start = shares([w, h, w, h], 2.0 * POSITION, 10.0 * VELOCITY);
        Self(Kalman::new(Self::measure(rect), start))
    }

    fn predict(&mut self, frames: f64, lost: bool) {
        if lost {
            self.0.stop(2);
            self.0.stop(3);
        }
        let position = POSITION * f64::from(NOISE) / 100.0;
        self.0.predict(frames, shares(self.sizes(), position, VELOCITY));
    }

    fn moved(&mut self, camera: &Affine) {
        self.0.moved(camera, [1, 1]);
    }

    fn update(&mut self, rect: &Rect) {
        let noise = self.sizes().map(|size| (POSITION * size).powi(2));
        self.0.update(Self::measure(rect), noise);
    }

    fn update_centre(&mut self, centre: [f64; 2]) {
        let [w, h, ..] = self.sizes().map(|size| (POSITION * size).powi(2));
        self.0.update_point(centre, of_flow([w, h]));
    }

    fn rect(&self) -> Rect {
        let [x, y, w, h] = self.0.values();
        around(x, y, w, h)
    }

    fn velocity(&self) -> [f64; 2] {
        velocity_of(&self.0)
    }
}
