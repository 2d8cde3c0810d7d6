//! `[describe]`: events in words. A model that looks at the picture of an event, by an API as OpenAI's, writes them.
//!
//! An event waits here for the best picture of its track, or its own; then a thread posts the picture and notes what comes back in the
//! history. Nobody waits for that thread: what there is no room for is counted. Without the table nothing runs and nothing is sent.

mod answer;
mod endpoint;
mod tally;
mod waiting;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::config::DescribeSettings;
use crate::history::{EventMark, NotedEvent, PipelineRun, StreamHistory, ZoneEvent};
use crate::log;
use crate::notify::Hooks;
use crate::unpoisoned::lock;
use endpoint::{Endpoint, NoWords};
pub use tally::DescribeCounts;
use tally::Tally;
use waiting::{Next, TrackOf, Waiting};

/// How long the end waits for answers.
const END: Duration = Duration::from_secs(1);
/// The longest time without looking for what must be logged.
const BEAT: Duration = Duration::from_secs(10);

/// Has events described. Clones are the same one, whose threads end with the last; the default describes none.
#[derive(Clone, Debug, Default)]
pub struct Describer(Arc<Owner>);

#[derive(Debug, Default)]
struct Owner(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// An event, a picture or other settings have come.
    changed: Condvar,
    tally: Tally,
    hooks: Hooks,
}

#[derive(Debug, Default)]
struct State {
    endpoint: Option<Arc<Endpoint>>,
    /// Threads of earlier settings end.
    generation: u64,
    waiting: Waiting<DescribedEvent>,
    threads: Vec<JoinHandle<()>>,
}

/// An event of a stream.
#[derive(Clone, Debug)]
struct DescribedEvent {
    stream: String,
    event: ZoneEvent,
    history: Arc<StreamHistory>,
}

impl DescribedEvent {
    /// None for a track, which is in no zone.
    fn zone(&self) -> Option<&str> {
        Some(self.event.zone.as_str()).filter(|zone| !zone.is_empty())
    }

    fn is_wanted(&self, settings: &DescribeSettings) -> bool {
        settings.wants(&self.stream, self.zone(), &self.event.kind, self.event.class.as_deref())
    }
}

/// Where an event comes from, and what picture there will be of it.
#[derive(Clone, Copy, Debug)]
pub struct EventOrigin<'a> {
    /// The stream's name.
    pub stream: &'a str,
    /// The stream's part of the history.
    pub history: &'a Arc<StreamHistory>,
    /// The track whose best picture will come, if there will be one.
    pub track: Option<u64>,
}

impl Describer {
    /// Starts the threads, if there are settings. Webhooks get the words, too.
    pub fn start(settings: Option<&DescribeSettings>, hooks: Hooks) -> Self {
        let describer = Self(Arc::new(Owner(Arc::new(Shared { hooks, ..Shared::default() }))));
        describer.configure(settings);
        describer
    }

    /// Goes on with other settings, or with none. Events that wait and that are still wanted go on waiting.
    pub fn configure(&self, settings: Option<&DescribeSettings>) {
        let endpoint = settings.and_then(|settings| {
            let endpoint = Endpoint::new(settings);
            endpoint
                .inspect_err(|why| log::warning(format_args!("[describe] nothing is described: {why}")))
                .ok()
        });
        let endpoint = endpoint.map(Arc::new);
        let mut state = lock(&self.0.0.state);
        state.generation += 1;
        state.threads.clear();
        state.endpoint.clone_from(&endpoint);
        state.waiting.limit(endpoint.as_ref().map_or(0, |endpoint| endpoint.settings.queue));
        let gone = state.waiting.take_unless(|event| {
            endpoint.as_ref().is_some_and(|endpoint| event.is_wanted(&endpoint.settings))
        });
        if let Some(endpoint) = endpoint {
            for _ in 0..endpoint.settings.parallel {
                let (shared, endpoint, generation) =
                    (Arc::clone(&self.0.0), Arc::clone(&endpoint), state.generation);
                let work = move || shared.work(&endpoint, generation);
                match std::thread::Builder::new().name("describe".to_owned()).spawn(work) {
                    Ok(thread) => state.threads.push(thread),
                    Err(e) => log::warning(format_args!("[describe] a thread is missing: {e}")),
                }
            }
        }
        drop(state);
        self.0.0.changed.notify_all();
        gone.into_iter()
            .for_each(|(event, mark)| self.0.0.drop_event(&event, mark, "it was no longer wanted"));
    }

    /// Takes an event of a zone. Never waits.
    pub fn event(&self, from: EventOrigin<'_>, noted: &NotedEvent) {
        self.add(from, &noted.event, noted.mark);
    }

    /// The picture of an event's own frame has been made; or there is none.
    pub fn own_picture(&self, mark: EventMark, jpeg: Option<&[u8]>) {
        let mut state = lock(&self.0.0.state);
        if state.waiting.len() > 0 {
            state.waiting.own_picture(mark, jpeg);
            self.0.0.changed.notify_all();
        }
    }

    /// The best picture of a track has been made, and this event of its end is known.
    pub fn track(
        &self,
        from: EventOrigin<'_>,
        run: PipelineRun,
        mark: EventMark,
        (track, class, confidence): (u64, &str, f64),
        jpeg: &[u8],
    ) {
        let of = TrackOf { stream: from.stream.to_owned(), run, track };
        lock(&self.0.0.state).waiting.best_picture(&of, jpeg, Instant::now());
        self.0.0.changed.notify_all();
        let event = ZoneEvent {
            kind: crate::config::TRACK.to_owned(),
            class: Some(class.to_owned()),
            track: Some(track),
            confidence: Some(confidence),
            ..ZoneEvent::default()
        };
        self.add(EventOrigin { track: None, ..from }, &event, mark);
        self.own_picture(mark, Some(jpeg));
    }

