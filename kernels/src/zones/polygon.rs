//! An object and a polygon.

use std::sync::Arc;

use super::clock::Moment;

/// Whether an object is in a polygon.
#[derive(Clone, Debug, Default)]
pub(super) struct Presence {
    /// Whether it has been seen outside.
    was_outside: bool,
    /// The run of frames in which it has been seen on the other side than the one it counts as being on.
    run: Option<Run>,
    /// While it counts as being inside.
    pub visit: Option<Visit>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    frames: u32,
    since: Moment,
}

/// A time in a polygon.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    since: Moment,
    /// When it was seen inside last, or not any more first.
    until: Moment,
    /// The class that it came with.
    pub label: Arc<str>,
    /// Whether the event that it is long has been reported.
    pub reported: bool,
}

impl Visit {
    /// How long it is until now, in ns, where that is known.
    pub fn dwell(&self) -> Option<u64> {
        self.until.known_since(self.since)
    }
}

/// What has become of an object.
#[derive(Debug)]
pub(super) enum Change {
    /// It is inside, since then; whether it was when it was seen first. [`Presence::begin`] the visit.
    Enters { since: Moment, appeared: bool },
    /// It is outside.
    Leaves(Visit),
}

impl Presence {
    /// The object is seen inside or not, `far` from the outline or not; if its class does not count, it does not come in.
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

    /// A visit begins.
    pub fn begin(&mut self, since: Moment, now: Moment, label: Arc<str>) {
        (self.visit, self.run) = (Some(Visit { since, until: now, label, reported: false }), None);
    }

    /// The object is no longer there; the visit that ends thereby.
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
