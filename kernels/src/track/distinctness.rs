//! Whether appearance tells the objects of a stream apart: whether neighbours differ more than an object does over time.
//!
//! Every eighth frame, each object is compared with itself eight frames earlier, and with its nearest neighbour of its class in the same
//! frame. People in uniforms, fish and parts on a belt look like their neighbours: there, appearance would take objects for others that pass
//! near them. Two running means decide, with a gap between switching on and off.

use super::appearance::cosine;
use super::{Embeddings, Track};
use crate::detect::Detection;
use crate::geometry::Rect;

/// One of this many frames is looked at. An object that is hidden comes back after as many or more.
const EVERY: u64 = 8;
/// Comparisons of each kind before the means say anything.
const ENOUGH: u32 = 32;
/// Comparisons that a mean is over; after as many, each new one has the same weight.
const WINDOW: u32 = 256;
/// Appearance counts from where neighbours differ by this many times as much as an object over time, ...
const ON: f64 = 2.0;
/// ... until they differ by less than this.
const OFF: f64 = 1.5;
/// An object differs from itself by this much at least: pictures without noise would make anything look different.
const LEAST: f64 = 0.005;
/// The objects of a frame that are looked at, so that crowds cost no more.
const MOST: usize = 64;

/// Appearance has begun to count, or no longer counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppearanceSwitch {
    /// Whether it counts from now on.
    pub counts: bool,
    /// By how much an object differs from itself over eight frames, on average: half the cosine distance of its embeddings.
    pub over_time: f64,
    /// By how much it differs from its nearest neighbour.
    pub neighbours: f64,
}

/// Looks at one frame after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Distinctness {
    frames: u64,
    counts: bool,
    over_time: RunningMean,
    neighbours: RunningMean,
    /// Identities and embeddings of the last frame that was looked at.
    before: Vec<(u64, Vec<f32>)>,
    switched: Option<AppearanceSwitch>,
}

impl Distinctness {
    /// With nothing seen yet; `counts` says whether appearance counts until there are enough comparisons.
    pub(super) fn new(counts: bool) -> Self {
        Self { counts, ..Self::default() }
    }

    /// Whether appearance counts.
    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// Whether the next frame is looked at.
    pub(super) fn is_due(&self) -> bool {
        self.frames.is_multiple_of(EVERY)
    }

    /// The last switch, once.
    pub(super) fn take_switch(&mut self) -> Option<AppearanceSwitch> {
        self.switched.take()
    }

    /// Takes in a frame and the tracks of its detections.
    pub(super) fn see(
        &mut self,
        detections: &[Detection],
        tracks: &[Option<Track>],
        embeddings: Embeddings<'_>,
    ) {
        let is_due = self.is_due();
        self.frames += 1;
        if !is_due {
            return;
        }
        let objects = tracks.iter().zip(detections).enumerate();
        let objects = objects.filter_map(|(index, (track, one))| {
            Some(Object {
                id: track.as_ref()?.id,
                class: one.class,
                rect: one.rect,
                seen: embeddings.of(index),
            })
        });
        let objects: Vec<Object<'_>> = objects.take(MOST).collect();
        for object in &objects {
            let before = self.before.iter().find(|(id, _)| *id == object.id);
            self.over_time.take(before.and_then(|(_, before)| distance(before, object.seen)));
            let neighbour = nearest(&objects, object);
            self.neighbours.take(neighbour.and_then(|neighbour| distance(neighbour.seen, object.seen)));
        }
        self.before = objects.iter().map(|object| (object.id, object.seen.to_vec())).collect();
        self.decide();
    }

    fn decide(&mut self) {
        if self.over_time.count < ENOUGH || self.neighbours.count < ENOUGH {
            return;
        }
        let times = if self.counts { OFF } else { ON };
        let counts = self.neighbours.mean >= times * self.over_time.mean.max(LEAST);
        if counts != self.counts {
            self.counts = counts;
            let (over_time, neighbours) = (self.over_time.mean, self.neighbours.mean);
            self.switched = Some(AppearanceSwitch { counts, over_time, neighbours });
        }
    }
}

#[derive(Clone, Copy)]
struct Object<'a> {
    id: u64,
    class: u32,
    rect: Rect,
    seen: &'a [f32],
}

/// The nearest other object of its class; of equally near ones the first.
fn nearest<'a>(objects: &'a [Object<'a>], of: &Object<'_>) -> Option<&'a Object<'a>> {
    let others = objects.iter().filter(|other| other.id != of.id && other.class == of.class);
    let away = |other: &Object<'_>| {
        let (a, b) = (super::motion::centre(&other.rect), super::motion::centre(&of.rect));
        (a[0] - b[0]).hypot(a[1] - b[1])
    };
    others.min_by(|a, b| away(a).total_cmp(&away(b)))
}

/// Half the cosine distance, 0..1; `None` where an embedding is missing, or is another model's.
fn distance(a: &[f32], b: &[f32]) -> Option<f64> {
    Some(0.5 - 0.5 * cosine(a, b)?)
}

#[derive(Clone, Copy, Debug, Default)]
struct RunningMean {
    mean: f64,
    count: u32,
}

impl RunningMean {
    fn take(&mut self, value: Option<f64>) {
        let Some(value) = value else { return };
        self.count = (self.count + 1).min(WINDOW);
        self.mean += (value - self.mean) / f64::from(self.count);
    }
}
