//! The state of a stream, as the API reports it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::current::Current;
use super::lateness::Lateness;
use super::supervisor::State;
use super::{Reason, StreamSpec};
use crate::history::StreamCounts;
use crate::output::{OutputStatus, Outputs};
use crate::unpoisoned::lock;

/// A stream, as `/v1/streams` shows it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct StreamStatus {
    /// Its name.
    pub name: String,
    /// Where its frames come from, without user, password and query.
    pub uri: String,
    /// Its pipeline.
    pub pipeline: String,
    /// Its state.
    pub state: State,
    /// When it entered this state: seconds since 1970.
    pub since: f64,
    /// Frames that have come to the sink since the stream was added.
    pub frames: u64,
    /// Frames a second, over the last 5 seconds.
    pub frames_per_second: f64,
    /// Frames that were dropped before the line since the stream was added, because it was too slow for them.
    #[serde(default)]
    pub dropped: u64,
    /// How late the last frame of a live source came to the end of the line, in seconds.
    #[serde(default)]
    pub lag: Option<f64>,
    /// How often it was started again, by reason.
    pub restarts: BTreeMap<Reason, u64>,
    /// Starts in a row that did not last.
    pub attempt: u32,
    /// Why it was last started again, or will be.
    pub reason: Option<Reason>,
    /// Seconds until it is started again.
    pub retry_in: Option<f64>,
    /// What went wrong last, until frames come again.
    pub last_error: Option<String>,
    /// What went wrong before they came again.
    #[serde(default)]
    pub previous_error: Option<String>,
    /// The caps of its frames.
    pub caps: Option<String>,
    /// Its pipelines that do not stop.
    pub left_behind: u32,
    /// Failures of its decoder since the stream was added.
    pub decode_errors: u64,
    /// Its outputs besides messages.
    #[serde(default)]
    pub outputs: OutputStatus,
}

/// The state of the supervisor.
#[derive(Clone, Debug)]
pub struct SupervisorStatus {
    /// The stream's state.
    pub state: State,
    /// When the stream entered it.
    pub since: Instant,
    /// As in [`StreamStatus`].
    pub restarts: BTreeMap<Reason, u64>,
    /// As in [`StreamStatus`].
    pub attempt: u32,
    /// As in [`StreamStatus`].
    pub reason: Option<Reason>,
    /// When it is started again.
    pub start_at: Option<Instant>,
    /// What went wrong last.
    pub error: Option<String>,
    /// As in [`StreamStatus`].
    pub left_behind: u32,
    /// As in [`StreamStatus`].
    pub decode_errors: u64,
}

/// What the threads of a stream share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Frames of all its pipelines.
    pub frames: AtomicU64,
    /// What it drops, and how late it is.
    pub lateness: Arc<Lateness>,
    /// The caps of its frames.
    pub caps: Mutex<Option<gst::Caps>>,
    /// The spec that must run, and the pipeline that runs.
    pub current: Current,
    /// The last state of the supervisor.
    pub supervisor: Mutex<SupervisorStatus>,
    /// Receivers of warnings.
    pub warned: Mutex<Vec<std::sync::mpsc::Sender<String>>>,
    /// When the thread's loop last ran.
    pub beat: Mutex<Instant>,
    /// Its outputs besides messages, from its first start on.
    pub outputs: Mutex<Option<Arc<Outputs>>>,
    rate: Mutex<VecDeque<(Instant, u64)>>,
}

impl Shared {
    pub fn new(spec: Arc<StreamSpec>) -> Self {
        let now = Instant::now();
        let supervisor = SupervisorStatus {
            state: State::Starting,
            since: now,
            restarts: BTreeMap::new(),
            attempt: 0,
            reason: None,
            start_at: None,
            error: None,
            left_behind: 0,
            decode_errors: 0,
        };
        Self {
            frames: AtomicU64::new(0),
            lateness: Arc::default(),
            caps: Mutex::default(),
            current: Current::new(spec),
            supervisor: Mutex::new(supervisor),
            warned: Mutex::default(),
            beat: Mutex::new(now),
            outputs: Mutex::default(),
            rate: Mutex::default(),
        }
    }

    /// Notes the number of frames for their rate. The thread calls it about once a second.
    pub fn sample(&self, now: Instant) {
        let frames = self.frames.load(Ordering::Relaxed);
        *lock(&self.beat) = now;
        let mut rate = lock(&self.rate);
        if rate.back().is_some_and(|(at, _)| now.saturating_duration_since(*at) < Duration::from_millis(900))
        {
            return;
        }
        rate.push_back((now, frames));
        while rate.len() > 2
            && rate.get(1).is_some_and(|(at, _)| now.saturating_duration_since(*at) >= Duration::from_secs(5))
        {
            rate.pop_front();
        }
    }

    fn frames_per_second(&self) -> f64 {
        let rate = lock(&self.rate);
        let Some((from, before)) = rate.front() else { return 0.0 };
        let seconds = from.elapsed().as_secs_f64();
        if seconds < 0.1 {
            return 0.0;
        }
        let count = self.frames.load(Ordering::Relaxed).saturating_sub(*before);
        (f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / seconds * 10.0).round() / 10.0
    }

    /// The state as the API reports it.
    pub fn status(&self) -> StreamStatus {
        let spec = self.current.spec();
        let supervisor = lock(&self.supervisor).clone();
        let since = SystemTime::now().checked_sub(supervisor.since.elapsed()).unwrap_or(UNIX_EPOCH);
        let over = matches!(supervisor.state, State::Playing | State::Ended);
        let (previous_error, last_error) =
            if over { (supervisor.error, None) } else { (None, supervisor.error) };
        let retry = supervisor.start_at.map(|at| at.saturating_duration_since(Instant::now()).as_secs_f64());
        StreamStatus {
            name: spec.name().to_owned(),
            uri: spec.source.uri.to_string(),
            pipeline: spec.source.pipeline.clone(),
            state: supervisor.state,
            since: since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            frames: self.frames.load(Ordering::Relaxed),
            frames_per_second: self.frames_per_second(),
            dropped: self.lateness.dropped(),
            lag: self.lateness.lag(),
            restarts: supervisor.restarts,
            attempt: supervisor.attempt,
            reason: supervisor.reason,
            retry_in: retry,
            last_error,
            previous_error,
            caps: lock(&self.caps).as_ref().map(ToString::to_string),
            left_behind: supervisor.left_behind,
            decode_errors: supervisor.decode_errors,
            outputs: self.outputs().map(|outputs| outputs.status()).unwrap_or_default(),
        }
    }

    /// Its counts, for the history.
    pub fn counts(&self) -> StreamCounts {
        StreamCounts {
            stream: self.current.spec().name().to_owned(),
            frames: self.frames.load(Ordering::Relaxed),
            dropped: self.lateness.dropped(),
            lag: self.lateness.take_peak(),
        }
    }

    /// Its outputs besides messages.
    pub fn outputs(&self) -> Option<Arc<Outputs>> {
        lock(&self.outputs).clone()
    }
}
