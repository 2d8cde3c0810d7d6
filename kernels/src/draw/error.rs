//! What can be wrong with a frame or a mask.

use crate::device::DeviceError;
use crate::frame::{FrameError, PixelFormat};

/// A frame that cannot be drawn on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    /// A pixel format without a way to draw on it.
    #[error(
        "cannot draw on {0:?} frames; convert them to NV12, I420, RGB, BGR, RGBA, BGRA, RGBx or BGRx first, \
         for example with videoconvert"
    )]
    Format(PixelFormat),
    /// A frame whose planes are shorter than its format needs.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame that is too large for the GPU's coordinates.
    #[error(
        "cannot draw on frames of {width}x{height} on the GPU: a side may have at most {most} pixels. Use smaller frames, or put \
            cudainferdownload before this element"
    )]
    #[allow(missing_docs)]
    TooLarge { width: usize, height: usize, most: usize },
    /// A frame that is too large for the coordinates of blurred areas.
    #[error(
        "cannot blur frames of {width}x{height}: a side may have at most {most} pixels. Use smaller frames"
    )]
    #[allow(missing_docs)]
    BlurTooLarge { width: usize, height: usize, most: usize },
    /// A mask whose number of bytes does not match its size.
    #[error("a mask of {width}x{height} has {bytes} bytes, and needs one for each sample")]
    #[allow(missing_docs)]
    Mask { width: usize, height: usize, bytes: usize },
    /// A mask for the alpha channel of a format without one.
    #[error("{0:?} frames have no alpha channel; convert them to RGBA or BGRA first")]
    NoAlpha(PixelFormat),
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
