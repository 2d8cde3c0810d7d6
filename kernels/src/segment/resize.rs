//! A mask at a network's size, taken to the frame.

use super::SegmentError;
use crate::geometry::Affine;

/// From a mask that covers a network's input tensor to one that covers the frame.
///
/// Everything is continuous: the centre of frame pixel `i`, at `i + 0.5`, is looked up in the input tensor and there in
/// the mask, of whose `w` cells each covers `W / w` of the tensor's `W` pixels. Classes are those of the cell that the
/// point lies in; soft masks are interpolated bilinearly between the cells' centres, and beyond the outermost ones they go
/// on as there. Pixels that lie outside the tensor become 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// The mask's width and height in cells.
    pub from: [usize; 2],
    /// The input tensor's width and height in pixels.
    pub input: [usize; 2],
    /// From the input tensor's pixels to the frame's.
    pub to_frame: Affine,
    /// The frame's width and height in pixels.
    pub frame: [usize; 2],
    /// Whether to interpolate.
    pub soft: bool,
}

impl Resize {
    /// Writes every pixel of the frame's mask to `out`, whose rows begin `stride` bytes apart; `mask` is dense.
    ///
    /// # Errors
    /// [`SegmentError::Room`] where `mask` or `out` are too small, [`SegmentError::Map`].
    pub fn run(&self, mask: &[u8], out: &mut [u8], stride: usize) -> Result<(), SegmentError> {
        let _ = (mask, out, stride);
        unimplemented!()
    }
}
