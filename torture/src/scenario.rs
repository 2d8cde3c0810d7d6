//! What is run again and again.

use std::path::Path;

use crate::seam::Seam;

/// Something that the project does, from its start to its end.
///
/// While it runs, it must start no threads and open no files of its own below the folder: they would fail in the place of the
/// project's. [`disarm`](crate::disarm) ends that. All of its methods are called from one thread.
pub trait Scenario: Send + 'static {
    /// Its name, in the output and where a scenario is chosen.
    fn name(&self) -> &'static str;

    /// What can fail in it.
    fn seams(&self) -> &'static [Seam];

    /// Makes what it needs once. Files of the project's own must lie below `folder`.
    fn prepare(&mut self, folder: &Path);

    /// Runs it: everything is started, works and is stopped.
    fn run(&mut self) -> Ran;

    /// Looks, after a run in which a call may have failed and another one in which none has, whether something is missing that the
    /// first one had acknowledged, or there is something that must not be.
    ///
    /// # Errors
    /// What, in a sentence.
    fn settle(&mut self) -> Result<(), String>;
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// What was reported as an ERROR, or to the caller.
    pub errors: Vec<String>,
    /// What was reported otherwise: WARNINGs, INFOs, lines of the log.
    pub remarks: Vec<String>,
    /// Whether everything that must come out of it has.
    pub complete: bool,
}
