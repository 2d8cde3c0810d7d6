//! When a frame was taken, by the wall clock.

use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::nanoseconds;

const SECOND: u64 = 1_000_000_000;
/// From NTP's epoch, the start of 1900, to Unix', the start of 1970.
const NTP_TO_UNIX: u64 = 2_208_988_800 * SECOND;
/// PTP counts atomic time, which has been so far ahead of UTC since 2017.
const TAI_AHEAD: u64 = 37 * SECOND;

/// Who says when a frame was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Clock {
    /// A `GstReferenceTimestampMeta` with `timestamp/x-unix`.
    Unix,
    /// One with `timestamp/x-ptp`.
    Ptp,
    /// One with `timestamp/x-ntp`, which rtpjitterbuffer makes of the sender's reports.
    Ntp,
    /// Nobody: it is the time at which the frame came from its live source, or to the element.
    Arrival,
}

impl Clock {
    /// Those that a buffer may carry, the one that is taken first comes first.
    const REFERENCES: [(Self, &str); 3] =
        [(Self::Unix, "timestamp/x-unix"), (Self::Ptp, "timestamp/x-ptp"), (Self::Ntp, "timestamp/x-ntp")];

    /// A count of ns since the clock's epoch as one since Unix'; none where it is before that, as are clocks that count from
    /// the start of something else.
    fn unix(self, ns: u64) -> Option<u64> {
        match self {
            Self::Unix | Self::Arrival => Some(ns),
            Self::Ptp => ns.checked_sub(TAI_AHEAD),
            Self::Ntp => ns.checked_sub(NTP_TO_UNIX),
        }
    }
}

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WallTime {
    /// Ns since the start of 1970, UTC.
    pub ns: u64,
    /// Who stated the time.
    pub clock: Clock,
}

impl WallTime {
    /// When the frame was taken, as far as the buffer says it; else when it has arrived.
    pub fn of(buffer: &gst::BufferRef, arrived: SystemTime) -> Self {
        let of_reference = |(clock, name): (Clock, &str)| {
            let metas = buffer.iter_meta::<gst::ReferenceTimestampMeta>();
            let mut of_clock =
                metas.filter(|meta| meta.reference().structure(0).is_some_and(|s| s.name() == name));
            let ns = clock.unix(of_clock.next()?.timestamp().nseconds())?;
            date(ns).map(|_| Self { ns, clock })
        };
        Clock::REFERENCES.into_iter().find_map(of_reference).unwrap_or_else(|| Self {
            // A machine whose clock is set before 1970 has no better word for it.
            ns: arrived.duration_since(UNIX_EPOCH).map_or(0, nanoseconds),
            clock: Clock::Arrival,
        })
    }

    /// As RFC 3339 has it, in UTC, to the microsecond.
    pub fn microseconds(self) -> String {
        format!("{}.{:06}Z", date(self.ns).unwrap_or_default(), self.ns % SECOND / 1000)
    }

    /// The same to the millisecond.
    pub fn milliseconds(self) -> String {
        format!("{}.{:03}Z", date(self.ns).unwrap_or_default(), self.ns % SECOND / 1_000_000)
    }
}

/// Date and time to the second; none from the year 10000 on, which GLib does not know.
fn date(ns: u64) -> Option<String> {
    let seconds = i64::try_from(ns / SECOND).ok()?;
    let date = glib::DateTime::from_unix_utc(seconds).ok()?.format("%Y-%m-%dT%H:%M:%S").ok()?;
    Some(date.into())
}

/// When a frame has come to the element, and how long before it came from its source, if that is live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: SystemTime,
    pub lag: Option<gst::ClockTime>,
}

impl Arrival {
    /// When the frame was taken, and its lag in ns.
    pub fn of(self, buffer: &gst::BufferRef) -> (WallTime, Option<u64>) {
        (WallTime::of(buffer, self.left_source()), self.lag.map(gst::ClockTime::nseconds))
    }

    /// When the frame came from its source, or to the element.
    fn left_source(self) -> SystemTime {
        let before = self.lag.map_or(std::time::Duration::ZERO, Into::into);
        self.now.checked_sub(before).unwrap_or(self.now)
    }

    /// By how much another clock has a frame of a live source taken later than it came from there, in seconds; a recording's frames were
    /// taken long before.
    pub fn ahead(self, buffer: &gst::BufferRef) -> Option<f64> {
        self.lag?;
        let (taken, _) = self.of(buffer);
        let arrived = self.left_source().duration_since(UNIX_EPOCH).map_or(0, nanoseconds);
        let apart = taken.ns as f64 - arrived as f64;
        (taken.clock != Clock::Arrival).then_some(apart / SECOND as f64)
    }
}

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
    /// How long ago it came from its live source, in ns.
    pub lag: Option<u64>,
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
        Self { frame, pts, stream_time: pts, wall: WallTime { ns: 0, clock: Clock::Arrival }, lag: None }
    }

    pub fn at(mut self, ns: u64) -> Self {
        self.wall.ns = ns;
        self
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// 2021-03-04T05:06:07.123456789Z
    const NS: u64 = 1_614_834_367_123_456_789;

    fn time(metas: &[(&str, u64)]) -> WallTime {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        for (name, ns) in metas {
            let caps = gst::Caps::new_empty_simple(*name);
            let ns = gst::ClockTime::from_nseconds(*ns);
            gst::ReferenceTimestampMeta::add(buffer.get_mut().unwrap(), &caps, ns, gst::ClockTime::NONE);
        }
        WallTime::of(&buffer, UNIX_EPOCH + Duration::from_nanos(NS))
    }

    #[test]
    fn the_time_is_that_of_the_reference_in_utc_else_of_the_arrival() {
        for (metas, clock) in [
            (vec![], Clock::Arrival),
            (vec![("timestamp/x-unix", NS)], Clock::Unix),
            (vec![("timestamp/x-ptp", NS + 37 * SECOND)], Clock::Ptp),
            (vec![("timestamp/x-ntp", NS + NTP_TO_UNIX)], Clock::Ntp),
            (vec![("timestamp/x-ntp", 7), ("timestamp/x-unix", NS)], Clock::Unix),
            // A sender that counts from its start, a clock that is not known, and a year that has no name.
            (vec![("timestamp/x-ntp", 7 * SECOND), ("timestamp/x-drone", 8)], Clock::Arrival),
            (vec![("timestamp/x-unix", u64::MAX - 1)], Clock::Unix),
        ] {
            let found = time(&metas);
            assert_eq!(found.clock, clock, "{metas:?}");
            if metas.iter().all(|(_, ns)| *ns < u64::MAX - 1) {
                assert_eq!(found.microseconds(), "2021-03-04T05:06:07.123456Z", "{metas:?}");
                assert_eq!(found.milliseconds(), "2021-03-04T05:06:07.123Z", "{metas:?}");
            } else {
                assert_eq!(found.milliseconds(), "2554-07-21T23:34:33.709Z");
            }
        }
    }
}
