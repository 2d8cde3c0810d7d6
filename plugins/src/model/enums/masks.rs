//! How masks are made and where they go, as properties and sidecars name it.

use cudainfer_kernels::segment;

/// What a mask is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskMode")]
#[allow(missing_docs)]
pub enum Mode {
    #[default]
    #[enum_value(
        name = "As the sidecar says, else threshold for one channel and argmax for several; instances behind gpunms",
        nick = "auto"
    )]
    Auto,
    #[enum_value(name = "The class with the greatest value", nick = "argmax")]
    Argmax,
    #[enum_value(name = "One where a channel reaches the threshold, else zero", nick = "threshold")]
    Threshold,
    #[enum_value(name = "A channel's value itself, 0..1 as 0..255", nick = "soft")]
    Soft,
    #[enum_value(
        name = "A mask for each detection, of prototypes and the coefficients that gpunms passes on",
        nick = "instances"
    )]
    Instances,
}

/// What makes the values probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskActivation")]
#[allow(missing_docs)]
pub enum Activation {
    #[default]
    #[enum_value(name = "As the sidecar says, else none", nick = "auto")]
    Auto,
    #[enum_value(name = "Nothing: the model has done it", nick = "none")]
    None,
    #[enum_value(name = "Logits, each channel by itself", nick = "sigmoid")]
    Sigmoid,
    #[enum_value(name = "Logits of classes that exclude each other", nick = "softmax")]
    Softmax,
}

impl Activation {
    pub(crate) fn kernel(self) -> Option<segment::Activation> {
        match self {
            Self::Auto => None,
            Self::None => Some(segment::Activation::None),
            Self::Sigmoid => Some(segment::Activation::Sigmoid),
            Self::Softmax => Some(segment::Activation::Softmax),
        }
    }
}
