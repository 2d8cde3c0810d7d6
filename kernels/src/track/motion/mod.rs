//! How a box is filtered: the trackers' state vectors and noise, and what they remember of observations.

use std::collections::VecDeque;

use super::kalman::{Kalman, Variance, scale};
use super::params::MOST_MOMENTUM_FRAMES;
use crate::geometry::{Affine, Rect};

/// A filter over boxes.
pub(super) trait Motion {
    /// Starts at a box, at rest. The box must have a finite position and a finite, positive size.
    fn new(rect: &Rect) -> Self;
    /// Moves a time on, in frames; `lost` when the last frame had no measurement.
    fn predict(&mut self, frames: f64, lost: bool);
    /// Moves with the camera.
    fn moved(&mut self, camera: &Affine);
    /// Takes in a detected box, under the same condition as in `new`.
    fn update(&mut self, rect: &Rect);
    /// The estimate; not finite, or not positive in size, when the filter has run away.
    fn rect(&self) -> Rect;
    /// The centre's velocity, in pixels per frame.
    fn velocity(&self) -> [f64; 2];
    /// The box as it was last seen, where that is remembered; else the estimate.
    fn last_seen(&self) -> Rect {
        self.rect()
    }
    /// The direction over the last `frames` frames; `None` where it stands still. Where observations are remembered, that
    /// from the observation `frames` frames before the last one to that, or from the first later one there is.
    fn heading(&self, frames: u32) -> Option<Heading> {
        let ([x, y], [vx, vy]) = (centre(&self.rect()), self.velocity());
        let from = [x - f64::from(frames) * vx, y - f64::from(frames) * vy];
        (vx.hypot(vy) > STANDING).then(|| Heading { direction: Heading::between(from, [x, y]), from })
    }
}

/// Velocity, in pixels per frame, below which something stands.
const STANDING: f64 = 1e-6;

/// A direction, and where one that is compared with it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    /// A unit vector, or none where it stood still.
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
fn centre(rect: &Rect) -> [f64; 2] {
    let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
    [x + w / 2.0, y + h / 2.0]
}

fn around(x: f64, y: f64, w: f64, h: f64) -> Rect {
    Rect { x: (x - w / 2.0) as f32, y: (y - h / 2.0) as f32, w: w as f32, h: h as f32 }
}

fn velocity_of(filter: &Kalman) -> [f64; 2] {
    let [x, y, ..] = filter.velocities();
    [x, y]
}

/// SORT's model (Bewley et al. 2016, section 3.2): centre, area and aspect ratio `w / h`; the ratio has no velocity.
#[derive(Clone, Debug)]
pub(super) struct AreaRatio(Kalman);

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

    fn rect(&self) -> Rect {
        let [x, y, area, ratio] = self.0.values();
        let w = (area * ratio).sqrt();
        around(x, y, w, area / w)
    }

    fn velocity(&self) -> [f64; 2] {
        velocity_of(&self.0)
    }
}

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
pub(super) struct RatioHeight(Kalman);

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

    fn rect(&self) -> Rect {
        let [x, y, ratio, h] = self.0.values();
        around(x, y, ratio * h, h)
    }

    fn velocity(&self) -> [f64; 2] {
        velocity_of(&self.0)
    }
}

/// BoT-SORT's model (Aharon et al. 2022, section 3.1): centre, width and height, each with a velocity; the noise of what
/// is horizontal grows with the width, of what is vertical with the height. Positions' process noise is so many per cent of
/// the paper's deviation.
#[derive(Clone, Debug)]
pub(super) struct WidthHeight<const NOISE: u8>(Kalman);

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

    fn rect(&self) -> Rect {
        let [x, y, w, h] = self.0.values();
        around(x, y, w, h)
    }

    fn velocity(&self) -> [f64; 2] {
        velocity_of(&self.0)
    }
}

/// OC-SORT's model (Cao et al. 2023): SORT's filter, and the observations. When an object comes back, what the filter made
/// of the time without it is forgotten: it is run again with boxes on the straight way between the two observations.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    filter: AreaRatio,
    /// As it expected the first frame without an observation, and how long after the last observation that one and those
    /// after it were, in frames.
    before: Option<(AreaRatio, Vec<f64>)>,
    /// How long ago the last observation was, in frames.
    since: f64,
    /// The frame, counted from the first observation.
    now: u32,
    /// Frames and boxes of the last observations, the oldest first.
    seen: VecDeque<(u32, Rect)>,
}

