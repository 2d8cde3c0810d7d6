//! Where the resized frame lies in the tensor. Exact integer arithmetic, so that every device agrees to the pixel.

use super::{Params, Resize};
use crate::frame::FrameFormat;
use crate::geometry::Affine;

/// One axis of the placement, in pixels. The frame is thought resized to `resized` pixels, `crop` of which are cut
/// before the tensor's first filled pixel `pad`; `len` pixels are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// The frame's extent.
    pub frame: usize,
    /// The extent of the whole frame after resizing.
    pub resized: usize,
    /// Tensor pixels before the first filled one.
    pub pad: usize,
    /// Resized pixels that are cut before the first that is used.
    pub crop: usize,
    /// Tensor pixels filled.
    pub len: usize,
}

impl Axis {
    fn new(frame: usize, resized: usize, tensor: usize) -> Self {
        Self {
            frame,
            resized,
            pad: tensor.saturating_sub(resized) / 2,
            crop: resized.saturating_sub(tensor) / 2,
            len: resized.min(tensor),
        }
    }

    /// Frame pixels per tensor pixel, and where the tensor's first edge lies in the frame.
    fn affine(&self) -> (f64, f64) {
        let scale = self.frame as f64 / self.resized as f64;
        (scale, (self.crop as f64 - self.pad as f64) * scale)
    }
}

/// The placement on both axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub x: Axis,
    pub y: Axis,
}

impl Placement {
    /// The placement that `params.resize` asks for; all sizes have been checked.
    pub fn new(source: &FrameFormat, params: &Params) -> Self {
        let (frame, tensor) = ((source.width, source.height), (params.width, params.height));
        // The scales of the two axes, compared without dividing: tensor.0 / frame.0 <= tensor.1 / frame.1.
        let x_is_smaller = tensor.0 * frame.1 <= tensor.1 * frame.0;
        let one_scale = |by_x: bool| {
            let (to, from) = if by_x { (tensor.0, frame.0) } else { (tensor.1, frame.1) };
            (scaled(frame.0, to, from), scaled(frame.1, to, from))
        };
        let resized = match params.resize {
            Resize::Stretch => tensor,
            Resize::Letterbox => {
                let (w, h) = one_scale(x_is_smaller);
                (w.max(1), h.max(1))
            }
            Resize::CenterCrop => {
                let (w, h) = one_scale(!x_is_smaller);
                (w.max(tensor.0), h.max(tensor.1))
            }
        };
        Self { x: Axis::new(frame.0, resized.0, tensor.0), y: Axis::new(frame.1, resized.1, tensor.1) }
    }

    /// The map from tensor to frame coordinates.
    pub fn affine(&self) -> Affine {
        let ((sx, ox), (sy, oy)) = (self.x.affine(), self.y.affine());
        Affine::upright([sx, sy], [ox, oy])
    }
}

/// `length * to / from`, rounded half to even, as Python's `round` does (and with it Ultralytics' letterbox).
fn scaled(length: usize, to: usize, from: usize) -> usize {
    // At most 2^28: both sides are at most MAX_SIDE.
    let product = length * to;
    let (whole, rest) = (product / from, product % from);
    match (2 * rest).cmp(&from) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Greater => whole + 1,
        std::cmp::Ordering::Equal => whole + whole % 2,
    }
}
