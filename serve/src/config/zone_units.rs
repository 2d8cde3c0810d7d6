//! In which units the points of zones and of the ground are.

use serde::{Deserialize, Serialize};

/// Units of zones' coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneUnits {
    /// Pixels of the frame.
    Pixels,
    /// Parts of its width and height.
    Fraction,
}

impl ZoneUnits {
    /// As zonecount's property `units` calls it.
    pub fn nick(self) -> &'static str {
        match self {
            Self::Pixels => "pixels",
            Self::Fraction => "fraction",
        }
    }

    /// Checks that these points of `what` can be in these units.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn check<'a>(
        self,
        what: &str,
        points: impl Iterator<Item = &'a [f64; 2]>,
    ) -> Result<(), String> {
        let mut numbers = points.flatten();
        match self {
            // A zone may reach beyond the frame, but not by far.
            Self::Fraction => match numbers.find(|number| !(-1.0..=2.0).contains(*number)) {
                Some(number) => Err(format!(
                    "{what} has the coordinate {number}, expected parts of the frame's size, 0 to 1: set zone-units = \"pixels\" \
                     if pixels are meant"
                )),
                None => Ok(()),
            },
            Self::Pixels if numbers.all(|number| number.abs() <= 1.0) => Err(format!(
                "{what} is not larger than a pixel: set zone-units = \"fraction\" if its points are parts of the frame's size"
            )),
            Self::Pixels => Ok(()),
        }
    }
}
