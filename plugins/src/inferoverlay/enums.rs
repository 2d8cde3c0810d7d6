//! Enums of the properties.

use cudainfer_kernels::draw::blur;

use crate::property::Words;

/// What is shown instead of an object that must not be recognisable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferBlurMode")]
#[allow(missing_docs)]
pub enum BlurMode {
    #[default]
    #[enum_value(name = "Squares of one colour", nick = "pixelate")]
    Pixelate,
    #[enum_value(name = "The same squares, smoothed to about a Gaussian blur", nick = "gaussian")]
    Gaussian,
    #[enum_value(name = "Black: nothing of the object is left", nick = "fill")]
    Fill,
}

impl Words for BlurMode {}

impl From<BlurMode> for blur::BlurMode {
    fn from(mode: BlurMode) -> Self {
        match mode {
            BlurMode::Pixelate => Self::Pixelate,
            BlurMode::Gaussian => Self::Gaussian,
            BlurMode::Fill => Self::Fill,
        }
    }
}
