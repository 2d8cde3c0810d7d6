//! An event as clients get it.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::folders::Folders;
use crate::time::time_text;

/// What stays as it is in a part of a URL's path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// An event, as `/v1/events` shows it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Event {
    /// Grows with each event, in the order in which they came.
    pub id: i64,
    /// When the frame came to the end of the stream's line, RFC 3339.
    pub time: String,
    /// The stream.
    pub stream: String,
    /// What happened: as in the records, but `in` or `out` for `cross`; `track` for a track that has ended and has a picture.
    pub kind: String,
    /// Where.
    pub zone: Option<String>,
    /// Class of the object.
    pub class: Option<String>,
    /// Identity of the object.
    pub track: Option<u64>,
    /// Confidence of the object in that frame.
    pub confidence: Option<f64>,
    /// Address of the picture of the object, relative to the service's: the best of its track, or that of the event's frame.
    pub snapshot: Option<String>,
    /// Address of the recording.
    pub recording: Option<String>,
    /// Seconds into the recording.
    pub offset: Option<f64>,
    /// The event in words. They are a model's: text that nobody has checked.
    pub description: Option<String>,
    /// Why there are no such words, if there should be.
    #[serde(rename = "description-error")]
    pub description_error: Option<String>,
}

/// The columns of an event, in the order of [`EventRow::of`].
pub(super) const COLUMNS: &str = "id, time, stream, kind, zone, class, track, confidence, snapshot, recording, offset, picture, description, description_error";

/// A row of the table: files by name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventRow {
    pub id: i64,
    pub time: i64,
    pub stream: String,
    pub kind: String,
    pub zone: Option<String>,
    pub class: Option<String>,
    pub track: Option<i64>,
    pub confidence: Option<f64>,
    pub snapshot: Option<String>,
    pub recording: Option<String>,
    pub offset: Option<f64>,
    pub picture: Option<String>,
    pub description: Option<String>,
    pub description_error: Option<String>,
}

impl EventRow {
    pub fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            time: row.get(1)?,
            stream: row.get(2)?,
            kind: row.get(3)?,
            zone: row.get(4)?,
            class: row.get(5)?,
            track: row.get(6)?,
            confidence: row.get(7)?,
            snapshot: row.get(8)?,
            recording: row.get(9)?,
            offset: row.get(10)?,
            picture: row.get(11)?,
            description: row.get(12)?,
            description_error: row.get(13)?,
        })
    }

    /// Leaves out files that `[retention]` has removed since.
    pub fn without_removed(mut self, state: &Path) -> Self {
        let folders = Folders::of(state, &self.stream);
        self.snapshot = self.snapshot.filter(|file| folders.snapshots.join(file).is_file());
        self.picture = self.picture.filter(|file| folders.events.join(file).is_file());
        self.recording = self.recording.filter(|file| folders.recordings.join(file).is_file());
        self.offset = self.offset.filter(|_| self.recording.is_some());
        self
    }

    pub fn event(self) -> Event {
        let stream = utf8_percent_encode(&self.stream, PLAIN).to_string();
        let address = |kind: &str, file: String| {
            format!("v1/streams/{stream}/{kind}/{}", utf8_percent_encode(&file, PLAIN))
        };
        let snapshot = self.snapshot.map(|file| address("snapshots", file));
        Event {
            id: self.id,
            time: time_text(self.time),
            kind: self.kind,
            zone: self.zone,
            class: self.class,
            track: self.track.map(i64::cast_unsigned),
            confidence: self.confidence,
            snapshot: snapshot.or(self.picture.map(|file| address("events", file))),
            recording: self.recording.map(|file| address("recordings", file)),
            offset: self.offset,
            description: self.description,
            description_error: self.description_error,
            stream: self.stream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_valid_whatever_the_class_is_called() {
        let row = EventRow {
            id: 1,
            time: 1_250,
            stream: "a-b_c.d".into(),
            kind: "track".into(),
            zone: None,
            class: Some("\r\n<b>".into()),
            track: Some(-1),
            confidence: None,
            snapshot: Some("20261123T074501.250Z-größe-1.jpg".into()),
            recording: Some("a?b#c%.mp4".into()),
            offset: Some(1.5),
            picture: Some("a b.jpg".into()),
            description: None,
            description_error: None,
        };
        let event = row.clone().event();
        assert_eq!(
            event.snapshot.as_deref(),
            Some("v1/streams/a-b_c.d/snapshots/20261123T074501.250Z-gr%C3%B6%C3%9Fe-1.jpg")
        );
        assert_eq!(event.recording.as_deref(), Some("v1/streams/a-b_c.d/recordings/a%3Fb%23c%25.mp4"));
        assert_eq!((event.track, event.time.as_str()), (Some(u64::MAX), "1970-01-01T00:00:01.250Z"));
        let own = EventRow { snapshot: None, ..row.clone() }.event();
        assert_eq!(own.snapshot.as_deref(), Some("v1/streams/a-b_c.d/events/a%20b.jpg"));
        let gone = row.without_removed(Path::new("/nowhere")).event();
        assert_eq!((gone.snapshot, gone.recording, gone.offset), (None, None, None));
    }
}
