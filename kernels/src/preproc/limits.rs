//! Limits of sizes and batches.

/// The longest side, of a frame or of a tensor, in pixels.
pub const MAX_SIDE: usize = 16384;

/// The most frames that [`super::CudaPreproc::run`] takes at once.
pub const MAX_BATCH: usize = 64;

/// The smallest [`super::PreprocParams::crop_ratio`].
pub const MIN_CROP_RATIO: f64 = 0.1;

/// The longest side of what a frame is resized to before it is cropped: positions on it are counted in 32 bits.
pub(super) const MAX_RESIZED: usize = MAX_SIDE * MAX_SIDE;
