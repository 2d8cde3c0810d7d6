//! What is done with maps: the values of two properties.

use crate::property::Words;

/// What is done with the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMapOutput")]
#[allow(missing_docs)]
pub enum Output {
    #[default]
    #[enum_value(name = "Metadata on the frame", nick = "meta")]
    Meta,
    #[enum_value(
        name = "GRAY16_LE frames in system memory replace the frame, with the same metadata",
        nick = "gray16"
    )]
    Gray16,
    #[enum_value(
        name = "RGB frames in system memory replace the frame: the picture that a network with three channels makes",
        nick = "rgb"
    )]
    Rgb,
}

impl Words for Output {}

/// The size of the frames that replace the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMapSize")]
#[allow(missing_docs)]
pub enum Size {
    #[default]
    #[enum_value(name = "frame for output=gray16, model for output=rgb", nick = "auto")]
    Auto,
    #[enum_value(name = "Size of the frame, interpolated bilinearly", nick = "frame")]
    Frame,
    #[enum_value(
        name = "One pixel for each of the model's values, without a letterbox's bars; objects and masks do not go on",
        nick = "model"
    )]
    Model,
}

impl Words for Size {}
