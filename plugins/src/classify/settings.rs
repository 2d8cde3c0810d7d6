//! From properties, sidecar and defaults to the kernel's parameters, and to the tensor that holds the scores.

use cudainfer_kernels::classify::Params;
use cudainfer_kernels::tensor::TensorDesc;

use crate::model::ModelInfo;
use crate::model::enums::classes::Activation;

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub output: String,
    pub activation: Activation,
    pub top_k: Option<u32>,
    pub threshold: Option<f32>,
}

impl Settings {
    /// The kernel's parameters.
    pub fn params(&self, info: &ModelInfo) -> Params {
        let defaults = Params::default();
        let classify = &info.classify;
        let top_k = self.top_k.or(classify.top_k).and_then(|n| usize::try_from(n).ok());
        Params {
            activation: self
                .activation
                .kernel()
                .or(classify.activation.and_then(Activation::kernel))
                .unwrap_or(defaults.activation),
            top_k: top_k.unwrap_or(defaults.top_k),
            threshold: self.threshold.or(classify.threshold).unwrap_or(defaults.threshold),
        }
    }

    /// The index of the output that holds the scores.
    ///
    /// # Errors
    /// None has the name that was given, or none was given and there are several.
    pub fn output(&self, outputs: &[TensorDesc], info: &ModelInfo) -> Result<usize, String> {
        let list = || outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let named = Some(self.output.as_str()).filter(|n| !n.is_empty()).or(info.classify.output.as_deref());
        match (named, outputs) {
            (Some(name), _) => outputs
                .iter()
                .position(|d| d.name == name)
                .ok_or_else(|| format!("the model has no output '{name}'; it has {}", list())),
            (None, [_]) => Ok(0),
            (None, _) => Err(format!(
                "the model has several outputs, {}: name the one with the classes' scores by the property output",
                list()
            )),
        }
    }
}
