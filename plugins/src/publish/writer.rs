//! Messages as they are written.

use std::sync::Arc;

use cudainfer_brokers::Message;

use super::changes::Change;
use super::clock::Moment;
use super::format::{Format, coco, deepstream, mot};
use super::kind::RecordKind;
use super::params::{Details, Messages, PublishParams, UNKNOWN};
use super::record::{
    EventRecord, FrameRecord, Head, MapRecord, ObjectRecord, TrackEndRecord, ZoneEventRecord, ZoneRecords,
};
use super::second_pass::{Gathered, PassCounts, PassParams, rows};
use super::tracks::{End, Track};

/// A frame that is written.
pub(super) struct Frame<'a> {
    pub moment: Moment,
    pub objects: &'a [ObjectRecord],
    pub maps: &'a [MapRecord],
    pub zones: Option<ZoneRecords>,
}

/// What messages about a stream are called.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub params: &'a PublishParams,
    /// The `stream-id`.
    pub stream: Option<&'a str>,
    /// Width and height of its frames.
    pub size: (u32, u32),
    pub details: Details,
}

impl<'a> Names<'a> {
    fn head(self, schema: &'static str, id: String, moment: &Moment) -> Head<'a> {
        let Moment { frame, pts, stream_time, wall, lag } = *moment;
        Head {
            schema,
            id,
            source: self.params.source(self.stream),
            stream: self.stream.filter(|_| self.details.stream_ids),
            frame,
            pts,
            stream_time,
            time: wall.microseconds(),
            clock: wall.clock,
            lag: lag.map(|ns| std::time::Duration::from_nanos(ns).as_secs_f64()),
            width: self.size.0,
            height: self.size.1,
        }
    }

    fn message(self, kind: RecordKind, id: String, payload: Vec<u8>) -> (RecordKind, Arc<Message>) {
        let topic =
            self.params.topic.fill(self.params.source(self.stream), kind, self.stream.unwrap_or(UNKNOWN));
        (kind, Arc::new(Message { topic, id, payload }))
    }
}

/// Names messages: a random word that no other start of the element has, and how many there were before.
#[derive(Debug)]
struct Ids {
    start: String,
    made: u64,
}

impl Default for Ids {
    /// Of a start of the element.
    fn default() -> Self {
        Self { start: glib::uuid_string_random().to_string(), made: 0 }
    }
}

impl Ids {
    /// One that no message has.
    fn next(&mut self) -> String {
        let id = format!("{}-{}", self.start, self.made);
        self.made += 1;
        id
    }
}

/// Writes messages.
#[derive(Debug, Default)]
pub(super) struct Writer(Ids);

impl Writer {
    /// None, where the format has nothing to say.
    pub fn frame(
        &mut self,
        names: Names<'_>,
        kind: RecordKind,
        frame: &Frame<'_>,
        changes: &[Change],
    ) -> serde_json::Result<Option<(RecordKind, Arc<Message>)>> {
        let head = names.head(Head::FRAME, self.0.next(), &frame.moment);
        let Frame { moment, objects, maps, zones } = frame;
        let payload = match names.params.format {
            Format::Json => {
                let record = FrameRecord { head: &head, changes, objects, maps, zones: zones.as_ref() };
                Some(serde_json::to_vec(&record)?)
            }
            Format::Deepstream => Some(deepstream(&head, moment.wall, objects)?),
            Format::Mot => mot(moment.frame, objects),
            Format::Coco => coco(moment.frame, objects)?,
            // Tables are made of the objects themselves.
            Format::Sleap | Format::DeepLabCut | Format::LightningPose => None,
        };
        Ok(payload.map(|payload| names.message(kind, head.id, payload)))
    }

    /// Rows of a table.
    pub fn rows(&mut self, names: Names<'_>, kind: RecordKind, rows: Vec<u8>) -> (RecordKind, Arc<Message>) {
        names.message(kind, self.0.next(), rows)
    }

    pub fn events(&mut self, names: Names<'_>, frame: &Frame<'_>) -> serde_json::Result<Messages> {
        let events = frame.zones.iter().flat_map(|zones| &zones.events);
        let message = |event: &ZoneEventRecord| {
            let head = names.head(Head::EVENT, self.0.next(), &frame.moment);
            let object = frame.objects.iter().find(|object| Some(object.id) == event.object);
            let payload = serde_json::to_vec(&EventRecord { head: &head, event, object })?;
            Ok(names.message(RecordKind::Events, head.id, payload))
        };
        events.map(message).collect()
    }

    /// Of tracks that have ended for this reason, and nothing of their stream follows: after a second pass, if there is one.
    pub fn last(
        &mut self,
        names: Names<'_>,
        (tracks, end): (Vec<Track>, End),
        gathered: &mut Gathered,
        counts: &mut PassCounts,
    ) -> serde_json::Result<Messages> {
        let Some(pass) = names.params.second_pass else {
            let messages = tracks.iter().map(|track| self.track(names, track, end));
            return messages.filter_map(Result::transpose).collect();
        };
        tracks.into_iter().for_each(|track| gathered.end(track, end));
        self.passed(names, gathered, pass, counts)
    }

    /// Makes the second pass over what is gathered.
    pub fn passed(
        &mut self,
        names: Names<'_>,
        gathered: &mut Gathered,
        pass: PassParams,
        counts: &mut PassCounts,
    ) -> serde_json::Result<Messages> {
        let passed = gathered.pass(&pass, counts);
        if !pass.of_tracks {
            return Ok(rows(&passed).map(|rows| self.rows(names, RecordKind::Tracks, rows)).collect());
        }
        let tracks = passed.tracks();
        let messages = tracks.iter().map(|(track, end)| self.track(names, track, *end));
        messages.filter_map(Result::transpose).collect()
    }

    /// None, where the track is not wanted.
    pub fn track(
        &mut self,
        names: Names<'_>,
        track: &Track,
        end: End,
    ) -> serde_json::Result<Option<(RecordKind, Arc<Message>)>> {
        let selection = &names.params.selection;
        let best = track.best.as_ref();
        if !selection.has_class(&track.label, best.map(|best| best.label_id))
            || !selection.is_sure(best.map(|best| best.confidence))
        {
            return Ok(None);
        }
        let head = names.head(Head::TRACK, self.0.next(), &track.last);
        let payload = serde_json::to_vec(&TrackEndRecord::new(&head, track, end))?;
        Ok(Some(names.message(RecordKind::Tracks, head.id, payload)))
    }
}
