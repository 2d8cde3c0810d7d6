//! Tracks, from the first frame in which they are seen to the last.

use std::collections::BTreeMap;

use cudainfer_kernels::geometry::Rect;
use serde::Serialize;

use super::clock::Moment;
use crate::meta::object::{IdentityParam, Object, TrackingParam};

/// The state of a track that is seen.
pub(super) const TRACKED: &str = "tracked";
/// The state of a track that is not in the frame, and of one that is expected in a frame that no model sees.
const LOST: &str = "lost";
pub(super) const CARRIED: &str = "carried";

/// Why a track has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    /// It has not been seen for the patience.
    Vanished,
    /// The stream has ended, or begun anew.
    Eos,
    /// By a flush, as a seek is one.
    Flush,
    /// The element was stopped.
    Stopped,
}

/// The detection of the highest confidence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Best {
    /// When.
    pub moment: Moment,
    /// 0 to 1.
    pub confidence: f32,
    /// In frame pixels.
    pub rect: Rect,
    /// In radians, clockwise.
    pub angle: f32,
    /// The class's number.
    pub label_id: u32,
}

/// Where a track was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position {
    /// The frame's number.
    pub frame: u64,
    /// Its presentation time in ns.
    pub pts: Option<u64>,
    /// The centre of the tracker's box, in frame pixels.
    pub centre: [f64; 2],
    /// Whether the second pass has put it there, and nobody has seen it.
    pub is_interpolated: bool,
}

/// The places of a track: all, or every second, fourth and so on, and always the first and the last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    kept: Vec<Position>,
    stride: u64,
    count: u64,
    last: Position,
}

impl Path {
    /// Places that a path has at most.
    pub const MOST: usize = 64;

    fn new(first: Position) -> Self {
        Self { kept: vec![first], stride: 1, count: 1, last: first }
    }

    fn push(&mut self, place: Position) {
        if self.count.is_multiple_of(self.stride) && self.kept.len() == Self::MOST - 1 {
            let mut keep = false;
            self.kept.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
        if self.count.is_multiple_of(self.stride) {
            self.kept.push(place);
        }
        self.count += 1;
        self.last = place;
    }

    /// That of these places, in the order of time; none without any.
    pub fn of(mut places: impl Iterator<Item = Position>) -> Option<Self> {
        let mut path = Self::new(places.next()?);
        places.for_each(|place| path.push(place));
        Some(path)
    }

    /// In the order of time.
    pub fn places(&self) -> impl Iterator<Item = &Position> {
        let missing = self.kept.last() != Some(&self.last);
        self.kept.iter().chain(missing.then_some(&self.last))
    }
}

/// What is known of a track.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Track {
    /// Its identity.
    pub id: u64,
    /// Its class: that of the best detection, or of its first frame if it has none.
    pub label: String,
    /// The first frame in which it was seen.
    pub first: Moment,
    /// The last one.
    pub last: Moment,
    /// Frames in which it was seen.
    pub frames: u64,
    /// The detection of the highest confidence.
    pub best: Option<Best>,
    /// Whom it was recognised as: by the highest score, and as somebody of the gallery rather than as an unknown.
    pub identity: Option<IdentityParam>,
    /// Where it was.
    pub path: Path,
    /// Its identities in the order of time, after a second pass, which may have joined several.
    pub joined: Vec<u64>,
    /// Frames in which the second pass has put it, and nobody has seen it.
    pub interpolated: u64,
    /// The last frame that it was in, lost or not.
    present: Moment,
}

impl Track {
    fn new(object: &Object, tracking: &TrackingParam, now: Moment) -> Self {
        Self {
            id: tracking.id,
            label: object.label.clone(),
            first: now,
            last: now,
            frames: 0,
            best: None,
            identity: None,
            path: Path::new(place(tracking, now)),
            joined: Vec::new(),
            interpolated: 0,
            present: now,
        }
    }

