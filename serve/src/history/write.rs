//! Writing entries: the statements.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, params};

use super::entry::{Covered, Entry, EventMark, Moment, Sample, TrackPicture, ZoneEvent, shortened};
use super::event::{COLUMNS, EventRow};
use super::live::LiveEvent;

/// Recordings of each stream that are remembered, for events that come after the end of theirs.
const RECORDINGS: usize = 16;
/// Streams of which they are remembered.
const STREAMS: usize = 1024;
/// Milliseconds between an event and the recording of its frame: results are late, and files are completed late.
const APART: i64 = 15_000;

/// The recordings that were completed last.
#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<Arc<str>, VecDeque<Covered>>);

impl Recent {
    fn add(&mut self, stream: &Arc<str>, covered: Covered) {
        if self.0.len() >= STREAMS && !self.0.contains_key(stream) {
            self.0.clear();
        }
        let recordings = self.0.entry(Arc::clone(stream)).or_default();
        recordings.push_back(covered);
        if recordings.len() > RECORDINGS {
            recordings.pop_front();
        }
    }

    /// The recording of a frame, and how many seconds into it the frame is.
    fn find(&self, stream: &str, at: &Moment) -> Option<(String, f64)> {
        let pts = at.pts?;
        let [earliest, latest] = [-APART, APART].map(|apart| at.time.saturating_add(apart));
        let has = |one: &&Covered| {
            let [first, last] = one.pts;
            let [began, ended] = one.time;
            one.run == at.run && (first..=last).contains(&pts) && began <= latest && earliest <= ended
        };
        let found = self.0.get(stream)?.iter().find(has)?;
        Some((found.file.clone(), seconds(pts - found.pts[0])))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a recording is not as long")]
fn seconds(nanoseconds: i64) -> f64 {
    (nanoseconds as f64 / 1e6).round() / 1e3
}

/// Writes entries, all or none. Returns what is new, in its order.
///
/// # Errors
/// Those of SQLite.
pub(super) fn write(
    connection: &Connection,
    recent: &mut Recent,
    entries: &[Entry],
) -> rusqlite::Result<Vec<LiveEvent>> {
    let transaction = connection.unchecked_transaction()?;
    let mut events = Vec::new();
    for entry in entries {
        match entry {
            Entry::Zone { stream, at, number, event } => {
                let id = zone_event(&transaction, recent, stream, (at, *number), event)?;
                events.push(LiveEvent::New(load(&transaction, id)?));
            }
            Entry::Track { stream, at, number, picture } => {
                let id = track(&transaction, recent, stream, (at, *number), picture)?;
                events.push(LiveEvent::New(load(&transaction, id)?));
                for id in link_picture(&transaction, stream, at, picture)? {
                    events.push(LiveEvent::Update(load(&transaction, id)?));
                }
            }
            Entry::Picture { mark, file } => {
                for id in link_event_picture(&transaction, mark, file)? {
                    events.push(LiveEvent::Update(load(&transaction, id)?));
                }
            }
            Entry::Description { mark, text } => {
                for id in describe(&transaction, mark, text)? {
                    events.push(LiveEvent::Update(load(&transaction, id)?));
                }
            }
            Entry::Recording { stream, covered } => {
                for id in link_recording(&transaction, stream, covered)? {
                    events.push(LiveEvent::Update(load(&transaction, id)?));
                }
                recent.add(stream, covered.clone());
            }
            Entry::Sample(sample) => write_sample(&transaction, sample)?,
        }
    }
    transaction.commit()?;
    Ok(events)
}

fn load(transaction: &Transaction<'_>, id: i64) -> rusqlite::Result<Arc<super::Event>> {
    let statement = format!("SELECT {COLUMNS} FROM events WHERE id = ?1");
    Ok(Arc::new(transaction.query_row(&statement, [id], EventRow::of)?.event()))
}

fn zone_event(
    transaction: &Transaction<'_>,
    recent: &Recent,
    stream: &str,
    (at, number): (&Moment, i64),
    event: &ZoneEvent,
) -> rusqlite::Result<i64> {
    let (zone, class) = (shortened(&event.zone), event.class.as_deref().map(shortened));
    let track = event.track.map(u64::cast_signed);
    let (recording, offset) = recent.find(stream, at).unzip();
    transaction.execute(
        "INSERT INTO events(time, stream, kind, zone, class, track, confidence, recording, offset, run, pts, number, snapshot) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
         (SELECT snapshot FROM events INDEXED BY events_of_tracks WHERE stream = ?2 AND run = ?10 AND track = ?6 AND kind = 'track' LIMIT 1))",
        params![
            at.time,
            stream,
            event.kind,
            zone,
            class,
            track,
            event.confidence,
            recording,
            offset,
            at.run,
            at.pts,
            number
        ],
    )?;
    let id = transaction.last_insert_rowid();
    transaction.execute(
        "INSERT INTO counts VALUES (?1, ?2, ?3, ?4, ?5, 1) \
         ON CONFLICT(minute, stream, zone, kind, class) DO UPDATE SET count = count + 1",
        params![at.time.div_euclid(60_000), stream, zone, event.kind, class.unwrap_or_default()],
    )?;
    Ok(id)
}

fn track(
    transaction: &Transaction<'_>,
    recent: &Recent,
    stream: &str,
    (at, number): (&Moment, i64),
    picture: &TrackPicture,
) -> rusqlite::Result<i64> {
    let (recording, offset) = recent.find(stream, at).unzip();
    transaction.execute(
        "INSERT INTO events(time, stream, kind, class, track, confidence, snapshot, recording, offset, run, pts, number) \
         VALUES (?1, ?2, 'track', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            at.time,
            stream,
            shortened(&picture.class),
            picture.track.cast_signed(),
            picture.confidence,
            picture.file,
            recording,
            offset,
            at.run,
            at.pts,
            number
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

/// The picture of a track is that of all its events.
fn link_picture(
    transaction: &Transaction<'_>,
    stream: &str,
    at: &Moment,
    picture: &TrackPicture,
) -> rusqlite::Result<Vec<i64>> {
    let mut update = transaction.prepare(
        "UPDATE events SET snapshot = ?1 WHERE stream = ?2 AND run = ?3 AND track = ?4 AND kind <> 'track' RETURNING id",
    )?;
    let values = params![picture.file, stream, at.run, picture.track.cast_signed()];
    update.query_map(values, |row| row.get(0))?.collect()
}

/// The picture of an event's own frame. The index of times finds the event.
fn link_event_picture(
    transaction: &Transaction<'_>,
    mark: &EventMark,
    file: &str,
) -> rusqlite::Result<Vec<i64>> {
    let statement = "UPDATE events SET picture = ?1 WHERE time = ?2 AND number = ?3 RETURNING id";
    let mut update = transaction.prepare(statement)?;
    update.query_map(params![file, mark.time, mark.number], |row| row.get(0))?.collect()
}

/// The words for an event, or why there are none.
fn describe(
    transaction: &Transaction<'_>,
    mark: &EventMark,
    text: &Result<String, String>,
) -> rusqlite::Result<Vec<i64>> {
    let mut update = transaction.prepare(
        "UPDATE events SET description = ?1, description_error = ?2 WHERE time = ?3 AND number = ?4 RETURNING id",
    )?;
    let values = params![text.as_ref().ok(), text.as_ref().err(), mark.time, mark.number];
    update.query_map(values, |row| row.get(0))?.collect()
}

fn link_recording(
    transaction: &Transaction<'_>,
    stream: &str,
    covered: &Covered,
) -> rusqlite::Result<Vec<i64>> {
    let ([first, last], [began, ended]) = (covered.pts, covered.time);
    let mut update = transaction.prepare(
        "UPDATE events SET recording = ?1, offset = round((pts - ?2) / 1e9, 3) \
         WHERE time BETWEEN ?3 AND ?4 AND stream = ?5 AND run = ?6 AND pts BETWEEN ?2 AND ?7 AND recording IS NULL RETURNING id",
    )?;
    let (earliest, latest) = (began.saturating_sub(APART), ended.saturating_add(APART));
    let values = params![covered.file, first, earliest, latest, stream, covered.run, last];
    update.query_map(values, |row| row.get(0))?.collect()
}

fn write_sample(transaction: &Transaction<'_>, sample: &Sample) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO streams VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT(minute, stream) DO UPDATE SET \
         frames = frames + excluded.frames, dropped = dropped + excluded.dropped, \
         lag = max(coalesce(lag, excluded.lag), coalesce(excluded.lag, lag))",
    )?;
    for stream in &sample.streams {
        insert.execute(params![sample.minute, stream.stream, stream.frames, stream.dropped, stream.lag])?;
    }
    let process = &sample.process;
    transaction.execute(
        "INSERT INTO process VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(minute) DO UPDATE SET \
         cpu = cpu + excluded.cpu, elapsed = elapsed + excluded.elapsed, \
         memory = max(coalesce(memory, excluded.memory), coalesce(excluded.memory, memory)), \
         gpu = gpu + excluded.gpu, gpu_samples = gpu_samples + excluded.gpu_samples",
        params![
            sample.minute,
            process.cpu,
            process.elapsed,
            process.memory,
            process.gpu.unwrap_or_default(),
            i64::from(process.gpu.is_some())
        ],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
