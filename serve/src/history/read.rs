//! Reading: each request has a connection of its own, which neither waits for the writer nor holds it up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};

use super::event::{COLUMNS, Event, EventRow};
use super::store;
use crate::time::time_text;

/// The steps that a series may have, in seconds.
pub const STEPS: [i64; 3] = [60, 300, 3600];
/// The most rows of counts in an answer.
const MOST_COUNTS: usize = 1000;

/// Which events are wanted; times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this stream.
    pub stream: Option<String>,
    /// In this zone.
    pub zone: Option<String>,
    /// Of objects of this class.
    pub class: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
    /// Not before.
    pub from: Option<i64>,
    /// Before.
    pub to: Option<i64>,
    /// Older than this event.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: usize,
}

/// A page of events.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Events {
    /// The newest first.
    pub events: Vec<Event>,
    /// The `before` of the next page, if there is one.
    pub next: Option<i64>,
}

/// Which part of the history is wanted: from one time to another, in minutes since 1970, in steps of minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesFilter {
    /// The first minute.
    pub from: i64,
    /// The minute after the last.
    pub to: i64,
    /// Minutes of a step.
    pub step: i64,
    /// Of this stream.
    pub stream: Option<String>,
}

/// What happened in each step.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Series {
    /// Begin of the first step, RFC 3339.
    pub from: String,
    /// End of the last.
    pub to: String,
    /// Seconds of a step.
    pub step: i64,
    /// How many steps there are.
    pub times: usize,
    /// By stream.
    pub streams: BTreeMap<String, StreamSeries>,
    /// Events of zones.
    pub counts: Vec<CountSeries>,
    /// Rows of `counts` with fewer events that were left out.
    pub left_out: usize,
    /// Use of the machine.
    pub process: ProcessSeries,
}

/// A stream's counts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct StreamSeries {
    /// Frames that came to its end; `None` while the service did not run.
    pub frames: Vec<Option<i64>>,
    /// Frames that were dropped.
    pub dropped: Vec<Option<i64>>,
    /// The largest lag in seconds.
    pub lag: Vec<Option<f64>>,
}

/// Events of one stream, zone, kind and class.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct CountSeries {
    /// The stream.
    pub stream: String,
    /// The zone.
    pub zone: String,
    /// The kind of event.
    pub kind: String,
    /// The class.
    pub class: Option<String>,
    /// How many events; `None` while the service did not run.
    pub counts: Vec<Option<i64>>,
}

/// The process's use of the machine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ProcessSeries {
    /// Seconds in which the service ran.
    pub elapsed: Vec<Option<f64>>,
    /// Cores used.
    pub cpu: Vec<Option<f64>>,
    /// Bytes in RAM.
    pub memory: Vec<Option<i64>>,
    /// Load of the busiest GPU, 0 to 1.
    pub gpu: Vec<Option<f64>>,
}

/// A connection for one request.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
    state: PathBuf,
}

/// Something in the database cannot be read; for the end of a sentence.
fn unreadable(error: rusqlite::Error) -> String {
    format!("the history cannot be read now: {error}")
}

