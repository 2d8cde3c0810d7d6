//! What is said about frames: the messages of each, and those about tracks that end.

use std::collections::{HashMap, HashSet};

use super::changes::Changes;
use super::clock::{Arrival, Moment};
use super::format::Format;
use super::kind::{RecordKind, RecordKinds};
use super::labels::{Labels, LeftOut};
use super::numbering::Numbering;
use super::params::{Details, Messages, PublishParams};
use super::record::{MapRecord, NamedRecord, ObjectRecord, ZoneRecords};
use super::second_pass::{Gathered, PassCounts};
use super::selection::Selection;
use super::tracks::{End, Track, Tracks};
use super::writer::{Frame, Names, Writer};
use crate::continuity::Continuity;
use crate::meta::map::maps;
use crate::meta::object::{Object, objects};
use crate::meta::zone;
use crate::model::Skeleton;
use crate::streams::{PerStream, Streams};

/// Makes messages of frames.
#[derive(Debug)]
pub(crate) struct Composer {
    params: PublishParams,
    writer: Writer,
    /// The table, where the format is one.
    labels: Option<Labels>,
    streams: Streams<Stream>,
    /// Objects have been seen, and whether one had an identity.
    identities: Option<bool>,
    /// Frames have been seen, and whether one had zones.
    zones: Option<bool>,
    /// Streams that were forgotten, and their tracks ended, because too many others had their turn since.
    forgotten: u64,
    /// Frames that were lost before they came here.
    missing: u64,
    /// Whether frames of more than one stream have passed.
    several: bool,
    /// What second passes have done.
    passes: PassCounts,
}

/// What is remembered of a stream.
#[derive(Debug, Default)]
struct Stream {
    size: (u32, u32),
    /// The number of the next frame, unless others are missing before it.
    frames: u64,
    /// What their times have shown, and with the frame that is about to pass.
    numbering: [Numbering; 2],
    continuity: Continuity,
    /// Frames that are missing before the one that is about to pass.
    missing: u64,
    /// The interval that had its record last, and the one that has it with the frame that is about to pass.
    shown: [Option<u64>; 2],
    changes: Changes,
    tracks: Tracks,
    /// Tracks that have ended with a start that has been forgotten.
    ended: Vec<Track>,
    /// Boxes for the second pass, and those of the start that has been forgotten.
    gathered: [Gathered; 2],
}

impl PerStream for Stream {
    fn for_new_stream(&self) -> Self {
        Self { size: self.size, numbering: [self.numbering[0]; 2], ..Self::default() }
    }

    fn forget(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        ended.extend(self.tracks.end());
        let gathered = [Gathered::default(), std::mem::take(&mut self.gathered[0])];
        *self = Self { ended, gathered, ..self.for_new_stream() };
    }
}

impl Composer {
    /// Of a start of the element.
    pub fn new(params: PublishParams) -> Self {
        let labels = params.format.program().map(Labels::new);
        Self {
            params,
            writer: Writer::default(),
            labels,
            streams: Streams::default(),
            identities: None,
            zones: None,
            forgotten: 0,
            missing: 0,
            several: false,
            passes: PassCounts::default(),
        }
    }

    /// The size of the frames that come now, and how many a second, where their rate is constant.
    pub fn set_format(&mut self, size: (u32, u32), rate: Option<f64>) {
        let stream = self.streams.current_mut();
        stream.size = size;
        stream.numbering[0].set_rate(rate);
    }

    /// Whether it makes a table of points.
    pub fn makes_table(&self) -> bool {
        self.labels.is_some()
    }

    /// Takes the skeleton of the model whose points come now.
    ///
    /// # Errors
    /// A sentence: the table's header cannot be made of it, or has others already.
    pub fn set_skeleton(&mut self, skeleton: Skeleton) -> Result<(), String> {
        self.labels.as_mut().map_or(Ok(()), |labels| labels.set_skeleton(skeleton))
    }

