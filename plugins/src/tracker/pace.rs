//! How much time passes from frame to frame.

use gst::ClockTime;

use crate::caps;

/// Frames per second if the caps have no rate.
const USUAL_RATE: f64 = 30.0;
/// Times are rounded to this part of a frame: nanoseconds that were rounded, and cameras' clocks, are no changes of pace.
const STEPS: f64 = 16.0;

/// Why a frame's time since the previous one is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It has no timestamp, or the previous one had none.
    Missing,
    /// Its timestamp is not after the previous one.
    Backwards,
}

/// Takes in the timestamps of successive frames.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Frames a second.
    rate: f64,
    last: Option<ClockTime>,
    begun: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self { rate: USUAL_RATE, last: None, begun: false }
    }
}

impl Pace {
    /// The caps' frame rate; one of variable rate is 0/1.
    pub fn set_rate(&mut self, caps: &gst::CapsRef) {
        let rate = caps::frame_rate(caps).map(|rate| rate.map(f64::from));
        self.rate = rate.map_or(USUAL_RATE, |[frames, seconds]| frames / seconds);
    }

    /// Frames a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The next frame is the first.
    pub fn begin(&mut self) {
        (self.last, self.begun) = (None, false);
    }

    /// The time from the previous frame to this one, in frames. In `reverse`, with a negative rate, the last frame comes first.
    pub fn elapsed(&mut self, pts: Option<ClockTime>, reverse: bool) -> Result<f64, Unknown> {
        let first = !std::mem::replace(&mut self.begun, true);
        let last = std::mem::replace(&mut self.last, pts);
        if first && pts.is_some() {
            return Ok(1.0);
        }
        let (last, now) = last.zip(pts).ok_or(Unknown::Missing)?;
        let (earlier, later) = if reverse { (now, last) } else { (last, now) };
        let passed =
            later.checked_sub(earlier).filter(|passed| !passed.is_zero()).ok_or(Unknown::Backwards)?;
        let frames = passed.nseconds() as f64 * 1e-9 * self.rate;
        Ok((frames * STEPS).round().max(1.0) / STEPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(caps: &str) -> Pace {
        gst::init().unwrap();
        let mut pace = Pace::default();
        pace.set_rate(&caps.parse::<gst::Caps>().unwrap());
        pace
    }

    #[test]
    fn frames_at_the_usual_rate_are_one_apart_whatever_was_rounded() {
        for (rate, period) in [
            ("30/1", 33_333_333.3),
            ("30000/1001", 33_366_666.7),
            ("7/1", 142_857_142.9),
            ("0/1", 33_333_333.3),
        ] {
            let mut pace = pace(&format!("video/x-raw,framerate={rate}"));
            for frame in 0..100 {
                let pts = ClockTime::from_nseconds((f64::from(frame) * period) as u64);
                assert_eq!(pace.elapsed(Some(pts), false), Ok(1.0), "{rate}, frame {frame}");
            }
        }
    }

    #[test]
    fn gaps_and_halves_are_what_they_are_and_the_rest_is_named() {
        let mut pace = pace("video/x-raw,framerate=10/1");
        let mut at = |ms: Option<u64>| pace.elapsed(ms.map(ClockTime::from_mseconds), false);
        assert_eq!(at(Some(500)), Ok(1.0));
        assert_eq!(at(Some(1000)), Ok(5.0));
        assert_eq!(at(Some(1050)), Ok(0.5));
        assert_eq!(at(Some(1051)), Ok(1.0 / 16.0));
        assert_eq!(at(Some(1051)), Err(Unknown::Backwards));
        assert_eq!(at(Some(100)), Err(Unknown::Backwards));
        assert_eq!(at(Some(200)), Ok(1.0));
        assert_eq!(at(None), Err(Unknown::Missing));
        assert_eq!(at(Some(300)), Err(Unknown::Missing));
        assert_eq!(at(Some(400)), Ok(1.0));
        pace.begin();
        assert_eq!(pace.elapsed(Some(ClockTime::ZERO), false), Ok(1.0));
    }

    #[test]
    fn frames_of_a_negative_rate_come_from_the_end() {
        let mut pace = pace("video/x-raw,framerate=25/1");
        let mut at = |ms: u64| pace.elapsed(Some(ClockTime::from_mseconds(ms)), true);
        assert_eq!([at(400), at(360), at(280)], [Ok(1.0), Ok(1.0), Ok(2.0)]);
        assert_eq!(at(320), Err(Unknown::Backwards));
    }
}
