//! Why a model cannot be converted.

/// Why there is no float16 form: the beginning of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFloat16Form {
    /// The bytes are no model: the reason.
    #[error("it is not an ONNX model that can be read ({0})")]
    Unreadable(String),
    /// The weights are elsewhere.
    #[error("its weights are in files of their own")]
    External,
    /// It is in integers, by this operator.
    #[error("it is quantised: it has the operator {0}")]
    Quantised(String),
    /// What this operator makes is not known.
    #[error("it has the operator {0}, whose results' types are not known here")]
    Unknown(String),
}
