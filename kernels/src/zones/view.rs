//! One object and one zone in one frame.

use std::sync::Arc;

use super::clock::Moment;
use super::geometry::{Point, contains, distance_to_outline};
use super::line::{LineState, Rule};
use super::polygon::{Change, Presence};
use super::totals::Totals;
use super::{Direction, EventKind, Sighting, Zone, ZoneKind, ZoneParams};
use crate::ground::Motion;

/// A zone placed on a frame, and its counts.
#[derive(Clone, Debug, Default)]
pub(super) struct PlacedZone {
    /// The zone's points in frame pixels.
    pub(super) points: Vec<Point>,
    /// The outlines of its holes.
    pub(super) holes: Vec<Vec<Point>>,
    /// The classes that are given as numbers.
    pub(super) numbers: Vec<u32>,
    pub(super) totals: Totals,
    /// The classes of the objects without an identity that were in it in the last frame.
    pub(super) shown: Vec<Arc<str>>,
    /// Whether it was reported that the zone's occupancy is reached.
    pub(super) full: bool,
}

impl PlacedZone {
    /// Whether a point lies in the polygon and in none of its holes, whose left and upper edges belong to them.
    pub(super) fn contains(&self, p: Point) -> bool {
        contains(&self.points, p) && !self.holes.iter().any(|hole| contains(hole, p))
    }

    /// How far a point is from the polygon's outline, or from a hole's.
    fn distance(&self, p: Point) -> f64 {
        let outlines = self.holes.iter().chain([&self.points]);
        outlines.map(|outline| distance_to_outline(outline, p)).fold(f64::INFINITY, f64::min)
    }
}

#[derive(Clone, Debug)]
pub(super) enum ZoneState {
    Line(LineState),
    Polygon(Presence),
}

/// Values that are the same for all objects of a frame.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) moment: Moment,
    pub(super) size: [f64; 2],
}

/// An object, as a zone sees it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) now: Now,
    pub(super) params: &'a ZoneParams,
    pub(super) zone: usize,
    pub(super) object: &'a Sighting<'a>,
    /// How it moves in the world, where that is known.
    pub(super) motion: Option<Motion>,
}

impl View<'_> {
    pub(super) fn zone(&self) -> &Zone {
        &self.params.zones[self.zone]
    }

    /// The point of the object that counts, within the frame, and whether it is at the frame's border.
    pub(super) fn anchor(&self) -> (Point, bool) {
        let p = self.zone().anchor.unwrap_or(self.params.anchor).of(&self.object.rect);
        let size = self.now.size;
        if size.iter().any(|side| *side < 1.0) {
            return (p, false);
        }
        let [x, y] = [0, 1].map(|i| p[i].clamp(0.5, size[i] - 0.5));
        let border = [x, y].iter().zip(size).any(|(v, side)| *v == 0.5 || *v == side - 0.5);
        ([x, y], border)
    }

    /// Whether the object's class counts.
    pub(super) fn counts(&self, placed: &PlacedZone) -> bool {
        let classes = &self.zone().classes;
        classes.is_empty()
            || classes.iter().any(|class| class == self.object.label)
            || self.object.class.is_some_and(|class| placed.numbers.contains(&class))
    }

    /// Frames in a row on the other side that make an event.
    fn frames(&self) -> u32 {
        self.zone().inertia.unwrap_or(self.params.min_frames)
    }

    /// How many pixels beyond an edge it must be; none at the frame's border, where it can get no further.
    pub(super) fn margin(&self, border: bool) -> Option<f64> {
        let side = self.object.rect.w.max(self.object.rect.h).max(0.0);
        (!border).then_some(self.params.margin * f64::from(side))
    }

    pub(super) fn first_state(&self, placed: &PlacedZone) -> ZoneState {
        match (self.zone().kind, placed.points[..].try_into()) {
            (ZoneKind::Line, Ok(line)) => ZoneState::Line(LineState::new(line, self.anchor().0)),
            _ => ZoneState::Polygon(Presence::default()),
        }
    }

    pub(super) fn line(&self, placed: &PlacedZone, state: &mut LineState) -> Option<Direction> {
        let (at, border) = self.anchor();
        let rule = Rule { frames: self.frames(), margin: self.margin(border), counts: self.counts(placed) };
        state.see(placed.points[..].try_into().ok()?, at, rule)
    }

    pub(super) fn polygon(
        &self,
        placed: &mut PlacedZone,
        presence: &mut Presence,
        tell: &mut impl FnMut(EventKind, Arc<str>, u32),
    ) {
        let (at, border) = self.anchor();
        let (now, frames) = (self.now.moment, self.frames());
        let inside = placed.contains(at);
        let far = || self.margin(border).is_none_or(|m| placed.distance(at) >= m);
        let far = !inside && far();
        match presence.see(now, inside, far, self.counts(placed), frames) {
            Some(Change::Enters { since, appeared }) => {
                let label = placed.totals.enter(self.object.label);
                presence.begin(since, now, self.params.patience, label.clone());
                tell(EventKind::Enter { appeared }, label, placed.totals.all.occupancy);
            }
            Some(Change::Leaves(visit)) => {
                let dwell = visit.dwell();
                placed.totals.leave(&visit.label, dwell);
                tell(EventKind::Leave { vanished: false, dwell }, visit.label, placed.totals.all.occupancy);
            }
            None => {}
        }
        let occupancy = placed.totals.all.occupancy;
        if let Some(label) = presence.visit.as_ref().map(|visit| visit.label.clone()) {
            let events = [
                self.zone().dwell.and_then(|long| presence.dwells(long)),
                self.zone().loitering.and_then(|long| presence.loiters(long)),
                self.motion_event(presence, inside),
            ];
            events.into_iter().flatten().for_each(|what| tell(what, label.clone(), occupancy));
        }
    }

    /// The event of an object in the polygon whose speed is one that the zone reports.
    fn motion_event(&self, presence: &mut Presence, inside: bool) -> Option<EventKind> {
        let motion = self.motion.filter(|motion| inside && motion.is_sure());
        let reports = motion.map(|motion| self.zone().reports_speed(motion.speed)).unwrap_or(Some(false));
        presence.moves(reports?, self.frames()).then_some(EventKind::Speed(motion?))
    }
}
