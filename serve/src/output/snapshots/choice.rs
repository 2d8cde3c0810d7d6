//! Which frame shows a track best: a pure function of times and boxes.

use std::collections::HashMap;

use super::super::object::Rect;

/// A tracked object on a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// The track's identity.
    pub id: u64,
    /// Its class.
    pub label: String,
    /// Where it is.
    pub rect: Rect,
    /// 0 to 1.
    pub confidence: f64,
}

/// The most tracks that are remembered at a time; of more, the one that was seen longest ago is ended.
const MOST: usize = 256;
/// The factor by which a picture's score must be higher to replace the one that a track has.
const BETTER: f64 = 1.2;
/// The factor on the score of an object at the frame's border, because a part of it may be outside.
const AT_BORDER: f64 = 0.3;

/// How good a picture of an object would be: confidence times the square root of its area, in pixels; less at the frame's border.
pub fn score(sighting: &Sighting, frame: [f64; 2]) -> f64 {
    let Rect { x, y, width, height } = sighting.rect;
    let border = x <= 1.0 || y <= 1.0 || x + width >= frame[0] - 1.0 || y + height >= frame[1] - 1.0;
    sighting.confidence * (width.max(0.0) * height.max(0.0)).sqrt() * if border { AT_BORDER } else { 1.0 }
}

/// The tracks of a stream and the best picture of each.
#[derive(Debug)]
pub struct Choice<P> {
    patience: u64,
    tracks: HashMap<u64, Track<P>>,
}

#[derive(Debug)]
struct Track<P> {
    score: f64,
    seen: u64,
    picture: Option<P>,
}

impl<P> Choice<P> {
    /// A track has ended when it is in no frame for `patience` nanoseconds.
    pub fn new(patience: u64) -> Self {
        Self { patience, tracks: HashMap::new() }
    }

    /// Whether a picture of this frame would be enough better than the track's present one to be made. Notes that the track was
    /// seen.
    pub fn wants(&mut self, id: u64, score: f64, now: u64) -> bool {
        let track = self.tracks.entry(id).or_insert(Track { score: 0.0, seen: now, picture: None });
        track.seen = now;
        if score <= track.score * BETTER || score <= 0.0 {
            return false;
        }
        track.score = score;
        true
    }

    /// Stores the picture that [`Self::wants`] has asked for.
    pub fn keep(&mut self, id: u64, picture: P) {
        if let Some(track) = self.tracks.get_mut(&id) {
            track.picture = Some(picture);
        }
    }

    /// Notes that the picture could not be made, so a later one need not be better.
    pub fn missed(&mut self, id: u64) {
        if let Some(track) = self.tracks.get_mut(&id).filter(|track| track.picture.is_none()) {
            track.score = 0.0;
        }
    }

    /// Whether [`Self::ended`] would return any.
    pub fn any_ended(&self, now: u64) -> bool {
        self.tracks.len() > MOST
            || self.tracks.values().any(|track| now.saturating_sub(track.seen) > self.patience)
    }

    /// The tracks that have ended by now, with their pictures, in the order of their identities.
    pub fn ended(&mut self, now: u64) -> Vec<(u64, P)> {
        let mut over: Vec<u64> = self
            .tracks
            .iter()
            .filter(|(_, track)| now.saturating_sub(track.seen) > self.patience)
            .map(|(id, _)| *id)
            .collect();
        if self.tracks.len() - over.len() > MOST {
            let oldest = self
                .tracks
                .iter()
                .filter(|(id, _)| !over.contains(id))
                .min_by_key(|(id, track)| (track.seen, **id));
            over.extend(oldest.map(|(id, _)| *id));
        }
        over.sort_unstable();
        self.take(over)
    }

    /// All tracks with a picture, because the stream has ended or begins anew.
    pub fn all(&mut self) -> Vec<(u64, P)> {
        let mut every: Vec<u64> = self.tracks.keys().copied().collect();
        every.sort_unstable();
        self.take(every)
    }

    fn take(&mut self, ids: Vec<u64>) -> Vec<(u64, P)> {
        ids.into_iter().filter_map(|id| Some((id, self.tracks.remove(&id)?.picture?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, y: f64, size: f64, confidence: f64) -> Sighting {
        Sighting {
            id: 1,
            label: "person".to_owned(),
            rect: Rect { x, y, width: size, height: size },
            confidence,
        }
    }

    #[test]
    fn large_sure_and_whole_objects_are_the_best() {
        let frame = [640.0, 480.0];
        assert!(score(&at(10.0, 10.0, 50.0, 0.8), frame) > score(&at(10.0, 10.0, 40.0, 0.8), frame));
        assert!(score(&at(10.0, 10.0, 50.0, 0.8), frame) > score(&at(10.0, 10.0, 50.0, 0.6), frame));
        assert!(score(&at(10.0, 10.0, 50.0, 0.8), frame) > score(&at(0.0, 10.0, 50.0, 0.9), frame));
        assert!(score(&at(10.0, 10.0, 50.0, 0.8), frame) > score(&at(590.0, 10.0, 50.0, 0.9), frame));
    }

    #[test]
    fn a_track_keeps_the_picture_that_is_clearly_better_until_it_ends() {
        let mut choice = Choice::new(10);
        assert!(choice.wants(7, 10.0, 0));
        choice.keep(7, "first");
        assert!(!choice.wants(7, 11.0, 1), "not worth another");
        assert!(choice.wants(7, 13.0, 2));
        choice.keep(7, "second");
        assert!(choice.wants(8, 1.0, 3));
        choice.missed(8);
        assert!(choice.wants(8, 1.0, 4), "the first was not made");
        assert_eq!(choice.ended(12), []);
        assert_eq!(choice.ended(13), [(7, "second")]);
        assert_eq!(choice.all(), [], "8 has no picture");
    }

    #[test]
    fn a_crowd_ends_the_track_seen_longest_ago() {
        let mut choice = Choice::new(u64::MAX);
        for id in 0..=MOST as u64 {
            choice.wants(id, 1.0, id);
            choice.keep(id, id);
        }
        assert_eq!(choice.ended(1000), [(0, 0)]);
        assert_eq!(choice.ended(1000), []);
    }
}
