//! A tracked object.

use super::appearance::Appearance;
use super::individuals::Tracklet;
use super::motion::{Heading, Motion, centre};
use super::observation::{FrameView, Observation, Posture};
use super::{State, Track};
use crate::associate::Oriented;
use crate::geometry::Rect;

/// A tracked object.
#[derive(Clone, Debug)]
pub(super) struct Target<M> {
    motion: M,
    /// Counts all objects of a tracker, also those that are never published.
    serial: u64,
    /// 0 until it is first confirmed: ids are spent on published tracks only, so they have no gaps.
    pub(super) id: u64,
    pub(super) class: u32,
    pub(super) state: State,
    /// Frames since its first detection.
    age: u32,
    /// Frames since its last detection.
    pub(super) misses: u32,
    /// How many detections it had.
    hits: u32,
    /// Detections in a row, not counting its very first.
    pub(super) streak: u32,
    /// Index of its detection in this frame.
    pub(super) detection: Option<usize>,
    posture: Posture,
    angle: f32,
    pub(super) appearance: Appearance,
}

impl<M: Motion> Target<M> {
    pub(super) fn new(serial: u64, index: usize, one: &Observation<'_>) -> Self {
        let mut target = Self {
            motion: M::new(&one.detection.rect),
            serial,
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
            appearance: Appearance::default(),
        };
        target.posture.take(one.pose, &target.motion.rect());
        target.appearance.take(one.embedding);
        target
    }

    /// Moves on to a frame that no detector sees. False when the estimate has become useless.
    pub(super) fn pass(&mut self, seen: FrameView<'_>) -> bool {
        if let Some(camera) = seen.camera() {
            self.motion.moved(camera);
        }
        self.motion.predict(seen.elapsed(), self.misses > 0);
        if let Some(rect) = self.detection.and_then(|index| seen.flow(index)) {
            self.motion.update_centre(centre(rect));
        }
        self.age = self.age.saturating_add(1);
        self.rect().is_usable()
    }

    /// Moves on to the next frame. False when the estimate has become useless.
    pub(super) fn predict(&mut self, seen: FrameView<'_>) -> bool {
        let usable = self.pass(seen);
        if self.misses > 0 {
            self.streak = 0;
        }
        self.misses = self.misses.saturating_add(1);
        self.detection = None;
        usable
    }

    /// Takes detection `index` of this frame as its own.
    pub(super) fn update(&mut self, index: usize, one: &Observation<'_>) {
        let expected = self.rect();
        if self.posture.is_outgrown(one, &expected) {
            // Taken as a movement, the filter would continue it.
            self.motion = M::new(&one.detection.rect);
            self.posture = Posture::default();
        } else {
            self.motion.update(&self.posture.measure(one, &expected));
        }
        self.posture.take(one.pose, &self.motion.rect());
        self.appearance.take(one.embedding);
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

    /// Its appearance so far.
    pub(super) fn appearance(&self) -> &Appearance {
        &self.appearance
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

    /// Its direction, see [`Motion::heading`].
    pub(super) fn heading(&self, frames: u32) -> Option<Heading> {
        self.motion.heading(frames)
    }

    /// Appends to `out` its keypoints where they are expected if its box is `rect`.
    pub(super) fn expect_pose(&self, rect: &Rect, out: &mut Vec<(f32, f32)>) {
        self.posture.expect(rect, out);
    }

    /// What an individual may be followed by.
    pub(super) fn tracklet(&self) -> Tracklet {
        Tracklet { serial: self.serial, detection: self.detection, track: self.track() }
    }

    pub(super) fn track(&self) -> Track {
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
