//! What all records begin with.

use serde::Serialize;

use crate::publish::clock::Clock;

/// Which frame of which source a record is of.
#[derive(Serialize)]
pub(crate) struct Head<'a> {
    pub schema: &'static str,
    /// The message's: no other has it.
    pub id: String,
    pub source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<&'a str>,
    /// Counts from 0 since the stream's start.
    pub frame: u64,
    /// Presentation time in ns.
    pub pts: Option<u64>,
    /// The place in the medium in ns.
    pub stream_time: Option<u64>,
    /// When it was taken, as RFC 3339 has it.
    pub time: String,
    pub clock: Clock,
    /// How long ago the frame came from its live source, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<f64>,
    pub width: u32,
    pub height: u32,
}

impl Head<'_> {
    /// The schema of frames.
    pub const FRAME: &'static str = "cudainfer.frame/5";
    /// That of events.
    pub const EVENT: &'static str = "cudainfer.event/2";
    /// That of tracks.
    pub const TRACK: &'static str = "cudainfer.track/2";
}

#[cfg(test)]
impl<'a> Head<'a> {
    pub fn for_test(source: &'a str, frame: u64) -> Self {
        let (id, time) = ("1".to_owned(), String::new());
        let clock = Clock::Arrival;
        Self {
            schema: Self::FRAME,
            id,
            source,
            stream: None,
            frame,
            pts: None,
            stream_time: None,
            time,
            clock,
            lag: None,
            width: 8,
            height: 4,
        }
    }
}
