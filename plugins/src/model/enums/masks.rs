//! How masks are made: values of properties and of sidecars.

use cudainfer_kernels::segment;

use crate::property::Words;

/// What a mask is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskMode")]
#[allow(missing_docs)]
pub enum Mode {
    #[default]
    #[enum_value(
        name = "As in the sidecar, else threshold for one channel, argmax for several and for class numbers; instances after gpunms",
        nick = "auto"
    )]
    Auto,
    #[enum_value(name = "The class with the greatest value", nick = "argmax")]
    Argmax,
    #[enum_value(name = "1 where a channel reaches the threshold, else 0", nick = "threshold")]
    Threshold,
    #[enum_value(name = "The channel's value, 0 to 1 as 0 to 255", nick = "soft")]
    Soft,
    #[enum_value(
        name = "One mask for each detection, from the prototypes or maps that gpunms passes on",
        nick = "instances"
    )]
    Instances,
}

impl Words for Mode {}

/// What turns the values into probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskActivation")]
#[allow(missing_docs)]
pub enum Activation {
    #[default]
    #[enum_value(name = "As in the sidecar, else none", nick = "auto")]
    Auto,
    #[enum_value(name = "None: the model has applied it", nick = "none")]
    None,
    #[enum_value(name = "Sigmoid of each channel: the values are logits", nick = "sigmoid")]
    Sigmoid,
    #[enum_value(
        name = "Softmax over the channels: the values are logits of classes that exclude each other",
        nick = "softmax"
    )]
    Softmax,
}

impl Words for Activation {}

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