    /// Takes in a track that is the same object, later; the path stays as it is.
    pub fn absorb(&mut self, later: Self) {
        let Self { label, last, frames, best, identity, present, .. } = later;
        (self.last, self.present) = (last, present);
        self.frames += frames;
        if let Some(found) = &identity {
            self.recognise(found);
        }
        let confidence = |best: &Option<Best>| best.as_ref().map(|best| best.confidence);
        if confidence(&best) > confidence(&self.best) {
            (self.label, self.best) = (label, best);
        }
    }

    /// Takes in whom it was recognised as in a frame.
    fn recognise(&mut self, found: &IdentityParam) {
        let rank = |identity: &IdentityParam| (identity.unknown.is_none(), identity.score);
        if self.identity.as_ref().is_none_or(|known| rank(found) > rank(known)) {
            self.identity = Some(IdentityParam { held: false, ..found.clone() });
        }
    }

    fn see(&mut self, object: &Object, tracking: &TrackingParam, now: Moment) {
        if self.frames > 0 {
            self.path.push(place(tracking, now));
        }
        self.frames += 1;
        self.last = now;
        if let Some(found) = &object.identity {
            self.recognise(found);
        }
        let Some(detection) = &object.detection else { return };
        let confidence = detection.confidence;
        if self.best.as_ref().is_none_or(|best| confidence > best.confidence) {
            self.label.clone_from(&object.label);
            let (rect, label_id) = (detection.rect, detection.label_id);
            self.best = Some(Best { moment: now, confidence, rect, angle: object.angle, label_id });
        }
    }
}

fn place(tracking: &TrackingParam, now: Moment) -> Position {
    Position { frame: now.frame, pts: now.pts, centre: centre(&tracking.rect), is_interpolated: false }
}

/// The centre of a box.
pub(super) fn centre(rect: &Rect) -> [f64; 2] {
    let Rect { x, y, w, h } = *rect;
    [f64::from(x) + f64::from(w) / 2.0, f64::from(y) + f64::from(h) / 2.0]
}

/// The tracks of a stream that have not ended. Its memory is bounded by the tracks that are seen within the patience.
#[derive(Debug, Default)]
pub(crate) struct Tracks(BTreeMap<u64, Track>);

impl Tracks {
    /// Takes in the objects of a frame. Returns the tracks that have ended before it: they were in no frame for longer than
    /// `patience` ns.
    pub fn see(&mut self, objects: &[Object], now: Moment, patience: u64) -> Vec<Track> {
        for object in objects {
            let Some(tracking) = &object.tracking else { continue };
            let unseen = [LOST, CARRIED].contains(&tracking.state.as_str());
            match self.0.get_mut(&tracking.id) {
                None if unseen => continue,
                None => {
                    let mut track = Track::new(object, tracking, now);
                    track.see(object, tracking, now);
                    self.0.insert(tracking.id, track);
                }
                Some(track) => {
                    track.present = now;
                    if !unseen {
                        track.see(object, tracking, now);
                    }
                }
            }
        }
        self.0
            .extract_if(.., |_, track| now.apart(&track.present) > patience)
            .map(|(_, track)| track)
            .collect()
    }

