//! An object and a polygon.

use std::sync::Arc;

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
    pub reported: bool,
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

    /// Begins a visit.
    pub fn begin(&mut self, since: Moment, now: Moment, label: Arc<str>) {
        (self.visit, self.run) = (Some(Visit { since, until: now, label, reported: false }), None);
    }

    /// Takes in that the object is lost; returns the visit that this ends.
    pub fn lose(&mut self) -> Option<Visit> {
        (self.was_outside, self.run) = (true, None);
        self.visit.take()
    }
}

fn count(run: &mut Option<Run>, now: Moment) -> Run {
    let run = run.get_or_insert(Run { frames: 0, since: now });
    run.frames = run.frames.saturating_add(1);
    *run
}