    /// Takes the number of individuals, of which a table has columns for each. The header that has been written stays.
    pub fn set_individuals(&mut self, count: usize) {
        if let Some(labels) = &mut self.labels {
            labels.set_individuals(count);
        }
    }

    /// Takes the path or URI of the video whose frames come now, and how many channels they have.
    pub fn set_video(&mut self, name: String, channels: u32) {
        if let Some(labels) = &mut self.labels {
            labels.set_video(name, channels);
        }
    }

    /// What stands in the file beside the table, if the format has one.
    pub fn companion(&self) -> Option<Vec<u8>> {
        let Stream { frames, size, .. } = *self.streams.current();
        self.labels.as_ref()?.companion(frames, size)
    }

    /// What the table has no place for.
    pub fn left_out(&self) -> LeftOut {
        self.labels.as_ref().map(Labels::left_out).unwrap_or_default()
    }

    /// How many frames of all streams were lost before they came here.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// How many frames the current stream has had, those that are missing included.
    pub fn frames(&self) -> u64 {
        self.streams.current().frames
    }

    /// Takes in the start of a stream. Returns the messages about the tracks that have ended by it, also those of a stream that
    /// is forgotten because of it.
    ///
    /// # Errors
    /// None that these types can make.
    pub fn start(&mut self, event: &gst::EventRef, details: Details) -> serde_json::Result<Messages> {
        self.streams.see(event);
        let Self { params, writer, streams, passes, .. } = self;
        let Stream { ended, gathered, size, .. } = streams.current_mut();
        let (ended, mut gathered, size) = (std::mem::take(ended), std::mem::take(&mut gathered[1]), *size);
        let names = Names { params, stream: streams.id(), size, details };
        let mut messages = writer.last(names, (ended, End::Eos), &mut gathered, passes)?;
        if let Some((id, mut stream)) = streams.take_forgotten() {
            let tracks = stream.tracks.end();
            self.forgotten += u64::from(!tracks.is_empty());
            let names = Names { params, stream: id.as_deref(), size: stream.size, details };
            let [gathered, _] = &mut stream.gathered;
            messages.extend(writer.last(names, (tracks, End::Vanished), gathered, passes)?);
        }
        Ok(messages)
    }

    /// Takes in a segment. Where it begins somewhere else, as after a seek without a flush, no frame is missing before it.
    pub fn see_segment(&mut self, event: &gst::EventRef) {
        let stream = self.streams.current_mut();
        if stream.continuity.see(event).is_some() {
            stream.numbering[0].interrupt();
        }
    }

    /// Ends all tracks of all streams. What follows does not continue what was before.
    ///
    /// # Errors
    /// None that these types can make.
    pub fn end(&mut self, end: End, details: Details) -> serde_json::Result<Messages> {
        let mut messages = self.header(details);
        let Self { params, writer, streams, passes, .. } = self;
        for (id, stream) in streams.named_mut() {
            (stream.shown, stream.changes) = ([None; 2], Changes::default());
            stream.numbering[0].interrupt();
            stream.continuity.forget();
            let names = Names { params, stream: id, size: stream.size, details };
            let tracks = stream.tracks.end();
            messages.extend(writer.last(names, (tracks, end), &mut stream.gathered[0], passes)?);
            stream.gathered[0].forget_names();
        }
        Ok(messages)
    }

