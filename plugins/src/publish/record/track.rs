//! The record of a track that has ended.

use serde::Serialize;

use super::{DetectedRecord, Head, IdentityRecord, pixels, score};
use crate::publish::clock::Clock;
use crate::publish::clock::Moment;
use crate::publish::tracks::{Best, End, Position, Track};

/// All of a track.
#[derive(Serialize)]
pub(crate) struct TrackEndRecord<'a> {
    /// Of the frame in which it was seen last.
    #[serde(flatten)]
    head: &'a Head<'a>,
    track: u64,
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<IdentityRecord>,
    end: End,
    /// Frames in which it was seen.
    frames: u64,
    first: MomentRecord,
    last: MomentRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<BestRecord>,
    /// The identities that the second pass has found to be one object, where it was several.
    #[serde(skip_serializing_if = "Option::is_none")]
    joined: Option<&'a [u64]>,
    /// Frames in which the second pass has put it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interpolated: Option<u64>,
    path: Vec<PlaceRecord>,
}

#[derive(Serialize)]
struct MomentRecord {
    frame: u64,
    pts: Option<u64>,
    stream_time: Option<u64>,
    time: String,
    clock: Clock,
}

#[derive(Serialize)]
struct BestRecord {
    #[serde(flatten)]
    moment: MomentRecord,
    confidence: f64,
    #[serde(rename = "box")]
    rect: DetectedRecord,
}

#[derive(Serialize)]
struct PlaceRecord {
    frame: u64,
    pts: Option<u64>,
    x: f64,
    y: f64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interpolated: bool,
}

impl From<&Moment> for MomentRecord {
    fn from(moment: &Moment) -> Self {
        let Moment { frame, pts, stream_time, wall, lag: _ } = *moment;
        Self { frame, pts, stream_time, time: wall.microseconds(), clock: wall.clock }
    }
}

impl From<&Best> for BestRecord {
    fn from(best: &Best) -> Self {
        Self {
            moment: (&best.moment).into(),
            confidence: score(best.confidence),
            rect: DetectedRecord::new(&best.rect, best.angle),
        }
    }
}

impl From<&Position> for PlaceRecord {
    fn from(place: &Position) -> Self {
        let Position { frame, pts, centre, is_interpolated } = *place;
        let [x, y] = centre.map(pixels);
        Self { frame, pts, x, y, interpolated: is_interpolated }
    }
}

impl<'a> TrackEndRecord<'a> {
    /// `head` is that of the track's last frame.
    pub fn new(head: &'a Head<'a>, track: &'a Track, end: End) -> Self {
        Self {
            head,
            track: track.id,
            label: &track.label,
            label_id: track.best.as_ref().map(|best| best.label_id),
            identity: track.identity.as_ref().and_then(IdentityRecord::of),
            end,
            frames: track.frames,
            first: (&track.first).into(),
            last: (&track.last).into(),
            best: track.best.as_ref().map(Into::into),
            joined: (track.joined.len() > 1).then_some(&track.joined[..]),
            interpolated: Some(track.interpolated).filter(|count| *count > 0),
            path: track.path.places().map(Into::into).collect(),
        }
    }
}
