//! Running the pipeline of one video to its end.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cudainfer_launch::elements;
use cudainfer_launch::error::{is_gpu_fault, text};
use gst::prelude::*;

use crate::pipeline::Built;
use crate::silent::SilentEnd;
use crate::stall::{Seen, Stall};
use crate::summary::{Frames, GpuShare};

/// How often the pipeline is looked at.
const TICK: gst::ClockTime = gst::ClockTime::from_mseconds(50);

/// How long a pipeline may take to stop. After that it is abandoned.
const STOP: Duration = Duration::from_secs(10);

/// How long a pipeline may take to end after SIGTERM. Kubernetes waits for 30 s by default.
const DRAIN: Duration = Duration::from_secs(5);

/// The most warnings that are kept of a video.
const MOST_WARNINGS: usize = 20;

/// The name of the message that a pipeline did not start.
const NOT_STARTED: &str = "cudainfer-batch-not-started";

/// What all runs of this process have in common.
#[derive(Debug)]
pub struct Terms {
    /// How long a video may stand still.
    pub stall: Duration,
    /// Whether the program must end.
    pub interrupt: AtomicBool,
    /// Steps of models that are being made ready.
    pub steps: AtomicU64,
}

impl Terms {
    /// Those of a program that goes on.
    pub fn new(stall: Duration) -> Self {
        Self { stall, interrupt: AtomicBool::new(false), steps: AtomicU64::new(0) }
    }
}

/// What came of a video that ran to its end.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Its frames.
    pub frames: Frames,
    /// The GPU.
    pub gpu: GpuShare,
    /// What elements warned about.
    pub warnings: Vec<String>,
}

/// Why a video did not run to its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It fails everywhere.
    Video(String),
    /// It may be another time's or machine's fault.
    Passing(String),
    /// The GPU has failed.
    Gpu(String),
    /// The disk is full, or another fault of this machine.
    Machine(String),
    /// The program was asked to end.
    Interrupted,
}

/// A failure, and whether the pipeline does not stop.
#[derive(Debug)]
pub struct Ended {
    /// What came of it.
    pub result: Result<Ran, Failure>,
    /// Whether threads of it run on.
    pub abandoned: bool,
}

/// Runs a pipeline to its end, and stops it.
pub fn run(built: &Built, terms: &Terms, report: impl Fn(Option<u64>)) -> Ended {
    let mut warnings = BTreeSet::new();
    let result = play(built, terms, &mut warnings, &report);
    // The counts are those of the run: elements reset them when they start, and forget them when they stop.
    let lost = lost(built);
    let gpu = gpu_share(built);
    let abandoned = !stop(&built.pipeline);
    let whole = built.seen.start().elapsed().as_secs_f64();
    let result = result.and_then(|expected| match lost {
        _ if abandoned => Err(Failure::Passing("its pipeline does not stop".into())),
        Some(sentence) => Err(Failure::Machine(sentence)),
        None => {
            let decoded = built.seen.frames();
            #[allow(clippy::cast_precision_loss)] // frames a second need no 53 bits
            let per_second = decoded as f64 / whole;
            let frames = Frames {
                decoded,
                expected,
                seconds: whole,
                per_second,
                seconds_after_last: whole - built.seen.last(),
            };
            Ok(Ran { frames, gpu, warnings: warnings.into_iter().collect() })
        }
    });
    Ended { result, abandoned }
}

