//! Limits for models.

/// Largest width and height of a tensor in caps.
pub const MAX_SIZE: usize = 16384;
