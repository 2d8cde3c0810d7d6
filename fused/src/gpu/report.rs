//! What making a network has found, and how long it took.

use std::time::{Duration, Instant};

/// What was tried, and what it took.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// A line for each kind of convolution that was tried: what it is, and each candidate's time or why it is left out.
    pub lines: Vec<String>,
    /// The sum of the chosen ones' times, in nanoseconds, one after another.
    pub convolutions: u64,
    /// What making the network took, by what was done, in order.
    pub stages: Stages,
    /// How many streams the steps run in, and whether launches overlap.
    pub schedule: String,
    /// How long a run takes so, in nanoseconds; 0 where that was not timed.
    pub time: u64,
    /// Bytes of memory for what steps hand on.
    pub arena: usize,
    /// Bytes of constants that no other network had brought to the device.
    pub constants: usize,
}

/// What was done, in order, and how long each took.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Each by its name.
    pub done: Vec<(&'static str, Duration)>,
    since: Instant,
}

impl Default for Stages {
    fn default() -> Self {
        Self { done: Vec::new(), since: Instant::now() }
    }
}

impl Stages {
    /// Says that what was done since the last call is this.
    pub(super) fn end(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.done.push((stage, now - self.since));
        self.since = now;
    }

    /// How long all took.
    pub fn took(&self) -> Duration {
        self.done.iter().map(|(_, took)| took).sum()
    }
}
