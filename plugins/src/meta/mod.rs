//! What travels on a buffer: tensors between the elements, objects to whoever is behind.

pub mod object;
pub mod tensor;
