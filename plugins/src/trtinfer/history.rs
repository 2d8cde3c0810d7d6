//! The pictures of a stream's latest frames, for a model that sees more than the current one.

use std::collections::VecDeque;

/// The pictures of a stream's latest frames, the latest first.
#[derive(Debug, Default)]
pub(super) struct History(VecDeque<gst::Buffer>);

impl History {
    /// Takes in the picture of the frame that comes now. Returns the pictures that a run takes for it: for each of `ago` that of so many
    /// frames before, and before there are as many, the oldest.
    pub fn see(&mut self, picture: &gst::Buffer, ago: &[usize]) -> Vec<gst::Buffer> {
        self.0.push_front(picture.clone());
        self.0.truncate(ago.iter().max().map_or(1, |most| most + 1));
        let at = |ago: &usize| self.0.get(*ago).or(self.0.back()).unwrap_or(picture).clone();
        ago.iter().map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames whose pictures a run takes, as each of these comes.
    fn seen(frames: std::ops::Range<u8>, ago: &[usize]) -> Vec<Vec<u8>> {
        let mut history = History::default();
        let of = |frame| {
            let pictures = history.see(&gst::Buffer::from_slice([frame]), ago);
            assert!(history.0.len() <= ago.iter().max().unwrap() + 1);
            pictures.iter().map(|picture| picture.map_readable().unwrap()[0]).collect()
        };
        frames.map(of).collect()
    }

    #[test]
    fn the_oldest_takes_the_place_of_those_that_are_not_there() {
        gst::init().unwrap();
        assert_eq!(seen(0..4, &[0, 1]), [[0, 0], [1, 0], [2, 1], [3, 2]]);
        assert_eq!(seen(5..9, &[2, 1, 0]), [[5, 5, 5], [5, 5, 6], [5, 6, 7], [6, 7, 8]]);
        assert_eq!(seen(0..4, &[3]), [[0], [0], [0], [0]]);
    }
}
