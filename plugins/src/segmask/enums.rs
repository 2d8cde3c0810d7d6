//! The size of masks and what is done with them: the values of two properties.

use crate::property::Words;

/// The size of the mask in the metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskSize")]
#[allow(missing_docs)]
pub enum Size {
    #[default]
    #[enum_value(name = "Size of the model's output", nick = "model")]
    Model,
    #[enum_value(name = "Size of the frame", nick = "frame")]
    Frame,
}

impl Words for Size {}

/// What is done with the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskOutput")]
#[allow(missing_docs)]
pub enum Output {
    #[default]
    #[enum_value(name = "Metadata on the frame", nick = "meta")]
    Meta,
    #[enum_value(name = "Alpha channel of RGBA or BGRA frames", nick = "alpha")]
    Alpha,
    #[enum_value(name = "GRAY8 frames in system memory replace the frame", nick = "gray")]
    Gray,
}

impl Words for Output {}
