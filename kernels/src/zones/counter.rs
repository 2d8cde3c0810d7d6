//! All objects and all zones of a stream.

use std::collections::HashMap;
use std::sync::Arc;

use super::clock::{Clock, Moment};
use super::positions::{GroundPosition, Positions};
use super::totals::Totals;
use super::view::{Now, PlacedZone, View, ZoneState};
use super::{Event, EventKind, FrameTime, Sighting, Stay, Units, Zone, ZoneError, ZoneKind, ZoneParams};

/// The events and stays of a frame.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The events, those of lost objects last.
    pub events: Vec<Event>,
    /// The polygons that each of the frame's objects is in.
    pub stays: Vec<Vec<Stay>>,
    /// Where each of the frame's objects is in the world, where that is known.
    pub positions: Vec<Option<GroundPosition>>,
}

/// Counts what the objects of a stream do in its zones.
///
/// Its memory is bounded by the objects that were seen within `patience`, and the classes' names.
#[derive(Clone, Debug)]
pub struct Counter {
    params: ZoneParams,
    zones: Vec<PlacedZone>,
    /// Width and height; 0 while they are not known.
    frame: [f64; 2],
    /// The duration of frames by their caps.
    usual: Option<u64>,
    clock: Clock,
    frames: u64,
    tracks: HashMap<u64, Track>,
    positions: Positions,
    report: Report,
}

#[derive(Clone, Debug)]
struct Track {
    seen: Moment,
    /// The number of the frame in which it was seen last.
    frame: u64,
    label: Arc<str>,
    /// The object's state in each zone.
    states: Vec<Option<ZoneState>>,
}

impl Counter {
    /// A counter that has seen nothing yet.
    ///
    /// # Errors
    /// Parameters that cannot be used.
    pub fn new(params: ZoneParams) -> Result<Self, ZoneError> {
        params.check()?;
        let mut counter = Self {
            zones: vec![PlacedZone::default(); params.zones.len()],
            params,
            frame: [0.0; 2],
            usual: None,
            clock: Clock::default(),
            frames: 0,
            tracks: HashMap::new(),
            positions: Positions::default(),
            report: Report::default(),
        };
        counter.survey();
        Ok(counter)
    }

    /// The parameters.
    pub fn params(&self) -> &ZoneParams {
        &self.params
    }

    /// A zone's outline, or its ends, in frame pixels.
    pub fn points(&self, zone: usize) -> &[[f64; 2]] {
        self.zones.get(zone).map_or(&[], |placed| &placed.points)
    }

    /// The outlines of a polygon's holes, in frame pixels.
    pub fn holes(&self, zone: usize) -> &[Vec<[f64; 2]>] {
        self.zones.get(zone).map_or(&[], |placed| &placed.holes)
    }

    /// The last report of [`Counter::update`].
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The counts of a zone.
    pub fn totals(&self, zone: usize) -> Option<&Totals> {
        self.zones.get(zone).map(|placed| &placed.totals)
    }

    /// Identities that are remembered: those that were seen within `patience`.
    pub fn remembered(&self) -> usize {
        self.tracks.len()
    }

    /// From now on frames have another size, in pixels, and this duration, in ns, where they have none of their own. Objects
    /// that are inside stay so until the next frame shows otherwise; none crosses a line between two frames of different sizes.
    pub fn set_frame(&mut self, size: [usize; 2], duration: Option<u64>) {
        let size = size.map(|v| v as f64);
        self.usual = duration;
        if size == self.frame {
            return;
        }
        let old = std::mem::replace(&mut self.frame, size);
        self.survey();
        let ratio = [size[0] / old[0], size[1] / old[1]];
        let scales = self.params.units == Units::Fraction && ratio.iter().all(|r| r.is_finite() && *r > 0.0);
        for place in self.tracks.values_mut().flat_map(|track| &mut track.states) {
            if let Some(ZoneState::Line(side)) = place {
                side.last = [side.last[0] * ratio[0], side.last[1] * ratio[1]];
                if !scales {
                    *place = None;
                }
            }
        }
    }

