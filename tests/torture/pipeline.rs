//! A pipeline that runs again and again, and all that is said meanwhile.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Once};

use cudainfer_tests::CLOCK_LIMIT;
use cudainfer_torture::Ran;
use gst::prelude::*;

/// Frames of a run.
pub const FRAMES: u64 = 12;

/// What elements before a destination do: everything that makes records.
pub fn detection(model: &str) -> String {
    format!(
        "videotestsrc num-buffers={FRAMES} pattern=red ! video/x-raw,format=I420,width=64,height=48,framerate=10/1 \
         ! fusedpreproc device=cpu ! trtinfer name=infer model={model} provider=cpu device=cpu workers=2 engine-cache=none \
         ! gpunms name=nms device=cpu ! tracker min-hits=1 ! zonecount zones=all=polygon:0,0,64,0,64,48,0,48"
    )
}

/// Lines of the log, from WARNING on.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// What GLib calls a mistake of the program.
static CRITICAL: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Starts GStreamer; its log is collected and not printed.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        cudainfer_tests::init();
        gst::log::remove_default_log_function();
        gst::log::set_default_threshold(gst::DebugLevel::Warning);
        gst::log::add_log_function(|category, level, _, _, _, object, message| {
            if level <= gst::DebugLevel::Warning {
                let object = object.map(ToString::to_string).unwrap_or_default();
                let text = message.get().map(|text| text.to_string()).unwrap_or_default();
                LOGGED.lock().unwrap().push(format!("log: {}: {object} {text}", category.name()));
            }
        });
        glib::log_set_default_handler(|domain, level, text| {
            if matches!(level, glib::LogLevel::Error | glib::LogLevel::Critical | glib::LogLevel::Warning) {
                CRITICAL.lock().unwrap().push(format!("{}: {text}", domain.unwrap_or_default()));
            }
        });
    });
}

/// A pipeline that is run to its end again and again.
pub struct Pipeline(gst::Pipeline);

impl Pipeline {
    pub fn new(description: &str) -> Self {
        let pipeline = gst::parse::launch(description).unwrap_or_else(|e| panic!("{e}: {description}"));
        let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
        // What is posted while it stops is read after that.
        pipeline.set_property("auto-flush-bus", false);
        Self(pipeline)
    }

    pub fn element(&self, name: &str) -> gst::Element {
        self.0.by_name(name).unwrap()
    }

    /// A counter of an element's `stats`.
    pub fn count(&self, name: &str, field: &str) -> u64 {
        self.element(name).property::<gst::Structure>("stats").get(field).unwrap()
    }

    /// From NULL to PLAYING, to the end or the first error, and to NULL again. It is complete if it came to its end.
    pub fn run(&self) -> Ran {
        LOGGED.lock().unwrap().clear();
        let bus = self.0.bus().unwrap();
        let started = self.0.set_state(gst::State::Playing).is_ok();
        let mut ran = Ran::default();
        let ends = [gst::MessageType::Error, gst::MessageType::Eos];
        let mut see = |message: &gst::Message| match message.view() {
            gst::MessageView::Eos(_) => ran.complete = true,
            gst::MessageView::Error(error) => {
                ran.errors.push(format!("{} ({:?})", error.error(), error.debug()));
            }
            gst::MessageView::Warning(warning) => ran.remarks.push(warning.error().to_string()),
            gst::MessageView::Info(info) => ran.remarks.push(info.error().to_string()),
            _ => (),
        };
        // An error that hinders the start is there already.
        let limit = if started { CLOCK_LIMIT } else { gst::ClockTime::ZERO };
        let mut ended = false;
        while let Some(message) = bus.timed_pop(if ended { gst::ClockTime::ZERO } else { limit }) {
            see(&message);
            ended |= ends.contains(&message.type_());
        }
        assert!(ended || !started, "neither end nor error within {CLOCK_LIMIT}");
        let stopped = self.0.set_state(gst::State::Null);
        while let Some(message) = bus.pop() {
            see(&message);
        }
        assert!(stopped.is_ok(), "it does not stop");
        if !started && ran.errors.is_empty() {
            ran.errors.push("it does not start, and nothing is posted".to_owned());
        }
        ran.remarks.append(&mut LOGGED.lock().unwrap());
        ran
    }
}

/// Fails if GLib has called something a mistake of the program since the last time.
pub fn no_mistakes() -> Result<(), String> {
    let mistakes = std::mem::take(&mut *CRITICAL.lock().unwrap());
    if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
}

/// Runs a pipeline whose records have a source of their own each time; `counts` are read of the element `publish`.
pub struct Publishing {
    pub pipeline: Pipeline,
    runs: u64,
    /// Frames that the element has seen in this run. Where there are none, it was not started, and its counts are of the run before.
    seen: Arc<AtomicU64>,
    /// Sources, and how many of their records the destination has accepted.
    accepted: Vec<(String, u64)>,
    wrong: Option<String>,
}

impl Publishing {
    pub fn new(description: &str) -> Self {
        let (pipeline, seen) = (Pipeline::new(description), Arc::<AtomicU64>::default());
        let count = Arc::clone(&seen);
        let pad = pipeline.element("publish").static_pad("sink").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
            count.fetch_add(1, SeqCst);
            gst::PadProbeReturn::Ok
        });
        Self { pipeline, runs: 0, seen, accepted: Vec::new(), wrong: None }
    }

    pub fn run(&mut self) -> Ran {
        self.runs += 1;
        let source = format!("run-{}", self.runs);
        self.pipeline.element("publish").set_property("source", &source);
        self.seen.store(0, SeqCst);
        let mut ran = self.pipeline.run();
        if self.seen.load(SeqCst) == 0 {
            ran.complete = false;
            return ran;
        }
        let count = |field| self.pipeline.count("publish", field);
        let [records, written, failed, dropped] = ["records", "written", "failed", "dropped"].map(count);
        if records != written + failed + dropped {
            self.wrong = Some(format!(
                "{records} records were made, {written} written, {failed} failed, {dropped} dropped"
            ));
        }
        if failed + dropped > 0 && ran.errors.is_empty() && ran.remarks.is_empty() {
            self.wrong = Some(format!("{failed} records have failed and {dropped} are dropped, silently"));
        }
        ran.complete &= written == FRAMES;
        self.accepted.push((source, written));
        ran
    }

    /// Compares what was accepted with what has arrived: how many different records of a source.
    pub fn settle(&mut self, arrived: impl Fn(&str) -> u64) -> Result<(), String> {
        no_mistakes()?;
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        for (source, accepted) in self.accepted.drain(..) {
            let arrived = arrived(&source);
            if arrived < accepted {
                return Err(format!("{accepted} records of {source} were accepted, {arrived} have arrived"));
            }
        }
        Ok(())
    }

    /// Whether something that was accepted has not arrived yet.
    pub fn misses(&self, arrived: impl Fn(&str) -> u64) -> bool {
        self.accepted.iter().any(|(source, accepted)| arrived(source) < *accepted)
    }
}
