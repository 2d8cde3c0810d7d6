//! How late the frames of a live source are: by how much the running time is beyond theirs.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use gst::ClockTime;
use gst::prelude::*;

use crate::sync::lock;

/// Frames that are later than this are too late for who watches.
const TOO_LATE: ClockTime = ClockTime::SECOND;
/// A pipeline that starts is late for a while, as one is whose model is warmed up.
const ALLOWED: Duration = Duration::from_secs(5);
/// The same warning comes once in this time.
const WARNED_AGAIN: Duration = Duration::from_secs(60);

/// How late the frames at a pad are.
#[derive(Debug, Default)]
pub(crate) struct Lag {
    /// Whether the source is live; none until it was asked.
    live: Mutex<Option<bool>>,
    watch: Mutex<Watch>,
}

impl Lag {
    /// Takes an event of the pad in: another source may begin.
    pub fn see(&self, event: &gst::EventRef) {
        if matches!(event.type_(), gst::EventType::StreamStart | gst::EventType::Segment) {
            *lock(&self.live) = None;
        }
    }

    /// How long ago a frame at the pad was due; none if its source is not live, or times are not known.
    pub fn of(&self, pad: &gst::Pad, frame: &gst::BufferRef) -> Option<ClockTime> {
        let known = *lock(&self.live);
        // No lock is held while others answer.
        let live = known.unwrap_or_else(|| is_live(pad));
        *lock(&self.live) = Some(live);
        if !live {
            return None;
        }
        let now = pad.parent_element()?.current_running_time()?;
        let segment = pad.sticky_event::<gst::event::Segment>(0)?;
        let due = segment.segment().downcast_ref::<ClockTime>()?.to_running_time(frame.pts()?)?;
        Some(now.saturating_sub(due))
    }

    /// Whether it must be said that frames are that late: where they have been for some seconds, and once a minute.
    pub fn is_doubtful(&self, lag: ClockTime, now: Instant) -> bool {
        lock(&self.watch).see(lag > TOO_LATE, now)
    }
}

fn is_live(pad: &gst::Pad) -> bool {
    let mut query = gst::query::Latency::new();
    pad.peer_query(&mut query) && query.result().0
}

#[derive(Debug, Default)]
struct Watch {
    late_since: Option<Instant>,
    warned: Option<Instant>,
}

impl Watch {
    fn see(&mut self, late: bool, now: Instant) -> bool {
        if !late {
            self.late_since = None;
            return false;
        }
        let since = *self.late_since.get_or_insert(now);
        let is_due = self.warned.is_none_or(|warned| now.duration_since(warned) >= WARNED_AGAIN);
        let warns = is_due && now.duration_since(since) >= ALLOWED;
        if warns {
            self.warned = Some(now);
        }
        warns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_stay_late_are_doubted_once_a_minute() {
        let (mut watch, begin) = (Watch::default(), Instant::now());
        let doubted: Vec<u64> = (0..200)
            .filter(|second| {
                // In time again for one frame, at 100 s.
                let late = *second >= 2 && *second != 100;
                watch.see(late, begin + Duration::from_secs(*second))
            })
            .collect();
        assert_eq!(doubted, [7, 67, 127, 187]);
    }
}
