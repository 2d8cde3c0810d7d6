//! The small gray picture of a frame.

use super::CameraError;
use crate::preproc::MAX_SIDE;

/// The longer side of a picture has at most this many pixels.
pub const LONGEST: usize = 512;
/// The shorter side of a picture has at most this many pixels.
pub const SHORTEST: usize = 288;

/// The width and height of the picture of a frame of `width` x `height`: the frame's, divided by the least whole number that
/// makes them small enough. So 1080p becomes 480x270. A side that is not divisible is rounded down.
pub fn picture_size(width: usize, height: usize) -> [usize; 2] {
    let (long, short) = (width.max(height), width.min(height));
    let divisor = long.div_ceil(LONGEST).max(short.div_ceil(SHORTEST)).max(1);
    [width, height].map(|side| (side / divisor).max(1))
}

/// A gray picture of a frame: a byte a pixel, rows without padding.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    pixels: &'a [u8],
    size: [usize; 2],
    frame: [usize; 2],
}

impl<'a> Picture<'a> {
    /// `pixels`, `[height, width]` of `size` (width and height), that show a frame of the size `frame`.
    ///
    /// # Errors
    /// [`CameraError::Picture`] and [`CameraError::Size`].
    pub fn new(pixels: &'a [u8], size: [usize; 2], frame: [usize; 2]) -> Result<Self, CameraError> {
        for (what, [width, height]) in [("picture", size), ("frame", frame)] {
            if ![width, height].iter().all(|side| (1..=MAX_SIDE).contains(side)) {
                return Err(CameraError::Size { what, width, height });
            }
        }
        let [width, height] = size;
        if pixels.len() != width * height {
            return Err(CameraError::Picture { width, height, bytes: pixels.len() });
        }
        Ok(Self { pixels, size, frame })
    }

    /// A byte a pixel, row by row.
    pub fn pixels(&self) -> &'a [u8] {
        self.pixels
    }

    /// Its width and height.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Width and height of the frame that it shows.
    pub fn frame(&self) -> [usize; 2] {
        self.frame
    }

    /// Frame pixels a pixel of the picture, to the right and down. Exact: sides are below 2^24.
    pub(crate) fn scale(&self) -> [f32; 2] {
        [0, 1].map(|axis| self.frame[axis] as f32 / self.size[axis] as f32)
    }
}
