//! An object and a polygon.

use std::sync::Arc;

use super::EventKind;
use super::clock::Moment;

/// Whether an object is in a polygon.
#[derive(Clone, Debug, Default)]
pub(super) struct Presence {
    /// Whether the object has been seen outside.
    was_outside: bool,
    /// The run of frames in which it was seen on the other side than it counts as being on.
    run: Option<Run>,
    /// Set while it counts as being inside.
    pub visit: Option<Visit>,
    /// The stay that the last visit belongs to.
    stay: Option<Staying>,
}

/// Visits with short breaks between them.
#[derive(Clone, Copy, Debug)]
struct Staying {
    /// How long the visits that have ended were together, in ns, where that is known.
    before: Option<u64>,
    /// When the last of them ended.
    until: Moment,
    /// Whether the event of a long stay has been reported.
    reported: bool,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    frames: u32,
    since: Moment,
}

/// A visit of an object in a polygon.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    since: Moment,
    /// When it was last seen inside, or first seen outside again.
    until: Moment,
    /// The class with which it entered.
    pub label: Arc<str>,
    /// Whether the event of a long visit has been reported.
    reported: bool,
    /// Frames in a row in which its speed was one that is reported; none where that has been reported.
    moving: Option<u32>,
}

impl Visit {
    /// How long it is until now, in ns, where that is known.
    pub fn dwell(&self) -> Option<u64> {
        self.until.known_since(self.since)
    }
}

/// A change of an object's presence.
#[derive(Debug)]
pub(super) enum Change {
    /// It is inside, since this moment; `appeared` if it was so when it was seen first. Call [`Presence::begin`] then.
    Enters { since: Moment, appeared: bool },
    /// It is outside.
    Leaves(Visit),
}

impl Presence {
    /// Takes in that the object is seen inside or not, `far` from the outline or not; if its class does not count, it does not
    /// enter.
    pub fn see(&mut self, now: Moment, inside: bool, far: bool, counts: bool, frames: u32) -> Option<Change> {
        if let Some(visit) = &mut self.visit {
            if inside {
                (visit.until, self.run) = (now, None);
                return None;
            }
            let run = count(&mut self.run, now);
            visit.until = run.since;
            return if far && run.frames >= frames { self.lose().map(Change::Leaves) } else { None };
        }
        if !inside || !counts {
            self.was_outside |= !inside;
            self.run = None;
            return None;
        }
        let run = count(&mut self.run, now);
        (run.frames >= frames).then_some(Change::Enters { since: run.since, appeared: !self.was_outside })
    }

    /// Begins a visit, and a stay, unless the last one ended no longer than `patience` ago.
    pub fn begin(&mut self, since: Moment, now: Moment, patience: u64, label: Arc<str>) {
        self.stay = self.stay.filter(|stay| since.since(stay.until) <= patience);
        self.stay.get_or_insert(Staying { before: Some(0), until: now, reported: false });
        let visit = Visit { since, until: now, label, reported: false, moving: Some(0) };
        (self.visit, self.run) = (Some(visit), None);
    }

    /// The event of a visit of at least `long` ns, once.
    pub fn dwells(&mut self, long: u64) -> Option<EventKind> {
        let visit = self.visit.as_mut()?;
        let dwell = visit.dwell().filter(|dwell| *dwell >= long && !visit.reported)?;
        visit.reported = true;
        Some(EventKind::Dwell { dwell })
    }

    /// The event of a stay of at least `long` ns, once.
    pub fn loiters(&mut self, long: u64) -> Option<EventKind> {
        let (visit, stay) = (self.visit.as_ref()?, self.stay.as_mut()?);
        let dwell = stay.before?.saturating_add(visit.dwell()?);
        if dwell < long || std::mem::replace(&mut stay.reported, true) {
            return None;
        }
        Some(EventKind::Loiter { dwell })
    }

    /// Takes in whether the object moves at a speed that is reported; true if it has done so for that many frames in a row, once a
    /// visit.
    pub fn moves(&mut self, so: bool, frames: u32) -> bool {
        let Some(count) = self.visit.as_mut().and_then(|visit| visit.moving.as_mut()) else { return false };
        *count = if so { count.saturating_add(1) } else { 0 };
        let moves = *count >= frames;
        if let Some(visit) = self.visit.as_mut().filter(|_| moves) {
            visit.moving = None;
        }
        moves
    }

    /// Takes in that the object is lost; returns the visit that this ends.
    pub fn lose(&mut self) -> Option<Visit> {
        (self.was_outside, self.run) = (true, None);
        if let (Some(visit), Some(stay)) = (&self.visit, &mut self.stay) {
            stay.before = stay.before.zip(visit.dwell()).map(|(before, dwell)| before.saturating_add(dwell));
            stay.until = visit.until;
        }
        self.visit.take()
    }
}

fn count(run: &mut Option<Run>, now: Moment) -> Run {
    let run = run.get_or_insert(Run { frames: 0, since: now });
    run.frames = run.frames.saturating_add(1);
    *run
}
