//! When a stream is started, stopped and started again: a state machine that takes events with their times and returns actions.
//!
//! Nothing here waits, and nothing knows GStreamer or the clock.

mod decode_errors;
mod messages;
mod state;

use std::collections::BTreeMap;
use std::time::Duration;

use decode_errors::DecodeErrors;
pub use messages::{Action, Input};
pub use state::State;

use super::{Reason, backoff};
use crate::config::Restart;

/// The least time that the first frame may take: a camera sends a key frame every few seconds only.
const FIRST_FRAME: Duration = Duration::from_secs(10);

/// How long a pipeline may take to stop. After that it is abandoned, so that the stream goes on.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most abandoned pipelines of a stream; with as many, the stream waits for one to stop.
const MOST_LEFT_BEHIND: u32 = 3;

/// One stream's state.
#[derive(Debug)]
pub struct Supervisor {
    limits: Restart,
    loops: bool,
    state: State,
    /// When it entered this state.
    since: Duration,
    /// Starts in a row that did not lead to `steady` seconds of frames.
    attempt: u32,
    reason: Option<Reason>,
    error: Option<String>,
    restarts: BTreeMap<Reason, u64>,
    /// Whether a pipeline is there, and since when it is being stopped.
    up: bool,
    stopping_since: Option<Duration>,
    left_behind: u32,
    frames: u64,
    /// The last sign of life.
    alive: Duration,
    decode_errors: DecodeErrors,
    start_at: Option<Duration>,
    drained_by: Option<Duration>,
    finishing: bool,
}