    /// Takes other parameters. Zones that are in both keep their states and counts. Where another point of the objects counts
    /// from now on, no object crosses a line between the last frame and the next.
    ///
    /// # Errors
    /// Parameters that cannot be used; then nothing changes.
    pub fn replace(&mut self, params: ZoneParams) -> Result<(), ZoneError> {
        params.check()?;
        let same_units = params.units == self.params.units;
        let old_place =
            |zone: &Zone| self.params.zones.iter().position(|old| old == zone).filter(|_| same_units);
        let from: Vec<_> = params.zones.iter().map(old_place).collect();
        self.zones =
            from.iter().map(|old| old.map_or_else(PlacedZone::default, |i| self.zones[i].clone())).collect();
        let same_anchor = params.anchor == self.params.anchor;
        for track in self.tracks.values_mut() {
            track.states = from.iter().map(|old| old.and_then(|i| track.states[i].clone())).collect();
            for (place, zone) in track.states.iter_mut().zip(&params.zones) {
                // An object in a polygon stays so until the next frames show otherwise: it counts in the occupancy.
                if !same_anchor && zone.anchor.is_none() && matches!(place, Some(ZoneState::Line(_))) {
                    *place = None;
                }
            }
        }
        self.params = params;
        self.survey();
        Ok(())
    }

    /// Begins a new stream: nothing has been seen, nothing counted.
    pub fn reset(&mut self) {
        self.tracks.clear();
        self.positions.reset();
        (self.clock, self.frames) = (Clock::default(), 0);
        for placed in &mut self.zones {
            (placed.totals, placed.full) = (Totals::default(), false);
            placed.shown.clear();
        }
    }

    /// Resets the counts. Objects that are inside stay inside.
    pub fn clear(&mut self) {
        self.zones.iter_mut().for_each(|placed| placed.totals.clear());
    }

    /// Places the zones on frames of their current size.
    fn survey(&mut self) {
        let scale = if self.params.units == Units::Fraction { self.frame } else { [1.0; 2] };
        for (zone, placed) in self.params.zones.iter().zip(&mut self.zones) {
            let points = zone.outline().into_iter();
            let place = |p: [f64; 2]| [p[0] * scale[0], p[1] * scale[1]];
            placed.points = points.map(place).collect();
            placed.holes =
                zone.hole_outlines().into_iter().map(|hole| hole.into_iter().map(place).collect()).collect();
            placed.numbers = zone.classes.iter().filter_map(|class| class.parse().ok()).collect();
        }
        self.positions.survey(self.params.ground.as_ref(), self.params.units, self.frame);
    }

