//! One run of a stream's pipeline, in a thread of its own: everything that may take long or hang.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};

use gst::prelude::*;

use super::cause::Posted;
use super::current::Publication;
use super::failure::Failure;
use super::live::Places;
use super::status::Shared;
use super::{Built, Held, Reason, StreamSpec, decoder, live};
use crate::config::{SourceConfig, SourceKind};
use crate::output::Outputs;
use crate::resources;
use crate::unpoisoned::lock;

/// An order to the thread of a run.
#[derive(Debug)]
pub(super) enum Order {
    /// Send EOS through the pipeline.
    Drain,
    /// Seek to the begin of the source.
    Rewind,
    /// The latency has changed.
    Latency,
    /// The pipeline has lost its clock.
    Clock,
    /// Stop; the thread ends.
    Stop,
}

/// A report of a run; it is sent with the run's number.
#[derive(Debug)]
pub(super) enum RunReport {
    /// An error.
    Failed(Failure),
    /// A decoder could not read something.
    DecodeError(String),
    /// Another warning.
    Warning(String),
    /// An element is at work on something long.
    Busy,
    /// The end of the stream; true where the source may have an end.
    End(bool),
    /// The pipeline needs this order.
    Needs(Order),
    /// A held spec, and the one that takes its place: it can be started now, or is held and not tried again.
    Startable(Arc<StreamSpec>, Box<StreamSpec>),
    /// The pipeline has stopped.
    Down,
}

/// Makes the spec of a held source again; `None` if the service ends.
pub(super) type TryAgain = Arc<dyn Fn(&SourceConfig) -> Option<StreamSpec> + Send + Sync>;

/// Takes the reports of a run, from several threads, and must not wait.
pub(super) type ReportRun = Arc<dyn Fn(RunReport) + Send + Sync>;

/// Starts a run; it has this number, and builds the pipeline of the stream's present spec.
type Start = dyn Fn(&StreamSpec, u64, Arc<Shared>, TryAgain, ReportRun) -> Run + Send + Sync;

/// How streams start their runs: with pipelines, or in a simulation with what stands for them.
#[derive(Clone)]
pub struct Runs(pub(super) Arc<Start>);

impl Runs {
    /// Runs of pipelines.
    pub fn of_pipelines() -> Self {
        Self(Arc::new(Run::start))
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runs")
    }
}

impl RunReport {
    fn without_secrets(self, spec: &StreamSpec) -> Self {
        match self {
            Self::Failed(failure) => {
                Self::Failed(Failure { text: spec.without_secrets(&failure.text), ..failure })
            }
            Self::DecodeError(text) => Self::DecodeError(spec.without_secrets(&text)),
            Self::Warning(text) => Self::Warning(spec.without_secrets(&text)),
            other => other,
        }
    }
}

/// A run.
#[derive(Debug)]
pub(super) struct Run {
    /// Distinguishes its reports from those of earlier runs.
    pub number: u64,
    /// Its frames so far.
    pub frames: Arc<AtomicU64>,
    /// The source with which it was started.
    pub source: SourceConfig,
    pub(super) orders: Sender<Order>,
    pub(super) alive: Weak<()>,
}

impl Run {
    /// Begins a run.
    pub fn start(
        spec: &StreamSpec,
        number: u64,
        shared: Arc<Shared>,
        try_again: TryAgain,
        report: ReportRun,
    ) -> Self {
        let report = move |what| report(what);
        let (orders, receiver) = channel();
        let frames = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&frames);
        let failed = report.clone();
        let (name, source) = (format!("run:{}", spec.name()), spec.source.clone());
        let until_its_end = Arc::new(());
        let alive = Arc::downgrade(&until_its_end);
        let run = move || {
            run(number, &shared, &counted, &receiver, &try_again, &report);
            drop(until_its_end);
            report(RunReport::Down);
            resources::give_back_memory();
        };
        if let Err(e) = std::thread::Builder::new().name(name).spawn(run) {
            let text = format!("no thread can be started for the pipeline: {e}");
            failed(RunReport::Failed(Failure { reason: Reason::Error, permanent: false, text }));
            failed(RunReport::Down);
        }
        Self { number, frames, source, orders, alive }
    }

    /// Can be upgraded until the pipeline has stopped.
    pub fn alive(&self) -> Weak<()> {
        Weak::clone(&self.alive)
    }

    /// Sends an order to the thread; one that has ended needs none.
    pub fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

