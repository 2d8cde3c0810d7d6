//! What a model is: its inputs, and what its sidecar and the model itself state about them, the outputs and the keypoints.
//! Nothing here runs it, and nothing here knows GStreamer.

#![forbid(unsafe_code)]

mod array;
mod choices;
mod declared;
mod error;
mod folder;
mod info;
mod input;
mod joined;
pub mod mistakes;
pub mod onnx;
mod origin;
mod prompted;
mod reading;
mod resolve;
pub mod sidecar;
mod skeleton;
mod tensor_ids;
pub mod toml_error;
pub mod word;

use std::path::{Path, PathBuf};

/// The kernels, whose enums are the choices of a sidecar's keys.
pub use cudainfer_kernels as kernels;

pub use array::Array;
pub use choices::{
    ClassMode, Encoding, Grouping, MapRange, MaskMode, MaskRange, NmsMode, RoiCrop, RoiFrom, SliceMode,
};
pub use error::ModelError;
pub use folder::file_of;
pub use info::ModelInfo;
pub use input::ImageInput;
pub use joined::Joined;
pub use origin::{Group, Origin, OriginKind};
pub use prompted::Prompted;
pub use reading::{names as names_reading, origins as origins_reading};
pub use sidecar::{
    Anchors, ArrayFile, Clip, ConstantValue, Fill, Frames, MAX_SIZE, PointRegion, Priors, Prompts, Sidecar,
    SizeOf, Slice, State, States,
};
pub use skeleton::Skeleton;
pub use tensor_ids::TensorIds;
pub use toml_error::TomlError;

/// The path of a model's sidecar: the file beside it with the ending `.toml`.
pub fn sidecar_path(model: &Path) -> PathBuf {
    model.with_extension("toml")
}
