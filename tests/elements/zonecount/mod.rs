//! The element zonecount: where zones lie, and what it counts.

mod places;
pub mod zones;
