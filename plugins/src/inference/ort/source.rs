//! What a session is made of: the model's file, or with `precision=float16` its float16 form.

use ort::session::Session;
use ort::session::builder::SessionBuilder;

use crate::inference::log::CAT;
use crate::inference::{Config, InferenceError, Precision, Provider};
use crate::model::ModelError;
use crate::model::onnx::float16_form;

/// A model, as it is given to ONNX Runtime.
pub(super) struct Source<'a> {
    pub config: &'a Config,
    /// An ONNX file's bytes, in place of the model's.
    float16: Option<Vec<u8>>,
}

impl<'a> Source<'a> {
    /// For this provider: TensorRT converts by itself.
    ///
    /// # Errors
    /// [`ModelError::Unfit`]: the model has no float16 form, though it is wanted.
    pub fn new(config: &'a Config, provider: Provider) -> Result<Self, InferenceError> {
        let wanted =
            config.precision == Precision::Float16 && matches!(provider, Provider::Cuda | Provider::Cpu);
        let float16 = if wanted { convert(config)? } else { None };
        Ok(Self { config, float16 })
    }

    /// Makes a session of it.
    pub fn commit(&self, builder: &mut SessionBuilder) -> Result<Session, ort::Error> {
        match &self.float16 {
            Some(bytes) => builder.commit_from_memory(bytes),
            None => builder.commit_from_file(&self.config.model),
        }
    }
}

fn convert(config: &Config) -> Result<Option<Vec<u8>>, InferenceError> {
    let path = &config.model;
    let bytes = std::fs::read(path).map_err(|e| ModelError::File("model", path.clone(), e.to_string()))?;
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
