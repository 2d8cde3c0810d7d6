//! Why the fleet refuses a request.

/// A refusal, by its kind, with a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such stream or pipeline.
    #[error("{0}")]
    NotFound(String),
    /// There is a stream of this name already.
    #[error("{0}")]
    Exists(String),
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The request does not fit the present state.
    #[error("{0}")]
    Conflict(String),
    /// The request cannot be done now; later it can.
    #[error("{0}")]
    Busy(String),
}

impl Refusal {
    /// There is no stream of this name.
    pub(super) fn no_stream(name: &str) -> Self {
        Self::NotFound(format!("there is no stream '{name:.128}'"))
    }
}
