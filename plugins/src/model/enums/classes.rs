//! How scores become confidences, as properties and sidecars name it.

use cudainfer_kernels::detect;

/// What makes the scores probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferClassActivation")]
#[allow(missing_docs)]
pub enum Activation {
    #[default]
    #[enum_value(name = "As the sidecar says, else softmax", nick = "auto")]
    Auto,
    #[enum_value(name = "Nothing: the model has done it", nick = "none")]
    None,
    #[enum_value(name = "A sigmoid of each score: classes do not exclude each other", nick = "sigmoid")]
    Sigmoid,
    #[enum_value(name = "The softmax of all scores: one class is right", nick = "softmax")]
    Softmax,
}

impl Activation {
    pub(crate) fn kernel(self) -> Option<detect::Activation> {
        match self {
            Self::Auto => None,
            Self::None => Some(detect::Activation::None),
            Self::Sigmoid => Some(detect::Activation::Sigmoid),
            Self::Softmax => Some(detect::Activation::Softmax),
        }
    }
}
