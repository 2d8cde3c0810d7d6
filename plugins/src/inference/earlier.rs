//! Further inputs of a model that take a picture: which they are, checked against the model.

use std::path::Path;

use cudainfer_kernels::tensor::TensorDesc;

use super::state::may_be_same;
use crate::model::{ImageInput, ModelError, ModelInfo, sidecar_path};

/// A further input that takes a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierPicture {
    /// The model's name for it. All else is as of the input that takes the frame.
    pub input: String,
    /// How many frames before the current one its picture is.
    pub ago: usize,
}

/// The further inputs that the sidecar gives a picture, checked against the model's.
///
/// # Errors
/// [`ModelError::Sidecar`]: a name that is no input, an input that has another use, or other dimensions than the picture's.
pub(super) fn earlier_pictures(
    info: &ModelInfo,
    image: &ImageInput,
    inputs: &[TensorDesc],
    model: &Path,
) -> Result<Vec<EarlierPicture>, ModelError> {
    let named = |(name, frame): (&String, &i64)| {
        let Some(desc) = inputs.iter().find(|desc| desc.name == *name) else {
            let all: Vec<_> = inputs.iter().map(|desc| desc.name.as_str()).collect();
            return Err(format!(
                "[frames] names the input '{name}', but the model's inputs are {}. Correct the name",
                all.join(", ")
            ));
        };
        let other_use = match () {
            () if *name == image.name => Some("takes the current frame"),
            () if info.constants.contains_key(name) => Some("has a value in [constants]"),
            () if info.state.outputs.values().any(|state| state.input == *name) => {
                Some("is a state in [state]")
            }
            () => None,
        };
        if let Some(other_use) = other_use {
            return Err(format!(
                "[frames] gives the input '{name}' a picture, but it {other_use}. Remove one of them, or name another input"
            ));
        }
        let wanted = image.picture_desc(name);
        if !may_be_same(desc, &wanted) {
            return Err(format!(
                "[frames] gives the input {desc} a picture, but a picture of this model is {wanted}. Name an input of the same type and \
                 dimensions"
            ));
        }
        Ok(EarlierPicture { input: name.clone(), ago: usize::try_from(frame.unsigned_abs()).unwrap_or(0) })
    };
    let all = info.frames.inputs.iter().map(named).collect::<Result<_, _>>();
    all.map_err(|why| ModelError::Sidecar(sidecar_path(model), why))
}
