//! How a box is filtered: the trackers' state vectors and noise, and the observations that they remember.

mod area_ratio;
mod observed;
mod sized;
#[cfg(test)]
mod tests;

pub(super) use area_ratio::AreaRatio;
pub(super) use observed::Observed;
pub(super) use sized::{RatioHeight, WidthHeight};

use super::kalman::Kalman;
use crate::geometry::{Affine, Rect};

/// A filter over boxes.
pub(super) trait Motion {
    /// Starts at a box, at rest. The box must have a finite position and a finite, positive size.
    fn new(rect: &Rect) -> Self;
    /// Moves on by a time in frames; `lost` when the last frame had no measurement.
    fn predict(&mut self, frames: f64, lost: bool);
    /// Moves with the camera.
    fn moved(&mut self, camera: &Affine);
    /// Takes in a detected box, under the same condition as in `new`.
    fn update(&mut self, rect: &Rect);
    /// Takes in where the centre of the box has been seen to move, by something less certain than a detector.
    fn update_centre(&mut self, centre: [f64; 2]);
    /// The estimate; not finite, or not positive in size, when the filter has run away.
    fn rect(&self) -> Rect;
    /// The centre's velocity, in pixels per frame.
    fn velocity(&self) -> [f64; 2];
    /// The box as it was last seen, where that is remembered; else the estimate.
    fn last_seen(&self) -> Rect {
        self.rect()
    }
    /// The direction over the last `frames` frames; `None` where the box stands still. Where observations are remembered, it
    /// leads to the last one from that `frames` frames earlier, or from the first later one.
    fn heading(&self, frames: u32) -> Option<Heading> {
        let ([x, y], [vx, vy]) = (centre(&self.rect()), self.velocity());
        let from = [x - f64::from(frames) * vx, y - f64::from(frames) * vy];
        (vx.hypot(vy) > STANDING).then(|| Heading { direction: Heading::between(from, [x, y]), from })
    }
}

/// Velocity, in pixels per frame, below which a box stands still.
const STANDING: f64 = 1e-6;

/// A direction, and where one that is compared with it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    /// A unit vector, or zero where it stood still.
    direction: [f64; 2],
    from: [f64; 2],
}

impl Heading {
    fn between(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        let (x, y) = (b[0] - a[0], b[1] - a[1]);
        let length = x.hypot(y);
        if length > 0.0 { [x / length, y / length] } else { [0.0, 0.0] }
    }

    /// 0.5 for a box straight on, 0 at a right angle, -0.5 straight back: OC-SORT's consistency of velocity directions.
    pub(super) fn agreement(&self, rect: &Rect) -> f64 {
        let way = Self::between(self.from, centre(rect));
        let cosine = self.direction[0] * way[0] + self.direction[1] * way[1];
        0.5 - cosine.clamp(-1.0, 1.0).acos() / std::f64::consts::PI
    }
}

/// Centre x and y in f64.
pub(super) fn centre(rect: &Rect) -> [f64; 2] {
    let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
    [x + w / 2.0, y + h / 2.0]
}

fn around(x: f64, y: f64, w: f64, h: f64) -> Rect {
    Rect { x: (x - w / 2.0) as f32, y: (y - h / 2.0) as f32, w: w as f32, h: h as f32 }
}

/// By how much the variance of a centre that pixels have shown is larger than that of a detector's. Of 1, 4, 10 and 30 the best on vtest.avi
/// and the TUD videos with intervals of 2 and 4 (`scripts/evaluate interval`).
const FLOW: f64 = 4.0;

/// The noise of a centre that pixels have shown, of that of a detector's.
fn of_flow(noise: [f64; 2]) -> [f64; 2] {
    noise.map(|v| FLOW * v)
}

fn velocity_of(filter: &Kalman) -> [f64; 2] {
    let [x, y, ..] = filter.velocities();
    [x, y]
}
