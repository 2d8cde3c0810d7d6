//! Why a node is not built.

/// Why a node is not built. The importer adds which node it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The engine does not know this form of the operator: why.
    Unsupported(String),
    /// The model contradicts itself: how.
    Invalid(String),
}

impl Refusal {
    /// A form that the engine does not know.
    pub fn unsupported(why: impl Into<String>) -> Self {
        Self::Unsupported(why.into())
    }

    /// A contradiction.
    pub fn invalid(how: impl Into<String>) -> Self {
        Self::Invalid(how.into())
    }
}
