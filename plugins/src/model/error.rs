//! Errors of a model's files.

use std::path::PathBuf;

/// Why a model's files cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelError {
    /// A file that cannot be read: its kind, its path, the reason.
    #[error("the {0} file '{1}' cannot be read: {2}")]
    File(&'static str, PathBuf, String),
    /// A sidecar that is not valid: its path, the reason.
    #[error("the sidecar '{0}' is not right: {1}. docs/model-sidecar.md describes its fields")]
    Sidecar(PathBuf, String),
    /// A model that ONNX Runtime refuses, or that cannot be used here: its path, the reason.
    #[error("the model '{0}' cannot be used: {1}")]
    Unfit(PathBuf, String),
}
