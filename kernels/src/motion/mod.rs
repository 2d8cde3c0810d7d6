//! Where something moves in the video of a camera that stands still: what differs from the background.
//!
//! As the motion detection of Frigate (<https://docs.frigate.video/configuration/motion_detection>), whose words its parameters have:
//! 1. **Picture.** The frame becomes gray and shrinks to a height of about 100 pixels ([`picture_size`],
//!    [`Shrink`](crate::camera::Shrink)), so that noise is averaged away and what is left takes microseconds.
//! 2. **Background** ([`Background`]). The running average of the pictures. A pixel has changed where it differs from the background by more
//!    than the threshold, as a share of the picture's contrast.
//! 3. **Areas** (`areas.rs`). Changed pixels that lie side by side are one area; small ones are noise.
//!
//! Written from the documentation. The picture is made on the CPU or the GPU, with the same bytes; the rest works on some twenty thousand
//! pixels, on the CPU.

mod areas;
mod background;
mod regions;

#[cfg(test)]
mod tests;

pub use background::Background;
pub use regions::regions;

use crate::geometry::Rect;

/// The shorter side of a picture, at least, where the frame's is not smaller.
const SIDE: usize = 100;

/// What counts as motion.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionParams {
    /// By how many of 255 gray levels a pixel differs from the background where something moves, in a picture of full contrast. At least 1.
    pub threshold: u8,
    /// Pixels of a picture that an area has at least.
    pub contour_area: usize,
    /// Polygons in which motion does not count, in fractions of the frame's width and height.
    pub masks: Vec<Vec<[f64; 2]>>,
}

impl Default for MotionParams {
    fn default() -> Self {
        Self { threshold: 30, contour_area: 10, masks: vec![] }
    }
}

/// What a frame differs in from the background.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moving {
    /// The boxes of areas in which something moves, in frame pixels, the largest area first.
    pub boxes: Vec<Rect>,
    /// Most of the picture has changed at once, as when a lamp is lit or the camera is turned. `boxes` then has the whole frame, which is the
    /// new background.
    pub all_new: bool,
}

/// The width and height of the picture of a frame of `width` x `height`: the frame's, divided by the largest whole number that leaves 100
/// pixels on the shorter side. So 1080p becomes 192x108.
pub fn picture_size(width: usize, height: usize) -> [usize; 2] {
    let divisor = (width.min(height) / SIDE).max(1);
    [width, height].map(|side| (side / divisor).max(1))
}