    /// What became of the events; none without settings.
    pub fn counts(&self) -> Option<DescribeCounts> {
        let state = lock(&self.0.0.state);
        let counts = self.0.0.tally.counts(state.waiting.len());
        (state.endpoint.is_some() || counts != DescribeCounts::default()).then_some(counts)
    }

    /// Ends the threads, without waiting for a server that hangs. Events that wait are noted as not described.
    pub fn close(&self) {
        let threads = self.0.0.stop();
        let until = Instant::now() + END;
        while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn add(&self, from: EventOrigin<'_>, event: &ZoneEvent, mark: EventMark) {
        let event = DescribedEvent {
            stream: from.stream.to_owned(),
            event: event.clone(),
            history: Arc::clone(from.history),
        };
        let refused = {
            let mut state = lock(&self.0.0.state);
            let Some(endpoint) =
                state.endpoint.clone().filter(|endpoint| event.is_wanted(&endpoint.settings))
            else {
                return;
            };
            let track = from.track.map(|track| TrackOf {
                stream: event.stream.clone(),
                run: from.history.run(),
                track,
            });
            let wait = track.as_ref().map_or(Duration::ZERO, |_| endpoint.settings.wait());
            state.waiting.add(event, mark, track, Instant::now() + wait).err()
        };
        match refused {
            Some(event) => self.0.0.drop_event(&event, mark, "too many events were waiting (queue)"),
            None => self.0.0.changed.notify_all(),
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Shared {
    /// Describes one event after the other, until there are other settings.
    fn work(&self, endpoint: &Endpoint, generation: u64) {
        while let Some((event, mark, picture)) = self.next(generation) {
            match picture {
                None => {
                    self.tally.without_picture.fetch_add(1, Ordering::Relaxed);
                    event.history.description(mark, Err("there is no picture of it".to_owned()));
                }
                Some(jpeg) => self.describe(endpoint, generation, event, mark, jpeg),
            }
            self.tally.in_flight.fetch_sub(1, Ordering::Relaxed);
            self.log();
        }
    }

    fn describe(
        &self,
        endpoint: &Endpoint,
        generation: u64,
        event: DescribedEvent,
        mark: EventMark,
        jpeg: Vec<u8>,
    ) {
        let (settings, of) = (&endpoint.settings, &event.event);
        let prompt = settings.prompt_for(&event.stream, event.zone(), &of.kind, of.class.as_deref());
        let asks = || {
            self.tally.requests.fetch_add(1, Ordering::Relaxed);
        };
        match endpoint.describe(&prompt, &jpeg, asks, |wait| self.pause(generation, wait)) {
            Ok(words) => {
                self.tally.answered.fetch_add(1, Ordering::Relaxed);
                self.hooks.description(&event.stream, mark.time, of, &words, &jpeg);
                event.history.description(mark, Ok(words));
            }
            Err(NoWords::Failed(why)) => {
                self.tally.failed.add(&why);
                event.history.description(mark, Err(why));
            }
            Err(NoWords::Interrupted) => {
                let mut state = lock(&self.state);
                if state.endpoint.as_ref().is_some_and(|endpoint| event.is_wanted(&endpoint.settings)) {
                    state.waiting.put_back(event, mark, jpeg, Instant::now());
                    self.changed.notify_all();
                } else {
                    drop(state);
                    self.drop_event(
                        &event,
                        mark,
                        "the service was stopped before, or it was no longer wanted",
                    );
                }
            }
        }
    }

    /// The next event, once it is ready; none when there are other settings.
    fn next(&self, generation: u64) -> Option<(DescribedEvent, EventMark, Option<Vec<u8>>)> {
        let mut state = lock(&self.state);
        while state.generation == generation {
            let now = Instant::now();
            let wait = match state.waiting.next(now) {
                Next::Ready(event, mark, picture) => {
                    self.tally.in_flight.fetch_add(1, Ordering::Relaxed);
                    return Some((event, mark, picture));
                }
                Next::Wait(until) => until.saturating_duration_since(now).min(BEAT),
                Next::Nothing => BEAT,
            };
            state = self.wait(state, wait);
            drop(state);
            self.log();
            state = lock(&self.state);
        }
        None
    }

    /// Waits; returns false if there are other settings meanwhile.
    fn pause(&self, generation: u64, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        let mut state = lock(&self.state);
        while state.generation == generation {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = self.wait(state, left);
        }
        false
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, wait: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Has the threads end, and returns them.
    fn stop(&self) -> Vec<JoinHandle<()>> {
        let (gone, threads) = {
            let mut state = lock(&self.state);
            state.generation += 1;
            state.endpoint = None;
            state.waiting.limit(0);
            (state.waiting.take_unless(|_| false), std::mem::take(&mut state.threads))
        };
        self.changed.notify_all();
        gone.into_iter()
            .for_each(|(event, mark)| self.drop_event(&event, mark, "the service was stopped before"));
        threads
    }

    fn drop_event(&self, event: &DescribedEvent, mark: EventMark, why: &str) {
        self.tally.dropped.add(why);
        event.history.description(mark, Err(why.to_owned()));
    }

    fn log(&self) {
        self.tally.failed.log();
        self.tally.dropped.log();
    }
}
