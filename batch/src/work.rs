//! One video, from the decision whether it has to be done to its results in place.

use std::io;

use crate::exit::Exit;
use crate::folder::{InWork, Progress, ResultFolder};
use crate::pipeline::Built;
use crate::plan::Plan;
use crate::run::{Ended, Failure, Ran, Terms, run};
use crate::summary::{Failed, Origin, Summary, program};
use crate::videos::{Video, missing};

/// What came of a video.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its results are in place now.
    Complete {
        /// Its frames.
        frames: u64,
        /// Frames in a second.
        per_second: f64,
        /// What elements warned about.
        warnings: Vec<String>,
    },
    /// Its results were complete before.
    Already,
    /// It has failed now, or before and would again.
    Failed(String),
    /// Another process has it in work.
    Elsewhere,
    /// The program was asked to end.
    Interrupted,
    /// No video can be done any more.
    Fatal(Exit, String),
}

/// What all videos have in common.
#[derive(Debug)]
pub struct Common {
    /// What is done with each.
    pub plan: Plan,
    /// Where the results go.
    pub results: ResultFolder,
    /// Whether failed ones are tried again.
    pub retry: bool,
    /// How each runs.
    pub terms: Terms,
}

impl Common {
    /// Does a video, unless that is done. `report` is called while it runs, with its frames and how many are expected. Returns
    /// also whether its pipeline was abandoned.
    pub fn work(&self, video: &Video, report: impl Fn(u64, Option<u64>)) -> (Outcome, bool) {
        match self.begin(video) {
            Ok((work, origin)) => self.go_on(video, work, origin, report),
            Err(outcome) => (outcome, false),
        }
    }

    fn begin(&self, video: &Video) -> Result<(InWork<'_>, Origin), Outcome> {
        let origin = Origin::of(video, &self.plan).map_err(Outcome::Failed)?;
        let decided = || match self.results.progress(&video.name, &origin) {
            Progress::Complete => Some(Outcome::Already),
            Progress::Failed(sentence) if !self.retry => Some(Outcome::Failed(sentence)),
            Progress::Failed(_) | Progress::Open => None,
        };
        if let Some(outcome) = decided() {
            self.results.tidy(&video.name).map_err(fatal)?;
            return Err(outcome);
        }
        let Some(work) = self.results.take(&video.name).map_err(fatal)? else {
            return Err(Outcome::Elsewhere);
        };
        // Another process may have had it until now.
        match decided() {
            Some(outcome) => Err(outcome),
            None => Ok((work, origin)),
        }
    }

    fn go_on(
        &self,
        video: &Video,
        work: InWork<'_>,
        origin: Origin,
        report: impl Fn(u64, Option<u64>),
    ) -> (Outcome, bool) {
        if let Some(sentence) = missing(video) {
            return (self.fail(work, origin, sentence, false, 0), false);
        }
        let built = match Built::new(&self.plan.words(video, &work.part), &self.plan.overrides, &video.name) {
            Ok(built) => built,
            Err(sentence) => return (self.fail(work, origin, sentence, true, 0), false),
        };
        let seen = &built.seen;
        let Ended { result, abandoned } =
            run(&built, &self.terms, |expected| report(seen.frames(), expected));
        let hidden = |sentence: String| sentence.replace(&video.location, &video.shown());
        let outcome = match result {
            Ok(ran) => self.complete(video, work, origin, ran),
            Err(Failure::Video(sentence)) => self.fail(work, origin, hidden(sentence), true, seen.frames()),
            Err(Failure::Passing(sentence)) => {
                self.fail(work, origin, hidden(sentence), false, seen.frames())
            }
            Err(Failure::Gpu(sentence)) => Outcome::Fatal(Exit::GpuFault, sentence),
            Err(Failure::Machine(sentence)) => Outcome::Fatal(Exit::Sick, hidden(sentence)),
            Err(Failure::Interrupted) => Outcome::Interrupted,
        };
        (outcome, abandoned)
    }

    fn complete(&self, video: &Video, work: InWork<'_>, origin: Origin, ran: Ran) -> Outcome {
        if Origin::of(video, &self.plan).ok().as_ref() != Some(&origin) {
            let frames = ran.frames.decoded;
            return self.fail(work, origin, "the video was changed while it was read".into(), false, frames);
        }
        let results = match work.results() {
            Ok(results) => results,
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return Outcome::Fatal(Exit::Configuration, e.to_string());
            }
            Err(e) => return fatal(e),
        };
        if results.is_empty() {
            return Outcome::Fatal(Exit::Configuration, "the pipeline has written no file into {out}".into());
        }
        let Ran { frames, gpu, mut warnings } = ran;
        if let Some(expected) =
            frames.expected.filter(|expected| frames.decoded.saturating_mul(50) < expected.saturating_mul(49))
        {
            warnings.push(format!(
                "{} frames were decoded of about {expected} that its container announces",
                frames.decoded
            ));
        }
        let (decoded, per_second) = (frames.decoded, frames.per_second);
        let outcome = Outcome::Complete { frames: decoded, per_second, warnings: warnings.clone() };
        let models = self.plan.configuration.files.clone();
        let summary =
            Summary { version: 1, program: program(), origin, results, frames, gpu, models, warnings };
        work.complete(&summary).map_or_else(fatal, |()| outcome)
    }

    fn fail(&self, work: InWork<'_>, origin: Origin, error: String, permanent: bool, frames: u64) -> Outcome {
        let failed =
            Failed { version: 1, program: program(), origin, error: error.clone(), permanent, frames };
        work.fail(&failed).map_or_else(fatal, |()| Outcome::Failed(error))
    }
}

fn fatal(e: io::Error) -> Outcome {
    Outcome::Fatal(Exit::Sick, format!("results cannot be written: {e}"))
}
