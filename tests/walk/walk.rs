//! The walk itself: the pipeline, its streams, and what is checked after each operation.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudainfer_tests::dice::Dice;
use cudainfer_tests::resources::Resources;
use cudainfer_tests::{LIMIT, init, until};
use gst::prelude::*;

use crate::complaints;
use crate::ledger::{Counts, Ledger};
use crate::operations::{self, Operation};
use crate::stream::{KINDS, Kind, SHARED, Stream};

/// Operations that a failure shows.
const SHOWN: usize = 60;

/// What elements warn of because of what is done to them.
const EXPECTED: [&str; 10] = [
    // There is none, or device=cpu asks for none.
    "no GPU is used",
    // Models and zones that are none.
    "is not taken over",
    "The zones are not changed",
    // Thresholds that nothing passes.
    "no object has had an identity",
    // Frames that are dropped and reported, and those that were in an element that was taken out.
    "are missing before the one at",
    // Seeks without a flush, backwards.
    "timestamp is not after the one before",
    // BaseTransform's own, also capsfilter's, of a stream that is stopped while its caps are negotiated. Where it is not stopped, its
    // source posts an ERROR.
    "not negotiated",
    // Properties.
    "is probably wrong",
    "is not larger than a pixel",
    "does not apply to decoder",
];

/// What elements have posted.
#[derive(Default)]
struct Posted {
    errors: Vec<String>,
    warnings: Vec<String>,
    /// The frames of each stream, by the name of its bin.
    ledgers: HashMap<String, Arc<Ledger>>,
}

/// A running pipeline.
pub struct Walk {
    /// Its streams are bins.
    pub pipeline: gst::Pipeline,
    /// What decides.
    pub dice: Dice,
    /// The streams, of which some may be missing.
    pub streams: Vec<Option<Stream>>,
    /// Elements that were given up while they played.
    pub disposed: usize,
    /// Errors of streams that were stopped while they started.
    pub pardoned: usize,
    posted: Arc<Mutex<Posted>>,
    /// Holds the model that streams share while none of them runs.
    keeper: Option<gst::Element>,
    added: usize,
    done: usize,
    /// How often each operation was done.
    pub often: BTreeMap<Operation, usize>,
    /// The frames of all streams that are gone.
    pub counts: Counts,
    last: Arc<Mutex<(VecDeque<String>, Instant)>>,
}

impl Walk {
    /// A pipeline without streams, which plays.
    pub fn new(seed: u64) -> Self {
        init();
        let pipeline = gst::Pipeline::new();
        let posted = Arc::<Mutex<Posted>>::default();
        let seen = Arc::clone(&posted);
        pipeline.bus().unwrap().set_sync_handler(move |_, message| {
            note(&mut seen.lock().unwrap(), message);
            gst::BusSyncReply::Drop
        });
        pipeline.set_state(gst::State::Playing).unwrap();
        let last = Arc::new(Mutex::new((VecDeque::new(), Instant::now())));
        watch(Arc::downgrade(&last), seed);
        Self {
            pipeline,
            dice: Dice::new(seed),
            streams: KINDS.iter().map(|_| None).collect(),
            disposed: 0,
            pardoned: 0,
            posted,
            keeper: None,
            added: 0,
            done: 0,
            often: BTreeMap::new(),
            counts: Counts::default(),
            last,
        }
    }

    /// Adds all streams that are missing.
    pub fn fill(&mut self) {
        for place in 0..self.streams.len() {
            if self.streams[place].is_none() {
                self.add(place);
            }
        }
    }

    /// Removes all streams, so that nothing is left of them; what is held then must be the same each time.
    pub fn empty(&mut self) -> Resources {
        for place in 0..self.streams.len() {
            self.remove(place);
        }
        if let Some(keeper) = self.keeper.take() {
            keeper.set_state(gst::State::Null).unwrap();
        }
        self.check();
        let mut last = Resources::now();
        // Threads end after those who have joined them go on.
        until("the threads are over", || {
            let now = Resources::now();
            let same = now.threads >= last.threads;
            last = now;
            std::thread::sleep(Duration::from_millis(20));
            same
        });
        last
    }

    /// Does one thing, and checks what came of it.
    pub fn step(&mut self) {
        let operation = Operation::draw(&mut self.dice);
        let place = self.dice.roll(self.streams.len());
        let name =
            self.streams[place].as_ref().map_or_else(String::new, |stream| stream.bin.name().to_string());
        self.log(format!("{}: {operation:?} {name}", self.done));
        let detail = operations::apply(self, operation, place);
        if detail.contains(operations::FAILED) {
            self.posted.lock().unwrap().errors.push(detail.clone());
        }
        if let Some(last) = self.last.lock().unwrap().0.back_mut() {
            *last = format!("{last}: {detail}");
        }
        self.done += 1;
        *self.often.entry(operation).or_default() += 1;
        self.check();
    }

    fn log(&self, line: String) {
        let (lines, since) = &mut *self.last.lock().unwrap();
        lines.push_back(line);
        if lines.len() > SHOWN {
            lines.pop_front();
        }
        *since = Instant::now();
    }

