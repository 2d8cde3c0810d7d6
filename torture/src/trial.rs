//! One fault.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::memory;
use crate::process::{self, Holdings};
use crate::scenario::{Ran, Scenario};
use crate::seam::{self, Seam};
use crate::stage::Stage;

/// How long something takes that never ends. What takes long is seen in the output: a test cannot know what else its machine does.
const HANG: Duration = Duration::from_secs(300);
/// How long what is left over may take to go.
const TIDY: Duration = Duration::from_secs(20);

/// What became of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There are fewer calls.
    NotReached,
    /// An ERROR names it.
    Error(String),
    /// A WARNING, or a line of the log, names it, and it went on.
    Warning(String),
    /// Nothing was harmed, and nothing was said.
    Unharmed,
    /// A promise was broken.
    Broken(String),
}

/// A fault and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub outcome: Outcome,
    /// The first call that failed.
    pub site: String,
    /// How long the run took.
    pub took: Duration,
}

/// A scenario that has been started.
pub(crate) struct Tormented<S> {
    scenario: Arc<Mutex<S>>,
    stage: &'static Stage,
    /// What the process has between two runs.
    holdings: Mutex<Holdings>,
}

impl<S: Scenario> Tormented<S> {
    /// Runs it without a fault until the process has what it keeps.
    ///
    /// # Errors
    /// It does not even work without a fault.
    pub fn start(stage: &'static Stage, scenario: S, folder: &std::path::Path) -> Result<Self, String> {
        process::note_panics();
        let looks = scenario.seams().contains(&Seam::Memory);
        let scenario = Arc::new(Mutex::new(scenario));
        let mut this = Self { scenario, stage, holdings: Mutex::default() };
        let folder = folder.to_owned();
        this.perform(move |scenario| scenario.prepare(&folder));
        for counted in [false, false, true] {
            // The last run is the one whose calls are counted.
            memory::look(counted && looks);
            this.good_run()?;
        }
        memory::look(false);
        // Threads of the last run may still be ending.
        std::thread::sleep(Duration::from_millis(200));
        this.holdings = Mutex::new(Holdings::now());
        Ok(this)
    }

    fn perform<T: Send + 'static>(&self, work: impl FnOnce(&mut S) -> T + Send + 'static) -> T {
        let scenario = Arc::clone(&self.scenario);
        let work = move || work(&mut scenario.lock().unwrap_or_else(PoisonError::into_inner));
        self.stage.perform(HANG, work).unwrap_or_else(|| {
            let (_, site) = seam::failed();
            println!("HANG for {HANG:?} after '{site}' failed; the threads are:\n{}", process::threads());
            // The stage cannot be used any more, and a panic would wait for what hangs.
            std::process::abort()
        })
    }

    /// A run without a fault. Its calls are counted.
    ///
    /// # Errors
    /// It is not as it should be.
    pub fn good_run(&self) -> Result<(), String> {
        seam::arm(None);
        let Ran { errors, remarks, complete } = self.perform(Scenario::run);
        if !errors.is_empty() || !complete {
            return Err(format!("a run in which nothing fails is spoilt: {errors:?}, {remarks:?}"));
        }
        self.perform(Scenario::settle)
    }

    /// A run with a fault, and one without.
    pub fn try_fault(&self, fault: &Fault) -> Trial {
        process::take_panics();
        let begun = Instant::now();
        seam::arm(Some(fault));
        memory::look(fault.seam == Seam::Memory);
        let ran = self.perform(Scenario::run);
        memory::look(false);
        seam::disarm();
        let (took, (failed, site)) = (begun.elapsed(), seam::failed());
        let outcome = if failed == 0 { Outcome::NotReached } else { self.judge(fault, &ran) };
        Trial { outcome, site, took }
    }

    fn judge(&self, fault: &Fault, ran: &Ran) -> Outcome {
        let after = self.good_run();
        let panics = process::take_panics();
        if let Some(panic) = panics.first() {
            return Outcome::Broken(format!("panic: {panic}"));
        }
        if let Err(why) = after {
            return Outcome::Broken(format!(
                "after it: {why}; it had said {:?}, {:?}",
                ran.errors, ran.remarks
            ));
        }
        if let Some(left) = self.left_over() {
            return Outcome::Broken(format!("left over: {left}"));
        }
        let names = |sentences: &[String]| sentences.iter().find(|text| fault.is_named_by(text)).cloned();
        match (names(&ran.errors), names(&ran.remarks)) {
            (Some(error), _) => Outcome::Error(error),
            // What ends the pipeline may be named by what is said before.
            (None, Some(remark)) if !ran.errors.is_empty() => Outcome::Error(remark),
            (None, Some(remark)) => Outcome::Warning(remark),
            (None, None) if ran.errors.is_empty() && ran.complete => Outcome::Unharmed,
            (None, None) => Outcome::Broken(format!(
                "nothing names it: complete {}, {:?}, {:?}",
                ran.complete, ran.errors, ran.remarks
            )),
        }
    }

    /// Threads and files that the process has more than before.
    fn left_over(&self) -> Option<String> {
        let end = Instant::now() + TIDY;
        let mut before = self.holdings.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = Holdings::now();
            let more = now.beyond(&before);
            if more.is_empty() {
                return None;
            }
            if Instant::now() > end {
                // The faults after this one are not blamed for it.
                *before = now;
                return Some(more.join(", "));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
