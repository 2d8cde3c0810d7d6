//! What is noted.

use std::sync::Arc;

use crate::output::Rect;

/// Characters of a name or class that are kept: they come from models and from clients.
const LONGEST: usize = 200;

/// An event of a zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneEvent {
    /// The zone's name.
    pub zone: String,
    /// What happened.
    pub kind: String,
    /// The object's class.
    pub class: Option<String>,
    /// The object's identity.
    pub track: Option<u64>,
    /// Its confidence, if it is in the frame.
    pub confidence: Option<f64>,
    /// Its place, if it is in the frame.
    pub place: Option<Rect>,
}

/// What an event is known by before it has its id, which the thread that writes gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventMark {
    /// When it happened, in milliseconds since 1970.
    pub time: i64,
    /// No other event has the same, also not one of another process.
    pub number: i64,
}

/// A name that is short enough to be kept.
pub(super) fn shortened(name: &str) -> String {
    name.chars().take(LONGEST).collect()
}

/// When and in which run of a stream's pipeline something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// Milliseconds since 1970.
    pub time: i64,
    /// The run of the pipeline: the times of frames begin again with each run.
    pub run: i64,
    /// The frame's time in nanoseconds.
    pub pts: Option<i64>,
}

/// Something to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// Something happened in a zone.
    Zone { stream: Arc<str>, at: Moment, number: i64, event: ZoneEvent },
    /// The picture of a track that has ended was written.
    Track { stream: Arc<str>, at: Moment, number: i64, picture: TrackPicture },
    /// The picture of the frame of an event was written into this file.
    Picture { mark: EventMark, file: String },
    /// An event was described in words, or why it was not.
    Description { mark: EventMark, text: Result<String, String> },
    /// A recording is complete.
    Recording { stream: Arc<str>, covered: Covered },
    /// How the streams and the process were for some seconds.
    Sample(Box<Sample>),
}

/// A picture's file, and what it shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrackPicture {
    pub file: String,
    pub class: String,
    pub track: u64,
    pub confidence: f64,
}

/// What a recording has: frames of a run from one time to another, in nanoseconds of the stream and in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Covered {
    pub file: String,
    pub run: i64,
    pub pts: [i64; 2],
    pub time: [i64; 2],
}

/// Counts of some seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// Minutes since 1970.
    pub minute: i64,
    pub streams: Vec<StreamSample>,
    pub process: ProcessSample,
}

/// Counts of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StreamSample {
    pub stream: String,
    pub frames: i64,
    pub dropped: i64,
    /// The largest, in seconds.
    pub lag: Option<f64>,
}

/// Use of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProcessSample {
    /// Seconds of CPU time, and how many seconds those were.
    pub cpu: f64,
    pub elapsed: f64,
    /// Bytes in RAM.
    pub memory: Option<i64>,
    /// Load of the busiest GPU, 0 to 1.
    pub gpu: Option<f64>,
}
