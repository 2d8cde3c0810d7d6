//! The words that sidecars, properties and caps have for what a model takes and gives.

pub mod classes;
pub mod detection;
pub mod masks;
pub mod peaks;
pub mod tensor;
