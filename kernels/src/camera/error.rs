//! What can be wrong with a frame or a picture.

use crate::device::DeviceError;
use crate::preproc::PreprocError;

/// A picture that is none, or a frame that cannot be shrunk.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CameraError {
    /// A picture with more or fewer bytes than pixels.
    #[error("a gray picture of {width}x{height} pixels has as many bytes, but {bytes} were given")]
    Picture {
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
        /// The slice's bytes.
        bytes: usize,
    },
    /// A side of a picture, or of its frame, of 0 pixels or of more than [`MAX_SIDE`](crate::preproc::MAX_SIDE).
    #[error(
        "a {what} of {width}x{height} pixels cannot be compared; give sides of 1 to {} pixels",
        crate::preproc::MAX_SIDE
    )]
    Size {
        /// What has that size: the picture or its frame.
        what: &'static str,
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
    },
    /// The frame cannot be shrunk.
    #[error("the frame cannot be shrunk to find the camera's motion: {0}")]
    Shrink(#[from] PreprocError),
    /// The GPU refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
