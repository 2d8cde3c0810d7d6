//! Units in which speeds are shown.

/// A unit of speed, or none, where speeds are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpeedUnit {
    /// Speeds are not shown.
    None,
    /// Kilometres an hour.
    #[default]
    KilometresPerHour,
    /// Metres a second.
    MetresPerSecond,
    /// Miles an hour.
    MilesPerHour,
}

crate::words! { SpeedUnit:
    None = "none", "Speeds are not shown";
    KilometresPerHour = "km-h", "Kilometres per hour";
    MetresPerSecond = "m-s", "Metres per second";
    MilesPerHour = "mph", "Miles per hour";
}

impl SpeedUnit {
    /// A speed in m/s as it is shown, as in `50 km/h`.
    pub fn text(self, speed: f64) -> Option<String> {
        match self {
            Self::None => None,
            Self::KilometresPerHour => Some(format!("{:.0} km/h", speed * 3.6)),
            Self::MetresPerSecond => Some(format!("{speed:.1} m/s")),
            Self::MilesPerHour => Some(format!("{:.0} mph", speed * 3600.0 / 1609.344)),
        }
    }
}
