//! How maps of numbers become video: values of properties and of sidecars.

use crate::property::Words;

/// Which numbers become which samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMapRange")]
#[allow(missing_docs)]
pub enum Range {
    #[default]
    #[enum_value(name = "As in the sidecar, else fixed", nick = "auto")]
    Auto,
    #[enum_value(name = "From range-min to range-max, the same in every frame", nick = "fixed")]
    Fixed,
    #[enum_value(
        name = "From the least to the greatest value of each frame: samples of different frames cannot be compared",
        nick = "frame"
    )]
    Frame,
}

impl Words for Range {}
