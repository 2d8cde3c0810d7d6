//! Followed objects, from their first detection to their loss: what all trackers share.

use super::appearance::MeanEmbedding;
use super::matching::{Matcher, Rule};
use super::motion::{Heading, Motion};
use super::seen::{One, Posture, Seen};
use super::{State, Track};
use crate::associate::{Costs, Oriented, is_usable};
use crate::geometry::Rect;

/// Frames that may be missing without a track's being given up for it, whatever its algorithm forgives of frames that
/// were there.
const LONGEST_GAP: f64 = 30.0;

/// A followed object.
#[derive(Clone, Debug)]
pub(super) struct Target<M> {
    motion: M,
    /// 0 until it is first confirmed: ids are spent on published tracks only, so they have no gaps.
    id: u64,
    pub(super) class: u32,
    state: State,
    /// Frames since its first detection.
    age: u32,
    /// Frames since its last detection.
    pub(super) misses: u32,
    /// Detections it has had.
    hits: u32,
    /// Detections in a row, not counting its very first.
    pub(super) streak: u32,
    /// Index of its detection in this frame.
    pub(super) detection: Option<usize>,
    posture: Posture,
    angle: f32,
    mean_embedding: MeanEmbedding,
}

impl<M: Motion> Target<M> {
    fn new(index: usize, one: &One<'_>) -> Self {
        let mut target = Self {
            motion: M::new(&one.detection.rect),
            id: 0,
            class: one.detection.class,
            state: State::Tentative,
            age: 0,
            misses: 0,
            hits: 1,
            streak: 0,
            detection: Some(index),
            posture: Posture::default(),
            angle: one.angle,
            mean_embedding: MeanEmbedding::default(),
        };
        target.posture.take(one.pose, &target.motion.rect());
        target.mean_embedding.take(one.embedding);
        target
    }

    /// Moves on to the next frame. False when the estimate has become useless.
    fn predict(&mut self, seen: Seen<'_>) -> bool {
        if let Some(camera) = seen.camera() {
            self.motion.moved(camera);
        }
        self.motion.predict(seen.elapsed(), self.misses > 0);
        if self.misses > 0 {
            self.streak = 0;
        }
        self.misses = self.misses.saturating_add(1);
        self.age = self.age.saturating_add(1);
        self.detection = None;
        is_usable(&self.rect())
    }

    /// Takes detection `index` of this frame as its own.
    pub(super) fn update(&mut self, index: usize, one: &One<'_>) {
        let expected = self.rect();
        if self.posture.is_outgrown(one, &expected) {
            // As a movement the filter would go on with it.
            self.motion = M::new(&one.detection.rect);
            self.posture = Posture::default();
        } else {
            self.motion.update(&self.posture.measure(one, &expected));
        }
        self.posture.take(one.pose, &self.motion.rect());
        self.mean_embedding.take(one.embedding);
        self.class = one.detection.class;
        self.angle = one.angle;
        self.misses = 0;
        self.hits = self.hits.saturating_add(1);
        self.streak = self.streak.saturating_add(1);
        self.detection = Some(index);
    }

    /// Whether it has ever been published.
    pub(super) fn was_confirmed(&self) -> bool {
        self.id != 0
    }

    /// How it looked so far.
    pub(super) fn mean_embedding(&self) -> &MeanEmbedding {
        &self.mean_embedding
    }

    /// The filter's estimate, rotated as it was last seen.
    pub(super) fn oriented(&self, rect: Rect) -> Oriented {
        Oriented { rect, angle: self.angle }
    }

    /// The filter's estimate.
    pub(super) fn rect(&self) -> Rect {
        self.motion.rect()
    }

    /// Its box as it was last seen.
    pub(super) fn last_seen(&self) -> Rect {
        self.motion.last_seen()
    }

    /// Where it came from and in which direction it went, see [`Motion::heading`].
    pub(super) fn heading(&self, frames: u32) -> Option<Heading> {
        self.motion.heading(frames)
    }

    /// Appends to `out` its keypoints where they are expected if its box is `rect`.
    pub(super) fn expect_pose(&self, rect: &Rect, out: &mut Vec<(f32, f32)>) {
        self.posture.expect(rect, out);
    }

    fn track(&self) -> Track {
        Track {
            id: self.id,
            class: self.class,
            age: self.age,
            hits: self.hits,
            state: self.state,
            rect: self.rect(),
            angle: self.angle,
            velocity: self.motion.velocity().map(|v| v as f32),
        }
    }
}

/// All objects of one tracker, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Targets<M> {
    all: Vec<Target<M>>,
    last_id: u64,
    frame: u32,
    matcher: Matcher,
}

// Not derived: that would ask `M: Default`.
impl<M> Default for Targets<M> {
    fn default() -> Self {
        Self { all: Vec::new(), last_id: 0, frame: 0, matcher: Matcher::default() }
    }
}

/// How many frames the next may come later for objects to be known still.
pub(super) fn longest_gap(max_lost: u32) -> f64 {
    f64::from(max_lost).max(LONGEST_GAP) + 1.0
}

impl<M: Motion> Targets<M> {
    /// Moves all on to the next frame and returns its number, from 1. After a gap of more than `max_lost` frames, and
    /// of more than a second of the usual 30, nobody is known.
    pub(super) fn begin_frame(&mut self, seen: Seen<'_>, max_lost: u32) -> u32 {
        self.frame = self.frame.saturating_add(1);
        let longest = longest_gap(max_lost);
        self.all.retain_mut(|target| target.predict(seen) && seen.elapsed() <= longest);
        self.frame
    }

    /// Forgets all; identities go on.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.frame = 0;
    }

    /// Forgets how they looked.
    pub(super) fn clear_looks(&mut self) {
        self.all.iter_mut().for_each(|target| target.mean_embedding = MeanEmbedding::default());
    }

    /// One round of association, see [`Matcher::round`].
    pub(super) fn round(
        &mut self,
        seen: Seen<'_>,
        open: &mut Vec<usize>,
        rule: Rule,
        costs: &mut Costs,
        takes_part: impl Fn(&Target<M>) -> bool,
    ) {
        self.matcher.round(&mut self.all, seen, open, rule, costs, takes_part);
    }

    /// Starts an object for each detection listed in `open`.
    pub(super) fn start(&mut self, seen: Seen<'_>, open: &[usize]) {
        let new = |&index: &usize| Some(Target::new(index, &seen.get(index)?));
        self.all.extend(open.iter().filter_map(new));
    }

    /// Settles every object's state: those seen in this frame are published where `ready`, the others are lost.
    pub(super) fn settle(&mut self, ready: impl Fn(&Target<M>) -> bool) {
        for target in &mut self.all {
            target.state = match target.detection {
                Some(_) if ready(target) => State::Tracked,
                None if target.was_confirmed() => State::Lost,
                _ => State::Tentative,
            };
            if target.state == State::Tracked && target.id == 0 {
                self.last_id += 1;
                target.id = self.last_id;
            }
        }
    }

    /// Gives up all others.
    pub(super) fn keep(&mut self, alive: impl Fn(&Target<M>) -> bool) {
        self.all.retain(alive);
    }

    /// Writes the published tracks to their detections' places.
    pub(super) fn publish(&self, tracks: &mut [Option<Track>]) {
        for target in self.all.iter().filter(|target| target.state == State::Tracked) {
            if let Some(place) = target.detection.and_then(|index| tracks.get_mut(index)) {
                *place = Some(target.track());
            }
        }
    }

    /// Every object as a track.
    pub(super) fn tracks(&self) -> impl Iterator<Item = Track> + '_ {
        self.all.iter().map(Target::track)
    }
}
