//! A stream that runs, as the fleet sees it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gst::prelude::*;

use super::run::{Runs, TryAgain};
use super::status::Shared;
use super::supervisor::Input;
use super::thread::{BEAT, Effect, News, StreamEvent, Thread};
use super::{Built, Reason, StreamSpec, StreamStatus};
use crate::config::SourceConfig;
use crate::history::StreamCounts;
use crate::unpoisoned::lock;
use crate::{log, output};

/// A stream. Dropping it stops it at once, without waiting.
#[derive(Debug)]
pub struct Stream {
    shared: Arc<Shared>,
    events: Sender<StreamEvent>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Stream {
    /// Starts a stream with these runs. `tell` is called from its thread and must not wait; `try_again` makes the spec of a held
    /// source that is tried again.
    ///
    /// # Errors
    /// A sentence: no thread can be started.
    pub fn start(
        spec: StreamSpec,
        runs: Runs,
        outputs: output::SharedOutputs,
        tell: impl Fn(News) + Send + 'static,
        try_again: impl Fn(&SourceConfig) -> Option<StreamSpec> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let (events, receiver) = channel();
        let spec = Arc::new(spec);
        let shared = Arc::new(Shared::new(Arc::clone(&spec)));
        let (tell, runs) = (Box::new(tell), (Arc::new(try_again) as TryAgain, runs));
        let (own, own_shared, now) = (Arc::clone(&spec), Arc::clone(&shared), Instant::now());
        let thread = Thread::new(own, own_shared, events.clone(), outputs, tell, runs, now);
        let handle = std::thread::Builder::new()
            .name(format!("stream:{}", spec.name()))
            .spawn(move || thread.work(&receiver))
            .map_err(|e| format!("no thread can be started for stream '{}': {e}", spec.name()))?;
        Ok(Self { shared, events, thread: Mutex::new(Some(handle)) })
    }

    /// The spec that it runs.
    pub fn spec(&self) -> Arc<StreamSpec> {
        self.shared.current.spec()
    }

    /// Its state.
    pub fn status(&self) -> StreamStatus {
        self.shared.status()
    }

    /// Its counts, for the history.
    pub(crate) fn counts(&self) -> StreamCounts {
        self.shared.counts()
    }

    /// Its pipeline, while there is one.
    pub fn built(&self) -> Option<Built> {
        self.shared.current.built()
    }

    /// The last frame at its sink.
    pub fn last_sample(&self) -> Option<gst::Sample> {
        self.built()?.sink.property::<Option<gst::Sample>>("last-sample")
    }

    /// Its outputs besides messages, once it was started.
    pub fn outputs(&self) -> Option<Arc<output::Outputs>> {
        self.shared.outputs()
    }

    /// The warnings of its elements from now on.
    pub fn warnings(&self) -> Receiver<String> {
        let (sender, receiver) = channel();
        lock(&self.shared.warned).push(sender);
        receiver
    }

    /// Whether its thread still runs its loop.
    pub fn is_alive(&self) -> bool {
        lock(&self.shared.beat).elapsed() < 20 * BEAT
    }

    /// Starts it again now.
    pub fn restart(&self, reason: Reason) {
        self.send(StreamEvent::Input(Input::Restart(reason)));
    }

    /// Runs another spec from now on. Returns the pipeline that was built before, on which the caller must set what can change
    /// live; a pipeline that is being built meanwhile has the change.
    pub fn change(&self, spec: StreamSpec, effect: Effect) -> Option<Built> {
        let built = self.shared.current.change(spec);
        self.send(StreamEvent::Changed(effect));
        built
    }

    /// Begins to stop the stream for good, by EOS within `drain`, or at once.
    pub fn stop(&self, drain: Option<Duration>) {
        self.send(StreamEvent::Input(Input::Stop(drain)));
    }

    /// Whether it has stopped for good.
    pub fn has_ended(&self) -> bool {
        lock(&self.thread).as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until a stream that stops has ended.
    pub fn join(&self) {
        let thread = lock(&self.thread).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            log::error(format_args!(
                "stream '{}': its thread has panicked: this is a bug",
                self.spec().name()
            ));
        }
    }

    fn send(&self, event: StreamEvent) {
        // This fails if the thread has ended, and then its stream has stopped.
        let _ = self.events.send(event);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stop(None);
    }
}
