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
//! - A *hole* of a polygon does not belong to it. Its edges have the same rule, so that its left and upper ones are outside.
//! - A *stay* is one visit, or several with breaks of at most `patience`, whose lengths are added up.
//!
//! # The world
//! With [`ZoneParams::ground`], each object has the place where its box touches the ground, in metres, and a tracked one the speed that
//! [`crate::ground::MotionFilter`] makes of its places ([`Report::positions`]). An object has none
//! - where the frame's border cuts off what touches the ground: the box ends within a pixel of it;
//! - above the horizon;
//! - if it was found within another object, as a plate in a car is: it does not stand on the ground.
//!
//! A box is taken to be off by 2 % of its width and height, and at least half a pixel (standard deviations); what that is in metres
//! depends on where it is. Of a box that is only expected (`carried`) the place is there, but its speed stays what it was.

mod clock;
mod counter;
pub(crate) mod geometry;
mod line;
mod outline;
mod params;
mod polygon;
mod positions;
#[cfg(test)]
mod tests;
mod totals;
mod view;

use std::sync::Arc;

pub use counter::{Counter, Report};
pub use outline::OutlineError;
pub use params::{Anchor, GroundParams, Units, Zone, ZoneError, ZoneKind, ZoneParams};
pub use positions::{GroundPosition, Nearest};
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sighting<'a> {
    /// Its identity; objects without one are only counted by [`ZoneParams::untracked`].
    pub id: Option<u64>,
    /// The class's name.
    pub label: &'a str,
    /// The class's number.
    pub class: Option<u32>,
    /// Its box in frame pixels.
    pub rect: crate::geometry::Rect,
    /// Whether the box is where a tracker expects it, and no detector has looked.
    pub carried: bool,
    /// Whether it was found within another object, and so does not stand on the ground.
    pub within_another: bool,
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
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// An object has stayed in a polygon for the zone's `loitering`; once a stay.
    Loiter {
        /// How long it is, without breaks, in ns.
        dwell: u64,
    },
    /// An object in a polygon has moved at a speed between the zone's `min_speed` and `max_speed`, for as many frames as make an event;
    /// once a visit.
    Speed(crate::ground::Motion),
    /// As many objects as the zone's `occupancy` are in a polygon, or no longer.
    Occupancy {
        /// Whether it has been reached.
        reached: bool,
    },
}

/// An event of a zone.
#[derive(Clone, Debug, PartialEq)]
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