impl Observed {
    /// The observation `frames` frames before the frame `now`, or the first later one, or the last of all.
    fn earlier(&self, now: u32, frames: u32) -> Option<&Rect> {
        let from = now.saturating_sub(frames);
        self.seen.iter().find(|(frame, _)| *frame >= from).or(self.seen.back()).map(|(_, rect)| rect)
    }
}

impl Motion for Observed {
    fn new(rect: &Rect) -> Self {
        Self {
            filter: AreaRatio::new(rect),
            before: None,
            since: 0.0,
            now: 0,
            seen: VecDeque::from([(0, *rect)]),
        }
    }

    fn predict(&mut self, frames: f64, lost: bool) {
        if lost {
            let (_, times) = self.before.get_or_insert_with(|| (self.filter.clone(), Vec::new()));
            times.push(self.since);
        }
        self.since += frames;
        self.now = self.now.saturating_add(1);
        self.filter.predict(frames, lost);
    }

    fn moved(&mut self, camera: &Affine) {
        self.filter.moved(camera);
        if let Some((filter, _)) = &mut self.before {
            filter.moved(camera);
        }
        for (_, rect) in &mut self.seen {
            *rect = seen_from(camera, rect);
        }
    }

    fn update(&mut self, rect: &Rect) {
        if let Some((filter, times)) = self.before.take() {
            self.filter = filter;
            let from = self.last_seen();
            let next = times.iter().skip(1).chain([&self.since]);
            for (time, next) in times.iter().zip(next) {
                self.filter.update(&on_the_way(&from, rect, time / self.since));
                self.filter.predict(next - time, false);
            }
        }
        self.since = 0.0;
        self.filter.update(rect);
        self.seen.push_back((self.now, *rect));
        // One before the window stays, for a direction over a gap.
        while self.seen.get(1).is_some_and(|(frame, _)| frame + MOST_MOMENTUM_FRAMES < self.now) {
            self.seen.pop_front();
        }
    }

    fn rect(&self) -> Rect {
        self.filter.rect()
    }

    fn velocity(&self) -> [f64; 2] {
        self.filter.velocity()
    }

    fn last_seen(&self) -> Rect {
        self.seen.back().map_or_else(|| self.rect(), |(_, rect)| *rect)
    }

    fn heading(&self, frames: u32) -> Option<Heading> {
        let (last, _) = self.seen.back()?;
        let (previous, _) = self.seen.get(self.seen.len().checked_sub(2)?)?;
        let from = self.earlier(*last, frames.max(last - previous))?;
        Some(Heading {
            direction: Heading::between(centre(from), centre(&self.last_seen())),
            from: centre(self.earlier(self.now, frames)?),
        })
    }
}

/// A box as it is seen after the camera has moved.
fn seen_from(camera: &Affine, rect: &Rect) -> Rect {
    let ([x, y], scale) = (centre(rect), scale(camera));
    let at =
        |i: usize, own: f64, other: f64| camera.scale[i] * own + camera.skew[i] * other + camera.offset[i];
    around(at(0, x, y), at(1, y, x), scale * f64::from(rect.w), scale * f64::from(rect.h))
}

