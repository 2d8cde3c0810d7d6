//! Where objects stand in the world, and how fast they move there.
//!
//! The ground is a plane, and a camera that does not move sees it in perspective: four points whose places are known in metres, or a
//! matrix, say where every pixel of it lies ([`GroundMap`], [`Plane`]). [`MotionFilter`] makes a speed of an object's places.
//!
//! # Coordinates
//! Metres, in the axes in which the four places are given. What is above the horizon lies nowhere on the ground, and has no place.
//! A direction is an angle in degrees from the x axis towards the y axis: 0 along x, 90 along y.

mod map;
mod motion;
mod plane;
#[cfg(test)]
mod tests;
mod unit;

pub use map::{GroundError, GroundMap, Metres};
pub use motion::{Motion, MotionFilter};
pub use plane::{Covariance, Plane};
pub use unit::SpeedUnit;
