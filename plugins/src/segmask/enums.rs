//! What becomes of masks and frames, as properties name it.

/// How large a mask is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskSize")]
#[allow(missing_docs)]
pub enum Size {
    #[default]
    #[enum_value(name = "As the model makes it", nick = "model")]
    Model,
    #[enum_value(name = "A sample for each pixel of the frame", nick = "frame")]
    Frame,
}

/// What becomes of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskOutput")]
#[allow(missing_docs)]
pub enum Output {
    #[default]
    #[enum_value(name = "It passes, with the masks as metadata", nick = "meta")]
    Meta,
    #[enum_value(name = "RGBA or BGRA: the mask becomes its alpha channel", nick = "alpha")]
    Alpha,
    #[enum_value(name = "GRAY8 in system memory: the mask takes its place", nick = "gray")]
    Gray,
}
