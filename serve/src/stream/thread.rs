//! The thread that decides for a stream: it takes the supervisor's actions, and reports the stream's state.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::lateness::Watch;
use super::run::{Order, Run, RunReport, Runs, TryAgain};
use super::status::{Shared, SupervisorStatus};
use super::supervisor::{Action, Input, State, Supervisor};
use super::{Reason, StreamSpec};
use crate::config::{SourceConfig, redacted};
use crate::unpoisoned::lock;
use crate::{log, output};

/// The longest time between two runs of the thread's loop.
pub(super) const BEAT: Duration = Duration::from_secs(1);

/// How long the log does not repeat the same warning.
const LOGGED_AGAIN: Duration = Duration::from_secs(3600);

/// A part of the warning that the machine has no GPU: each pipeline's elements post it, and one line in the log is enough.
const OF_MACHINE: &str = ": no GPU is used: ";
static KNOWN_OF_MACHINE: AtomicBool = AtomicBool::new(false);

/// Whether a warning is one about the machine that was reported already.
pub fn is_known_of_machine(warning: &str) -> bool {
    warning.contains(OF_MACHINE) && KNOWN_OF_MACHINE.swap(true, Ordering::Relaxed)
}

/// The most warnings that are remembered for that.
const MOST_WARNINGS: usize = 64;

/// News that the fleet must know at once.
#[derive(Clone, Debug)]
pub enum News {
    /// The GPU has failed in a pipeline of a stream.
    GpuFault {
        /// The stream.
        name: String,
        /// When its pipeline was started.
        started: Instant,
        /// The instances of its trtinfers.
        instances: Vec<String>,
    },
    /// Frames have come for the time that makes a start a success.
    Steady {
        /// The stream.
        name: String,
        /// When the pipeline was started.
        started: Instant,
    },
    /// A pipeline that does not stop was abandoned.
    LeftBehind {
        /// The source of that pipeline.
        source: Box<SourceConfig>,
        /// Can be upgraded until the pipeline has stopped.
        alive: Weak<()>,
    },
}

/// An event for the thread.
pub(super) enum StreamEvent {
    Input(Input),
    Run(u64, RunReport),
    Changed(Effect),
}

/// How a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The stream is started again.
    Restart,
    /// The change is set while the stream plays; a stream that has ended or failed begins again.
    Live,
    /// At the next start, or the change concerns no pipeline.
    Later,
}

/// The state of the thread.
pub(super) struct Thread {
    supervisor: Supervisor,
    spec: Arc<StreamSpec>,
    shared: Arc<Shared>,
    events: Sender<StreamEvent>,
    tell: Box<dyn Fn(News) + Send>,
    try_again: TryAgain,
    runs: Runs,
    outputs: output::SharedOutputs,
    /// The keys for which the outputs were made.
    wanted: Option<output::Wanted>,
    began: Instant,
    /// The time of the event that is handled.
    now: Instant,
    run: Option<Run>,
    started_runs: u64,
    started: Instant,
    steady: bool,
    instances: Vec<String>,
    lateness: Watch,
    /// When each warning was last logged.
    warned: HashMap<String, Instant>,
}

impl Thread {
    pub(super) fn new(
        spec: Arc<StreamSpec>,
        shared: Arc<Shared>,
        events: Sender<StreamEvent>,
        outputs: output::SharedOutputs,
        tell: Box<dyn Fn(News) + Send>,
        (try_again, runs): (TryAgain, Runs),
        now: Instant,
    ) -> Self {
        Self {
            supervisor: Supervisor::new(spec.restart.clone(), spec.source.loops),
            spec,
            shared,
            events,
            tell,
            try_again,
            runs,
            outputs,
            wanted: None,
            began: now,
            now,
            run: None,
            started_runs: 0,
            started: now,
            steady: false,
            instances: Vec::new(),
            lateness: Watch::new(now),
            warned: HashMap::new(),
        }
    }

    /// Decides until the stream is over.
    pub(super) fn work(mut self, events: &Receiver<StreamEvent>) {
        let mut goes_on = self.begin();
        while goes_on {
            let event = match events.recv_timeout(self.wait(Instant::now())) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            goes_on = self.step(Instant::now(), event);
        }
        // Dropping the outputs completes their files.
        drop(lock(&self.shared.outputs).take());
    }

    /// Begins the stream. Returns whether it goes on.
    fn begin(&mut self) -> bool {
        let first = self.hold().unwrap_or(Input::Begin);
        self.take(first)
    }

    /// How long the next event may be waited for.
    fn wait(&self, now: Instant) -> Duration {
        let deadline = self.supervisor.deadline().map(|at| (self.began + at).saturating_duration_since(now));
        deadline.map_or(BEAT, |left| left.min(BEAT))
    }

