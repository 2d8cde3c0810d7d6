//! How scores become confidences: values of properties and of sidecars.

use cudainfer_kernels::detect;

use crate::property::Words;

/// What the scores are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferClassifyMode")]
#[allow(missing_docs)]
pub enum Mode {
    #[default]
    #[enum_value(name = "As in the sidecar or as the model's file says, else classes", nick = "auto")]
    Auto,
    #[enum_value(name = "[1,C]: the classes of an object", nick = "classes")]
    Classes,
    #[enum_value(
        name = "[1,T,C] or [T,1,C]: the characters of a line of text, from the left to the right (CTC)",
        nick = "text"
    )]
    Text,
}

impl Words for Mode {}

/// What turns the scores into probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferClassActivation")]
#[allow(missing_docs)]
pub enum Activation {
    #[default]
    #[enum_value(
        name = "As in the sidecar; else none if the scores are probabilities already, which the model or its first scores show; else softmax",
        nick = "auto"
    )]
    Auto,
    #[enum_value(name = "None: the model has applied it", nick = "none")]
    None,
    #[enum_value(name = "Sigmoid of each score: several classes may apply", nick = "sigmoid")]
    Sigmoid,
    #[enum_value(name = "Softmax over all scores: one class applies", nick = "softmax")]
    Softmax,
}

impl Words for Activation {}

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
