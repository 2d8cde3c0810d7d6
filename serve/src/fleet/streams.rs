//! The fleet: what streams there are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::Refusal;
use super::check::check;
use super::gpu::{FaultEffect, Faults};
use super::held::{changed_specs, spec_or_held};
use super::state_files::StateFiles;
use crate::config::{Config, SourceConfig, Wrong};
use crate::history::{History, Sampler, StreamCounts};
use crate::stream::{Built, Effect, News, Reason, Runs, Stream, StreamSpec, StreamStatus};
use crate::unpoisoned::lock;
use crate::{log, output};

/// How long streams for which the system has no thread at the start are tried again: other programs start then, too.
const THREAD: Duration = Duration::from_secs(3);

/// Why the process must end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The GPU cannot be used by this process any more.
    GpuFault,
    /// Too many pipelines do not stop.
    LeftBehind,
}

/// All streams of the process. Its functions may block; clones are the same fleet.
#[derive(Clone, Debug)]
pub struct Fleet(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub config: Mutex<Arc<Config>>,
    /// What is kept for the next process.
    pub files: Arc<StateFiles>,
    pub streams: Mutex<BTreeMap<String, Arc<Stream>>>,
    /// Locked while the set of streams changes; never while a thread waits for something.
    pub changing: Mutex<()>,
    /// Locked while a model changes.
    pub model: Mutex<()>,
    pub began: Instant,
    /// What the outputs of all streams share.
    pub outputs: output::SharedOutputs,
    /// Notes the streams' counts.
    pub sampler: Mutex<Sampler>,
    /// Keeps the files within `[retention]`.
    pub retention: Option<crate::retention::Retention>,
    /// Why the configuration file was refused when it was last read.
    pub refused: Mutex<Option<String>>,
    faults: Mutex<Faults>,
    /// The pipelines that do not stop and were abandoned, also those of streams that are gone.
    left_behind: Mutex<Vec<(SourceConfig, Weak<()>)>>,
    exit: Mutex<Sender<Exit>>,
    runs: Runs,
    draining: AtomicBool,
}

impl Fleet {
    /// Starts the streams of a configuration, and those that were added before.
    ///
    /// # Errors
    /// The first thing that is wrong; then nothing has been started.
    pub fn start(config: Config, exit: Sender<Exit>) -> Result<Self, Wrong> {
        Self::start_with(config, Runs::of_pipelines(), exit)
    }

    /// As [`Self::start`], with these runs.
    pub(super) fn start_with(config: Config, runs: Runs, exit: Sender<Exit>) -> Result<Self, Wrong> {
        let wrong = |sentence| Wrong { file: config.path.clone(), line: None, sentence };
        let files = StateFiles::open(&config).map_err(wrong)?;
        // The file must be right. Sources that were added by the API may have become wrong by a change of the file.
        check(&config)?;
        let specs = changed_specs(&config, &mut lock(&files.kept), &lock(&files.stuck));
        let (outputs, retention) = output::shared(&config).map_err(wrong)?;
        if let Some(state) = &config.server.state {
            output::sweep_hls(state, |name| specs.iter().any(|spec| spec.name() == name && spec.source.hls));
        }
        let fleet = Self(Arc::new(Inner {
            config: Mutex::new(Arc::new(config)),
            files: Arc::new(files),
            streams: Mutex::default(),
            changing: Mutex::default(),
            model: Mutex::default(),
            began: Instant::now(),
            outputs,
            sampler: Mutex::default(),
            retention,
            refused: Mutex::default(),
            faults: Mutex::default(),
            left_behind: Mutex::default(),
            exit: Mutex::new(exit),
            runs,
            draining: AtomicBool::new(false),
        }));
        let until = Instant::now() + THREAD;
        for spec in specs {
            if let Err(sentence) = fleet.begin_soon(spec, until) {
                log::error(format_args!("{sentence}. A reload starts it, or the next start of the service"));
            }
        }
        let counted = Arc::downgrade(&fleet.0);
        let sampler = Sampler::start(fleet.history(), move || Some(counted.upgrade()?.counts()));
        *lock(&fleet.0.sampler) = sampler;
        fleet.save();
        Ok(fleet)
    }

    /// The state of a stream.
    pub fn stream(&self, name: &str) -> Option<StreamStatus> {
        Some(self.find(name)?.status())
    }

    /// The present keys of a stream's source. The URI may have a password in it.
    pub fn source(&self, name: &str) -> Option<SourceConfig> {
        Some(self.find(name)?.spec().source.clone())
    }