    /// Handles an event, or that there was none for as long as [`Self::wait`] says. Returns whether the stream goes on.
    fn step(&mut self, now: Instant, event: Option<StreamEvent>) -> bool {
        self.now = now;
        let goes_on = match event {
            Some(StreamEvent::Input(input)) => self.take(input),
            Some(StreamEvent::Run(number, report)) => self.reported(number, report),
            Some(StreamEvent::Changed(effect)) => self.changed(effect),
            None => true,
        };
        let frames = self.run.as_ref().map_or(0, |run| run.frames.load(Ordering::Relaxed));
        let goes_on = goes_on && self.take(Input::Tick(frames));
        self.shared.sample(now);
        self.watch_lateness();
        goes_on
    }

    /// The event for a stream that must not be started by itself.
    fn hold(&self) -> Option<Input> {
        let held = self.spec.held.as_ref().filter(|held| !held.tried_again)?;
        Some(Input::Hold(held.why.clone()))
    }

    fn changed(&mut self, effect: Effect) -> bool {
        self.spec = self.shared.current.spec();
        self.supervisor.configure(self.spec.restart.clone(), self.spec.source.loops);
        if let Some(hold) = self.hold() {
            return self.take(hold);
        }
        // Checked here, because the stream may have ended since the fleet chose the effect.
        let over = matches!(self.supervisor.state(), State::Failed | State::Ended);
        let restart = effect == Effect::Restart || (effect == Effect::Live && over);
        !restart || self.take(Input::Restart(Reason::Change))
    }

    fn reported(&mut self, number: u64, report: RunReport) -> bool {
        let current = self.run.as_ref().filter(|run| run.number == number);
        let Some(run) = current else {
            return !matches!(report, RunReport::Down) || self.take(Input::LateDown);
        };
        let name = self.spec.name();
        match report {
            RunReport::Needs(order) => {
                run.order(order);
                true
            }
            RunReport::Busy => self.take(Input::Busy),
            // If the spec has changed meanwhile, that change found the missing file as well, or starts the stream again.
            RunReport::Startable(held, spec) => {
                !self.shared.current.replace(&held, *spec) || self.changed(Effect::Restart)
            }
            RunReport::End(may_end) => self.take(Input::End(may_end)),
            RunReport::Down => {
                self.run = None;
                self.take(Input::Down)
            }
            RunReport::DecodeError(text) => {
                self.warn(&text);
                self.take(Input::DecodeError)
            }
            RunReport::Warning(text) => {
                self.warn(&text);
                lock(&self.shared.warned).retain(|watcher| watcher.send(text.clone()).is_ok());
                true
            }
            RunReport::Failed(failure) if failure.permanent => self.take(Input::Wrong(failure.text)),
            RunReport::Failed(failure) => {
                if failure.reason == Reason::Gpu {
                    let (name, instances) = (name.to_owned(), self.instances.clone());
                    (self.tell)(News::GpuFault { name, started: self.started, instances });
                }
                self.take(Input::Failed(failure.reason, failure.text))
            }
        }
    }

    /// Logs a warning from time to time while the line of a live stream is too slow.
    fn watch_lateness(&mut self) {
        let frames = self.shared.frames.load(Ordering::Relaxed);
        let most = self.spec.max_latency().map_or(0.0, |most| most.seconds_f64());
        if let Some(text) = self.lateness.see(self.now, &self.shared.lateness, frames, most) {
            log::warning(format_args!("stream '{}': {text}", self.spec.name()));
        }
    }

    /// Logs a warning, unless it was logged lately, as one that every start repeats.
    fn warn(&mut self, text: &str) {
        if is_known_of_machine(text) {
            return;
        }
        if self.warned.get(text).is_some_and(|at| self.now.saturating_duration_since(*at) < LOGGED_AGAIN) {
            return;
        }
        log::warning(format_args!("stream '{}': {text}", self.spec.name()));
        if self.warned.len() >= MOST_WARNINGS {
            self.warned.clear();
        }
        self.warned.insert(text.to_owned(), self.now);
    }

    /// Passes an event to the supervisor and takes its actions. Returns whether the stream goes on.
    fn take(&mut self, input: Input) -> bool {
        let now = self.now.saturating_duration_since(self.began);
        let before = (self.supervisor.state(), self.supervisor.start_at());
        let actions = self.supervisor.handle(now, input, fastrand::f64());
        self.publish(now, before);
        let mut goes_on = true;
        for action in actions {
            match action {
                Action::Start => self.start(),
                Action::Drain => self.order(Order::Drain),
                Action::Rewind => self.order(Order::Rewind),
                Action::Stop => self.order(Order::Stop),
                Action::LeaveBehind => {
                    log::warning(format_args!(
                        "stream '{}': its pipeline does not stop, and is abandoned",
                        self.spec.name()
                    ));
                    if let Some(run) = self.run.take() {
                        self.shared.current.withdraw(run.number);
                        (self.tell)(News::LeftBehind {
                            source: Box::new(run.source.clone()),
                            alive: run.alive(),
                        });
                    }
                }
                Action::Finish => goes_on = false,
            }
        }
        if !self.steady && self.supervisor.is_steady(now) {
            self.steady = true;
            (self.tell)(News::Steady { name: self.spec.name().to_owned(), started: self.started });
        }
        goes_on
    }

