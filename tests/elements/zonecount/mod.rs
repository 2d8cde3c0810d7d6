//! The element zonecount: where zones lie, and what it counts.

mod places;
mod world;
pub mod zones;