    /// Panics with the last operations where something is wrong.
    fn check(&self) {
        let posted = std::mem::take(&mut self.posted.lock().unwrap().errors);
        let mut wrong: Vec<String> = posted.into_iter().map(|error| format!("ERROR: {error}")).collect();
        let warnings = std::mem::take(&mut self.posted.lock().unwrap().warnings);
        let is_expected = |warning: &String| EXPECTED.iter().any(|expected| warning.contains(expected));
        wrong.extend(warnings.into_iter().filter(|w| !is_expected(w)).map(|w| format!("WARNING: {w}")));
        for stream in self.streams.iter().flatten() {
            let faults = stream.ledger.faults();
            wrong.extend(faults.into_iter().map(|fault| format!("{}: {fault}", stream.bin.name())));
        }
        wrong.extend(complaints::unexpected());
        if !wrong.is_empty() {
            let last: Vec<String> = self.last.lock().unwrap().0.iter().cloned().collect();
            panic!("{}\nthe last operations:\n{}", wrong.join("\n"), last.join("\n"));
        }
    }

    fn add(&mut self, place: usize) -> String {
        let kind = KINDS[place];
        if kind == Kind::Shared && self.keeper.is_none() {
            let keeper = gst::parse::launch(&format!(
                "trtinfer name=keeper device=cpu model={} {SHARED}",
                Kind::Shared.model()
            ));
            let keeper = keeper.unwrap();
            keeper.set_state(gst::State::Ready).unwrap();
            self.keeper = Some(keeper);
        }
        let name = format!("stream{}", self.added);
        self.added += 1;
        let stream = Stream::new(&name, kind);
        self.posted.lock().unwrap().ledgers.insert(name.clone(), Arc::clone(&stream.ledger));
        self.pipeline.add(&stream.bin).unwrap();
        stream
            .bin
            .sync_state_with_parent()
            .unwrap_or_else(|e| panic!("{e}: {:?}", self.posted.lock().unwrap().errors));
        self.streams[place] = Some(stream);
        format!("added {name}")
    }

    fn remove(&mut self, place: usize) -> Option<String> {
        let stream = self.streams[place].take()?;
        let name = stream.bin.name().to_string();
        // The orders in which programs do it.
        let order = self.dice.roll(3);
        match order {
            0 => {
                stream.bin.set_state(gst::State::Null).unwrap();
                self.pipeline.remove(&stream.bin).unwrap();
            }
            1 => {
                stream.bin.set_locked_state(true);
                stream.bin.set_state(gst::State::Null).unwrap();
                self.pipeline.remove(&stream.bin).unwrap();
            }
            _ => {
                self.pipeline.remove(&stream.bin).unwrap();
                stream.bin.set_state(gst::State::Null).unwrap();
            }
        }
        self.pardon_errors_of(&name);
        self.counts.add(stream.ledger.close());
        let faults = stream.ledger.faults();
        self.posted.lock().unwrap().ledgers.remove(&name);
        self.posted.lock().unwrap().errors.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
        Some(format!("removed {name}, order {order}"))
    }

    /// Takes back the errors of a stream that has been stopped, and what it lost with them.
    pub fn pardon(&mut self, place: usize) {
        let Some(stream) = &self.streams[place] else { return };
        stream.ledger.may_lose();
        let name = stream.bin.name().to_string();
        self.pardon_errors_of(&name);
    }

    fn pardon_errors_of(&mut self, stream: &str) {
        let own = format!("GstBin:{stream}/");
        let errors = &mut self.posted.lock().unwrap().errors;
        let before = errors.len();
        errors.retain(|error| !error.contains(&own));
        self.pardoned += before - errors.len();
    }

    /// Removes a stream, or adds it where it is missing.
    pub fn add_or_remove(&mut self, place: usize) -> String {
        self.remove(place).unwrap_or_else(|| self.add(place))
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.empty();
        }
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

/// Notes what matters of a message.
fn note(posted: &mut Posted, message: &gst::Message) {
    match message.view() {
        gst::MessageView::Error(error) => {
            posted.errors.push(format!("{} ({})", error.error(), error.debug().unwrap_or_default()));
        }
        gst::MessageView::Warning(warning) => {
            let source = message.src().map(|source| source.path_string().to_string());
            posted.warnings.push(format!("{} ({})", warning.error(), source.unwrap_or_default()));
        }
        gst::MessageView::Qos(_) => {
            let bin = message.src().and_then(|source| source.parent()).map(|bin| bin.name().to_string());
            if let Some(ledger) = bin.and_then(|bin| posted.ledgers.get(&bin)) {
                ledger.report();
            }
        }
        _ => (),
    }
}

/// Ends the process where an operation does not end, with what was done before.
fn watch(last: std::sync::Weak<Mutex<(VecDeque<String>, Instant)>>, seed: u64) {
    std::thread::spawn(move || {
        while let Some(last) = last.upgrade() {
            let (lines, since) = last.lock().unwrap().clone();
            drop(last);
            if since.elapsed() > LIMIT {
                let lines: Vec<_> = lines.into_iter().collect();
                eprintln!("seed {seed}: not done within {LIMIT:?}:\n{}", lines.join("\n"));
                std::process::abort();
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    });
}