    /// The messages about a frame whose stream time, in ns, is this, and how many objects its records have.
    ///
    /// # Errors
    /// None that these types can make.
    pub fn compose(
        &mut self,
        buffer: &gst::BufferRef,
        stream_time: Option<u64>,
        arrival: Arrival,
        details: Details,
    ) -> serde_json::Result<(Messages, usize)> {
        let mut all = objects(buffer);
        if !all.is_empty() && self.identities != Some(true) {
            self.identities = Some(all.iter().any(|object| object.tracking.is_some()));
        }
        let stream = self.streams.current_mut();
        let pts = buffer.pts().map(gst::ClockTime::nseconds);
        stream.continuity.see_frame(buffer);
        stream.numbering[1] = stream.numbering[0];
        stream.missing = stream.numbering[1].see(pts, buffer.duration().map(gst::ClockTime::nseconds));
        let frame = stream.frames + stream.missing;
        let (wall, lag) = arrival.of(buffer);
        let moment = Moment { frame, pts, stream_time, wall, lag };
        let ended = if self.params.has(RecordKinds::TRACKS) {
            stream.tracks.see(&all, moment, self.params.patience)
        } else {
            Vec::new()
        };
        // Also those that are not written.
        let named = named(&all);
        // Whether a track is written depends on the best of its boxes, which is not known yet.
        self.gather(&all, moment, true);
        all.retain(|object| self.params.selection.has(object));
        self.gather(&all, moment, false);
        let zones = zone::zones(buffer).map(|(zones, events)| (zones, self.wanted(events, &all)));
        self.zones = Some(self.zones == Some(true) || zones.is_some());
        let changes = if self.params.has(RecordKinds::CHANGES) {
            let events = zones.as_ref().is_some_and(|(_, events)| !events.is_empty());
            self.streams.current_mut().changes.see(all.iter(), events)
        } else {
            Vec::new()
        };
        let due = self.params.has(RecordKinds::FRAMES) && self.is_due(pts);
        if self.labels.is_some() {
            return Ok((self.rows(moment, &all, due, details), all.len()));
        }
        let mut messages = self.vanished(ended, details)?;
        let record = |object| ObjectRecord::of(object, details.embeddings, &named);
        let records: Vec<_> = all.into_iter().map(record).collect();
        let maps: Vec<_> = maps(buffer).into_iter().map(MapRecord::from).collect();
        let frame = Frame { moment, objects: &records, maps: &maps, zones: zones.map(ZoneRecords::from) };
        let Self { params, writer, streams, .. } = self;
        let names = Names { params, stream: streams.id(), size: streams.current().size, details };
        if params.has(RecordKinds::EVENTS) {
            messages.extend(writer.events(names, &frame)?);
        }
        let mut count = 0;
        // The rows of frames are written by the second pass.
        let due = due && params.second_pass.is_none_or(|pass| pass.of_tracks);
        for (kind, wanted) in [(RecordKind::Frames, due), (RecordKind::Changes, !changes.is_empty())] {
            if wanted {
                let changes = if kind == RecordKind::Changes { &changes[..] } else { &[] };
                messages.extend(writer.frame(names, kind, &frame, changes)?);
                count += records.len();
            }
        }
        Ok((messages, count))
    }

    /// The table's header, the first time that it can be made.
    fn header(&mut self, details: Details) -> Messages {
        let Self { params, writer, streams, labels, .. } = self;
        let header = labels.as_mut().and_then(Labels::begin);
        let names = Names { params, stream: streams.id(), size: streams.current().size, details };
        header.map(|header| writer.rows(names, RecordKind::Header, header)).into_iter().collect()
    }

    /// The rows of a frame, after the header if there is none yet.
    fn rows(&mut self, moment: Moment, objects: &[Object], due: bool, details: Details) -> Messages {
        let mut messages = self.header(details);
        let Self { params, writer, streams, labels, .. } = self;
        let names = Names { params, stream: streams.id(), size: streams.current().size, details };
        let rows = labels.as_mut().filter(|_| due).and_then(|labels| labels.rows(moment.frame, objects));
        messages.extend(rows.map(|rows| writer.rows(names, RecordKind::Frames, rows)));
        messages
    }

    /// The frame of the last messages has passed.
    pub fn passed(&mut self) {
        let stream = self.streams.current_mut();
        let missing = std::mem::take(&mut stream.missing);
        stream.frames += 1 + missing;
        stream.numbering[0] = stream.numbering[1];
        stream.shown[0] = stream.shown[1];
        self.missing += missing;
        self.several = self.several || self.streams.iter_mut().filter(|stream| stream.frames > 0).count() > 1;
    }

