//! The enums of properties, which sidecars and caps write by their nicks.

pub mod classes;
pub mod detection;
pub mod maps;
pub mod masks;
pub mod peaks;
pub mod tensor;
