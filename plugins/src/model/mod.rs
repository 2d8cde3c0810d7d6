//! What a model is: its inputs, and what its sidecar says about them, its outputs and its keypoints. Nothing here runs it.

pub(crate) mod accepts;
pub mod enums;
mod error;
mod info;
mod input;
pub(crate) mod onnx;
mod sidecar;
mod skeleton;

use std::path::{Path, PathBuf};

pub use error::ModelError;
pub use info::ModelInfo;
pub use input::ImageInput;
pub use sidecar::{ConstantValue, Sidecar, SizeOf};
pub use skeleton::Skeleton;

/// The sidecar that belongs to a model: the same name, ending in `.toml`.
pub fn sidecar_path(model: &Path) -> PathBuf {
    model.with_extension("toml")
}