    /// Ends all of them.
    pub fn end(&mut self) -> Vec<Track> {
        std::mem::take(&mut self.0).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::DetectionParam;

    const MS: u64 = 1_000_000;

    fn now(frame: u64) -> Moment {
        Moment::for_test(frame, Some(frame * 100 * MS))
    }

    fn rect(x: f32) -> Rect {
        Rect { x, y: 10.0, w: 4.0, h: 2.0 }
    }

    fn object(id: u64, label: &str, state: &str, x: f32, confidence: f32) -> Object {
        let tracking = TrackingParam { id, state: state.into(), rect: rect(x), ..TrackingParam::default() };
        let detection = DetectionParam { rect: rect(x + 1.0), confidence, label_id: 3 };
        let detection = (state != LOST).then_some(detection);
        Object { label: label.into(), tracking: Some(tracking), detection, ..Object::default() }
    }

    #[test]
    fn a_track_has_its_first_last_and_best_frame_and_ends_when_it_is_away_for_too_long() {
        let mut tracks = Tracks::default();
        let mut see = |frame, objects: &[Object]| tracks.see(objects, now(frame), 300 * MS);
        assert_eq!(see(0, &[object(1, "van", "tracked", 0.0, 0.5), object(9, "car", LOST, 0.0, 0.0)]), []);
        assert_eq!(see(1, &[object(1, "car", "tracked", 10.0, 0.9)]), []);
        assert_eq!(
            see(2, &[object(1, "van", "tracked", 20.0, 0.7), object(2, "dog", "tracked", 5.0, 0.3)]),
            []
        );
        assert_eq!(see(3, &[object(1, "van", LOST, 30.0, 0.0)]), []);
        assert_eq!(see(5, &[object(2, "dog", "tracked", 6.0, 0.3)]), []);
        let ended = see(7, &[]);
        let [track] = &ended[..] else { panic!("{ended:?}") };
        assert_eq!((track.id, track.label.as_str(), track.frames), (1, "car", 3));
        assert_eq!((track.first, track.last), (now(0), now(2)), "frames in which it is lost do not count");
        let best = track.best.as_ref().unwrap();
        assert_eq!((best.moment, best.confidence, best.rect, best.label_id), (now(1), 0.9, rect(11.0), 3));
        let path: Vec<_> = track.path.places().map(|place| (place.frame, place.centre)).collect();
        assert_eq!(path, [(0, [2.0, 11.0]), (1, [12.0, 11.0]), (2, [22.0, 11.0])]);
        assert_eq!(tracks.end().iter().map(|track| track.id).collect::<Vec<_>>(), [2]);
        assert_eq!(tracks.end(), []);
    }

    #[test]
    fn a_track_is_whom_it_was_recognised_as_best_and_a_name_counts_more_than_a_number() {
        let mut tracks = Tracks::default();
        let identity = |name: &str, score, unknown| {
            Some(IdentityParam { name: name.into(), score, unknown, held: true })
        };
        for (frame, identity) in [
            None,
            identity("unknown-1", 1.0, Some(1)),
            identity("ann", 0.6, None),
            identity("bob", 0.7, None),
            identity("ann", 0.5, None),
            identity("unknown-1", 1.0, Some(1)),
        ]
        .into_iter()
        .enumerate()
        {
            let seen = Object { identity, ..object(1, "person", "tracked", 0.0, 0.5) };
            tracks.see(&[seen], now(frame as u64), 300 * MS);
        }
        let wanted = IdentityParam { name: "bob".into(), score: 0.7, unknown: None, held: false };
        assert_eq!(tracks.end().remove(0).identity, Some(wanted));
    }

    #[test]
    fn a_path_is_bounded_evenly_spaced_and_reaches_from_the_first_frame_to_the_last() {
        for frames in [1, 2, 63, 64, 65, 127, 1000, 12_345] {
            let mut tracks = Tracks::default();
            for frame in 0..frames {
                tracks.see(&[object(1, "car", "tracked", frame as f32, 0.5)], now(frame), 300 * MS);
            }
            let track = tracks.end().remove(0);
            let numbers: Vec<_> = track.path.places().map(|place| place.frame).collect();
            assert!(
                numbers.len() <= Path::MOST && numbers.len() as u64 >= frames.min(32),
                "{frames}: {}",
                numbers.len()
            );
            assert_eq!((numbers[0], numbers[numbers.len() - 1]), (0, frames - 1));
            let steps: Vec<_> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let inner = &steps[..steps.len().saturating_sub(1)];
            assert!(inner.iter().all(|step| *step == inner[0]), "{frames}: {steps:?}");
        }
    }

    #[test]
    fn without_presentation_times_the_wall_clock_counts() {
        let moment = |ns| Moment::for_test(ns / MS, None).at(ns);
        let mut tracks = Tracks::default();
        assert_eq!(tracks.see(&[object(1, "car", "tracked", 0.0, 0.5)], moment(0), 300 * MS), []);
        assert_eq!(tracks.see(&[], moment(300 * MS), 300 * MS), []);
        assert_eq!(tracks.see(&[], moment(301 * MS), 300 * MS).len(), 1);
    }
}