impl Reader {
    pub(super) fn open(file: &Path) -> Result<Self, String> {
        let connection = store::open_to_read(file).map_err(unreadable)?;
        let state = file.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { connection, state })
    }

    /// Events that fit, the newest first.
    ///
    /// # Errors
    /// A sentence: the database cannot be read.
    pub fn events(&self, filter: &EventFilter) -> Result<Events, String> {
        let number = |number: Option<i64>| number.map(Value::Integer);
        let text = |text: &Option<String>| text.clone().map(Value::Text);
        let conditions = [
            ("stream = ?", text(&filter.stream)),
            ("zone = ?", text(&filter.zone)),
            ("class = ?", text(&filter.class)),
            ("kind = ?", text(&filter.kind)),
            ("time >= ?", number(filter.from)),
            ("time < ?", number(filter.to)),
            ("id < ?", number(filter.before)),
        ];
        let limit = filter.limit.max(1);
        let mut rows = self.rows(conditions, limit + 1).map_err(unreadable)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| row.id);
        let events = rows.into_iter().map(|row| row.without_removed(&self.state).event()).collect();
        Ok(Events { events, next })
    }

    /// The last events after one, at most as many, the oldest first.
    ///
    /// # Errors
    /// A sentence: the database cannot be read.
    pub fn events_after(&self, id: i64, stream: Option<&str>, limit: usize) -> Result<Vec<Event>, String> {
        let stream = stream.map(|stream| Value::Text(stream.to_owned()));
        let conditions = [("id > ?", Some(Value::Integer(id))), ("stream = ?", stream)];
        let mut rows = self.rows(conditions, limit).map_err(unreadable)?;
        rows.reverse();
        Ok(rows.into_iter().map(|row| row.without_removed(&self.state).event()).collect())
    }

    /// What [`EventFilter`] asks for is data, never a part of the statement.
    fn rows<const N: usize>(
        &self,
        conditions: [(&str, Option<Value>); N],
        limit: usize,
    ) -> rusqlite::Result<Vec<EventRow>> {
        let (conditions, mut values): (Vec<_>, Vec<_>) =
            conditions.into_iter().filter_map(|(condition, value)| Some((condition, value?))).unzip();
        let wanted = if conditions.is_empty() { "1".to_owned() } else { conditions.join(" AND ") };
        let statement = format!("SELECT {COLUMNS} FROM events WHERE {wanted} ORDER BY id DESC LIMIT ?");
        values.push(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
        let mut statement = self.connection.prepare(&statement)?;
        statement.query_map(params_from_iter(values), EventRow::of)?.collect()
    }

    /// The counts of each step.
    ///
    /// # Errors
    /// A sentence: the database cannot be read.
    pub fn series(&self, filter: &SeriesFilter) -> Result<Series, String> {
        self.read_series(filter).map_err(unreadable)
    }

    fn read_series(&self, filter: &SeriesFilter) -> rusqlite::Result<Series> {
        let SeriesFilter { from, to, ref stream, .. } = *filter;
        let (step, times) = steps(filter);
        let of_stream = if stream.is_some() { "AND stream = ?4" } else { "AND ?4 IS NULL" };
        let values = (from, to, step, stream);
        let mut series = Series {
            from: time_text(from.saturating_mul(60_000)),
            to: time_text(to.saturating_mul(60_000)),
            step: step * 60,
            times,
            ..Series::default()
        };

        series.process = self.process(filter)?;
        // Nothing happened while the service ran, or nobody knows what did.
        let ran = |elapsed: &Option<f64>| elapsed.map(|_| 0);
        let nothing: Vec<Option<i64>> = series.process.elapsed.iter().map(ran).collect();

        let mut statement = self.connection.prepare(&format!(
            "SELECT stream, (minute - ?1) / ?3, sum(frames), sum(dropped), max(lag) FROM streams \
             WHERE minute >= ?1 AND minute < ?2 {of_stream} GROUP BY 1, 2"
        ))?;
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            let slot = slot(row, 1)?;
            let of = series.streams.entry(row.get(0)?).or_insert_with(|| StreamSeries {
                frames: nothing.clone(),
                dropped: nothing.clone(),
                lag: vec![None; times],
            });
            put(&mut of.frames, slot, row.get(2)?);
            put(&mut of.dropped, slot, row.get(3)?);
            put(&mut of.lag, slot, row.get(4)?);
        }

        let mut statement = self.connection.prepare(&format!(
            "SELECT stream, zone, kind, class, (minute - ?1) / ?3, sum(count) FROM counts \
             WHERE minute >= ?1 AND minute < ?2 {of_stream} GROUP BY 1, 2, 3, 4, 5"
        ))?;
        let mut rows = statement.query(values)?;
        let mut counts = BTreeMap::<[String; 4], Vec<(usize, i64)>>::new();
        while let Some(row) = rows.next()? {
            let counted = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            counts.entry(counted).or_default().push((slot(row, 4)?, row.get(5)?));
        }
        let sum = |counts: &[(usize, i64)]| counts.iter().map(|(_, count)| *count).sum::<i64>();
        let mut counts: Vec<_> = counts.into_iter().collect();
        if counts.len() > MOST_COUNTS {
            counts.sort_by_key(|(_, counts)| std::cmp::Reverse(sum(counts)));
            series.left_out = counts.len() - MOST_COUNTS;
            counts.truncate(MOST_COUNTS);
            counts.sort();
        }
        for ([stream, zone, kind, class], found) in counts {
            let mut all = nothing.clone();
            found.into_iter().for_each(|(slot, count)| put(&mut all, slot, Some(count)));
            let class = Some(class).filter(|class| !class.is_empty());
            series.counts.push(CountSeries { stream, zone, kind, class, counts: all });
        }
        Ok(series)
    }

    fn process(&self, filter: &SeriesFilter) -> rusqlite::Result<ProcessSeries> {
        let (step, times) = steps(filter);
        let mut process = ProcessSeries {
            elapsed: vec![None; times],
            cpu: vec![None; times],
            memory: vec![None; times],
            gpu: vec![None; times],
        };
        let mut statement = self.connection.prepare(
            "SELECT (minute - ?1) / ?3, sum(elapsed), sum(cpu) / nullif(sum(elapsed), 0), max(memory), \
             sum(gpu) / nullif(sum(gpu_samples), 0) FROM process WHERE minute >= ?1 AND minute < ?2 GROUP BY 1",
        )?;
        let mut rows = statement.query((filter.from, filter.to, step))?;
        while let Some(row) = rows.next()? {
            let slot = slot(row, 0)?;
            put(&mut process.elapsed, slot, row.get(1)?);
            put(&mut process.cpu, slot, row.get(2)?);
            put(&mut process.memory, slot, row.get(3)?);
            put(&mut process.gpu, slot, row.get(4)?);
        }
        Ok(process)
    }
}

/// Minutes of a step, and how many steps there are.
fn steps(filter: &SeriesFilter) -> (i64, usize) {
    let step = filter.step.max(1);
    (step, usize::try_from((filter.to - filter.from).max(0) / step).unwrap_or(0))
}

fn slot(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(usize::MAX))
}

fn put<T>(all: &mut [T], slot: usize, value: T) {
    if let Some(place) = all.get_mut(slot) {
        *place = value;
    }
}
