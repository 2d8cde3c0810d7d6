//! Enums of the properties and of zone files.

use cudainfer_kernels::zones;

use crate::property::Words;

/// Which point of an object's box counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferZoneAnchor")]
#[allow(missing_docs)]
pub enum Anchor {
    #[enum_value(name = "The upper left corner", nick = "top-left")]
    TopLeft,
    #[enum_value(name = "The middle of the upper edge", nick = "top-center")]
    TopCenter,
    #[enum_value(name = "The upper right corner", nick = "top-right")]
    TopRight,
    #[enum_value(name = "The middle of the left edge", nick = "center-left")]
    CenterLeft,
    #[enum_value(name = "The middle of the box", nick = "center")]
    Center,
    #[enum_value(name = "The middle of the right edge", nick = "center-right")]
    CenterRight,
    #[enum_value(name = "The lower left corner", nick = "bottom-left")]
    BottomLeft,
    #[default]
    #[enum_value(name = "The middle of the lower edge, where a person stands", nick = "bottom-center")]
    BottomCenter,
    #[enum_value(name = "The lower right corner", nick = "bottom-right")]
    BottomRight,
}

impl Words for Anchor {}

impl From<Anchor> for zones::Anchor {
    fn from(anchor: Anchor) -> Self {
        match anchor {
            Anchor::TopLeft => Self::TopLeft,
            Anchor::TopCenter => Self::TopCenter,
            Anchor::TopRight => Self::TopRight,
            Anchor::CenterLeft => Self::CenterLeft,
            Anchor::Center => Self::Center,
            Anchor::CenterRight => Self::CenterRight,
            Anchor::BottomLeft => Self::BottomLeft,
            Anchor::BottomCenter => Self::BottomCenter,
            Anchor::BottomRight => Self::BottomRight,
        }
    }
}

/// What coordinates are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferZoneUnits")]
#[allow(missing_docs)]
pub enum Units {
    #[default]
    #[enum_value(name = "Pixels of the frame", nick = "pixels")]
    Pixels,
    #[enum_value(name = "Fractions of the frame's width and height, 0 to 1", nick = "fraction")]
    Fraction,
}

impl Words for Units {}

impl From<Units> for zones::Units {
    fn from(units: Units) -> Self {
        match units {
            Units::Pixels => Self::Pixels,
            Units::Fraction => Self::Fraction,
        }
    }
}
