//! The numbers of frames: a frame that was lost before it came here leaves a gap, so that later ones keep the numbers that they have
//! in the file.
//!
//! A loss shows in the presentation times alone: a damaged frame that the decoder gives up, a packet that the demuxer skips or a
//! leaky queue leave nothing else. So it is seen only in streams of a constant rate, which the caps state and all frames before had
//! kept to. Where frames last as long as it takes to the next one, or come at other times, the rate varies, and nothing is missing.

/// Frames that must have kept to the rate before one is missed.
const STEADY: u32 = 8;
/// How far a time may be from where the rate has it, as a share of the frames' period: Matroska rounds to milliseconds.
const TOLERANCE: f64 = 0.25;

/// What the times of a stream's frames have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Numbering {
    /// Ns between two frames, where the caps state a constant rate.
    period: Option<f64>,
    /// Presentation time and duration of the last frame in ns, where it has them.
    last: Option<(u64, Option<u64>)>,
    /// Frames that have kept to the rate.
    steady: u32,
    varies: bool,
}

impl Numbering {
    /// From now on, caps state this rate in frames a second.
    pub fn set_rate(&mut self, rate: Option<f64>) {
        self.period = rate.filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate);
        (self.steady, self.varies) = (0, false);
    }

    /// What came before says nothing about what comes now.
    pub fn interrupt(&mut self) {
        (self.last, self.steady) = (None, 0);
    }

    /// How many frames are missing before this one, of which presentation time and duration are in ns.
    pub fn see(&mut self, pts: Option<u64>, duration: Option<u64>) -> u64 {
        let before = std::mem::replace(&mut self.last, pts.map(|pts| (pts, duration)));
        let Some(((last, lasted), (pts, period))) = before.zip(pts.zip(self.period)) else { return 0 };
        let Some(apart) = pts.checked_sub(last) else {
            self.varies = true;
            return 0;
        };
        let periods = apart as f64 / period;
        let steps = periods.round();
        let keeps_rate = (periods - steps).abs() <= TOLERANCE && steps >= 1.0;
        // The frame before is known to have lasted until this one: it is the rate that has changed.
        let was_held = lasted.is_some_and(|lasted| lasted as f64 / period > steps - 0.5);
        match (keeps_rate, steps > 1.0) {
            (true, false) => self.steady += 1,
            (true, true) if !was_held && !self.varies && self.steady >= STEADY => {
                return steps as u64 - 1;
            }
            _ => self.varies = true,
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// How many are missing before each frame at these times in ms, of 25 frames a second.
    fn missing(times: &[u64], duration: Option<u64>) -> Vec<u64> {
        let mut numbering = Numbering::default();
        numbering.set_rate(Some(25.0));
        times.iter().map(|ms| numbering.see(Some(ms * MS), duration.map(|ms| ms * MS))).collect()
    }

    /// Ten steady frames, then these.
    fn after_steady(more: &[u64], duration: Option<u64>) -> Vec<u64> {
        let steady = (0..10).map(|i| i * 40);
        let times: Vec<_> = steady.chain(more.iter().copied()).collect();
        let missing = missing(&times, duration);
        assert!(missing[..10].iter().all(|count| *count == 0), "{missing:?}");
        missing[10..].to_vec()
    }

    #[test]
    fn a_lost_frame_is_missed_in_a_steady_stream() {
        for duration in [None, Some(40)] {
            assert_eq!(after_steady(&[440, 480, 640], duration), [1, 0, 3]);
            // Of Matroska, in which 1/30 s is 33 or 34 ms; here 39 and 41.
            assert_eq!(after_steady(&[439, 481, 520], duration), [1, 0, 0]);
        }
    }

    #[test]
    fn where_the_rate_varies_nothing_is_missed() {
        // The frame is held as long as it takes to the next one; it comes between two places; times go back.
        assert_eq!(after_steady(&[440, 480, 560], Some(80)), [0, 0, 0]);
        assert_eq!(after_steady(&[420, 500], None), [0, 0]);
        assert_eq!(after_steady(&[300, 420], None), [0, 0]);
        // It had no time to show that it is steady.
        assert_eq!(missing(&[0, 40, 120, 160], None), [0; 4]);
        let mut numbering = Numbering::default();
        numbering.set_rate(Some(0.0));
        for pts in [Some(0), None, Some(40 * MS), Some(800 * MS)] {
            assert_eq!(numbering.see(pts, None), 0);
        }
    }

    #[test]
    fn after_an_interruption_the_stream_has_to_be_steady_again() {
        let mut numbering = Numbering::default();
        numbering.set_rate(Some(25.0));
        for i in 0..10 {
            numbering.see(Some(i * 40 * MS), None);
        }
        numbering.interrupt();
        assert_eq!(numbering.see(Some(4000 * MS), None), 0);
        assert_eq!(numbering.see(Some(4080 * MS), None), 0);
    }
}
