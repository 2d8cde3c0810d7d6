//! What a session is made of: the model's file, its float16 form (`precision=float16`), or the channels-last form of either, for
//! variants that take the image with its channels last.

use ort::session::Session;
use ort::session::builder::SessionBuilder;

use crate::inference::image::ImageOrder;
use crate::inference::model_file::{float16, read};
use crate::inference::{Config, InferenceError, Precision, Provider};
use crate::model::ModelError;
use crate::model::onnx::channels_last_form;

/// A model, as it is given to ONNX Runtime.
pub(super) struct ModelForm<'a> {
    pub config: &'a Config,
    /// An ONNX file's bytes, in place of the model's.
    form: Option<Vec<u8>>,
}

impl<'a> ModelForm<'a> {
    /// For this provider, of which TensorRT converts to float16 by itself, and for an image in this order.
    ///
    /// # Errors
    /// [`ModelError::Unfit`]: the model has not the form that is wanted.
    pub fn new(config: &'a Config, provider: Provider, image: ImageOrder) -> Result<Self, InferenceError> {
        let wanted =
            config.precision == Precision::Float16 && matches!(provider, Provider::Cuda | Provider::Cpu);
        let mut form = if wanted { float16(config)? } else { None };
        if image == ImageOrder::ChannelsLast {
            form = Some(with_channels_last(config, form)?);
        }
        Ok(Self { config, form })
    }

    /// Makes a session of the source.
    pub fn commit(&self, builder: &mut SessionBuilder) -> Result<Session, ort::Error> {
        match &self.form {
            Some(bytes) => builder.commit_from_memory(bytes),
            None => builder.commit_from_file(&self.config.model),
        }
    }
}

/// The model, or its existing form, with the channels of its image last.
fn with_channels_last(config: &Config, form: Option<Vec<u8>>) -> Result<Vec<u8>, ModelError> {
    let bytes = form.map_or_else(|| read(config), Ok)?;
    channels_last_form(&bytes).map_err(|why| {
        ModelError::Unfit(
            config.model.clone(),
            format!("its image cannot come with its channels last: {why}"),
        )
    })
}
