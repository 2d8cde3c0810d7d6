//! One object and one zone in one frame.

use std::sync::Arc;

use super::clock::Moment;
use super::geometry::{Point, contains, distance_to_outline};
use super::line::{LineState, Rule};
use super::polygon::{Change, Presence};
use super::totals::Totals;
use super::{Direction, EventKind, Sighting, Zone, ZoneKind, ZoneParams};

/// A zone placed on a frame, and its counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    /// The zone's points in frame pixels.
    pub(super) points: Vec<Point>,
    /// The classes that are given as numbers.
    pub(super) numbers: Vec<u32>,
    pub(super) totals: Totals,
    /// The classes of the objects without an identity that were in it in the last frame.
    pub(super) shown: Vec<Arc<str>>,
    /// Whether it was reported that the zone's occupancy is reached.
    pub(super) full: bool,
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
    pub(super) fn counts(&self, ground: &Ground) -> bool {
        let classes = &self.zone().classes;
        classes.is_empty()
            || classes.iter().any(|class| class == self.object.label)
            || self.object.class.is_some_and(|class| ground.numbers.contains(&class))
    }

    /// How many pixels beyond an edge it must be; none at the frame's border, where it can get no further.
    pub(super) fn margin(&self, border: bool) -> Option<f64> {
        let side = self.object.rect.w.max(self.object.rect.h).max(0.0);
        (!border).then_some(self.params.margin * f64::from(side))
    }

    pub(super) fn first_state(&self, ground: &Ground) -> ZoneState {
        match (self.zone().kind, ground.points[..].try_into()) {
            (ZoneKind::Line, Ok(line)) => ZoneState::Line(LineState::new(line, self.anchor().0)),
            _ => ZoneState::Polygon(Presence::default()),
        }
    }

    pub(super) fn line(&self, ground: &Ground, state: &mut LineState) -> Option<Direction> {
        let (at, border) = self.anchor();
        let rule =
            Rule { frames: self.params.min_frames, margin: self.margin(border), counts: self.counts(ground) };
        state.see(ground.points[..].try_into().ok()?, at, rule)
    }

    pub(super) fn polygon(
        &self,
        ground: &mut Ground,
        presence: &mut Presence,
        tell: &mut impl FnMut(EventKind, Arc<str>, u32),
    ) {
        let (at, border) = self.anchor();
        let (now, frames) = (self.now.moment, self.params.min_frames);
        let inside = contains(&ground.points, at);
        let far = || self.margin(border).is_none_or(|m| distance_to_outline(&ground.points, at) >= m);
        let far = !inside && far();
        match presence.see(now, inside, far, self.counts(ground), frames) {
            Some(Change::Enters { since, appeared }) => {
                let label = ground.totals.enter(self.object.label);
                presence.begin(since, now, label.clone());
                tell(EventKind::Enter { appeared }, label, ground.totals.all.occupancy);
            }
            Some(Change::Leaves(visit)) => {
                let dwell = visit.dwell();
                ground.totals.leave(&visit.label, dwell);
                tell(EventKind::Leave { vanished: false, dwell }, visit.label, ground.totals.all.occupancy);
            }
            None => {}
        }
        let Some((visit, long)) = presence.visit.as_mut().zip(self.zone().dwell) else { return };
        if let Some(dwell) = visit.dwell().filter(|dwell| *dwell >= long && !visit.reported) {
            visit.reported = true;
            tell(EventKind::Dwell { dwell }, visit.label.clone(), ground.totals.all.occupancy);
        }
    }
}