    /// The configuration that was read last.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&lock(&self.0.config))
    }

    /// Whether changes are kept across restarts: there is a folder for them, and the last ones could be written there.
    pub fn keeps(&self) -> bool {
        self.0.files.keeps()
    }

    /// Whether every stream's thread still runs its loop.
    pub fn is_alive(&self) -> bool {
        lock(&self.0.streams).values().all(|stream| stream.is_alive())
    }

    /// The last frame of a stream, with its results as metadata.
    pub fn last_sample(&self, name: &str) -> Option<gst::Sample> {
        self.find(name)?.last_sample()
    }

    /// How many abandoned pipelines have not stopped yet.
    pub fn left_behind(&self) -> usize {
        lock(&self.0.left_behind).iter().filter(|(_, alive)| alive.strong_count() > 0).count()
    }

    /// The pipeline of a stream, while it has one.
    pub fn built(&self, name: &str) -> Option<Built> {
        self.find(name)?.built()
    }

    /// A stream's outputs besides messages.
    pub fn outputs(&self, name: &str) -> Option<Arc<output::Outputs>> {
        self.find(name)?.outputs()
    }

    /// What happened before.
    pub fn history(&self) -> &History {
        &self.0.outputs.history
    }

    /// Begins a recording of a stream, from `pre` seconds before now.
    ///
    /// # Errors
    /// There is no such stream, or it cannot be recorded.
    pub fn begin_recording(&self, name: &str) -> Result<(), Refusal> {
        let stream = self.find(name).ok_or_else(|| Refusal::no_stream(name))?;
        let outputs = stream
            .outputs()
            .ok_or_else(|| Refusal::Busy(format!("stream '{name}' has not been started yet")))?;
        outputs.begin_recording().map_err(Refusal::Conflict)
    }

    /// Adds a stream.
    ///
    /// # Errors
    /// There is a stream of this name, or the source's keys are wrong.
    pub fn add(&self, source: SourceConfig) -> Result<StreamStatus, Refusal> {
        let (_changing, spec) = self.with_tried_models(|| self.addable(source.clone()))?;
        let config = self.config();
        let stream = self.begin(spec.clone()).map_err(Refusal::Busy)?;
        let file = config.sources.iter().find(|source| source.name == spec.name());
        lock(&self.0.files.kept).put(&spec.source, file);
        self.save();
        Ok(stream.status())
    }

    fn addable(&self, source: SourceConfig) -> Result<StreamSpec, Refusal> {
        if self.find(&source.name).is_some() {
            return Err(Refusal::Exists(format!("there is a stream '{}' already", source.name)));
        }
        let config = self.config();
        if lock(&self.0.streams).len() >= config.server.most_streams {
            return Err(Refusal::Conflict(format!(
                "there are {} streams, and a client may add no more: remove one, or set most-streams in [server]",
                config.server.most_streams
            )));
        }
        let spec = StreamSpec::new(&config, source, &lock(&self.0.files.kept).models);
        spec.map_err(|(_, sentence)| Refusal::Invalid(sentence))
    }

    /// Removes a stream, and waits until it has ended.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn remove(&self, name: &str) -> Result<(), Refusal> {
        let stream = {
            let _changing = lock(&self.0.changing);
            let stream = lock(&self.0.streams).remove(name).ok_or_else(|| Refusal::no_stream(name))?;
            let config = self.config();
            lock(&self.0.files.kept).remove(name, config.sources.iter().find(|source| source.name == name));
            self.save();
            self.0.files.forget_stuck(name);
            stream
        };
        stream.stop(Some(self.drain_time()));
        stream.join();
        let _changing = lock(&self.0.changing);
        self.remove_hls_of(name);
        Ok(())
    }

    /// Removes the HLS segments of a stream that is gone. The caller holds `changing`: another stream of this name may exist by
    /// now, and keeps its segments.
    pub(super) fn remove_hls_of(&self, name: &str) {
        if let Some(state) = self.config().server.state.as_deref().filter(|_| self.find(name).is_none()) {
            output::remove_hls(state, name);
        }
    }

    /// Starts a stream again now.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn restart(&self, name: &str) -> Result<StreamStatus, Refusal> {
        let _changing = lock(&self.0.changing);
        let stream = self.find(name).ok_or_else(|| Refusal::no_stream(name))?;
        self.0.files.forget_stuck(name);
        let spec = stream.spec();
        if spec.held.is_some() {
            // The fault that held the stream may be gone.
            let spec = StreamSpec::new(&self.config(), spec.source.clone(), &lock(&self.0.files.kept).models);
            stream.change(spec.map_err(|(_, sentence)| Refusal::Conflict(sentence))?, Effect::Restart);
        } else {
            stream.restart(Reason::Request);
        }
        Ok(stream.status())
    }

    /// Ends all streams, within `stop-timeout`. Returns the names of those that have not ended by then.
    pub fn drain(&self) -> Vec<String> {
        let streams: Vec<_> = {
            let _changing = lock(&self.0.changing);
            self.0.draining.store(true, Ordering::Relaxed);
            lock(&self.0.streams).values().cloned().collect()
        };
        let end = Instant::now() + self.config().server.stop_timeout();
        lock(&self.0.sampler).finish(self.0.counts());
        streams.iter().for_each(|stream| stream.stop(Some(self.drain_time())));
        while streams.iter().any(|stream| !stream.has_ended()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (ended, late): (Vec<_>, Vec<_>) = streams.into_iter().partition(|stream| stream.has_ended());
        ended.iter().for_each(|stream| stream.join());
        // The process ends, so this is the last attempt.
        self.0.files.save_unwritten();
        self.0.outputs.event_pictures.close();
        self.0.outputs.describer.close();
        self.history().close();
        self.0.outputs.hooks.close();
        late.iter().map(|stream| stream.spec().name().to_owned()).collect()
    }

    /// How long a stream may take for its EOS: the rest of `stop-timeout` is for stopping its pipeline.
    pub(super) fn drain_time(&self) -> Duration {
        self.config().server.stop_timeout().mul_f64(0.7)
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Stream>> {
        lock(&self.0.streams).get(name).cloned()
    }

    pub(super) fn refuse_while_draining(&self) -> Result<(), Refusal> {
        if self.0.draining.load(Ordering::Relaxed) {
            return Err(Refusal::Busy("the service is stopping".into()));
        }
        Ok(())
    }

    /// As [`Self::begin`], and tries again until then.
    fn begin_soon(&self, spec: StreamSpec, until: Instant) -> Result<Arc<Stream>, String> {
        loop {
            match self.begin(spec.clone()) {
                Err(_) if Instant::now() < until => std::thread::sleep(THREAD / 30),
                begun => return begun,
            }
        }
    }

    /// Starts a stream and lists it.
    pub(super) fn begin(&self, spec: StreamSpec) -> Result<Arc<Stream>, String> {
        let (fleet, name) = (Arc::downgrade(&self.0), spec.name().to_owned());
        let again = Weak::clone(&fleet);
        let stream = Stream::start(
            spec,
            self.0.runs.clone(),
            self.0.outputs.clone(),
            move |news| hear(&fleet, news),
            move |source| again.upgrade().map(|fleet| fleet.try_again(source)),
        )?;
        let stream = Arc::new(stream);
        lock(&self.0.streams).insert(name, Arc::clone(&stream));
        Ok(stream)
    }

    pub(super) fn save(&self) {
        self.0.files.save_changes();
    }
}

impl Inner {
    /// The counts of all streams, for the history.
    fn counts(&self) -> Vec<StreamCounts> {
        lock(&self.streams).values().map(|stream| stream.counts()).collect()
    }

    /// The spec of a held stream's source, checked again.
    pub fn try_again(&self, source: &SourceConfig) -> StreamSpec {
        // Copies, so that no lock is held while a disk is slow.
        let config = Arc::clone(&lock(&self.config));
        let (models, stuck) = (lock(&self.files.kept).models.clone(), lock(&self.files.stuck).clone());
        spec_or_held(&config, source.clone(), &models, &stuck)
    }
}

/// Handles news of a stream's thread, without waiting for another stream.
fn hear(fleet: &Weak<Inner>, news: News) {
    let Some(fleet) = fleet.upgrade() else { return };
    match news {
        News::Steady { name, started } => {
            lock(&fleet.faults).steady(started);
            fleet.files.forget_stuck(&name);
        }
        News::LeftBehind { source, alive } => leave_behind(&fleet, *source, alive),
        News::GpuFault { name, started, instances } => {
            let verdict = lock(&fleet.faults).fault(started, Instant::now());
            match verdict {
                FaultEffect::Known => (),
                FaultEffect::Restart => restart_sharers(&fleet, &name, &instances),
                FaultEffect::Exit => {
                    log::error("the GPU has failed again and again: the process ends, to be started anew");
                    let _ = lock(&fleet.exit).send(Exit::GpuFault);
                }
            }
        }
    }
}

/// Counts a pipeline that does not stop. It keeps its memory, its threads and its connection, so a limit on their number ends
/// the process.
fn leave_behind(fleet: &Arc<Inner>, source: SourceConfig, alive: Weak<()>) {
    let most = lock(&fleet.config).server.most_left_behind;
    let sources: Vec<SourceConfig> = {
        let mut left = lock(&fleet.left_behind);
        left.retain(|(_, alive)| alive.strong_count() > 0);
        left.push((source, alive));
        left.iter().map(|(source, _)| source.clone()).collect()
    };
    let count = sources.len();
    if count >= most {
        fleet.files.note_stuck(&sources);
        log::error(format_args!(
            "pipelines that do not stop: {count}. most-left-behind allows no more: the process ends, to be started anew"
        ));
        let _ = lock(&fleet.exit).send(Exit::LeftBehind);
    }
}

/// Starts all other streams of these instances again, so that no stream keeps what the fault has broken.
fn restart_sharers(fleet: &Inner, name: &str, instances: &[String]) {
    log::error(format_args!(
        "stream '{name}': the GPU has failed; all streams of {} are started again",
        instances.join(", ")
    ));
    for (other, stream) in lock(&fleet.streams).iter().filter(|(other, _)| *other != name) {
        let shares = stream
            .built()
            .is_some_and(|built| built.description.instances.iter().any(|i| instances.contains(i)));
        if shares {
            log::warning(format_args!("stream '{other}': shares the model of '{name}'"));
            stream.restart(Reason::Gpu);
        }
    }
}
