//! Why something is not done.

/// A refusal, by its kind, with a sentence for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such stream or pipeline.
    #[error("{0}")]
    NotFound(String),
    /// There is one of this name already.
    #[error("{0}")]
    Exists(String),
    /// What was asked for is wrong.
    #[error("{0}")]
    Invalid(String),
    /// It cannot be done as things are.
    #[error("{0}")]
    Conflict(String),
    /// It cannot be done now.
    #[error("{0}")]
    Busy(String),
}