    fn order(&self, order: Order) {
        if let Some(run) = &self.run {
            run.order(order);
        }
    }

    /// Makes the stream's outputs besides messages. Restarts keep them, unless the source wants others.
    fn make_outputs(&mut self) {
        let wanted = output::Wanted::of(&self.spec.source, &self.spec.description.text);
        if self.wanted.as_ref() == Some(&wanted) {
            return;
        }
        // The earlier outputs complete their files first.
        drop(lock(&self.shared.outputs).take());
        let outputs = output::Outputs::new(self.spec.name(), &wanted, &self.outputs);
        *lock(&self.shared.outputs) = Some(Arc::new(outputs));
        self.wanted = Some(wanted);
    }

    fn start(&mut self) {
        self.started_runs += 1;
        self.shared.current.begin(self.started_runs);
        // A change counts from now on, even if its event has not come yet.
        self.spec = self.shared.current.spec();
        if self.spec.held.is_none() {
            self.make_outputs();
        }
        (self.started, self.steady) = (self.now, false);
        let (events, number) = (Mutex::new(self.events.clone()), self.started_runs);
        let events = Arc::new(events);
        let report = move |report: RunReport| drop(lock(&events).send(StreamEvent::Run(number, report)));
        self.instances =
            super::Description::new(&self.spec).map(|description| description.instances).unwrap_or_default();
        self.run = Some((self.runs.0)(
            &self.spec,
            number,
            Arc::clone(&self.shared),
            Arc::clone(&self.try_again),
            Arc::new(report),
        ));
    }

    /// Publishes the stream's state, and logs each change of it.
    fn publish(&self, now: Duration, before: (State, Option<Duration>)) {
        let (supervisor, name) = (&self.supervisor, self.spec.name());
        let supervised = SupervisorStatus {
            state: supervisor.state(),
            since: self.began + supervisor.since(),
            restarts: supervisor.restarts().clone(),
            attempt: supervisor.attempt(),
            reason: supervisor.reason(),
            start_at: supervisor.start_at().map(|at| self.began + at),
            error: self.error(),
            left_behind: supervisor.left_behind(),
            decode_errors: supervisor.decode_errors(),
        };
        *lock(&self.shared.supervisor) = supervised;
        let error = self.error().unwrap_or_default();
        match supervisor.state() {
            state if before.0 == state => {
                // The state is the same, but a start has failed at once.
                if let Some(at) =
                    supervisor.start_at().filter(|_| before.1.is_none() && state == State::Waiting)
                {
                    self.waits(at.saturating_sub(now), &error);
                }
            }
            State::Waiting => {
                let wait = supervisor.start_at().map_or(Duration::ZERO, |at| at.saturating_sub(now));
                self.waits(wait, &error);
            }
            State::Stalled => log::warning(format_args!("stream '{name}': stalled: {error}")),
            State::Failed => {
                log::error(format_args!("stream '{name}': failed, and is not tried again: {error}"))
            }
            state => log::info(format_args!("stream '{name}': {}", state.name())),
        }
    }

    /// The last thing that went wrong. Where it is the source's, as if no frame comes, the address is in it.
    fn error(&self) -> Option<String> {
        let error = redacted(self.supervisor.error()?);
        let of_source =
            matches!(self.supervisor.reason(), Some(Reason::Stall | Reason::Decode | Reason::End));
        let uri = self.spec.source.uri.to_string();
        Some(if of_source && !error.contains(&uri) { format!("'{uri}': {error}") } else { error })
    }

    fn waits(&self, wait: Duration, error: &str) {
        let (name, reason) = (self.spec.name(), self.supervisor.reason().map_or("", Reason::name));
        if wait.is_zero() && matches!(self.supervisor.reason(), Some(Reason::Request | Reason::Change)) {
            log::info(format_args!("stream '{name}': is started again ({reason})"));
            return;
        }
        let attempt = self.supervisor.attempt();
        let wait = wait.as_secs_f64();
        log::warning(format_args!(
            "stream '{name}': waiting, start {attempt} in {wait:.1} s ({reason}): {error}"
        ));
    }
}

#[cfg(test)]
mod simulation;