fn run(
    number: u64,
    shared: &Arc<Shared>,
    frames: &Arc<AtomicU64>,
    orders: &Receiver<Order>,
    try_again: &TryAgain,
    report: &(impl Fn(RunReport) + Clone + Send + Sync + 'static),
) {
    let Some((spec, built, places)) = build(number, shared, frames, try_again, report) else {
        while !matches!(orders.recv(), Ok(Order::Stop) | Err(_)) {}
        return;
    };
    let report = hiding(&spec, report);
    let pipeline = &built.pipeline;
    if pipeline.set_state(gst::State::Playing).is_err() {
        // After the element's own error, which has the reason.
        let text = "the pipeline does not start".to_owned();
        report(RunReport::Failed(Failure { reason: Reason::Error, permanent: false, text }));
    }
    loop {
        match orders.recv() {
            // In another thread: the source takes the event only after it has pushed its frame, which may wait downstream, and
            // the sender of the event waits that long.
            Ok(Order::Drain) => pipeline.call_async(|pipeline| {
                let _ = pipeline.send_event(gst::event::Eos::new());
            }),
            Ok(Order::Rewind) => {
                let flags = gst::SeekFlags::FLUSH | gst::SeekFlags::KEY_UNIT;
                if let Err(e) = pipeline.seek_simple(flags, gst::ClockTime::ZERO) {
                    let text = format!("the file cannot begin again: {}", e.message);
                    report(RunReport::Failed(Failure { reason: Reason::End, permanent: false, text }));
                }
            }
            Ok(Order::Latency) => drop(pipeline.recalculate_latency()),
            Ok(Order::Clock) => {
                let _ = pipeline.set_state(gst::State::Paused);
                let _ = pipeline.set_state(gst::State::Playing);
            }
            Ok(Order::Stop) | Err(_) => break,
        }
    }
    shared.current.withdraw(number);
    places.close();
    built.stop();
    if let Some(outputs) = shared.outputs() {
        outputs.interrupt();
    }
    unwatch(&built);
}

/// Builds the pipeline of the stream's present spec, again if the spec changes meanwhile. `None` if it cannot be built, which is
/// reported, or if the run was abandoned.
fn build(
    number: u64,
    shared: &Arc<Shared>,
    frames: &Arc<AtomicU64>,
    try_again: &TryAgain,
    report: &(impl Fn(RunReport) + Clone + Send + Sync + 'static),
) -> Option<(Arc<StreamSpec>, Built, Places)> {
    let not_there = |text| Failure { reason: Reason::Connection, permanent: false, text };
    let no_room = |text| Failure { reason: Reason::Error, permanent: false, text };
    let wrong = |text| Failure { reason: Reason::Error, permanent: true, text };
    loop {
        let spec = shared.current.spec();
        let report = hiding(&spec, report);
        if spec.held.is_some() {
            match try_again(&spec.source)? {
                StreamSpec { held: Some(Held { why, tried_again: true }), .. } => {
                    report(RunReport::Failed(Failure { reason: Reason::Error, permanent: false, text: why }));
                }
                found => report(RunReport::Startable(spec, Box::new(found))),
            }
            return None;
        }
        let built = resources::for_a_stream()
            .map_err(no_room)
            .and_then(|()| spec.file().map_err(not_there))
            .and_then(|file| Built::new(&spec, file).map_err(wrong));
        let built = built.map_err(|failure| report(RunReport::Failed(failure))).ok()?;
        let places = watch(&built, &spec, shared, frames, &report);
        match shared.current.publish(number, &spec, &built) {
            Publication::Published => return Some((spec, built, places)),
            Publication::Outdated => unwatch(&built),
            Publication::LeftBehind => {
                unwatch(&built);
                return None;
            }
        }
    }
}

/// Removes the secrets of this run's spec from its reports: by the time of a report, the stream may have another spec with other
/// secrets.
fn hiding<F: Fn(RunReport) + Clone + Send + Sync + 'static>(
    spec: &Arc<StreamSpec>,
    report: &F,
) -> impl Fn(RunReport) + Clone + Send + Sync + 'static + use<F> {
    let (spec, report) = (Arc::clone(spec), report.clone());
    move |what: RunReport| report(what.without_secrets(&spec))
}

fn unwatch(built: &Built) {
    if let Some(bus) = built.pipeline.bus() {
        bus.unset_sync_handler();
    }
}