/// Starts the pipeline and waits for its end. Returns how many frames were expected.
fn play(
    built: &Built,
    terms: &Terms,
    warnings: &mut BTreeSet<String>,
    report: &impl Fn(Option<u64>),
) -> Result<Option<u64>, Failure> {
    let Some(bus) = built.pipeline.bus() else {
        return Err(Failure::Machine("the pipeline has no bus".into()));
    };
    // In another thread: a source may wait for its file system.
    built.pipeline.call_async(|pipeline| {
        if pipeline.set_state(gst::State::Playing).is_err() {
            let structure = gst::Structure::new_empty(NOT_STARTED);
            let _ =
                pipeline.post_message(gst::message::Application::builder(structure).src(pipeline).build());
        }
    });
    let mut stall = Stall::new(terms.stall, Instant::now());
    let (mut expected, mut drained, mut silent) = (None, None::<Instant>, SilentEnd::default());
    loop {
        let message = bus.timed_pop(TICK);
        if let Some(message) = &message {
            match message.view() {
                gst::MessageView::Eos(_) if drained.is_some() => return Err(Failure::Interrupted),
                gst::MessageView::Eos(_) if built.seen.frames() == 0 => {
                    return Err(Failure::Video("it has no frame that can be decoded".into()));
                }
                gst::MessageView::Eos(_) => return Ok(expected),
                // Errors while it ends are of no interest: what it wrote is dropped.
                gst::MessageView::Error(_) if drained.is_some() => return Err(Failure::Interrupted),
                gst::MessageView::Error(error) => return Err(failure(error)),
                gst::MessageView::Warning(warning) if warnings.len() < MOST_WARNINGS => {
                    warnings.insert(warning.error().message().to_owned());
                }
                gst::MessageView::Progress(_) => {
                    terms.steps.fetch_add(1, Ordering::Relaxed);
                }
                gst::MessageView::Application(own)
                    if own.structure().is_some_and(|own| own.name() == NOT_STARTED) =>
                {
                    return Err(Failure::Video("its pipeline does not start".into()));
                }
                _ => (),
            }
        }
        if built.seen.no_video() {
            return Err(Failure::Video("it has no video stream".into()));
        }
        if terms.interrupt.load(Ordering::Relaxed) {
            let since = *drained.get_or_insert_with(|| {
                // A source takes the event only when it has pushed its frame.
                built.pipeline.call_async(|pipeline| {
                    let _ = pipeline.send_event(gst::event::Eos::new());
                });
                Instant::now()
            });
            if since.elapsed() > DRAIN {
                return Err(Failure::Interrupted);
            }
            continue;
        }
        let frames = built.seen.frames();
        if frames == 0 && message.is_none() && silent.check(&built.pipeline) {
            return Err(Failure::Video(
                "its container ends before a stream: it is cut off or damaged".into(),
            ));
        }
        if expected.is_none() && frames > 0 {
            expected = estimate(built);
        }
        report(expected);
        let seen = Seen { frames, steps: terms.steps.load(Ordering::Relaxed) };
        if let Some(after) = stall.check(seen, Instant::now()) {
            return Err(Failure::Passing(format!(
                "no frame has come for {} s, after {frames} frames: --stall sets another time",
                after.as_secs()
            )));
        }
    }
}

/// How many frames there should be, by the container's duration and frame rate.
fn estimate(built: &Built) -> Option<u64> {
    let duration = built.pipeline.query_duration::<gst::ClockTime>()?;
    let rate = built.seen.frame_rate()?;
    let frames = duration.nseconds().checked_mul(u64::try_from(rate.numer()).ok()?)?;
    let second = u64::try_from(rate.denom()).ok()?.checked_mul(1_000_000_000)?;
    Some(frames.saturating_add(second / 2) / second)
}

/// What an element's error means for the video.
fn failure(error: &gst::message::Error) -> Failure {
    let (sentence, debug) = (text(error), error.debug().unwrap_or_default());
    let posted = error.error();
    let full = "No space left on device";
    if is_gpu_fault(&sentence) || is_gpu_fault(&debug) {
        Failure::Gpu(sentence)
    } else if posted.matches(gst::ResourceError::NoSpaceLeft)
        || sentence.contains(full)
        || debug.contains(full)
    {
        Failure::Machine(sentence)
    } else if posted.is::<gst::ResourceError>() {
        Failure::Passing(sentence)
    } else {
        Failure::Video(sentence)
    }
}

/// A sentence about records that were not written.
fn lost(built: &Built) -> Option<String> {
    built.own().into_iter().filter(|element| elements::is(element, "inferpublish")).find_map(|element| {
        let stats = element.property::<gst::Structure>("stats");
        let count = |name: &str| stats.get::<u64>(name).unwrap_or_default();
        let lost = count("failed") + count("dropped");
        (lost > 0).then(|| format!("{}: {lost} records could not be written", element.name()))
    })
}

/// The share of the time in which the GPU worked for this video, by the elements' own counts of some of their frames.
fn gpu_share(built: &Built) -> GpuShare {
    let mut busy = None;
    for element in built.own().iter().filter(|element| element.find_property("stats").is_some()) {
        let stats = element.property::<gst::Structure>("stats");
        let count = |name: &str| stats.get::<u64>(name).unwrap_or_default();
        let (samples, frames) = (count("gpu-samples"), count("frames"));
        if samples > 0 {
            #[allow(clippy::cast_precision_loss)] // a share needs no 53 bits
            let all = count("gpu-ns") as f64 / samples as f64 * frames as f64;
            busy = Some(busy.unwrap_or(0.0) + all);
        }
    }
    let whole = built.seen.start().elapsed().as_secs_f64() * 1e9;
    match busy {
        Some(busy) => GpuShare {
            share: Some((busy / whole).min(1.0)),
            reason: "the elements' gpu-ns of every 16th frame, scaled to all frames".into(),
        },
        None => GpuShare { share: None, reason: "no element worked on a GPU".into() },
    }
}

/// Stops a pipeline. Returns whether it has stopped in time.
fn stop(pipeline: &gst::Pipeline) -> bool {
    let (stopped, wait) = channel();
    pipeline.call_async(move |pipeline| {
        let _ = pipeline.set_state(gst::State::Null);
        let _ = stopped.send(());
    });
    wait.recv_timeout(STOP).is_ok()
}
