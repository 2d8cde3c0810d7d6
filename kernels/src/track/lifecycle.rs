//! The life cycle of tracked objects, from their first detection to their loss: what all trackers share.
//!
//! An algorithm's frame is [`Targets::begin_frame`], some rounds of association ([`Targets::round`]), [`Targets::start`] of what no
//! round has matched, [`Targets::update_states`] and [`Targets::keep`].

use super::appearance::Appearance;
use super::individuals::Tracklet;
use super::matching::{Matcher, Rule};
use super::motion::Motion;
use super::observation::FrameView;
use super::target::Target;
use super::{State, Track};
use crate::associate::Similarity;

/// The gap, in frames, after which tracks may still be known, even if their algorithm keeps lost objects for fewer frames.
const LONGEST_GAP: f64 = 30.0;

/// All objects of one tracker, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Targets<M> {
    all: Vec<Target<M>>,
    last_id: u64,
    last_serial: u64,
    frame: u32,
    /// The time since the last frame that a detector saw, in frames.
    unseen: f64,
    matcher: Matcher,
}

// Not derived, because that would require `M: Default`.
impl<M> Default for Targets<M> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            last_id: 0,
            last_serial: 0,
            frame: 0,
            unseen: 0.0,
            matcher: Matcher::default(),
        }
    }
}

/// The longest gap before the next frame, in frames, after which objects are still known.
pub(super) fn longest_gap(max_lost: u32) -> f64 {
    f64::from(max_lost).max(LONGEST_GAP) + 1.0
}

impl<M: Motion> Targets<M> {
    /// Moves all objects on to the next frame and returns its number, from 1. After a gap of more than `max_lost` frames that
    /// is also longer than a second (of the usual 30 frames), no object is known.
    pub(super) fn begin_frame(&mut self, seen: FrameView<'_>, max_lost: u32) -> u32 {
        self.frame = self.frame.saturating_add(1);
        let gap = std::mem::take(&mut self.unseen) + seen.elapsed();
        self.all.retain_mut(|target| target.predict(seen) && gap <= longest_gap(max_lost));
        self.frame
    }

    /// Forgets all objects; identities go on.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        (self.frame, self.unseen) = (0, 0.0);
    }

    /// Forgets the objects' appearance.
    pub(super) fn clear_appearance(&mut self) {
        self.all.iter_mut().for_each(|target| target.appearance = Appearance::default());
    }

    /// One round of association, see [`Matcher::round`].
    pub(super) fn round(
        &mut self,
        seen: FrameView<'_>,
        open: &mut Vec<usize>,
        rule: Rule,
        similarity: &mut Similarity,
        takes_part: impl Fn(&Target<M>) -> bool,
    ) {
        self.matcher.round(&mut self.all, seen, open, rule, similarity, takes_part);
    }

    /// Starts an object for each detection listed in `open`.
    pub(super) fn start(&mut self, seen: FrameView<'_>, open: &[usize]) {
        for &index in open {
            if let Some(one) = seen.get(index) {
                self.last_serial += 1;
                self.all.push(Target::new(self.last_serial, index, &one));
            }
        }
    }

    /// Settles every object's state: those seen in this frame are published where `ready`, the others are lost.
    pub(super) fn update_states(&mut self, ready: impl Fn(&Target<M>) -> bool) {
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

    /// Removes all objects that are not `alive`.
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

    /// Moves all objects on to a frame that no detector sees. Of the last detections' tracks, those of objects that are expected nowhere go.
    pub(super) fn pass(&mut self, seen: FrameView<'_>, max_lost: u32, tracks: &mut [Option<Track>]) {
        self.unseen += seen.elapsed();
        let gap = self.unseen;
        self.all.retain_mut(|target| target.pass(seen) && gap <= longest_gap(max_lost));
        let mut places = Vec::new();
        places.resize(tracks.len(), None);
        for target in &self.all {
            if let Some(place) = target.detection.and_then(|index| places.get_mut(index)) {
                *place = Some(target.track());
            }
        }
        for (track, now) in tracks.iter_mut().zip(places) {
            *track = track.zip(now).map(|(track, now)| Track {
                rect: now.rect,
                velocity: now.velocity,
                age: track.age.saturating_add(1),
                state: State::Carried,
                ..track
            });
        }
    }

    /// The time since the last frame that a detector saw, in frames.
    pub(super) fn unseen(&self) -> f64 {
        self.unseen
    }

    /// The objects of the last detections.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, Track)> + '_ {
        self.all.iter().filter_map(|target| Some((target.detection?, target.track())))
    }

    /// Every object as what an individual may be followed by.
    pub(super) fn tracklets(&self) -> Vec<Tracklet> {
        self.all.iter().map(Target::tracklet).collect()
    }

    /// Every object as a track.
    pub(super) fn tracks(&self) -> impl Iterator<Item = Track> + '_ {
        self.all.iter().map(Target::track)
    }
}
