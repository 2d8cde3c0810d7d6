//! What a stream reports to the history.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::entry::{Covered, Entry, EventMark, Moment, TrackPicture, shortened};
use super::note::Notes;
use super::{ZoneEvent, zone_events};
use crate::time::milliseconds;
use crate::unpoisoned::lock;

/// The most combinations of zone, kind and class that are counted by themselves for `/metrics`.
const MOST_COUNTED: usize = 500;

/// A zone, a kind of event and a class; all empty for those beyond [`MOST_COUNTED`].
pub type Counted = (String, String, String);

/// The history of one stream. Nothing here waits.
#[derive(Debug)]
pub struct StreamHistory {
    stream: Arc<str>,
    notes: Option<Arc<Notes>>,
    run: AtomicI64,
    counts: Mutex<BTreeMap<Counted, u64>>,
}

/// An event of a zone that has been noted.
#[derive(Clone, Debug, PartialEq)]
pub struct NotedEvent {
    /// The event.
    pub event: ZoneEvent,
    /// What it is known by.
    pub mark: EventMark,
}

/// A run of a stream's pipeline, of which pictures and recordings are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PipelineRun(i64);

impl StreamHistory {
    pub(super) fn new(stream: &str, notes: Option<Arc<Notes>>) -> Self {
        let run = notes.as_ref().map_or(0, |notes| notes.next_number());
        Self { stream: stream.into(), notes, run: AtomicI64::new(run), counts: Mutex::default() }
    }

    /// Takes a frame with its results: the events of zones in it are noted and counted. Returns them.
    pub fn results(&self, frame: &gst::BufferRef) -> Vec<NotedEvent> {
        let events = zone_events::of(frame);
        if events.is_empty() {
            return Vec::new();
        }
        let at = self.moment(milliseconds(), self.run(), frame.pts().map(gst::ClockTime::nseconds));
        let noted = events.into_iter().map(|event| {
            self.count(&event);
            let number = self.number();
            if let Some(notes) = &self.notes {
                let stream = Arc::clone(&self.stream);
                notes.note(Entry::Zone { stream, at, number, event: event.clone() });
            }
            NotedEvent { event, mark: EventMark { time: at.time, number } }
        });
        noted.collect()
    }

    /// Notes that the picture of an event's frame was written into a file of the stream's folder.
    pub fn event_picture(&self, mark: EventMark, file: String) {
        if let Some(notes) = &self.notes {
            notes.note(Entry::Picture { mark, file });
        }
    }

    /// Notes an event's words, or why there are none.
    pub fn description(&self, mark: EventMark, text: Result<String, String>) {
        if let Some(notes) = &self.notes {
            notes.note(Entry::Description { mark, text });
        }
    }

    /// Whether what is noted is kept.
    pub fn is_kept(&self) -> bool {
        self.notes.is_some()
    }

    /// The run of the pipeline whose frames come now.
    pub fn run(&self) -> PipelineRun {
        PipelineRun(self.run.load(Ordering::Relaxed))
    }

    /// Notes that the frames' times begin again, and tracks with them.
    pub fn interrupt(&self) {
        if let Some(notes) = &self.notes {
            self.run.store(notes.next_number(), Ordering::Relaxed);
        }
    }

    /// Notes the picture of a track, which was made at `time` (milliseconds since 1970) of a frame at `pts`. Returns what its event
    /// is known by.
    pub fn picture(
        &self,
        run: PipelineRun,
        time: i64,
        pts: u64,
        file: String,
        (track, class, confidence): (u64, &str, f64),
    ) -> EventMark {
        let number = self.number();
        if let Some(notes) = &self.notes {
            let at = self.moment(time, run, Some(pts));
            let picture = TrackPicture { file, class: class.to_owned(), track, confidence };
            notes.note(Entry::Track { stream: Arc::clone(&self.stream), at, number, picture });
        }
        EventMark { time, number }
    }

    /// Notes a recording: its frames of a run from one time to another, in nanoseconds, and when it began and ended, in
    /// milliseconds since 1970.
    pub fn recording(&self, run: PipelineRun, file: String, pts: [u64; 2], time: [i64; 2]) {
        let Some(notes) = &self.notes else { return };
        notes.note(recorded(&self.stream, run, file, pts, time));
    }

    /// How many events there were of each zone, kind and class.
    pub fn counts(&self) -> Vec<(Counted, u64)> {
        lock(&self.counts).iter().map(|(counted, count)| (counted.clone(), *count)).collect()
    }

    fn count(&self, event: &ZoneEvent) {
        let class = event.class.as_deref().map(shortened).unwrap_or_default();
        let mut counted = (shortened(&event.zone), event.kind.clone(), class);
        let mut counts = lock(&self.counts);
        if counts.len() >= MOST_COUNTED && !counts.contains_key(&counted) {
            counted = Counted::default();
        }
        *counts.entry(counted).or_default() += 1;
    }

    fn number(&self) -> i64 {
        self.notes.as_ref().map_or(0, |notes| notes.next_number())
    }

    fn moment(&self, time: i64, run: PipelineRun, pts: Option<u64>) -> Moment {
        Moment { time, run: run.0, pts: pts.map(signed) }
    }
}

/// What is noted of a recording.
pub(super) fn recorded(
    stream: &Arc<str>,
    run: PipelineRun,
    file: String,
    pts: [u64; 2],
    time: [i64; 2],
) -> Entry {
    let covered = Covered { file, run: run.0, pts: pts.map(signed), time };
    Entry::Recording { stream: Arc::clone(stream), covered }
}

fn signed(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_are_counted_together() {
        let history = StreamHistory::new("door", None);
        let event = |zone: usize| ZoneEvent {
            zone: format!("zone {zone}"),
            kind: "enter".into(),
            ..ZoneEvent::default()
        };
        (0..2 * MOST_COUNTED).for_each(|zone| history.count(&event(zone)));
        history.count(&event(0));
        let counts = history.counts();
        assert_eq!(counts.len(), MOST_COUNTED + 1);
        assert_eq!(counts[0], (Counted::default(), MOST_COUNTED as u64));
        let first = counts.iter().find(|((zone, ..), _)| zone == "zone 0");
        assert_eq!(first.map(|(_, count)| *count), Some(2));
    }
}
