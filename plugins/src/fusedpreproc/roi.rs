//! The parts of a frame that become tensors, as the property names them.

use crate::property::Words;

/// The parts of a frame that become tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferRoi")]
#[allow(missing_docs)]
pub enum Roi {
    #[default]
    #[enum_value(name = "The whole frame", nick = "frame")]
    Frame,
    #[enum_value(name = "The region of each object: one tensor for each", nick = "objects")]
    Objects,
    #[enum_value(name = "Tiles that cover the frame: one tensor for each", nick = "tiles")]
    Tiles,
    #[enum_value(name = "The regions of the property regions: one tensor for each", nick = "list")]
    List,
    #[enum_value(name = "The regions in which something moves: one tensor for each", nick = "motion")]
    Motion,
}

impl Words for Roi {}
