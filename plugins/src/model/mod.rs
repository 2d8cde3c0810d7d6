//! What a model is: its inputs, and what its sidecar and the model itself state about them, the outputs and the keypoints.
//! Nothing here runs it.

pub(crate) mod accepts;
mod declared;
pub mod enums;
mod error;
mod info;
mod input;
mod limits;
pub(crate) mod onnx;
mod origin;
mod reading;
mod resolve;
mod sidecar;
mod skeleton;
mod tensor_ids;
mod toml_error;

use std::path::{Path, PathBuf};

pub use error::ModelError;
pub use info::ModelInfo;
pub use input::ImageInput;
pub use origin::{Group, Origin, Source};
pub use reading::{names as names_reading, origins as origins_reading};
pub use sidecar::{Anchors, ConstantValue, Priors, Sidecar, SizeOf};
pub use skeleton::Skeleton;
pub use tensor_ids::TensorIds;

/// The path of a model's sidecar: the file beside it with the ending `.toml`.
pub fn sidecar_path(model: &Path) -> PathBuf {
    model.with_extension("toml")
}
