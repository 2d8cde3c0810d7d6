//! The counts of a zone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Direction;

/// The counts of all objects, or of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Objects in the polygon now.
    pub occupancy: u32,
    /// Objects that came into the polygon.
    pub entered: u64,
    /// Objects that left it.
    pub left: u64,
    /// Crossings of the line from left to right.
    pub crossed_in: u64,
    /// Crossings from right to left.
    pub crossed_out: u64,
}

/// The counts of a zone since the stream's start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The counts of all objects.
    pub all: Counts,
    /// The counts by the classes' names, without classes of which none was counted.
    pub classes: BTreeMap<Arc<str>, Counts>,
    /// The longest visit that has ended, in ns.
    pub longest_dwell: Option<u64>,
    /// The visits that have ended and whose dwell is known: how many they are, and their sum in ns.
    visits: (u64, u64),
}

impl Totals {
    /// The mean of the visits that have ended, in ns; none where there is none.
    pub fn mean_dwell(&self) -> Option<u64> {
        self.visits.1.checked_div(self.visits.0)
    }

    pub(super) fn enter(&mut self, label: &str) -> Arc<str> {
        self.change(label, |counts| {
            counts.entered += 1;
            counts.occupancy += 1;
        })
    }

    pub(super) fn leave(&mut self, label: &str, dwell: Option<u64>) {
        self.change(label, |counts| {
            counts.left += 1;
            counts.occupancy = counts.occupancy.saturating_sub(1);
        });
        if let Some(dwell) = dwell {
            self.longest_dwell = self.longest_dwell.max(Some(dwell));
            self.visits = (self.visits.0 + 1, self.visits.1.saturating_add(dwell));
        }
    }

    pub(super) fn cross(&mut self, label: &str, direction: Direction) -> Arc<str> {
        self.change(label, |counts| match direction {
            Direction::In => counts.crossed_in += 1,
            Direction::Out => counts.crossed_out += 1,
        })
    }

    /// Counts an object without an identity in this frame's occupancy.
    pub(super) fn show(&mut self, label: &str) -> Arc<str> {
        self.change(label, |counts| counts.occupancy += 1)
    }

    /// Takes it out of the occupancy before the next frame.
    pub(super) fn hide(&mut self, label: &str) {
        self.change(label, |counts| counts.occupancy = counts.occupancy.saturating_sub(1));
    }

    /// Resets all counts but the occupancy.
    pub(super) fn clear(&mut self) {
        let keep =
            |counts: &mut Counts| *counts = Counts { occupancy: counts.occupancy, ..Counts::default() };
        keep(&mut self.all);
        self.classes.values_mut().for_each(keep);
        self.classes.retain(|_, counts| *counts != Counts::default());
        (self.longest_dwell, self.visits) = (None, (0, 0));
    }

    /// Changes the counts of all objects and of a class; returns the class's name.
    fn change(&mut self, label: &str, change: impl Fn(&mut Counts)) -> Arc<str> {
        change(&mut self.all);
        if let Some((label, _)) = self.classes.get_key_value(label) {
            let label = label.clone();
            self.classes.entry(label.clone()).and_modify(change);
            return label;
        }
        let label: Arc<str> = label.into();
        change(self.classes.entry(label.clone()).or_default());
        label
    }
}
