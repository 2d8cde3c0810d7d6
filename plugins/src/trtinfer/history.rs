//! The pictures of the latest frames of a stream, of its tracks or of its regions, for a model that sees more than the current one.

use std::collections::{HashMap, VecDeque};

/// Frames for which a track may be out of sight and still has its pictures, if no clip is longer.
const PATIENCE: u64 = 30;

/// What pictures belong to: the identity of a track, the number of a region that is the same in every frame, or 0 for whole frames.
pub(super) type Key = u64;

/// Which pictures a run takes.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// How many frames before the current one each is.
    pub ago: Vec<usize>,
    /// There is a run at every `hop`th frame, once there are all pictures; none: for every frame.
    pub hop: Option<usize>,
}

impl Wanted {
    /// From the first of the frames to the last one.
    fn span(&self) -> usize {
        self.ago.iter().max().map_or(1, |most| most + 1)
    }
}

/// The pictures of all that is seen in a stream.
#[derive(Debug, Default)]
pub(super) struct Histories {
    frames: u64,
    histories: HashMap<Key, History>,
    /// Runs so far, and the most frames in which one thing was seen.
    pub runs: u64,
    pub longest: usize,
    /// Regions of objects without an identity, and whether any object had one.
    pub untracked: u64,
    pub is_tracked: bool,
}

impl Histories {
    /// A frame comes. What was out of sight for too long is forgotten.
    pub fn begin_frame(&mut self, wanted: &Wanted) {
        self.frames += 1;
        let patience = PATIENCE.max(wanted.span() as u64);
        self.histories.retain(|_, history| history.last + patience >= self.frames);
    }

    /// Takes in a picture of the frame that has come. Returns the pictures that a run takes for it, if there is a run.
    pub fn see(&mut self, key: Key, picture: &gst::Buffer, wanted: &Wanted) -> Option<Vec<gst::Buffer>> {
        let history = self.histories.entry(key).or_default();
        history.last = self.frames;
        let taken = history.see(picture, wanted);
        self.longest = self.longest.max(history.pictures.len());
        self.runs += u64::from(taken.is_some());
        taken
    }

    /// A run will not be made after all: the next picture has one in its place.
    pub fn postpone(&mut self, key: Key) {
        if let Some(history) = self.histories.get_mut(&key) {
            history.since = None;
        }
    }

    /// Whether something is remembered of it.
    pub fn has(&self, key: Key) -> bool {
        self.histories.contains_key(&key)
    }
}

/// The pictures of the latest frames, the latest first.
#[derive(Debug, Default)]
struct History {
    pictures: VecDeque<gst::Buffer>,
    /// Frames since the last run; none before the first.
    since: Option<usize>,
    /// The frame in which it was seen last.
    last: u64,
}

impl History {
    /// Before there are as many frames, the oldest takes the place of those that are not there, unless a run waits for all.
    fn see(&mut self, picture: &gst::Buffer, Wanted { ago, hop }: &Wanted) -> Option<Vec<gst::Buffer>> {
        let span = ago.iter().max().map_or(1, |most| most + 1);
        self.pictures.push_front(picture.clone());
        self.pictures.truncate(span);
        if let Some(hop) = *hop {
            self.since = self.since.map(|since| since + 1);
            if self.pictures.len() < span || self.since.is_some_and(|since| since < hop) {
                return None;
            }
            self.since = Some(0);
        }
        let at = |ago: &usize| self.pictures.get(*ago).or(self.pictures.back()).unwrap_or(picture).clone();
        Some(ago.iter().map(at).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames whose pictures a run takes, as each of these comes.
    fn seen(frames: std::ops::Range<u8>, ago: &[usize], hop: Option<usize>) -> Vec<Vec<u8>> {
        let mut histories = Histories::default();
        let wanted = Wanted { ago: ago.to_vec(), hop };
        let of = |frame| {
            histories.begin_frame(&wanted);
            let pictures = histories.see(7, &gst::Buffer::from_slice([frame]), &wanted);
            assert!(histories.histories[&7].pictures.len() <= wanted.span());
            let number = |picture: &gst::Buffer| picture.map_readable().unwrap()[0];
            pictures.unwrap_or_default().iter().map(number).collect()
        };
        frames.map(of).collect()
    }

    #[test]
    fn the_oldest_takes_the_place_of_those_that_are_not_there() {
        gst::init().unwrap();
        assert_eq!(seen(0..4, &[0, 1], None), [[0, 0], [1, 0], [2, 1], [3, 2]]);
        assert_eq!(seen(5..9, &[2, 1, 0], None), [[5, 5, 5], [5, 5, 6], [5, 6, 7], [6, 7, 8]]);
        assert_eq!(seen(0..4, &[3], None), [[0], [0], [0], [0]]);
    }

    #[test]
    fn clips_wait_until_they_are_full_and_then_come_every_hop() {
        gst::init().unwrap();
        let none: Vec<u8> = Vec::new();
        let clips = seen(0..9, &[4, 2, 0], Some(3));
        assert!(clips[..4].iter().all(Vec::is_empty));
        assert_eq!(
            (&clips[4], &clips[7], &clips[5], &clips[8]),
            (&vec![0, 2, 4], &vec![3, 5, 7], &none, &none)
        );
        assert_eq!(seen(0..3, &[1, 0], Some(1)), [vec![], vec![0, 1], vec![1, 2]]);
    }

    #[test]
    fn a_run_that_is_dropped_is_made_up_for_and_tracks_that_are_gone_are_forgotten() {
        gst::init().unwrap();
        let mut histories = Histories::default();
        let wanted = Wanted { ago: vec![1, 0], hop: Some(10) };
        let see = |histories: &mut Histories, keys: &[Key]| {
            histories.begin_frame(&wanted);
            let picture = gst::Buffer::from_slice([1u8]);
            keys.iter().map(|key| histories.see(*key, &picture, &wanted).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(see(&mut histories, &[1, 2]), [false, false]);
        assert_eq!(see(&mut histories, &[1, 2]), [true, true]);
        histories.postpone(1);
        assert_eq!(see(&mut histories, &[1, 2]), [true, false]);
        for _ in 0..PATIENCE {
            see(&mut histories, &[2]);
        }
        assert_eq!([1, 2].map(|key| histories.has(key)), [true, true]);
        see(&mut histories, &[2]);
        assert_eq!([1, 2].map(|key| histories.has(key)), [false, true]);
        assert_eq!((histories.longest, histories.runs), (2, 6));
    }
}