/// Passes frames, caps and messages of the pipeline on to the outputs, the counts and `report`. Returns the places that its frames
/// have.
fn watch(
    built: &Built,
    spec: &StreamSpec,
    shared: &Arc<Shared>,
    frames: &Arc<AtomicU64>,
    report: &(impl Fn(RunReport) + Clone + Send + Sync + 'static),
) -> Places {
    let outputs = shared.outputs();
    let mut places = Places::default();
    if let Some((outputs, pad)) = encoded_pad(built, outputs.as_ref()) {
        pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
            if let (Some(gst::PadProbeData::Buffer(frame)), Some(caps)) = (&info.data, pad.current_caps()) {
                outputs.encoded(frame, &caps);
            }
            gst::PadProbeReturn::Ok
        });
    }
    let results = outputs.clone();
    if let Some(pad) = built.sink.static_pad("sink") {
        places = live::watch(spec, &built.description, built.newest.as_ref(), &pad, &shared.lateness);
        let (shared, frames) = (Arc::clone(shared), Arc::clone(frames));
        let kinds = gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM;
        pad.add_probe(kinds, move |pad, info| {
            match &info.data {
                Some(gst::PadProbeData::Buffer(frame)) => {
                    if let (Some(outputs), Some(caps)) = (&results, pad.current_caps()) {
                        outputs.results(frame, &caps);
                    }
                    frames.fetch_add(1, Ordering::Relaxed);
                    shared.frames.fetch_add(1, Ordering::Relaxed);
                }
                Some(gst::PadProbeData::Event(event)) => {
                    if let gst::EventView::Caps(caps) = event.view() {
                        *lock(&shared.caps) = Some(caps.caps_owned());
                    }
                }
                _ => (),
            }
            gst::PadProbeReturn::Ok
        });
    }
    if let Some(decodebin) = &built.decoder {
        let report = report.clone();
        decoder::watch(decodebin, move |text| report(RunReport::DecodeError(text)));
    }
    let (kind, source, report) = (spec.kind.clone(), spec.source.clone(), report.clone());
    let failed = AtomicBool::new(false);
    let Some(bus) = built.pipeline.bus() else { return places };
    let pipeline = built.pipeline.downgrade();
    bus.set_sync_handler(move |_, message| {
        if let Some(outputs) = &outputs {
            outputs.message(message);
        }
        let report_of = match message.view() {
            gst::MessageView::Error(error) => {
                // Only the first error counts. Those after it are its consequences, and finding out their reasons may take seconds.
                let first = !failed.swap(true, Ordering::Relaxed);
                Some(RunReport::Failed(Failure::of(error, &source, first)))
            }
            gst::MessageView::Warning(warning) => Some(warned(warning, &source)),
            _ => read(message, &kind, pipeline.upgrade().as_ref()),
        };
        if let Some(what) = report_of {
            report(what);
        }
        gst::BusSyncReply::Drop
    });
    places
}

/// The pad through which encoded frames pass, if an output wants them.
fn encoded_pad(built: &Built, outputs: Option<&Arc<Outputs>>) -> Option<(Arc<Outputs>, gst::Pad)> {
    let outputs = outputs.filter(|outputs| outputs.wants_encoded())?;
    Some((Arc::clone(outputs), built.encoded.as_ref()?.static_pad("sink")?))
}

/// What a WARNING means for the stream.
fn warned(warning: &gst::message::Warning, source: &SourceConfig) -> RunReport {
    let posted = Posted::warning(warning);
    let text = if posted.is_of_source() && !posted.is_own() {
        posted.sentence(source, false)
    } else {
        posted.error.message().to_owned()
    };
    let decode = posted.error.matches(gst::StreamError::Decode);
    if decode { RunReport::DecodeError(text) } else { RunReport::Warning(text) }
}

/// What another message means for the stream.
fn read(message: &gst::Message, kind: &SourceKind, pipeline: Option<&gst::Pipeline>) -> Option<RunReport> {
    match message.view() {
        gst::MessageView::Eos(_) => {
            // A source by HTTP whose length is known is a file, and has an end; a camera has none.
            let known = || pipeline.and_then(|p| p.query_duration::<gst::ClockTime>()).is_some();
            Some(RunReport::End(kind.may_end() && (!matches!(kind, SourceKind::Http) || known())))
        }
        gst::MessageView::Progress(_) => Some(RunReport::Busy),
        gst::MessageView::Latency(_) => Some(RunReport::Needs(Order::Latency)),
        gst::MessageView::ClockLost(_) => Some(RunReport::Needs(Order::Clock)),
        _ => None,
    }
}
