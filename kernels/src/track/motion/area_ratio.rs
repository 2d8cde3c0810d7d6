//! SORT's state vector and noise.

use super::{Motion, around, centre, of_flow, velocity_of};
use crate::geometry::{Affine, Rect};
use crate::track::kalman::{Kalman, Variance};

/// SORT's model (Bewley et al. 2016, section 3.2): centre, area and aspect ratio `w / h`; the ratio has no velocity.
#[derive(Clone, Debug)]
pub(in crate::track) struct AreaRatio(Kalman);

impl AreaRatio {
    // The noise that the paper's authors published with it, in pixels and pixels^2: a new track's velocity is unknown, so
    // its variance starts high; area and ratio are measured worse than the centre; area hardly accelerates.
    const START: [Variance; 4] = Self::variances([10.0; 4], [1e4, 1e4, 1e4, 0.0]);
    const PROCESS: [Variance; 4] = Self::variances([1.0; 4], [1e-2, 1e-2, 1e-4, 0.0]);
    const MEASUREMENT: [f64; 4] = [1.0, 1.0, 10.0, 10.0];

    const fn variances([x, y, area, ratio]: [f64; 4], velocity: [f64; 4]) -> [Variance; 4] {
        let [vx, vy, growth, none] = velocity;
        [
            Variance { value: x, velocity: vx },
            Variance { value: y, velocity: vy },
            Variance { value: area, velocity: growth },
            Variance { value: ratio, velocity: none },
        ]
    }

    fn measure(rect: &Rect) -> [f64; 4] {
        let [x, y] = centre(rect);
        let (w, h) = (f64::from(rect.w), f64::from(rect.h));
        [x, y, w * h, w / h]
    }
}

impl Motion for AreaRatio {
    fn new(rect: &Rect) -> Self {
        Self(Kalman::new(Self::measure(rect), Self::START))
    }

    fn predict(&mut self, frames: f64, _lost: bool) {
        let ([.., area, _], [.., growth, _]) = (self.0.values(), self.0.velocities());
        if area + frames * growth <= 0.0 {
            self.0.stop(2); // a shrinking area must not cross zero
        }
        self.0.predict(frames, Self::PROCESS);
    }

    fn moved(&mut self, camera: &Affine) {
        self.0.moved(camera, [2, 0]);
    }

    fn update(&mut self, rect: &Rect) {
        self.0.update(Self::measure(rect), Self::MEASUREMENT);
    }

    fn update_centre(&mut self, centre: [f64; 2]) {
        let [x, y, ..] = Self::MEASUREMENT;
        self.0.update_point(centre, of_flow([x, y]));
    }

    fn rect(&self) -> Rect {
        let [x, y, area, ratio] = self.0.values();
        let w = (area * ratio).sqrt();
        around(x, y, w, area / w)
    }

    fn velocity(&self) -> [f64; 2] {
        velocity_of(&self.0)
    }
}