impl Supervisor {
    /// A stream that has not begun.
    pub fn new(limits: Restart, loops: bool) -> Self {
        Self {
            limits,
            loops,
            state: State::Starting,
            since: Duration::ZERO,
            attempt: 0,
            reason: None,
            error: None,
            restarts: BTreeMap::new(),
            up: false,
            stopping_since: None,
            left_behind: 0,
            frames: 0,
            alive: Duration::ZERO,
            decode_errors: DecodeErrors::default(),
            start_at: None,
            drained_by: None,
            finishing: false,
        }
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// When it entered this state.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// The number of the next start, of those in a row that did not last.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Why it was last started again, or will be.
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// The last thing that went wrong.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// How often it was started again, by reason.
    pub fn restarts(&self) -> &BTreeMap<Reason, u64> {
        &self.restarts
    }

    /// When it is started again.
    pub fn start_at(&self) -> Option<Duration> {
        self.start_at
    }

    /// Abandoned pipelines that have not stopped yet.
    pub fn left_behind(&self) -> u32 {
        self.left_behind
    }

    /// Failures of the decoder since the stream was added.
    pub fn decode_errors(&self) -> u64 {
        self.decode_errors.all()
    }

    /// Whether frames have come for the time that makes a start a success.
    pub fn is_steady(&self, now: Duration) -> bool {
        self.state == State::Playing && now.saturating_sub(self.since) >= seconds(self.limits.steady)
    }

    /// Sets other limits from now on.
    pub fn configure(&mut self, limits: Restart, loops: bool) {
        (self.limits, self.loops) = (limits, loops);
    }

    /// When the next [`Input::Tick`] must come at the latest, if nothing else happens.
    pub fn deadline(&self) -> Option<Duration> {
        // What waits for a pipeline to stop has no time: a deadline that has passed would keep a core busy.
        let start = self.start_at.filter(|_| !self.up);
        let may_abandon = self.left_behind < MOST_LEFT_BEHIND;
        let stop = self.stopping_since.filter(|_| may_abandon).map(|since| since + PATIENCE);
        [start, self.drained_by, stop].into_iter().flatten().min()
    }

    /// Handles an event. `chance` is a random number from 0 to 1.
    pub fn handle(&mut self, now: Duration, input: Input, chance: f64) -> Vec<Action> {
        match input {
            Input::Begin => self.start(now),
            Input::Tick(frames) => self.tick(now, frames, chance),
            Input::Busy => {
                self.alive = now;
                vec![]
            }
            Input::Failed(reason, text) => self.fail(now, reason, text, chance),
            Input::Wrong(text) => self.give_up(now, text),
            Input::Hold(text) => self.hold(now, text),
            Input::DecodeError => self.count_decode_error(now, chance),
            Input::End(may_end) => self.end(now, may_end, chance),
            Input::Down => self.down(now),
            Input::LateDown => {
                self.left_behind = self.left_behind.saturating_sub(1);
                vec![]
            }
            Input::Restart(reason) => self.restart(now, reason),
            Input::Stop(drain) => self.stop(now, drain),
        }
    }

    /// Whether the pipeline runs and is not being stopped, so that its reports still matter.
    fn runs(&self) -> bool {
        self.up && self.stopping_since.is_none()
    }

    fn enter(&mut self, now: Duration, state: State) {
        if self.state != state {
            (self.state, self.since) = (state, now);
        }
    }

    fn start(&mut self, now: Duration) -> Vec<Action> {
        (self.state, self.since, self.alive) = (State::Starting, now, now);
        (self.up, self.frames, self.start_at) = (true, 0, None);
        self.decode_errors.forget();
        vec![Action::Start]
    }

    fn pull_down(&mut self, now: Duration) -> Vec<Action> {
        if !self.runs() {
            return vec![];
        }
        self.stopping_since = Some(now);
        vec![Action::Stop]
    }

    fn tick(&mut self, now: Duration, frames: u64, chance: f64) -> Vec<Action> {
        if self.stopping_since.is_some_and(|since| now >= since + PATIENCE)
            && self.left_behind < MOST_LEFT_BEHIND
        {
            self.left_behind += 1;
            let mut actions = vec![Action::LeaveBehind];
            actions.extend(self.down(now));
            return actions;
        }
        if self.drained_by.is_some_and(|by| now >= by) {
            self.drained_by = None;
            return self.pull_down(now);
        }
        if self.start_at.is_some_and(|at| now >= at) && !self.up {
            return self.start(now);
        }
        if !self.runs() || self.finishing {
            return vec![];
        }
        if frames > self.frames {
            (self.frames, self.alive) = (frames, now);
            self.enter(now, State::Playing);
        }
        if self.is_steady(now) {
            self.attempt = 0;
        }
        let limit = seconds(self.limits.stall);
        let limit = if self.state == State::Starting { limit.max(FIRST_FRAME) } else { limit };
        if now.saturating_sub(self.alive) >= limit {
            let text = format!("timeout: no frame has come for {} s", limit.as_secs_f64());
            return self.fail(now, Reason::Stall, text, chance);
        }
        vec![]
    }

    fn fail(&mut self, now: Duration, reason: Reason, text: String, chance: f64) -> Vec<Action> {
        if !self.runs() {
            return vec![];
        }
        self.error = Some(text);
        if self.finishing {
            return self.pull_down(now);
        }
        self.again(now, reason, backoff::wait(&self.limits, self.attempt, chance));
        self.attempt = self.attempt.saturating_add(1);
        self.enter(now, if reason == Reason::Stall { State::Stalled } else { State::Waiting });
        self.pull_down(now)
    }

    fn again(&mut self, now: Duration, reason: Reason, wait: Duration) {
        self.reason = Some(reason);
        *self.restarts.entry(reason).or_default() += 1;
        self.start_at = Some(now + wait);
    }

    fn give_up(&mut self, now: Duration, text: String) -> Vec<Action> {
        if !self.runs() {
            return vec![];
        }
        self.error = Some(text);
        if !self.finishing {
            self.enter(now, State::Failed);
        }
        self.pull_down(now)
    }

    fn hold(&mut self, now: Duration, text: String) -> Vec<Action> {
        self.error = Some(text);
        if self.finishing {
            return vec![];
        }
        self.start_at = None;
        self.enter(now, State::Failed);
        self.pull_down(now)
    }

    fn count_decode_error(&mut self, now: Duration, chance: f64) -> Vec<Action> {
        let count = self.decode_errors.count(now);
        if count < self.limits.decode_errors {
            return vec![];
        }
        self.decode_errors.forget();
        self.fail(
            now,
            Reason::Decode,
            format!("the decoder has failed {count} times within a minute"),
            chance,
        )
    }

    fn end(&mut self, now: Duration, may_end: bool, chance: f64) -> Vec<Action> {
        if !self.runs() {
            return vec![];
        }
        if self.finishing {
            self.drained_by = None;
            return self.pull_down(now);
        }
        if !may_end {
            return self.fail(now, Reason::End, "the source has ended the stream".into(), chance);
        }
        self.alive = now;
        if self.loops {
            return vec![Action::Rewind];
        }
        self.enter(now, State::Ended);
        self.pull_down(now)
    }

    fn down(&mut self, now: Duration) -> Vec<Action> {
        (self.up, self.stopping_since, self.drained_by) = (false, None, None);
        if self.finishing {
            return vec![Action::Finish];
        }
        if self.state == State::Stalled {
            self.enter(now, State::Waiting);
        }
        vec![]
    }

    fn restart(&mut self, now: Duration, reason: Reason) -> Vec<Action> {
        if self.finishing {
            return vec![];
        }
        self.attempt = 0;
        self.again(now, reason, Duration::ZERO);
        self.enter(now, State::Waiting);
        self.pull_down(now)
    }

    fn stop(&mut self, now: Duration, drain: Option<Duration>) -> Vec<Action> {
        self.start_at = None;
        let again = std::mem::replace(&mut self.finishing, true);
        self.enter(now, State::Stopping);
        match drain.filter(|_| self.runs() && self.frames > 0) {
            _ if !self.up => vec![Action::Finish],
            Some(_) if again => vec![],
            Some(limit) => {
                self.drained_by = Some(now + limit);
                vec![Action::Drain]
            }
            None => self.pull_down(now),
        }
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;
