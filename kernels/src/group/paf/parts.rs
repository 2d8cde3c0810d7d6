//! The peaks that are parts of instances.

use crate::peaks::{Peak, TensorPeak};

/// The peaks of a frame, by channel, the strongest first.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) found: Vec<(Peak, TensorPeak)>,
    /// Where each channel's peaks begin, and where the last one's end.
    pub(super) starts: Vec<usize>,
}

impl Parts {
    /// Must be called when all peaks are in `found`, by ascending channel.
    pub(super) fn index(&mut self, points: usize) {
        let found = &self.found;
        let start = |channel| found.partition_point(|(peak, _)| (peak.channel as usize) < channel);
        self.starts.clear();
        self.starts.extend((0..=points).map(start));
    }

    pub(super) fn of(&self, channel: usize) -> &[(Peak, TensorPeak)] {
        let bounds = self.starts.get(channel).zip(self.starts.get(channel + 1));
        bounds.and_then(|(start, end)| self.found.get(*start..*end)).unwrap_or_default()
    }
}
