//! What can be wrong with a frame.

use crate::device::DeviceError;
use crate::frame::FrameError;
use crate::preproc::MAX_SIDE;

/// A frame that boxes cannot be described in, or a GPU that refuses.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AppearanceError {
    /// A side of 0 pixels, or of more than [`MAX_SIDE`].
    #[error("boxes of a {width}x{height} frame cannot be described; give sides of 1 to {MAX_SIDE} pixels")]
    Size {
        /// Frame width in pixels.
        width: usize,
        /// Frame height in pixels.
        height: usize,
    },
    /// A frame that is smaller than the prepared format says.
    #[error("the frame is not of the format that was prepared for, prepare another: {0}")]
    Frame(#[from] FrameError),
    /// The GPU refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
