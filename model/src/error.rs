//! Errors of a model's files.

use std::path::PathBuf;

/// Why a model's files cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelError {
    /// A file that cannot be read: its kind, its path, the reason.
    #[error("the {0} file '{1}' cannot be read: {2}. {cure}", cure = cure(.0))]
    File(&'static str, PathBuf, String),
    /// A sidecar that is not valid: its path, the reason.
    #[error("the sidecar '{0}' cannot be used: {1}. docs/model-sidecar.md describes its keys")]
    Sidecar(PathBuf, String),
    /// A model that ONNX Runtime refuses, or that cannot be used here: its path, the reason.
    #[error("the model '{0}' cannot be used: {1}")]
    Unfit(PathBuf, String),
}

/// What to do about a file of this kind that cannot be read.
fn cure(kind: &str) -> &'static str {
    match kind {
        "model" => "Set model to an ONNX file that this process may read",
        "labels" => {
            "Set labels, or labels-file in the sidecar's [output], to a text file that this process may read"
        }
        "weights" => {
            "The model's weights are in it: put the file back beside the model, or export the model again"
        }
        _ => "Correct its permissions, or remove it",
    }
}
