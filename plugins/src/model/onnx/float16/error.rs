//! Why a model cannot be converted.

/// Why there is no float16 form: the beginning of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoFloat16Form {
    #[error("it is not an ONNX model that can be read ({0})")]
    Unreadable(String),
    #[error("its weights are in files of their own")]
    External,
    #[error("it is quantised: it has the operator {0}")]
    Quantised(String),
    #[error("it has the operator {0}, whose results' types are not known here")]
    Unknown(String),
}
