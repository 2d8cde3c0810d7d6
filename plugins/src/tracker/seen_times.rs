//! When the identities of a stream were first and last seen.

use std::collections::HashMap;

use gst::ClockTime;

/// Of each identity that is followed, the running times in ns of the frames in which it was first and last detected.
#[derive(Debug, Default)]
pub(super) struct SeenTimes(HashMap<u64, [u64; 2]>);

impl SeenTimes {
    /// Takes in which identities a frame of this running time shows, and which are lost there. All others are forgotten; 0 is no
    /// identity.
    pub fn update(
        &mut self,
        time: Option<ClockTime>,
        shown: impl Iterator<Item = u64>,
        lost: impl Iterator<Item = u64>,
    ) {
        let mut before = std::mem::take(&mut self.0);
        let now = time.map(ClockTime::nseconds);
        let seen = shown.filter(|id| *id > 0).filter_map(|id| match (before.remove(&id), now) {
            (Some([first, last]), now) => Some((id, [first, now.unwrap_or(last)])),
            (None, now) => Some((id, [now?; 2])),
        });
        self.0 = seen.collect();
        self.0.extend(lost.filter_map(|id| before.remove_entry(&id)));
    }

    /// The times of an identity; `None` if no frame that showed it had a time.
    pub fn of(&self, id: u64) -> Option<[u64; 2]> {
        self.0.get(&id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_lost_keeps_its_times_and_who_is_gone_has_none() {
        let mut times = SeenTimes::default();
        let mut update = |time: Option<u64>, shown: &[u64], lost: &[u64]| {
            let time = time.map(ClockTime::from_nseconds);
            times.update(time, shown.iter().copied(), lost.iter().copied());
            [0, 1, 2].map(|id| times.of(id))
        };
        assert_eq!(update(Some(10), &[0, 1], &[]), [None, Some([10, 10]), None]);
        assert_eq!(update(Some(20), &[1, 2], &[]), [None, Some([10, 20]), Some([20, 20])]);
        assert_eq!(update(Some(30), &[2], &[1]), [None, Some([10, 20]), Some([20, 30])]);
        assert_eq!(
            update(None, &[1, 2], &[]),
            [None, Some([10, 20]), Some([20, 30])],
            "the frame has no time"
        );
        assert_eq!(update(Some(50), &[1], &[]), [None, Some([10, 50]), None]);
        assert_eq!(update(Some(60), &[1, 2], &[]), [None, Some([10, 60]), Some([60, 60])]);
    }
}