    /// Takes in the next frame with its objects, and returns what these have done since the previous one. Objects whose box is
    /// not finite count as not seen, and so does the second of two with the same identity.
    pub fn update(&mut self, time: FrameTime, objects: &[Sighting<'_>]) -> &Report {
        self.frames += 1;
        let now = Now { moment: self.clock.advance(time, self.usual), size: self.frame };
        self.report.events.clear();
        self.report.stays.clear();
        self.report.stays.resize(objects.len(), Vec::new());
        for placed in &mut self.zones {
            let shown = std::mem::take(&mut placed.shown);
            shown.iter().for_each(|label| placed.totals.hide(label));
        }
        self.report.positions = self.positions.update(now, self.frames, objects, self.params.patience);
        for (index, object) in objects.iter().enumerate() {
            let rect = [object.rect.x, object.rect.y, object.rect.w, object.rect.h];
            if rect.iter().any(|v| !v.is_finite()) {
                continue;
            }
            match object.id {
                Some(id) => self.follow(now, index, id, object),
                None if self.params.untracked => self.show(now, index, object),
                None => {}
            }
        }
        self.lose(now);
        self.watch();
        &self.report
    }

    /// Takes in an object with an identity.
    fn follow(&mut self, now: Now, index: usize, id: u64, object: &Sighting<'_>) {
        let zones = self.zones.len();
        let track = self.tracks.entry(id).or_insert_with(|| Track {
            seen: now.moment,
            frame: 0,
            label: object.label.into(),
            states: vec![None; zones],
        });
        if track.frame == self.frames {
            return;
        }
        (track.seen, track.frame) = (now.moment, self.frames);
        if *track.label != *object.label {
            track.label = object.label.into();
        }
        let motion = self.report.positions.get(index).and_then(|position| position.as_ref()?.motion);
        for (zone, place) in track.states.iter_mut().enumerate() {
            let view = View { now, params: &self.params, zone, object, motion };
            let placed = &mut self.zones[zone];
            let mut tell = |what, label, occupancy| {
                self.report.events.push(Event {
                    zone,
                    what,
                    object: Some(index),
                    id: Some(id),
                    label,
                    occupancy,
                });
            };
            match place.get_or_insert_with(|| view.first_state(placed)) {
                ZoneState::Line(side) => {
                    if let Some(direction) = view.line(placed, side) {
                        let label = placed.totals.cross(object.label, direction);
                        tell(EventKind::Cross(direction), label, 0);
                    }
                }
                ZoneState::Polygon(presence) => {
                    view.polygon(placed, presence, &mut tell);
                    if let Some(visit) = &presence.visit {
                        self.report.stays[index].push(Stay { zone, dwell: visit.dwell() });
                    }
                }
            }
        }
    }

    /// Takes in an object without an identity.
    fn show(&mut self, now: Now, index: usize, object: &Sighting<'_>) {
        for (zone, placed) in self.zones.iter_mut().enumerate() {
            let view = View { now, params: &self.params, zone, object, motion: None };
            let polygon = view.zone().kind == ZoneKind::Polygon;
            if polygon && view.counts(placed) && placed.contains(view.anchor().0) {
                placed.shown.push(placed.totals.show(object.label));
                self.report.stays[index].push(Stay { zone, dwell: None });
            }
        }
    }

    /// Drops the objects that have not been seen for too long.
    fn lose(&mut self, now: Now) {
        let patience = self.params.patience;
        let late = |track: &Track| now.moment.since(track.seen) > patience;
        let mut lost: Vec<_> = self.tracks.iter().filter(|(_, t)| late(t)).map(|(id, _)| *id).collect();
        lost.sort_unstable();
        for id in lost {
            let Some(track) = self.tracks.remove(&id) else { continue };
            for (zone, place) in track.states.into_iter().enumerate() {
                let totals = &mut self.zones[zone].totals;
                let frames = self.params.zones[zone].inertia.unwrap_or(self.params.min_frames);
                let (what, label) = match place {
                    Some(ZoneState::Line(mut side)) => {
                        let Some(direction) = side.lose(frames) else { continue };
                        (EventKind::Cross(direction), totals.cross(&track.label, direction))
                    }
                    Some(ZoneState::Polygon(mut presence)) => {
                        let Some(visit) = presence.lose() else { continue };
                        totals.leave(&visit.label, visit.dwell());
                        (EventKind::Leave { vanished: true, dwell: visit.dwell() }, visit.label)
                    }
                    None => continue,
                };
                let occupancy = totals.all.occupancy;
                self.report.events.push(Event { zone, what, object: None, id: Some(id), label, occupancy });
            }
        }
    }

    /// Reports which zones have reached their occupancy or fallen below it.
    fn watch(&mut self) {
        for (zone, (placed, asked)) in self.zones.iter_mut().zip(&self.params.zones).enumerate() {
            let occupancy = placed.totals.all.occupancy;
            let reached = asked.occupancy.is_some_and(|most| occupancy >= most);
            if std::mem::replace(&mut placed.full, reached) != reached {
                let what = EventKind::Occupancy { reached };
                let label = "".into();
                self.report.events.push(Event { zone, what, object: None, id: None, label, occupancy });
            }
        }
    }
}
