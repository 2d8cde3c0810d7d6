//! A model's file as bytes, for libraries that are given those.

use super::{Config, InferenceError};
use crate::log::ENGINE as CAT;
use crate::model::ModelError;
use crate::model::onnx::float16_form;

/// The model's bytes.
///
/// # Errors
/// [`ModelError::File`].
pub(super) fn read(config: &Config) -> Result<Vec<u8>, ModelError> {
    let path = &config.model;
    std::fs::read(path).map_err(|e| ModelError::File("model", path.clone(), e.to_string()))
}

/// The model's float16 form (`precision=float16`); nothing where it has no float32 weights, and runs as it is.
///
/// # Errors
/// [`ModelError::Unfit`]: it cannot be converted.
pub(super) fn float16(config: &Config) -> Result<Option<Vec<u8>>, InferenceError> {
    let path = &config.model;
    let bytes = read(config)?;
    let form = float16_form(&bytes).map_err(|why| {
        let why = format!(
            "precision=float16 cannot convert it: {why}. Remove precision, or export the model in float16"
        );
        ModelError::Unfit(path.clone(), why)
    })?;
    let Some(form) = form else {
        gst::info!(CAT, "{} has no float32 weights: it runs as it is", path.display());
        return Ok(None);
    };
    gst::info!(
        CAT,
        "{} runs in float16: {} weights were converted; {} operators that have no float16 and {} with weights beyond its range \
         stay float32",
        path.display(),
        form.weights,
        form.without_float16,
        form.out_of_range
    );
    Ok(Some(form.bytes))
}
