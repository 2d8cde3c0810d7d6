//! How a box is filtered: the two trackers' state vectors and noise.

use super::kalman::Kalman;
use crate::geometry::Rect;

/// A filter over boxes.
pub(super) trait Motion {
    /// Starts at a box, at rest. The box must have a finite position and a finite, positive size.
    fn new(rect: &Rect) -> Self;
    /// Moves one frame on; `lost` when the last frame had no measurement.
    fn predict(&mut self, lost: bool);
    /// Takes in a detected box, under the same condition as in `new`.
    fn update(&mut self, rect: &Rect);
    /// The estimate; not finite, or not positive in size, when the filter has run away.
    fn rect(&self) -> Rect;
}

/// Centre x and y in f64.
fn centre(rect: &Rect) -> [f64; 2] {
    let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
    [x + w / 2.0, y + h / 2.0]
}

fn around(x: f64, y: f64, w: f64, h: f64) -> Rect {
    Rect { x: (x - w / 2.0) as f32, y: (y - h / 2.0) as f32, w: w as f32, h: h as f32 }
}

/// SORT's model (Bewley et al. 2016, section 3.2): centre, area and aspect ratio `w / h`; the ratio has no velocity.
#[derive(Clone, Debug)]
pub(super) struct AreaRatio(Kalman<7>);

impl AreaRatio {
    // The noise that the paper's authors published with it, in pixels and pixels^2: a new track's velocity is unknown, so
    // its variance starts high; area and ratio are measured worse than the centre; area hardly accelerates.
    const START: [f64; 7] = [10.0, 10.0, 10.0, 10.0, 1e4, 1e4, 1e4];
    const PROCESS: [f64; 7] = [1.0, 1.0, 1.0, 1.0, 1e-2, 1e-2, 1e-4];
    const MEASUREMENT: [f64; 4] = [1.0, 1.0, 10.0, 10.0];

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

    fn predict(&mut self, _lost: bool) {
        if let &[_, _, area, _, _, _, growth] = self.0.state()
            && area + growth <= 0.0
        {
            self.0.stop(2); // a shrinking area must not cross zero
        }
        self.0.predict(Self::PROCESS);
    }

    fn update(&mut self, rect: &Rect) {
        self.0.update(Self::measure(rect), Self::MEASUREMENT);
    }

    fn rect(&self) -> Rect {
        let &[x, y, area, ratio, ..] = self.0.state() else { return Rect::default() };
        let w = (area * ratio).sqrt();
        around(x, y, w, area / w)
    }
}

/// ByteTrack's model (Zhang et al. 2022, after Wojke et al. 2017): centre, aspect ratio `w / h` and height, each with a
/// velocity; the noise grows with the box's height.
#[derive(Clone, Debug)]
pub(super) struct RatioHeight(Kalman<8>);

impl RatioHeight {
    /// Standard deviation of a position, as a share of the height.
    const POSITION: f64 = 1.0 / 20.0;
    /// Standard deviation of a velocity, as a share of the height per frame.
    const VELOCITY: f64 = 1.0 / 160.0;

    fn measure(rect: &Rect) -> [f64; 4] {
        let [x, y] = centre(rect);
        [x, y, f64::from(rect.w) / f64::from(rect.h), f64::from(rect.h)]
    }

    /// Variances from the position's and the velocity's standard deviation, and those of the ratio and its velocity.
    fn variances(position: f64, velocity: f64, ratio: f64, ratio_velocity: f64) -> [f64; 8] {
        [position, position, ratio, position, velocity, velocity, ratio_velocity, velocity]
            .map(|std| std * std)
    }

    fn height(&self) -> f64 {
        self.0.state().get(3).copied().unwrap_or_default()
    }
}

impl Motion for RatioHeight {
    fn new(rect: &Rect) -> Self {
        let h = f64::from(rect.h);
        let start = Self::variances(2.0 * Self::POSITION * h, 10.0 * Self::VELOCITY * h, 1e-2, 1e-5);
        Self(Kalman::new(Self::measure(rect), start))
    }

    fn predict(&mut self, lost: bool) {
        if lost {
            self.0.stop(3); // an occluded box would grow or shrink without bound
        }
        let h = self.height();
        self.0.predict(Self::variances(Self::POSITION * h, Self::VELOCITY * h, 1e-2, 1e-5));
    }

    fn update(&mut self, rect: &Rect) {
        let position = (Self::POSITION * self.height()).powi(2);
        self.0.update(Self::measure(rect), [position, position, 1e-2, position]);
    }

    fn rect(&self) -> Rect {
        let &[x, y, ratio, h, ..] = self.0.state() else { return Rect::default() };
        around(x, y, ratio * h, h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Rect = Rect { x: 100.0, y: 50.0, w: 40.0, h: 90.0 };

    fn assert_close(a: Rect, b: Rect, tolerance: f32) {
        let close =
            [(a.x, b.x), (a.y, b.y), (a.w, b.w), (a.h, b.h)].iter().all(|(p, q)| (p - q).abs() <= tolerance);
        assert!(close, "{a:?} is not {b:?}");
    }

    fn a_new_filter_stands_still_on_its_box<M: Motion>() {
        let mut filter = M::new(&BOX);
        assert_close(filter.rect(), BOX, 1e-4);
        filter.predict(false);
        assert_close(filter.rect(), BOX, 1e-4);
    }

    fn it_learns_a_constant_velocity<M: Motion>() {
        let at = |frame: u8| Rect { x: 100.0 + 3.0 * f32::from(frame), y: 50.0 - f32::from(frame), ..BOX };
        let mut filter = M::new(&at(0));
        for frame in 1..60 {
            filter.predict(false);
            filter.update(&at(frame));
        }
        filter.predict(false);
        filter.predict(true);
        // Two frames of coasting; 0.2 px is a tenth of the way moved in that time.
        assert_close(filter.rect(), at(61), 0.2);
    }

    #[test]
    fn both_models_start_at_rest_and_learn_velocity() {
        a_new_filter_stands_still_on_its_box::<AreaRatio>();
        a_new_filter_stands_still_on_its_box::<RatioHeight>();
        it_learns_a_constant_velocity::<AreaRatio>();
        it_learns_a_constant_velocity::<RatioHeight>();
    }

    #[test]
    fn a_shrinking_area_does_not_cross_zero_while_lost() {
        let mut filter = AreaRatio::new(&BOX);
        for step in 1..10u8 {
            let size = 1.0 - 0.1 * f32::from(step);
            filter.predict(false);
            filter.update(&Rect { w: 40.0 * size, h: 90.0 * size, ..BOX });
        }
        for _ in 0..100 {
            filter.predict(true);
            assert!(filter.rect().w > 0.0 && filter.rect().h.is_finite(), "{:?}", filter.rect());
        }
    }

    #[test]
    fn a_lost_box_keeps_its_height() {
        let mut filter = RatioHeight::new(&BOX);
        for step in 1..10u8 {
            filter.predict(false);
            filter.update(&Rect { h: 90.0 + 5.0 * f32::from(step), ..BOX });
        }
        filter.predict(true);
        let height = filter.rect().h;
        for _ in 0..30 {
            filter.predict(true);
            assert_eq!(filter.rect().h, height);
        }
    }
}
