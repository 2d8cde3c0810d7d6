//! What the supervisor is told, and what it answers.

use std::time::Duration;

use crate::stream::Reason;

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The stream is to begin.
    Begin,
    /// Time has passed; so many frames have come since the pipeline was started.
    Tick(u64),
    /// An element is at work on something long, such as loading a model.
    Busy,
    /// An error that ends the pipeline.
    Failed(Reason, String),
    /// The same, and starting again cannot help.
    Wrong(String),
    /// It is not to be started by itself, for this reason.
    Hold(String),
    /// A decoder could not read something and goes on.
    DecodeError,
    /// The stream has ended; true where the source may have an end.
    End(bool),
    /// The pipeline has stopped.
    Down,
    /// One of those that were left behind has stopped.
    LateDown,
    /// To be started again now.
    Restart(Reason),
    /// To be stopped for good: within this time by EOS, so that files are complete; or at once.
    Stop(Option<Duration>),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Build the pipeline and start it.
    Start,
    /// Send EOS through it.
    Drain,
    /// Begin again at the source's begin.
    Rewind,
    /// Stop it.
    Stop,
    /// Do not wait for it to stop any longer.
    LeaveBehind,
    /// The stream is over.
    Finish,
}