/// A box between two, in centre and size.
fn on_the_way(a: &Rect, b: &Rect, share: f64) -> Rect {
    let between = |a: f64, b: f64| a + share * (b - a);
    let ([ax, ay], [bx, by]) = (centre(a), centre(b));
    let size = [(a.w, b.w), (a.h, b.h)].map(|(a, b)| between(f64::from(a), f64::from(b)));
    around(between(ax, bx), between(ay, by), size[0], size[1])
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
        filter.predict(1.0, false);
        assert_close(filter.rect(), BOX, 1e-4);
    }

    fn it_learns_a_constant_velocity<M: Motion>() {
        let at = |frame: u8| Rect { x: 100.0 + 3.0 * f32::from(frame), y: 50.0 - f32::from(frame), ..BOX };
        let mut filter = M::new(&at(0));
        for frame in 1..60 {
            filter.predict(1.0, false);
            filter.update(&at(frame));
        }
        filter.predict(1.0, false);
        filter.predict(1.0, true);
        // Two frames of coasting; 0.2 px is a tenth of the way moved in that time.
        assert_close(filter.rect(), at(61), 0.2);
    }

    #[test]
    fn the_models_start_at_rest_and_learn_velocity() {
        a_new_filter_stands_still_on_its_box::<AreaRatio>();
        a_new_filter_stands_still_on_its_box::<RatioHeight>();
        a_new_filter_stands_still_on_its_box::<WidthHeight<70>>();
        a_new_filter_stands_still_on_its_box::<Observed>();
        it_learns_a_constant_velocity::<AreaRatio>();
        it_learns_a_constant_velocity::<RatioHeight>();
        it_learns_a_constant_velocity::<WidthHeight<70>>();
        it_learns_a_constant_velocity::<Observed>();
    }

    #[test]
    fn what_comes_back_is_filtered_as_if_it_had_been_seen_on_the_straight_way() {
        let at = |frame: u8| Rect { x: 100.0 + 5.0 * f32::from(frame), y: 50.0 + f32::from(frame), ..BOX };
        let (mut seen, mut lost) = (Observed::new(&at(0)), Observed::new(&at(0)));
        for frame in 1..20 {
            seen.predict(1.0, false);
            lost.predict(1.0, matches!(frame, 11..=17));
            seen.update(&at(frame));
            if !matches!(frame, 10..=16) {
                lost.update(&at(frame));
            }
        }
        assert_close(lost.rect(), seen.rect(), 1e-3);
    }

    #[test]
    fn the_direction_is_that_of_the_last_observations_and_agrees_most_straight_on() {
        let mut object = Observed::new(&BOX);
        assert!(object.heading(3).is_none(), "one observation has no direction");
        // To the right first, then down.
        for (dx, dy) in [(10.0, 0.0), (20.0, 0.0), (20.0, 10.0), (20.0, 20.0), (20.0, 30.0)] {
            object.predict(1.0, false);
            object.update(&Rect { x: BOX.x + dx, y: BOX.y + dy, ..BOX });
        }
        object.predict(1.0, false);
        let agrees = |frames, dx, dy| {
            let rect = Rect { x: BOX.x + dx, y: BOX.y + dy, ..BOX };
            object.heading(frames).unwrap().agreement(&rect)
        };
        // Over three frames, from (20, 10), it went down.
        for (dx, dy, wanted) in [(20.0, 40.0, 0.5), (20.0, 0.0, -0.5), (90.0, 10.0, 0.0), (50.0, 40.0, 0.25)]
        {
            assert!((agrees(3, dx, dy) - wanted).abs() < 1e-6, "{dx} {dy}: {}", agrees(3, dx, dy));
        }
        // Over five it went down and a little to the right.
        assert!(agrees(5, 30.0, 30.0) > agrees(5, 10.0, 30.0));
        // The last two observations count where more frames are between them.
        for _ in 0..40 {
            object.predict(1.0, true);
        }
        object.update(&Rect { x: BOX.x + 20.0, y: BOX.y + 330.0, ..BOX });
        assert!(
            object.heading(1).unwrap().agreement(&Rect { y: BOX.y + 500.0, x: BOX.x + 20.0, ..BOX }) > 0.49
        );
    }

    #[test]
    fn a_shrinking_area_does_not_cross_zero_while_lost() {
        let mut filter = AreaRatio::new(&BOX);
        for step in 1..10u8 {
            let size = 1.0 - 0.1 * f32::from(step);
            filter.predict(1.0, false);
            filter.update(&Rect { w: 40.0 * size, h: 90.0 * size, ..BOX });
        }
        for _ in 0..100 {
            filter.predict(1.0, true);
            assert!(filter.rect().w > 0.0 && filter.rect().h.is_finite(), "{:?}", filter.rect());
        }
    }

    #[test]
    fn a_lost_box_keeps_its_height() {
        let mut filter = RatioHeight::new(&BOX);
        for step in 1..10u8 {
            filter.predict(1.0, false);
            filter.update(&Rect { h: 90.0 + 5.0 * f32::from(step), ..BOX });
        }
        filter.predict(1.0, true);
        let height = filter.rect().h;
        for _ in 0..30 {
            filter.predict(1.0, true);
            assert_eq!(filter.rect().h, height);
        }
    }
}
