//! Enums of sidecars, properties and caps for a model's inputs and outputs.

pub mod classes;
pub mod detection;
pub mod masks;
pub mod peaks;
pub mod tensor;
