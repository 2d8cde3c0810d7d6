//! Zones and lines: which objects are where, which came and went, and which crossed a line in which direction.
//!
//! A [`Counter`] gets the time of each frame and the positions of the objects with identities, and returns what happened. Only
//! one point of an object counts, its [`Anchor`].
//!
//! # What counts
//! - A *polygon* may be concave. Its outline has the rule of pixels: left and upper edges belong to it, right and lower ones
//!   do not. So of two zones that share an edge, exactly one has a point on it. An anchor at or beyond the frame's border counts
//!   as half a pixel inside it.
//! - A *line* leads from its first point to its second. Seen in that direction, `in` crossings come from the left and `out`
//!   crossings from the right. An object crosses if its anchor's way, straight from frame to frame, passes between
//!   the line's ends. The line itself belongs to its right side; its first point belongs to the line, the second does not. So a
//!   way through the end that two lines share crosses one of them, and a way cut into pieces crosses as often as the whole.
//! - *Jitter* does not count: an object enters, leaves or crosses when it has been on the other side for `min_frames` frames in a
//!   row, and leaves or crosses only when it is `margin` away then.
//! - *Lost* objects keep their position for `patience`: an object that returns in that time counts as having gone straight to its
//!   new place. Others leave the zones that they were in, as of when they were last seen, and are forgotten.
//! - An object keeps the class with which it entered until it leaves.

mod clock;
mod counter;
mod geometry;
mod line;
mod params;
mod polygon;
#[cfg(test)]
mod tests;
mod totals;
mod view;

use std::sync::Arc;

pub use counter::{Counter, Report};
pub use params::{Anchor, Units, Zone, ZoneError, ZoneKind, ZoneParams};
pub use totals::{Counts, Totals};

/// The times of a frame, as far as they are known, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTime {
    /// Presentation time.
    pub pts: Option<u64>,
    /// How long it is shown.
    pub duration: Option<u64>,
}

/// An object in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting<'a> {
    /// Its identity; objects without one are only counted by [`ZoneParams::untracked`].
    pub id: Option<u64>,
    /// The class's name.
    pub label: &'a str,
    /// The class's number.
    pub class: Option<u32>,
    /// Its box in frame pixels.
    pub rect: crate::geometry::Rect,
}

/// The direction of a crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the line's left to its right, as seen walking from its first point to its second.
    In,
    /// From the right to the left.
    Out,
}

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An object is in a polygon now.
    Enter {
        /// Whether it was in there when it was seen first.
        appeared: bool,
    },
    /// An object is no longer in a polygon.
    Leave {
        /// Whether it was lost in there.
        vanished: bool,
        /// How long it was inside, in ns, where times are known.
        dwell: Option<u64>,
    },
    /// An object has crossed a line.
    Cross(Direction),
    /// An object has been in a polygon for the zone's `dwell`; once a visit.
    Dwell {
        /// How long it is, in ns.
        dwell: u64,
    },
    /// As many objects as the zone's `occupancy` are in a polygon, or no longer.
    Occupancy {
        /// Whether it has been reached.
        reached: bool,
    },
}

/// An event of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Index of the zone among [`ZoneParams::zones`].
    pub zone: usize,
    /// The kind of event.
    pub what: EventKind,
    /// Index of the object among the frame's; none where it is of no object, or of one that is not in the frame.
    pub object: Option<usize>,
    /// The object's identity.
    pub id: Option<u64>,
    /// Its class; empty where the event is of no object.
    pub label: Arc<str>,
    /// Objects in the zone after the event.
    pub occupancy: u32,
}

/// A zone that an object is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Index of the zone among [`ZoneParams::zones`].
    pub zone: usize,
    /// How long it has been inside, in ns, where times and its identity are known.
    pub dwell: Option<u64>,
}