    /// Whether frames of several streams have come, and what is written has no place for which one a frame is of: their numbers
    /// repeat.
    pub fn mixes_streams(&self) -> bool {
        self.several && self.params.format.is_for_files()
    }

    /// How many streams were forgotten because there are more than are remembered, and their tracks ended.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Whether objects have come, but none with an identity, and there is nothing to be said about others.
    pub fn misses_identities(&self) -> bool {
        self.identities == Some(false)
            && (self.params.has(RecordKinds::TRACKS) || self.params.format == Format::Mot)
    }

    /// Whether frames have come, but none with zones, whose events should be written.
    pub fn misses_zones(&self) -> bool {
        self.zones == Some(false) && self.params.has(RecordKinds::EVENTS)
    }

    /// The objects that are written.
    pub fn selection(&self) -> &Selection {
        &self.params.selection
    }

    /// What second passes have done.
    pub fn passes(&self) -> PassCounts {
        self.passes
    }

    /// Takes in the tracks of a frame, if there will be a second pass for such records.
    fn gather(&mut self, objects: &[Object], moment: Moment, of_tracks: bool) {
        if let Some(pass) = self.params.second_pass.filter(|pass| pass.of_tracks == of_tracks) {
            let [gathered, _] = &mut self.streams.current_mut().gathered;
            gathered.see(objects, moment, &pass);
        }
    }

    /// The messages about tracks of the current stream that are seen no more; and about all that is gathered, if that is too much.
    fn vanished(&mut self, tracks: Vec<Track>, details: Details) -> serde_json::Result<Messages> {
        let Self { params, writer, streams, passes, .. } = self;
        let Some(pass) = params.second_pass else {
            let names = Names { params, stream: streams.id(), size: streams.current().size, details };
            let messages = tracks.iter().map(|track| writer.track(names, track, End::Vanished));
            return messages.filter_map(Result::transpose).collect();
        };
        let [gathered, _] = &mut streams.current_mut().gathered;
        tracks.into_iter().for_each(|track| gathered.end(track, End::Vanished));
        let mut messages = Messages::new();
        if streams.iter_mut().map(|stream| stream.gathered[0].size()).sum::<usize>() >= pass.max_gathered {
            passes.early += 1;
            for (id, stream) in streams.named_mut() {
                let names = Names { params, stream: id, size: stream.size, details };
                messages.extend(writer.passed(names, &mut stream.gathered[0], pass, passes)?);
            }
        }
        Ok(messages)
    }

    /// Whether the frame is the first of its interval.
    fn is_due(&mut self, pts: Option<u64>) -> bool {
        let stream = self.streams.current_mut();
        let interval = pts.and_then(|pts| pts.checked_div(self.params.interval));
        stream.shown[1] = interval.or(stream.shown[0]);
        interval.is_none() || stream.shown[0] != interval
    }

    /// Events of the classes that are wanted; they name only objects that are.
    fn wanted(&self, mut events: Vec<zone::ZoneEvent>, objects: &[Object]) -> Vec<zone::ZoneEvent> {
        let id = |event: &zone::ZoneEvent| objects.iter().find(|object| Some(object.id) == event.object);
        events.retain(|event| {
            let label_id = id(event).and_then(|object| object.detection.as_ref()).map(|d| d.label_id);
            event.track.is_none() || self.params.selection.has_class(&event.label, label_id)
        });
        for event in &mut events {
            event.object = id(event).map(|object| object.id);
        }
        events
    }
}

/// The objects that others' records name, by their numbers: those in whose regions others were found, and the nearest ones.
fn named(objects: &[Object]) -> HashMap<i32, NamedRecord> {
    let nearest = |object: &Object| Some(object.world.as_ref()?.nearest?.object);
    let ids: HashSet<_> =
        objects.iter().flat_map(|object| [object.parent, nearest(object)]).flatten().collect();
    let named = objects.iter().filter(|object| ids.contains(&object.id));
    named.map(|object| (object.id, NamedRecord::from(object))).collect()
}

#[cfg(test)]
mod tests;
