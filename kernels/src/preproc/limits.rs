//! How much is made at once.

/// The longest side, of a frame or of a tensor, in pixels.
pub const MAX_SIDE: usize = 16384;

/// The most frames that [`super::CudaPreproc::run`] takes at once.
pub const MAX_BATCH: usize = 64;
