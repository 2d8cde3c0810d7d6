//! The events that the supervisor takes, and the actions that it returns.

use std::time::Duration;

use crate::stream::Reason;

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The stream must begin.
    Begin,
    /// Time has passed; the number is that of the frames since the pipeline was started.
    Tick(u64),
    /// An element is at work on something long, such as loading a model.
    Busy,
    /// An error that ends the pipeline.
    Failed(Reason, String),
    /// An error that ends the pipeline, and starting again cannot help.
    Wrong(String),
    /// The stream must not be started by itself, for this reason.
    Hold(String),
    /// A decoder could not read something and goes on.
    DecodeError,
    /// The stream has ended; true where the source may have an end.
    End(bool),
    /// The pipeline has stopped.
    Down,
    /// An abandoned pipeline has stopped.
    LateDown,
    /// The stream must be started again now.
    Restart(Reason),
    /// The stream must stop for good: within this time by EOS, so that files are complete; or at once.
    Stop(Option<Duration>),
}

/// An action that the stream's thread must take.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Build the pipeline and start it.
    Start,
    /// Send EOS through it.
    Drain,
    /// Seek to the begin of the source.
    Rewind,
    /// Stop the pipeline.
    Stop,
    /// Abandon the pipeline: wait no longer until it has stopped.
    LeaveBehind,
    /// The stream is over.
    Finish,
}
