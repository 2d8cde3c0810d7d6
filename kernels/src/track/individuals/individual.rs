//! One individual: its identity, and where and how it was last seen.

use super::cost::{Cost, Place};
use super::tracklet::Tracklet;
use crate::geometry::Rect;
use crate::track::appearance::Appearance;
use crate::track::observation::{FrameView, Observation};
use crate::track::{State, Track};

/// An identity that was seen in fewer frames than this may have been a false detection's.
const PROVEN: u32 = 5;

/// One individual.
#[derive(Clone, Debug)]
pub(super) struct Individual {
    id: u64,
    /// The tracklet that it is followed by.
    pub(super) serial: Option<u64>,
    /// The index of its detection in this frame.
    pub(super) detection: Option<usize>,
    /// Where it was last seen; `None` as long as nobody has its identity.
    place: Option<Place>,
    pub(super) class: u32,
    pub(super) appearance: Appearance,
    /// Frames since it was first seen.
    age: u32,
    /// How many of these it was seen in.
    hits: u32,
    /// Its box: the filter's estimate while a tracklet lives, else where it was last seen.
    rect: Rect,
    angle: f32,
    velocity: [f32; 2],
}

impl Individual {
    /// One that has not been seen.
    pub(super) fn new(id: u64) -> Self {
        Self {
            id,
            serial: None,
            detection: None,
            place: None,
            class: 0,
            appearance: Appearance::default(),
            age: 0,
            hits: 0,
            rect: Rect::default(),
            angle: 0.0,
            velocity: [0.0; 2],
        }
    }

    /// Nobody has this identity from now on.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.id);
    }

    /// Whether somebody has this identity.
    pub(super) fn is_given(&self) -> bool {
        self.place.is_some()
    }

    /// Whether it was seen often enough to be no false detection's.
    pub(super) fn is_proven(&self) -> bool {
        self.hits >= PROVEN
    }

    /// Moves on to a frame that no detector sees.
    pub(super) fn pass(&mut self, seen: FrameView<'_>) {
        if let Some(place) = &mut self.place {
            place.wait(seen.elapsed(), seen.camera());
            self.age = self.age.saturating_add(1);
        }
    }

    /// Moves on to the next frame.
    pub(super) fn begin_frame(&mut self, seen: FrameView<'_>) {
        self.pass(seen);
        self.detection = None;
        if let Some(place) = &self.place {
            (self.rect, self.velocity) = (place.rect(), [0.0; 2]);
        }
    }

    /// Its tracklet lives in this frame: it is seen where that has a detection, and else expected where that is.
    pub(super) fn follow(&mut self, tracklet: Option<&Tracklet>, seen: FrameView<'_>) {
        let Some(tracklet) = tracklet else { return };
        match tracklet.detection.and_then(|index| Some((index, seen.get(index)?))) {
            Some((index, one)) => self.take(index, &one, Some(*tracklet)),
            None => (self.rect, self.velocity) = (tracklet.track.rect, tracklet.track.velocity),
        }
    }

    /// It is detection `index` of this frame, which belongs to this tracklet, if to any.
    pub(super) fn take(&mut self, index: usize, one: &Observation<'_>, tracklet: Option<Tracklet>) {
        match &mut self.place {
            Some(place) => place.see(one),
            None => self.place = Some(Place::new(one)),
        }
        self.detection = Some(index);
        self.class = one.detection.class;
        self.appearance.take(one.embedding);
        self.hits = self.hits.saturating_add(1);
        (self.rect, self.angle, self.velocity) = (one.detection.rect, one.angle, [0.0; 2]);
        if let Some(Tracklet { serial, track, .. }) = tracklet {
            self.serial = Some(serial);
            (self.rect, self.velocity) = (track.rect, track.velocity);
        }
    }

    /// What it would take for it to be `one`, see [`Cost`]; `appearance` is [`TrackParams::appearance`](crate::track::TrackParams).
    pub(super) fn cost(&self, one: &Observation<'_>, sigmas: &[f32], appearance: f32) -> Cost {
        let cosine = self.appearance.similarity(one.compared());
        self.place.as_ref().map_or(Cost::INFINITE, |place| Cost::of(place, one, sigmas, cosine, appearance))
    }

    /// The individual as a track.
    pub(super) fn track(&self) -> Track {
        Track {
            id: self.id,
            class: self.class,
            age: self.age,
            hits: self.hits,
            state: if self.detection.is_some() { State::Tracked } else { State::Lost },
            rect: self.rect,
            angle: self.angle,
            velocity: self.velocity,
        }
    }
}
