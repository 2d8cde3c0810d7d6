//! The latency that an element announces: what is known beforehand, and more if frames are measured to take longer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use gst::prelude::*;

use crate::caps;
use crate::sync::{Mutex, lock};
use crate::time::nanoseconds;

/// Frames that are measured together: only the slowest of them counts.
const WINDOW: u64 = 64;
/// Windows in a row that must have been faster before less is announced.
const WINDOWS: usize = 4;
/// No change of the announced latency is smaller: each makes the sinks of a live pipeline wait anew.
const LEAST: Duration = Duration::from_millis(1);

/// How long frames take in an element, from their arrival to the end of their run. What the element does not cause does not count: time
/// in PAUSED, and time that a frame waits to come in while the elements downstream block the frame before it.
///
/// Methods get the time as an argument.
#[derive(Debug, Default)]
pub(super) struct Delays(Mutex<Measured>);

#[derive(Debug, Default)]
struct Measured {
    /// Whether the element is in PAUSED, and whether a frame or an event is being pushed.
    paused: bool,
    pushing: bool,
    /// How long the element was in PAUSED; and how long it was in PAUSED or pushing.
    in_pause: Stopwatch,
    blocked: Stopwatch,
    /// The slowest frame of the window, and how many frames it has.
    slowest: Duration,
    frames: u64,
    /// The slowest frame of the windows that [`Delays::take_window`] has not returned yet.
    window: Option<Duration>,
}

/// How long a condition held, in all.
#[derive(Clone, Copy, Debug, Default)]
struct Stopwatch {
    before: Duration,
    since: Option<Instant>,
}

impl Stopwatch {
    fn run(&mut self, runs: bool, now: Instant) {
        if !runs {
            self.before = self.at(now);
            self.since = None;
        } else if self.since.is_none() {
            self.since = Some(now);
        }
    }

    fn at(&self, now: Instant) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// A frame that has arrived and waits to come in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    at: Instant,
    /// [`Measured::blocked`] of the element at that time.
    blocked: Duration,
}

/// A frame that is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    at: Instant,
    /// [`Measured::in_pause`] of the element at that time.
    in_pause: Duration,
    /// How long the frame has waited to come in, as far as that counts.
    waited: Duration,
}

impl Entry {
    /// How long the frame has been in.
    pub fn waited_until(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }
}

impl Delays {
    /// Starts anew, in PAUSED.
    pub fn reset(&self, now: Instant) {
        *lock(&self.0) = Measured::default();
        self.pause(true, now);
    }

    /// Forgets the frames so far: those that follow go through another model.
    pub fn forget(&self) {
        let mut measured = lock(&self.0);
        (measured.slowest, measured.frames, measured.window) = (Duration::ZERO, 0, None);
    }

    /// The element goes to PAUSED, or leaves it.
    pub fn pause(&self, paused: bool, now: Instant) {
        lock(&self.0).change(now, |measured| measured.paused = paused);
    }

    /// A frame or an event begins to be pushed, or has been.
    pub fn push(&self, pushing: bool, now: Instant) {
        lock(&self.0).change(now, |measured| measured.pushing = pushing);
    }

    /// A frame arrives.
    pub fn arrive(&self, now: Instant) -> Arrival {
        Arrival { at: now, blocked: lock(&self.0).blocked.at(now) }
    }

    /// The frame comes in.
    pub fn enter(&self, arrival: Arrival, now: Instant) -> Entry {
        let measured = lock(&self.0);
        let blocked = measured.blocked.at(now).saturating_sub(arrival.blocked);
        let waited = now.saturating_duration_since(arrival.at).saturating_sub(blocked);
        Entry { at: now, in_pause: measured.in_pause.at(now), waited }
    }

    /// The frame is done.
    pub fn finish(&self, entry: Entry, now: Instant) {
        let mut measured = lock(&self.0);
        let in_pause = measured.in_pause.at(now).saturating_sub(entry.in_pause);
        let inside = now.saturating_duration_since(entry.at).saturating_sub(in_pause);
        measured.add(entry.waited + inside);
    }

    /// How long the slowest frame took since this was last asked, once there were enough of them.
    pub fn take_window(&self) -> Option<Duration> {
        lock(&self.0).window.take()
    }
}

impl Measured {
    fn change(&mut self, now: Instant, change: impl FnOnce(&mut Self)) {
        change(self);
        self.in_pause.run(self.paused, now);
        self.blocked.run(self.paused || self.pushing, now);
    }

    fn add(&mut self, delay: Duration) {
        self.slowest = self.slowest.max(delay);
        self.frames += 1;
        if self.frames == WINDOW {
            self.window = self.window.max(Some(self.slowest));
            (self.slowest, self.frames) = (Duration::ZERO, 0);
        }
    }
}

/// What an element announces of its latency.
#[derive(Clone, Debug, Default)]
pub(super) struct Latency {
    /// What is known beforehand: how long a frame waits for others, a run that it may have to wait for, and its own run.
    known: Duration,
    /// The duration of the frames that the element can hold.
    room: gst::ClockTime,
    /// What is announced: how long a frame takes at most.
    own: Duration,
    /// How long the slowest frames of the latest windows took.
    slowest: VecDeque<Duration>,
}

/// What new caps change in the announced latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Nothing,
    /// How long frames may be held.
    Room,
    /// How long a frame takes: it goes through another model.
    Model,
}

impl Latency {
    /// The answer to a latency query: how long a frame takes at most, and how long frames may be held.
    pub fn announced(&self) -> (gst::ClockTime, gst::ClockTime) {
        let own = gst::ClockTime::from_nseconds(nanoseconds(self.own));
        (own, self.room.max(own))
    }

    /// What is known with the caps. Forgets what was measured of another model.
    pub fn know(&mut self, known: Duration, room: gst::ClockTime) -> Change {
        let other_room = std::mem::replace(&mut self.room, room) != room;
        if known != self.known {
            *self = Self { known, room, own: known, slowest: VecDeque::new() };
            return Change::Model;
        }
        if other_room { Change::Room } else { Change::Nothing }
    }

    /// The slowest frame of a window took that long. Returns whether something else is announced now.
    pub fn measure(&mut self, slowest: Duration) -> bool {
        self.slowest.push_back(slowest);
        let old = self.slowest.len().saturating_sub(WINDOWS);
        self.slowest.drain(..old);
        let longest = self.slowest.iter().max().copied().unwrap_or_default();
        // With a margin, so that it seldom changes.
        let wanted = self.known.max(longest + (longest / 4).max(LEAST));
        let shorter = self.slowest.len() == WINDOWS && wanted + (self.own / 4).max(LEAST) <= self.own;
        let changed = slowest > self.own || shorter;
        if changed {
            self.own = wanted;
        }
        changed
    }
}

/// How long `frames` frames last at the caps' frame rate; 0 where that is not known.
pub(super) fn duration(caps: &gst::CapsRef, frames: usize) -> gst::ClockTime {
    let Some([numer, denom]) = caps::frame_rate(caps) else { return gst::ClockTime::ZERO };
    let frames = u64::try_from(frames).unwrap_or(u64::MAX).saturating_mul(denom.into());
    let lasting = gst::ClockTime::SECOND.mul_div_floor(frames, numer.into());
    // Rates like one frame in years are not real.
    lasting.filter(|t| *t < 3600 * gst::ClockTime::SECOND).unwrap_or(gst::ClockTime::ZERO)
}

#[cfg(test)]
mod tests;
