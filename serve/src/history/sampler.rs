//! How the streams and the process are, noted every few seconds.

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::param::page_size;
use rustix::time::{ClockId, clock_gettime};

use super::History;
use super::entry::{Entry, ProcessSample, Sample, StreamSample};
use super::gpu::load_of_busiest;
use super::note::Notes;
use crate::log;
use crate::time::milliseconds;
use crate::unpoisoned::lock;

/// How often.
const INTERVAL: Duration = Duration::from_secs(5);

/// A stream's counts since it was added.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StreamCounts {
    /// Its name.
    pub stream: String,
    /// Frames that have come to its end.
    pub frames: u64,
    /// Frames that were dropped.
    pub dropped: u64,
    /// The largest lag since these counts were last asked for, in seconds.
    pub lag: Option<f64>,
}

/// Notes the counts until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    last: Option<Arc<Mutex<LastCounts>>>,
    notes: Option<Arc<Notes>>,
    /// Its thread ends when this is dropped.
    _stop: Option<Sender<()>>,
}

#[derive(Debug)]
struct LastCounts {
    /// Frames and dropped frames, by stream.
    streams: HashMap<String, [u64; 2]>,
    cpu: f64,
    at: Instant,
}

impl Sampler {
    /// Asks for the streams' counts again and again; the thread ends when `counts` returns none.
    pub fn start(history: &History, counts: impl Fn() -> Option<Vec<StreamCounts>> + Send + 'static) -> Self {
        let Some(notes) = history.notes() else { return Self::default() };
        let last = LastCounts { streams: HashMap::new(), cpu: cpu_time(), at: Instant::now() };
        let last = Arc::new(Mutex::new(last));
        let (stop, stopped) = channel::<()>();
        let (own, own_notes) = (Arc::clone(&last), Arc::clone(notes));
        let work = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(INTERVAL) {
                let Some(counts) = counts() else { return };
                lock(&own).note(&own_notes, counts, load_of_busiest());
            }
        };
        if let Err(e) = std::thread::Builder::new().name("samples".to_owned()).spawn(work) {
            log::warning(format_args!("the history has no counts, for want of a thread: {e}"));
        }
        Self { last: Some(last), notes: Some(Arc::clone(notes)), _stop: Some(stop) }
    }

    /// Notes the last counts before the streams end.
    pub fn finish(&self, counts: Vec<StreamCounts>) {
        if let Some((last, notes)) = self.last.as_ref().zip(self.notes.as_ref()) {
            lock(last).note(notes, counts, None);
        }
    }
}

impl LastCounts {
    fn note(&mut self, notes: &Notes, counts: Vec<StreamCounts>, gpu: Option<f64>) {
        let before = std::mem::take(&mut self.streams);
        let mut streams = Vec::new();
        for StreamCounts { stream, frames, dropped, lag } in counts {
            let since = before.get(&stream).copied().unwrap_or_default();
            // A stream that was removed and added begins at 0.
            let more = |now: u64, before: u64| {
                i64::try_from(now.checked_sub(before).unwrap_or(now)).unwrap_or(i64::MAX)
            };
            let sample = StreamSample {
                stream: stream.clone(),
                frames: more(frames, since[0]),
                dropped: more(dropped, since[1]),
                lag,
            };
            streams.push(sample);
            self.streams.insert(stream, [frames, dropped]);
        }
        let (cpu, at) = (cpu_time(), Instant::now());
        let process = ProcessSample {
            cpu: cpu - self.cpu,
            elapsed: at.duration_since(self.at).as_secs_f64(),
            memory: resident(),
            gpu,
        };
        (self.cpu, self.at) = (cpu, at);
        let minute = milliseconds().div_euclid(60_000);
        notes.note(Entry::Sample(Box::new(Sample { minute, streams, process })));
    }
}

/// Seconds that the process has used of all cores.
fn cpu_time() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a process does not run as long")]
    let seconds = spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9;
    seconds
}

/// Bytes in RAM; see statm in proc(5).
fn resident() -> Option<i64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(i64::try_from(page_size()).ok()?)
}
