//! A frame, and when it was.

use super::clock::WallTime;

/// A frame of a stream, and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Its number, from 0.
    pub frame: u64,
    /// Its presentation time in ns.
    pub pts: Option<u64>,
    /// Its place in the medium, in ns: what players show as the position.
    pub stream_time: Option<u64>,
    /// When it was taken.
    pub wall: WallTime,
}

impl Moment {
    /// The time between two, in ns: the stream's, where it is known.
    pub fn apart(&self, other: &Self) -> u64 {
        match (self.pts, other.pts) {
            (Some(one), Some(two)) => one.abs_diff(two),
            _ => self.wall.ns.abs_diff(other.wall.ns),
        }
    }
}

#[cfg(test)]
impl Moment {
    pub fn for_test(frame: u64, pts: Option<u64>) -> Self {
        Self { frame, pts, stream_time: pts, wall: WallTime { ns: 0, clock: super::clock::Clock::Arrival } }
    }

    pub fn at(mut self, ns: u64) -> Self {
        self.wall.ns = ns;
        self
    }
}
