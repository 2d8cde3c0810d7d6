//! OC-SORT's filter, which remembers observations.

use std::collections::VecDeque;

use super::{AreaRatio, Heading, Motion, around, centre};
use crate::geometry::{Affine, Rect};
use crate::track::kalman::scale;
use crate::track::params::MOST_MOMENTUM_FRAMES;

/// OC-SORT's model (Cao et al. 2023): SORT's filter, and the observations. When an object comes back, the filter's estimates
/// for the time without it are dropped: it is run again with boxes on the straight way between the two observations.
#[derive(Clone, Debug)]
pub(in crate::track) struct Observed {
    filter: AreaRatio,
    /// The filter at the first frame without an observation, and the times of that frame and the following ones since the last
    /// observation, in frames.
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
        // One observation before the window is kept, for a direction over a gap.
        while self.seen.get(1).is_some_and(|(frame, _)| frame + MOST_MOMENTUM_FRAMES < self.now) {
            self.seen.pop_front();
        }
    }

    fn update_centre(&mut self, centre: [f64; 2]) {
        self.filter.update_centre(centre);
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

/// A box between two, in centre and size.
fn on_the_way(a: &Rect, b: &Rect, share: f64) -> Rect {
    let between = |a: f64, b: f64| a + share * (b - a);
    let ([ax, ay], [bx, by]) = (centre(a), centre(b));
    let size = [(a.w, b.w), (a.h, b.h)].map(|(a, b)| between(f64::from(a), f64::from(b)));
    around(between(ax, bx), between(ay, by), size[0], size[1])
}

/// A box as it is seen after the camera has moved.
fn seen_from(camera: &Affine, rect: &Rect) -> Rect {
    let ([x, y], scale) = (centre(rect), scale(camera));
    let at =
        |i: usize, own: f64, other: f64| camera.scale[i] * own + camera.skew[i] * other + camera.offset[i];
    around(at(0, x, y), at(1, y, x), scale * f64::from(rect.w), scale * f64::from(rect.h))
}
