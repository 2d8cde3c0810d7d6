//! The states of a stream.

use serde::{Deserialize, Serialize};

/// The state of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No frame has come yet.
    Starting,
    /// Frames come.
    Playing,
    /// No frame has come for too long; the pipeline is being stopped.
    Stalled,
    /// The stream will be started again.
    Waiting,
    /// The source has come to its end.
    Ended,
    /// The stream is being stopped for good.
    Stopping,
    /// The configuration is wrong: it is not started again by itself.
    Failed,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Starting,
        Self::Playing,
        Self::Stalled,
        Self::Waiting,
        Self::Ended,
        Self::Stopping,
        Self::Failed,
    ];

    /// Its name in JSON and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Playing => "playing",
            Self::Stalled => "stalled",
            Self::Waiting => "waiting",
            Self::Ended => "ended",
            Self::Stopping => "stopping",
            Self::Failed => "failed",
        }
    }
}
